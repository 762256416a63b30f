//! The metrics of mails and text messages.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

type ByOutcome = Family<[(&'static str, &'static str); 1], Counter>;

/// The counters of what went out and what did not.
#[derive(Debug)]
pub(crate) struct DeliveryMetrics {
    mails: ByOutcome,
    texts: ByOutcome,
    /// How many mails have failed since the last one that went out.
    failed_mails_in_a_row: AtomicU64,
}

impl Default for DeliveryMetrics {
    /// Returns counters that are there before there is something to count.
    fn default() -> Self {
        let metrics = Self {
            mails: Family::default(),
            texts: Family::default(),
            failed_mails_in_a_row: AtomicU64::new(0),
        };
        for outcome in ["ok", "failed"] {
            drop(metrics.mails.get_or_create(&[("outcome", outcome)]));
            drop(metrics.texts.get_or_create(&[("outcome", outcome)]));
        }
        metrics
    }
}

impl DeliveryMetrics {
    /// Counts a mail that a mail server, a folder or a hook has taken or not.
    pub(crate) fn mail(&self, is_sent: bool) {
        self.mails.get_or_create(&[("outcome", outcome(is_sent))]).inc();
        match is_sent {
            true => self.failed_mails_in_a_row.store(0, Ordering::Relaxed),
            false => drop(self.failed_mails_in_a_row.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Returns how many mails have failed since the last one that went out.
    pub(crate) fn failed_mails_in_a_row(&self) -> u64 {
        self.failed_mails_in_a_row.load(Ordering::Relaxed)
    }

    /// Counts a text message that a provider or a hook has taken or not.
    pub(crate) fn text(&self, is_sent: bool) {
        self.texts.get_or_create(&[("outcome", outcome(is_sent))]).inc();
    }

    /// Makes the counters known to `registry`.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("mails", "Mails, by whether they went out", self.mails.clone());
        registry.register("text_messages", "Text messages, by whether they went out", self.texts.clone());
    }
}

const fn outcome(is_sent: bool) -> &'static str {
    if is_sent { "ok" } else { "failed" }
}
