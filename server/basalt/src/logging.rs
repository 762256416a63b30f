//! Where log lines go and what they look like.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use tracing_subscriber::fmt::time::SystemTime;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry};

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

/// What PostgREST's `log-level` stands for: it is about requests. What the service itself has to say is always said.
fn of_requests(level: &str) -> String {
    match level {
        "crit" => "info,poem=warn,access=off".to_owned(),
        "debug" => "debug,poem=warn".to_owned(),
        level => format!("info,poem=warn,access={level}"),
    }
}

/// How log lines are written; nothing before the log was started.
static FORMAT: OnceLock<Format> = OnceLock::new();

/// Whether log lines are JSON, so that what a person is told belongs among them.
pub(crate) fn is_json() -> bool {
    FORMAT.get() == Some(&Format::Json)
}

/// Changes what is logged; nothing before the log was started.
static FILTER: OnceLock<Handle<EnvFilter, Registry>> = OnceLock::new();

/// What `BASALT_LOG` or `RUST_LOG` selects, which is stronger than all else.
fn asked_for() -> Option<String> {
    ["BASALT_LOG", "RUST_LOG"].into_iter().find_map(|name| std::env::var(name).ok())
}

fn filter(directives: &str) -> EnvFilter {
    EnvFilter::builder().parse_lossy(discreet(directives))
}

/// Has the log say of requests what PostgREST's `log-level` says from now on.
pub(crate) fn say(level: &str) {
    if let (None, Some(handle)) = (asked_for(), FILTER.get()) {
        // Fails only where the log is gone.
        let _ = handle.reload(filter(&of_requests(level)));
    }
}

/// The form of a server's log lines where nobody has chosen one: text on a terminal, else JSON.
pub(crate) fn format_of_server() -> Format {
    match std::io::stderr().is_terminal() {
        true => Format::Text,
        false => Format::Json,
    }
}

/// Sends log lines to standard error in the form of `format`.
///
/// `BASALT_LOG` (or `RUST_LOG`) selects what is logged, in the syntax of `tracing`'s `EnvFilter`; `level`, PostgREST's
/// `log-level`, what is said of requests, where a server stands in for PostgREST; elsewhere `PGRST_LOG_LEVEL` is a
/// level of everything (`crit`, `error`, `warn`, `info`, `debug`). Without any, a person at a terminal sees what needs
/// attention; a machine gets everything from `info` up, with one line per request.
pub(crate) fn start(format: Format, level: Option<&str>) {
    let default = match format {
        Format::Text => "warn",
        Format::Json => "info,poem=warn",
    };
    let of_everything = || match std::env::var("PGRST_LOG_LEVEL").ok()?.as_str() {
        "crit" => Some("error,access=off".to_owned()),
        level @ ("error" | "warn" | "info" | "debug") => Some(format!("{level},poem=warn")),
        _ => None,
    };
    let wanted = asked_for().or_else(|| level.map(of_requests)).or_else(of_everything);
    let (filter, handle) = reload::Layer::new(filter(wanted.as_deref().unwrap_or(default)));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_timer(SystemTime);
    let lines = match format {
        Format::Text => lines.with_target(false).boxed(),
        Format::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
    };
    // A second subscriber can only be a test's.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    let _ = FILTER.set(handle);
    let _ = FORMAT.set(format);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_requests() {
        assert_eq!(of_requests("error"), "info,poem=warn,access=error");
        assert_eq!(of_requests("crit"), "info,poem=warn,access=off");
    }

    #[test]
    fn the_drivers_statements_are_logged_for_those_alone_who_name_it() {
        assert_eq!(discreet("debug"), "debug,tokio_postgres=warn");
        assert_eq!(discreet("info,tokio_postgres=debug"), "info,tokio_postgres=debug");
    }
}
