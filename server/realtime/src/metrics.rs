//! The service's metrics.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The service's metrics. Cheap to clone: clones share the figures.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics {
    /// Sockets that are open.
    pub(crate) sockets: Gauge,
    /// Channels that were joined.
    pub(crate) joins: Counter,
    /// Messages that were put into clients' queues.
    pub(crate) deliveries: Counter,
    /// Clients that were disconnected because they did not read.
    pub(crate) dropped_sockets: Counter,
    /// Row changes that were read.
    pub(crate) row_changes: Counter,
    /// Bytes of the write-ahead log that are not confirmed yet.
    pub(crate) slot_lag_bytes: Gauge,
    /// Seconds between the commit of the latest change and its delivery.
    pub(crate) lag_seconds: Gauge<f64, AtomicU64>,
}

impl Metrics {
    /// Registers the metrics under names that begin with `realtime_`.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("realtime");
        registry.register("sockets", "Sockets that are open", self.sockets.clone());
        registry.register("joins", "Channels that were joined", self.joins.clone());
        registry.register("deliveries", "Messages queued for clients", self.deliveries.clone());
        registry.register(
            "dropped_sockets",
            "Clients disconnected because they did not read",
            self.dropped_sockets.clone(),
        );
        registry.register("row_changes", "Row changes read from the database", self.row_changes.clone());
        registry.register(
            "slot_lag_bytes",
            "Bytes of the write-ahead log that are not dealt with yet",
            self.slot_lag_bytes.clone(),
        );
        registry.register(
            "lag_seconds",
            "Time from the commit of the latest row change to its delivery",
            self.lag_seconds.clone(),
        );
    }
}
