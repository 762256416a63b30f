//! The log: its format, and its content.

mod recent;

use std::io::IsTerminal as _;
use std::sync::{Arc, LazyLock, OnceLock};

use events::Events;
use settings::Variables;
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

/// The levels of dependencies whose lines are not meant for operators. The database driver logs each statement at
/// `debug`, even those that set passwords, and every notice of Postgres at `info`; `s3s` logs every request that it
/// refuses as an error, and the headers of all requests at `debug`; `rmcp` logs each request of an agent several times, and
/// all of it at `debug`.
const DEPENDENCIES: [(&str, &str); 3] = [("tokio_postgres", "warn"), ("s3s", "off"), ("rmcp", "off")];

/// Returns `directives` with the levels of [`DEPENDENCIES`], unless `directives` name these dependencies.
fn limit_dependencies(directives: &str) -> String {
    let limits = DEPENDENCIES.iter().filter(|(name, _)| !directives.contains(name));
    let limits = limits.map(|(name, level)| format!("{name}={level}"));
    let own = Some(directives.to_owned()).filter(|directives| !directives.trim().is_empty());
    own.into_iter().chain(limits).collect::<Vec<_>>().join(",")
}

/// Returns the directives for PostgREST's `log-level`, which applies to requests. Messages of the service are always
/// logged.
fn request_directives(level: &str) -> String {
    match level {
        "crit" => "info,poem=warn,access=off".to_owned(),
        "debug" => "debug,poem=warn".to_owned(),
        level => format!("info,poem=warn,access={level}"),
    }
}

/// The format of log lines; empty before the log was started.
static FORMAT: OnceLock<Format> = OnceLock::new();

/// Reports whether log lines are JSON, in which case output for people is logged, too.
pub(crate) fn is_json() -> bool {
    FORMAT.get() == Some(&Format::Json)
}

/// Changes what is logged; empty before the log was started, or if an environment variable determines what is logged.
static FILTER: OnceLock<Handle<EnvFilter, Registry>> = OnceLock::new();

/// What has happened recently. The log is one for the process, and so are these.
static EVENTS: LazyLock<Arc<Events>> = LazyLock::new(Arc::default);

/// Returns what has happened recently, which includes messages of the log.
pub(crate) fn events() -> Arc<Events> {
    Arc::clone(&EVENTS)
}

fn filter(directives: &str) -> EnvFilter {
    EnvFilter::builder().parse_lossy(limit_dependencies(directives))
}

/// Changes the level at which requests are logged to `level`, in the form of PostgREST's `log-level`.
pub(crate) fn set_request_level(level: &str) {
    if let Some(handle) = FILTER.get() {
        // It fails only if the log has ended.
        let _ = handle.reload(filter(&request_directives(level)));
    }
}

/// Logs what the operator should know about the settings.
pub(crate) fn log_warnings(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}

/// Returns the default format of a server's log: text on a terminal, else JSON.
pub(crate) fn default_server_format() -> Format {
    match std::io::stderr().is_terminal() {
        true => Format::Text,
        false => Format::Json,
    }
}

/// Starts the log, which is written to standard error in `format`.
///
/// `BASALT_LOG` (or `RUST_LOG`) selects what is logged, in the syntax of `tracing`'s `EnvFilter`. If a server replaces
/// PostgREST, `level`, PostgREST's `log-level`, selects what is logged about requests; otherwise `PGRST_LOG_LEVEL` is
/// the level of everything (`crit`, `error`, `warn`, `info`, `debug`). By default, the text format has warnings and
/// errors; JSON has everything from `info` up, with one line per request.
pub(crate) fn start(format: Format, level: Option<&str>, variables: &Variables) {
    let default = match format {
        Format::Text => "warn",
        Format::Json => "info,poem=warn",
    };
    let of_environment = ["BASALT_LOG", "RUST_LOG"].into_iter().find_map(|name| variables.get(name));
    let general_directives = || match variables.get(rest::LOG_LEVEL)?.as_str() {
        "crit" => Some("error,access=off".to_owned()),
        level @ ("error" | "warn" | "info" | "debug") => Some(format!("{level},poem=warn")),
        _ => None,
    };
    let wanted =
        of_environment.cloned().or_else(|| level.map(request_directives)).or_else(general_directives);
    let (filter, handle) = reload::Layer::new(filter(wanted.as_deref().unwrap_or(default)));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_timer(SystemTime);
    let lines = match format {
        Format::Text => lines.with_target(false).boxed(),
        Format::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
    };
    // The servers that replace PostgREST or GoTrue have no interface that shows recent events.
    let recent =
        level.is_none().then(|| recent::Recent(events()).with_filter(self::filter(recent::DIRECTIVES)));
    // It fails only in tests, which may start more than one.
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter)).with(recent).try_init();
    if of_environment.is_none() {
        let _ = FILTER.set(handle);
    }
    let _ = FORMAT.set(format);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_applies_to_requests() {
        assert_eq!(request_directives("error"), "info,poem=warn,access=error");
        assert_eq!(request_directives("crit"), "info,poem=warn,access=off");
    }

    #[test]
    fn the_drivers_statements_are_logged_only_if_directives_name_it() {
        assert_eq!(limit_dependencies("debug"), "debug,tokio_postgres=warn,s3s=off,rmcp=off");
        assert_eq!(limit_dependencies(""), "tokio_postgres=warn,s3s=off,rmcp=off");
        assert_eq!(
            limit_dependencies("info,tokio_postgres=debug"),
            "info,tokio_postgres=debug,s3s=off,rmcp=off"
        );
    }
}
