//! The metrics of sign-ins.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::Error;

/// What `grant_type` of `/token` may be.
pub(crate) const TOKEN_GRANTS: [&str; 5] = ["password", "refresh_token", "pkce", "id_token", "web3"];
/// The other grants whose outcomes are counted: what is used up at `/verify`, and passkeys.
const OTHER_GRANTS: [&str; 3] = ["code", "link", "passkey"];

/// The counters of attempts to get a session.
#[derive(Debug)]
pub(crate) struct SignInMetrics {
    sign_ins: Family<[(&'static str, &'static str); 2], Counter>,
}

impl Default for SignInMetrics {
    /// Returns counters that are there before there is something to count.
    fn default() -> Self {
        let metrics = Self { sign_ins: Family::default() };
        for grant in TOKEN_GRANTS.into_iter().chain(OTHER_GRANTS) {
            for outcome in ["ok", "refused", "failed"] {
                drop(metrics.sign_ins.get_or_create(&[("grant", grant), ("outcome", outcome)]));
            }
        }
        metrics
    }
}

impl SignInMetrics {
    /// Counts the outcome of an attempt to get a session: `refused` for errors of the client, `failed` for errors of
    /// the server.
    pub(crate) fn count<T>(&self, grant: &'static str, result: &Result<T, Error>) {
        let outcome = match result {
            Ok(_) => "ok",
            Err(error) if error.status().is_server_error() => "failed",
            Err(_) => "refused",
        };
        self.sign_ins.get_or_create(&[("grant", grant), ("outcome", outcome)]).inc();
    }

    /// Makes the counters known to `registry`.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Attempts to get a session, by what it was asked for with and what came of it";
        registry.register("sign_ins", help, self.sign_ins.clone());
    }
}
