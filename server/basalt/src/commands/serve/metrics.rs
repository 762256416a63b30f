//! Metrics of components that all services share.

use std::sync::Arc;

use acme::Certificates;
use prometheus_client::collector::Collector;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use telemetry::{SlowStatements, write_metric};
use tokens::Verifier;

/// Returns a collector of the counters of `verifier`, which verifies tokens for all services, and of the `slow`
/// statements of all services.
pub(super) fn shared(verifier: Verifier, slow: SlowStatements) -> Box<dyn Collector> {
    telemetry::collector(move |encoder| {
        let tokens = verifier.cache_statistics();
        let counters = [
            ("token_cache_requests", "Tokens that were looked up among those verified", tokens.requests),
            ("token_cache_hits", "Tokens that were among them", tokens.hits),
            ("slow_statements", "Statements that took longer than basalt.slow_statement", slow.count()),
        ];
        for (name, help, count) in counters {
            write_metric(encoder, name, help, &ConstCounter::new(count))?;
        }
        Ok(())
    })
}

/// Returns a collector of how long the certificate of HTTPS is still valid.
pub(super) fn certificate(certificates: Arc<Certificates>) -> Box<dyn Collector> {
    telemetry::collector(move |encoder| {
        let help = "Seconds until the end of the certificate of HTTPS; 0 without one";
        write_metric(
            encoder,
            "tls_certificate_seconds_left",
            help,
            &ConstGauge::new(certificates.seconds_left().unwrap_or(0)),
        )
    })
}
