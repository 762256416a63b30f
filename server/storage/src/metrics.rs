//! The service's metrics.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use telemetry::{gauge_of, write_metric};

use crate::Storage;

/// Statistics of reading and writing objects. Cheap to clone: clones share the counters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic {
    /// Bytes of objects that were read for clients.
    pub(crate) read: Counter,
    /// Bytes that were written.
    pub(crate) written: Counter,
    /// Objects that are being written.
    pub(crate) uploads: Gauge,
}

/// Renderings by outcome. Results from the cache do not count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renderings(Family<[(&'static str, &'static str); 1], Counter>);

impl Renderings {
    /// Returns counters that are there before there is something to count.
    pub(crate) fn new() -> Self {
        let renderings = Self::default();
        for outcome in ["ok", "refused"] {
            drop(renderings.0.get_or_create(&[("outcome", outcome)]));
        }
        renderings
    }

    /// Counts a rendering that has succeeded or not.
    pub(crate) fn count(&self, is_ok: bool) {
        let outcome = if is_ok { "ok" } else { "refused" };
        self.0.get_or_create(&[("outcome", outcome)]).inc();
    }
}

impl Storage {
    /// Adds the service's metrics to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("storage");
        let Traffic { read, written, uploads } = self.backend().traffic();
        registry.register("read_bytes", "Bytes of objects that were read for clients", read.clone());
        registry.register("written_bytes", "Bytes that were written to the store", written.clone());
        registry.register("uploads_under_way", "Objects that are being written", uploads.clone());
        if let Some(renderer) = self.renderer() {
            let help = "Pictures that were rendered, or refused, and not found in the cache";
            registry.register("renderings", help, renderer.renderings().0.clone());
            let renderer = renderer.clone();
            registry.register_collector(telemetry::collector(move |encoder| {
                let (busy, waiting) = renderer.load();
                let help = "Pictures that are being rendered";
                write_metric(encoder, "renderings_under_way", help, &gauge_of(busy))?;
                write_metric(
                    encoder,
                    "renderings_waiting",
                    "Pictures that wait to be rendered",
                    &gauge_of(waiting),
                )
            }));
        }
    }
}
