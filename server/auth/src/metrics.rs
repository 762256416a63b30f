//! The service's metrics.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::Error;

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// What `grant_type` of `/token` may be.
pub(crate) const TOKEN_GRANTS: [&str; 5] = ["password", "refresh_token", "pkce", "id_token", "web3"];
/// The other grants whose outcomes are counted: what is used up at `/verify`, and passkeys.
const OTHER_GRANTS: [&str; 3] = ["code", "link", "passkey"];

/// The service's counters.
#[derive(Debug)]
pub(crate) struct Metrics {
    sign_ins: Family<Labels<2>, Counter>,
    mails: Family<Labels<1>, Counter>,
    texts: Family<Labels<1>, Counter>,
}

impl Default for Metrics {
    /// Returns counters that are there before there is something to count.
    fn default() -> Self {
        let metrics =
            Self { sign_ins: Family::default(), mails: Family::default(), texts: Family::default() };
        for grant in TOKEN_GRANTS.into_iter().chain(OTHER_GRANTS) {
            for outcome in ["ok", "refused", "failed"] {
                drop(metrics.sign_ins.get_or_create(&[("grant", grant), ("outcome", outcome)]));
            }
        }
        for outcome in ["ok", "failed"] {
            drop(metrics.mails.get_or_create(&[("outcome", outcome)]));
            drop(metrics.texts.get_or_create(&[("outcome", outcome)]));
        }
        metrics
    }
}

impl Metrics {
    /// Counts the outcome of an attempt to get a session: `refused` for errors of the client, `failed` for errors of
    /// the server.
    pub(crate) fn sign_in<T>(&self, grant: &'static str, result: &Result<T, Error>) {
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
        registry.register("mails", "Mails, by whether they went out", self.mails.clone());
        registry.register("text_messages", "Text messages, by whether they went out", self.texts.clone());
    }

    /// Counts a mail that a mail server, a folder or a hook has taken or not.
    pub(crate) fn mail(&self, is_sent: bool) {
        self.mails.get_or_create(&[("outcome", outcome(is_sent))]).inc();
    }

    /// Counts a text message that a provider or a hook has taken or not.
    pub(crate) fn text(&self, is_sent: bool) {
        self.texts.get_or_create(&[("outcome", outcome(is_sent))]).inc();
    }
}

const fn outcome(is_sent: bool) -> &'static str {
    if is_sent { "ok" } else { "failed" }
}
