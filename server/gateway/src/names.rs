//! Names for groups of requests.

use std::borrow::Cow;

use telemetry::names_only;

/// Names of a service's requests, for traces and the table of slow statements. A name contains nothing that a client
/// can choose freely: the number of names would be unlimited, and values may be secret.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// Returns the route of a path (both relative to the service's mount point), such as `/{table}`.
    pub route: fn(&str) -> Cow<'static, str>,
    /// Returns a query string without its values.
    pub query: fn(&str) -> String,
}

impl Default for Names {
    fn default() -> Self {
        Self { route: |_| Cow::Borrowed("/*"), query: names_only }
    }
}
