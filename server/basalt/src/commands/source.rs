//! Which database a command works on, with the flags of the Supabase CLI.

use clap::Args;

use crate::backend::Backend;
use crate::error::Error;
use crate::settings::Settings;

/// The flags that choose a database.
#[derive(Debug, Default, Args)]
#[group(multiple = false)]
pub(super) struct Source {
    /// The project's database, which is the default
    #[arg(long)]
    local: bool,
    /// A linked project's database, as with the Supabase CLI: there are none here
    #[arg(long)]
    linked: bool,
    /// Another project's database, as with the Supabase CLI: there are none here
    #[arg(long, alias = "project-ref", value_name = "ID")]
    project_id: Option<String>,
    /// The database at this URL
    #[arg(long, value_name = "URL")]
    db_url: Option<String>,
    /// The same
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true)]
    remote: Option<Option<String>>,
}

impl Source {
    /// Returns the URL of the database; `None` for the project's.
    pub(super) fn url(&self) -> Option<&str> {
        let remote = self.remote.as_ref().and_then(|remote| remote.as_deref());
        self.db_url.as_deref().or(remote.filter(|remote| remote.contains("://")))
    }

    /// Returns the flag that asks for a hosted project's database.
    pub(super) fn hosted(&self) -> Option<&'static str> {
        let flags = [
            ("--linked", self.linked),
            ("--project-id", self.project_id.is_some()),
            ("--remote", self.remote.is_some() && self.url().is_none()),
        ];
        flags.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }

    /// Returns the database that the flags choose.
    ///
    /// Errors: for a hosted project without a URL, and for an invalid URL.
    pub(super) fn target(&self, mut settings: Settings) -> Result<Target, Error> {
        if let Some(flag) = self.hosted() {
            return Err(Error::Advice(format!(
                "{flag}: Basalt does not know the projects of hosted Supabase. Name the database: \
                 --remote=postgresql://… (on hosted Supabase, the button \"Connect\" shows it)"
            )));
        }
        let Some(url) = self.url() else { return Ok(Target { settings, is_remote: false }) };
        settings.database.url = Some(url.parse()?);
        Ok(Target { settings, is_remote: true })
    }
}

/// The database that a command works on.
#[derive(Debug)]
pub(super) struct Target {
    /// The settings of the project, whose database is the target.
    pub(super) settings: Settings,
    /// Whether a flag named another database than the project's.
    pub(super) is_remote: bool,
}

impl Target {
    /// Returns the word that the Supabase CLI has for the database.
    pub(super) fn kind(&self) -> &'static str {
        if self.is_remote { "remote" } else { "local" }
    }

    /// Runs `work` on the database.
    pub(super) async fn attached<T>(
        &self,
        work: impl AsyncFnOnce(&Backend) -> Result<T, Error>,
    ) -> Result<T, Error> {
        Backend::attached_up_to_date(&self.settings, work).await
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        source: Source,
    }

    fn source(line: &str) -> Source {
        let words = std::iter::once("db").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.source).unwrap_or_default()
    }

    #[test]
    fn a_url_names_another_database() {
        for line in ["--db-url postgresql://h/d", "--remote=postgresql://h/d"] {
            let source = source(line);
            assert_eq!((source.url(), source.hosted()), (Some("postgresql://h/d"), None), "{line}");
        }
        for (line, flag) in [
            ("--remote", "--remote"),
            ("--remote=abcdefghijklmnopqrst", "--remote"),
            ("--linked", "--linked"),
            ("--project-ref abc", "--project-id"),
        ] {
            let source = source(line);
            assert_eq!((source.url(), source.hosted()), (None, Some(flag)), "{line}");
        }
        assert_eq!(source("").hosted(), None);
    }
}
