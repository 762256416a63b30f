//! Adds the metrics to a registry: counters, and gauges that are read at each scrape.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::Inner;
use crate::metrics::Metrics;
use crate::worker::{Processes, Slot};

/// Registers the metrics, with the prefix `functions_`.
pub(crate) fn register(functions: &Arc<Inner>, registry: &mut Registry) {
    let registry = registry.sub_registry_with_prefix("functions");
    let Metrics { starts, ends } = &functions.host.metrics;
    registry.register("starts", "Starts of processes", starts.clone());
    registry.register("ends", "Ends of processes, by their reason", ends.clone());
    let functions = Arc::downgrade(functions);
    registry.register_collector(telemetry::collector(move |encoder| match functions.upgrade() {
        Some(functions) => write(&functions, encoder),
        None => Ok(()),
    }));
}

/// A metric that is read at each scrape: its name, its help, and how to read it.
type Reading = (&'static str, &'static str, fn(&Slot) -> usize);

const READINGS: [Reading; 4] = [
    ("processes", "Processes that run", |slot| usize::from(slot.is_running())),
    ("calls_under_way", "Calls that a process has, or that wait for it to start", Slot::calls_under_way),
    ("calls_waiting", "Calls that wait for another one to end", Slot::calls_waiting),
    ("sockets", "Open WebSockets", Slot::sockets_open),
];

fn write(functions: &Inner, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let known: Vec<Arc<Processes>> = functions.processes.read().values().cloned().collect();
    for (name, help, read) in READINGS {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for processes in &known {
            let labels = [("function", processes.deployed().name.as_str())];
            let all: usize = processes.slots().iter().map(|slot| read(slot)).sum();
            metric.encode_family(&labels)?.encode_gauge(&all)?;
        }
    }
    Ok(())
}
