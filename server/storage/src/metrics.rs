//! The service's metrics.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

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
pub(crate) struct Renderings(pub(crate) Family<[(&'static str, &'static str); 1], Counter>);

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
