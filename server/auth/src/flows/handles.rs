//! What outlives a change of settings. A service is made of settings and handles ([`crate::service`]); one that is made
//! later of the same handles counts on where the earlier one does, and knows what that has fetched.

use std::sync::Arc;

use gateway::Nodes;
use parking_lot::Mutex;
use postgres::Database;
use prometheus_client::registry::Registry;
use telemetry::{gauge_of, write_metric};
use tokens::{Keys, Verifier};

use crate::checks::limits::Counters;
use crate::delivery::mail::MailQueue;
use crate::delivery::messages::SendingTime;
use crate::delivery::metrics::DeliveryMetrics;
use crate::flows::metrics::SignInMetrics;
use crate::http_client::HttpClient;
use crate::providers::KnownIssuers;
use crate::secrets::hasher::HashingThreads;
use crate::sso::FetchFailures;
use crate::{InvalidSettings, Settings};

/// What outlives a change of settings: connections, counters, threads and caches. Cheap to clone.
#[derive(Clone)]
pub struct Handles {
    pub(crate) database: Database,
    pub(crate) keys: Keys,
    /// Connections to other servers.
    pub(crate) client: HttpClient,
    /// The counters of rate limits.
    pub(crate) counters: Arc<Counters>,
    pub(crate) hashing_threads: HashingThreads,
    pub(crate) mail_queue: MailQueue,
    pub(crate) sending_time: Arc<SendingTime>,
    /// Documents and keys of sign-in providers.
    pub(crate) known_issuers: KnownIssuers,
    /// Which metadata of SAML could not be fetched.
    pub(crate) fetch_failures: FetchFailures,
    pub(crate) sign_in_metrics: Arc<SignInMetrics>,
    pub(crate) delivery_metrics: Arc<DeliveryMetrics>,
    last_verifier: Arc<Mutex<Option<LastVerifier>>>,
}

/// How mails are, for what watches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailState {
    /// How many have failed since the last one that went out.
    pub failed: u64,
    /// How many are being sent or wait for it.
    pub pending: usize,
    /// How many may be.
    pub most_pending: usize,
}

/// The verifier of the newest service, with its cache, and the algorithms that it accepts.
struct LastVerifier {
    methods: Vec<String>,
    verifier: Verifier,
}

impl Handles {
    /// Returns the handles of a node. `database` must be logged in as `supabase_auth_admin`, the owner of schema
    /// `auth`. `nodes` count refreshes together. Of `settings`, what [`settings_that_need_a_restart`] names is read
    /// here.
    ///
    /// Errors: [`InvalidSettings`] if TLS cannot be set up or the system refuses threads.
    pub fn new(
        database: Database,
        keys: Keys,
        nodes: &Nodes,
        settings: &Settings,
    ) -> Result<Self, InvalidSettings> {
        Ok(Self {
            client: HttpClient::new().map_err(InvalidSettings)?,
            counters: Counters::new(database.clone(), nodes.clone()),
            hashing_threads: HashingThreads::start(&settings.passwords).map_err(InvalidSettings)?,
            mail_queue: MailQueue::default(),
            sending_time: Arc::default(),
            known_issuers: KnownIssuers::default(),
            fetch_failures: FetchFailures::default(),
            sign_in_metrics: Arc::default(),
            delivery_metrics: Arc::default(),
            last_verifier: Arc::default(),
            database,
            keys,
        })
    }

    /// Adds the metrics of all services that are made of these handles to `registry`, under names that begin with
    /// `auth_`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("auth");
        self.sign_in_metrics.register(registry);
        self.delivery_metrics.register(registry);
        let (threads, queue) = (self.hashing_threads.clone(), self.mail_queue.clone());
        registry.register_collector(telemetry::collector(move |encoder| {
            let mut write = |name, help, number: usize| write_metric(encoder, name, help, &gauge_of(number));
            let (pending, most) = threads.load();
            write("hashes_pending", "Hashes of passwords that are computed or wait for it", pending)?;
            write("hashes_pending_limit", "How many may be; further ones are refused", most)?;
            let help = "Mails that the mail server is being given, or that wait for it";
            write("mails_pending", help, queue.pending())
        }));
    }

    /// Returns how mails are.
    pub fn mail_state(&self) -> MailState {
        MailState {
            failed: self.delivery_metrics.failed_mails_in_a_row(),
            pending: self.mail_queue.pending(),
            most_pending: MailQueue::most_pending(),
        }
    }

    /// Returns a verifier of access tokens that accepts the algorithms `methods`: the last one, if it accepts the same.
    pub(crate) fn verifier(&self, methods: &[String]) -> Verifier {
        let mut last = self.last_verifier.lock();
        if let Some(last) = last.as_ref().filter(|last| last.methods == methods) {
            return last.verifier.clone();
        }
        let verifier = self.keys.verifier().with_methods(methods);
        *last = Some(LastVerifier { methods: methods.to_vec(), verifier: verifier.clone() });
        verifier
    }
}

/// Returns the names of the settings that differ between `old` and `new` and take effect with new [`Handles`] only,
/// which needs a restart. Both have no key in `config.toml`.
pub fn settings_that_need_a_restart(old: &Settings, new: &Settings) -> Vec<&'static str> {
    let (old, new) = (&old.passwords, &new.passwords);
    ::settings::changed_names([
        ("parallel_hashes", old.parallel_hashes != new.parallel_hashes),
        ("basalt.auth.password_queue", old.queue_length != new.queue_length),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_threads_of_hashes_need_a_restart() {
        let old = Settings::default();
        let mut new = old.clone();
        new.site_url = "https://other.example".to_owned();
        new.limits.per_process = true;
        new.passwords.bcrypt_cost = 4;
        assert!(settings_that_need_a_restart(&old, &new).is_empty());
        new.passwords.parallel_hashes += 1;
        new.passwords.queue_length += 1;
        assert_eq!(
            settings_that_need_a_restart(&old, &new),
            ["parallel_hashes", "basalt.auth.password_queue"]
        );
    }
}
