//! The metric of problems.

use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::monitor::Monitor;

/// Adds the number of problems that `monitor` knows to `registry`, by name and severity.
pub(crate) fn register(monitor: &Monitor, registry: &mut Registry) {
    let monitor = monitor.clone();
    registry.register_collector(telemetry::collector(move |encoder| {
        let help = "Problems that the server has found, by their name";
        let mut metric = encoder.encode_descriptor("problems", help, None, MetricType::Gauge)?;
        let list = monitor.list();
        for ((name, severity), count) in list.iter().flat_map(|list| list.counts()) {
            let labels = [("name", name), ("severity", severity.name())];
            metric.encode_family(&labels)?.encode_gauge(&count)?;
        }
        Ok(())
    }));
}
