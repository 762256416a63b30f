//! Metrics of components that all services share.

use prometheus_client::collector::Collector;
use prometheus_client::metrics::counter::ConstCounter;
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
