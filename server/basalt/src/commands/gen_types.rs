//! `basalt gen types`, with the flags of `supabase gen types`.
//!
//! Source: the Supabase CLI, `cmd/gen.go` and `internal/gen/types`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::backend::{self, Backend};
use crate::console;
use crate::error::Error;
use crate::settings::{Settings, duration};

/// Arguments of `gen types`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The language, as older versions of the CLI had it
    #[arg(value_enum, value_name = "LANGUAGE")]
    language: Option<Language>,
    /// The language to generate
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    lang: Option<Language>,
    /// The schemas to describe, separated by commas [default: public and those of `api.schemas`]
    #[arg(short, long, value_delimiter = ',', value_name = "SCHEMAS")]
    schema: Vec<String>,
    #[command(flatten)]
    source: Source,
    /// Leave out what PostgREST 9 and older do not support: one-to-one relationships
    #[arg(long)]
    postgrest_v9_compat: bool,
    /// How long the database may take
    #[arg(long, value_parser = duration, default_value = "15s", value_name = "TIME")]
    query_timeout: Duration,
    /// For Swift, which is not supported
    #[arg(long, hide = true)]
    swift_access_control: Option<String>,
}

/// The database to describe.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct Source {
    /// Describe the project's database, which is the default
    #[arg(long)]
    local: bool,
    /// Describe the project's database: there are no linked projects
    #[arg(long)]
    linked: bool,
    /// Describe the project's database: there are no other projects
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Describe the database at this URL
    #[arg(long, value_name = "URL")]
    db_url: Option<String>,
}

/// A language that the Supabase CLI generates types for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    /// A `Database` type for supabase-js.
    Typescript,
    /// Not supported.
    #[value(hide = true)]
    Go,
    /// Not supported.
    #[value(hide = true)]
    Swift,
    /// Not supported.
    #[value(hide = true)]
    Python,
}

/// Prints the types of the project's database, which is migrated first if `serve` is not running, or of another one.
pub(super) async fn run(mut settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let Arguments { language, lang, schema, source, postgrest_v9_compat, query_timeout, .. } = arguments;
    check(lang.or(language))?;
    let flag =
        if source.linked { Some("--linked") } else { source.project_id.as_ref().map(|_| "--project-id") };
    if let Some(flag) = flag {
        console::note(format_args!("{flag}: this project's own database is described, not a hosted one"));
    }
    if let Some(url) = source.db_url {
        settings.database.url = Some(url.parse()?);
    }
    let options = typegen::Options {
        schemas: if schema.is_empty() { exposed_schemas(&settings) } else { schema },
        one_to_one: !postgrest_v9_compat,
    };
    let types = Backend::attached(&settings, async |backend| {
        let generated = generate(&settings, backend, &options);
        tokio::time::timeout(query_timeout, generated).await.unwrap_or_else(|_| {
            let seconds = query_timeout.as_secs_f64();
            Err(Error::Advice(format!("the database took longer than {seconds} s: raise --query-timeout")))
        })
    });
    console::print(types.await?.trim_end());
    Ok(())
}

fn check(language: Option<Language>) -> Result<(), Error> {
    match language {
        None | Some(Language::Typescript) => Ok(()),
        Some(other) => {
            let name = format!("{other:?}").to_lowercase();
            Err(Error::Advice(format!(
                "types are only generated for TypeScript; for {name} use `supabase gen types --lang {name} \
                 --db-url URL` with the DB_URL of `basalt status -o env`"
            )))
        }
    }
}

/// Returns `public` and the schemas that REST exposes.
fn exposed_schemas(settings: &Settings) -> Vec<String> {
    let public = "public".to_owned();
    let rest = settings.services.rest.as_ref();
    std::iter::once(public).chain(rest.into_iter().flat_map(|rest| rest.db_schemas.clone())).collect()
}

/// Describes the database. A cluster that was started only for this command may not have the newest migrations yet, and
/// gets them; the database of a running server, or of DATABASE_URL, is described unchanged.
async fn generate(
    settings: &Settings,
    backend: &Backend,
    options: &typegen::Options,
) -> Result<String, Error> {
    if backend.cluster.is_some() {
        backend::migrate(settings, &backend::keys(settings)?, backend).await?;
    }
    backend.with_project(async |project| Ok(typegen::generate(project, options).await?)).await
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parsed(line: &str) -> Result<Arguments, clap::Error> {
        let words = std::iter::once("types").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.arguments)
    }

    #[test]
    fn the_flags_of_the_supabase_cli_are_accepted() {
        for line in [
            "typescript",
            "typescript --local",
            "--local --lang typescript --schema a,b",
            "--lang=typescript --linked -s public",
            "--project-id abc-def-123 --schema public --schema private",
            "--db-url postgresql://u:p@h/d --postgrest-v9-compat --query-timeout 1m30s",
            "--local --lang go --swift-access-control public",
        ] {
            assert!(parsed(line).is_ok(), "{line}");
        }
        assert_eq!(parsed("--schema a,b -s c").unwrap().schema, ["a", "b", "c"]);
        assert_eq!(parsed("--query-timeout 2m").unwrap().query_timeout.as_secs(), 120);
        assert!(parsed("--local --linked").is_err());
        assert!(parsed("--lang cobol").is_err());
        assert!(parsed("--query-timeout soon").is_err());
    }

    #[test]
    fn other_languages_are_refused_with_an_alternative() {
        for line in ["--lang go", "typescript --lang swift", "python"] {
            let arguments = parsed(line).unwrap();
            let refusal = check(arguments.lang.or(arguments.language)).unwrap_err().to_string();
            assert!(refusal.contains("supabase gen types --lang"), "{refusal}");
        }
    }
}
