//! Metrics whose values are read at each scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;

/// Returns a collector of the metrics that `write` writes at each scrape.
pub fn collector(
    write: impl Fn(&mut DescriptorEncoder<'_>) -> fmt::Result + Send + Sync + 'static,
) -> Box<dyn Collector> {
    Box::new(FnCollector(write))
}

/// Writes a metric without labels.
pub fn write_metric(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: &impl EncodeMetric,
) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}

/// Returns a gauge of `number`, or of the largest possible value.
pub fn gauge_of(number: impl TryInto<i64>) -> ConstGauge<i64> {
    ConstGauge::new(number.try_into().unwrap_or(i64::MAX))
}

/// A collector that calls a function.
struct FnCollector<W>(W);

impl<W> fmt::Debug for FnCollector<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FnCollector")
    }
}

impl<W: Fn(&mut DescriptorEncoder<'_>) -> fmt::Result + Send + Sync + 'static> Collector for FnCollector<W> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        (self.0)(&mut encoder)
    }
}
