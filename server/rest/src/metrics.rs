//! What operators can watch beside other services. In PostgREST's place there are PostgREST's own metrics, see `admin`.

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::service::Rest;

impl Rest {
    /// Adds the service's metrics to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("rest");
        registry.register_collector(Box::new(State(self.clone())));
    }
}

/// What is read at each scrape.
struct State(Rest);

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("State")
    }
}

impl Collector for State {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (loads, plans) = (self.0.cache().loads(), self.0.plans().statistics());
        let (succeeded, failed, took) = loads.figures();
        let mut metric = encoder.encode_descriptor(
            "schema_cache_loads",
            "Loads of the schema cache",
            None,
            MetricType::Counter,
        )?;
        for (outcome, count) in [("ok", succeeded), ("failed", failed)] {
            ConstCounter::new(count).encode(metric.encode_family(&[("outcome", outcome)])?)?;
        }
        let mut write = |name, help, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        let took = ConstGauge::new(took.as_secs_f64());
        write("schema_cache_load_seconds", "Time that the last load of the schema cache took", &took)?;
        let age = ConstGauge::new(loads.age().unwrap_or(Duration::ZERO).as_secs_f64());
        write("schema_cache_age_seconds", "Time since the schema cache was loaded", &age)?;
        let hits = ConstCounter::new(plans.hits);
        write("plan_cache_hits", "Requests that were like an earlier one", &hits)?;
        let misses = ConstCounter::new(plans.misses);
        write("plan_cache_misses", "Requests that were planned", &misses)?;
        let (entries, bytes) = (ConstGauge::new(gauge(plans.entries)), ConstGauge::new(gauge(plans.bytes)));
        write("plan_cache_entries", "Plans that are kept", &entries)?;
        write("plan_cache_bytes", "Memory that they take, by estimate", &bytes)
    }
}

fn gauge(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
