//! How requests are called where many of them are told of at once.

use std::borrow::Cow;

use telemetry::names_only;

/// What requests of a service have in common, for traces and the table of slow statements. Neither may hold what a client
/// has made up: there would be no end of them, and values may be secret.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// Returns the route of a path (both seen from where the service is mounted), such as `/{table}`.
    pub route: fn(&str) -> Cow<'static, str>,
    /// Returns a query string without its values.
    pub query: fn(&str) -> String,
}

impl Default for Names {
    fn default() -> Self {
        Self { route: |_| Cow::Borrowed("/*"), query: names_only }
    }
}
