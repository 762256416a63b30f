//! The metrics of a service that runs together with others. A service that replaces PostgREST has PostgREST's own
//! metrics, see `admin`.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use telemetry::{gauge_of, write_metric};

use crate::service::Rest;

impl Rest {
    /// Adds the service's metrics to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("rest");
        let rest = self.clone();
        registry.register_collector(telemetry::collector(move |encoder| write(&rest, encoder)));
    }
}

fn write(rest: &Rest, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (loads, plans) = (rest.cache().loads(), rest.plans().statistics());
    let (succeeded, failed, took) = loads.figures();
    let help = "Loads of the schema cache";
    let mut metric = encoder.encode_descriptor("schema_cache_loads", help, None, MetricType::Counter)?;
    for (outcome, count) in [("ok", succeeded), ("failed", failed)] {
        ConstCounter::new(count).encode(metric.encode_family(&[("outcome", outcome)])?)?;
    }
    let age = loads.age().unwrap_or(Duration::ZERO);
    for (name, help, time) in [
        ("schema_cache_load_seconds", "Time that the last load of the schema cache took", took),
        ("schema_cache_age_seconds", "Time since the schema cache was loaded", age),
    ] {
        write_metric(encoder, name, help, &ConstGauge::new(time.as_secs_f64()))?;
    }
    for (name, help, count) in [
        ("plan_cache_hits", "Requests that were like an earlier one", plans.hits),
        ("plan_cache_misses", "Requests that were planned", plans.misses),
    ] {
        write_metric(encoder, name, help, &ConstCounter::new(count))?;
    }
    write_metric(encoder, "plan_cache_entries", "Plans that are kept", &gauge_of(plans.entries))?;
    write_metric(encoder, "plan_cache_bytes", "Memory that they take, by estimate", &gauge_of(plans.bytes))
}
