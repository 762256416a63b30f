//! Metrics of what the services share.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use telemetry::SlowStatements;
use tokens::Verifier;

/// What is read at each scrape.
pub(super) struct SharedMetrics {
    /// Verifies tokens for all services.
    pub(super) verifier: Verifier,
    /// The slow statements of all services.
    pub(super) slow: SlowStatements,
}

impl fmt::Debug for SharedMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedMetrics")
    }
}

impl Collector for SharedMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let tokens = self.verifier.cache_statistics();
        let counters = [
            ("token_cache_requests", "Tokens that were looked up among those verified", tokens.requests),
            ("token_cache_hits", "Tokens that were among them", tokens.hits),
            ("slow_statements", "Statements that took longer than basalt.slow_statement", self.slow.count()),
        ];
        for (name, help, count) in counters {
            let counter = ConstCounter::new(count);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}
