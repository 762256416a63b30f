//! Names that many requests share.

use std::borrow::Cow;

use telemetry::names_only;

/// Names of a service's requests, for traces and the table of slow statements. A name holds nothing that a client has
/// made up: there would be no end of names, and values may be secret.
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
