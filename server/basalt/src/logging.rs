//! Where log lines go and what they look like.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::SystemTime;

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For machines: one JSON object per line.
    Json,
}

/// `directives` with the database driver's lines limited to warnings, unless somebody asks for them by name: at
/// `debug` it logs each statement, also those that set passwords, and at `info` every notice of Postgres.
fn discreet(directives: &str) -> String {
    match directives.contains("tokio_postgres") {
        true => directives.to_owned(),
        false if directives.trim().is_empty() => "tokio_postgres=warn".to_owned(),
        false => format!("{directives},tokio_postgres=warn"),
    }
}

/// Sends log lines to standard error: as text on a terminal, else as JSON, unless `format` says otherwise.
///
/// `BASALT_LOG` (or `RUST_LOG`) selects what is logged, in the syntax of `tracing`'s `EnvFilter`; `PGRST_LOG_LEVEL`
/// and `level`, PostgREST's `log-level`, do in PostgREST's words (`crit`, `error`, `warn`, `info`, `debug`). Without any, a
/// person at a terminal sees what needs attention; a machine gets everything from `info` up, with one line per
/// request.
pub(crate) fn start(format: Option<Format>, level: Option<&str>) {
    let format = format.unwrap_or(match std::io::stderr().is_terminal() {
        true => Format::Text,
        false => Format::Json,
    });
    let default = match format {
        Format::Text => "warn",
        Format::Json => "info,poem=warn",
    };
    let wanted = ["BASALT_LOG", "RUST_LOG"].into_iter().find_map(|name| std::env::var(name).ok());
    let level = std::env::var("PGRST_LOG_LEVEL").ok().or_else(|| level.map(str::to_owned));
    let wanted = wanted.or_else(|| match level?.as_str() {
        "crit" => Some("error,access=off".to_owned()),
        level @ ("error" | "warn" | "info" | "debug") => Some(format!("{level},poem=warn")),
        _ => None,
    });
    let filter = EnvFilter::builder().parse_lossy(discreet(wanted.as_deref().unwrap_or(default)));
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_timer(SystemTime);
    // A second subscriber can only be a test's.
    let _ = match format {
        Format::Text => lines.with_target(false).try_init(),
        Format::Json => lines.json().flatten_event(true).with_current_span(false).try_init(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_statements_are_logged_for_those_alone_who_name_it() {
        assert_eq!(discreet("debug"), "debug,tokio_postgres=warn");
        assert_eq!(discreet("info,tokio_postgres=debug"), "info,tokio_postgres=debug");
    }
}
