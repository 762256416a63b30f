//! The metrics of PostgREST's admin server, under PostgREST's names.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use prometheus_client::registry::Registry;
use tokens::Verifier;

use crate::service::Rest;

/// Returns the metrics of `rest` in Prometheus' text format, version 0.0.4, as PostgREST returns them.
///
/// Errors: none that a text is known to cause.
pub(super) fn text(rest: &Rest) -> Result<String, fmt::Error> {
    let rest = rest.clone();
    let mut registry = Registry::with_prefix("pgrst");
    registry.register_collector(telemetry::collector(move |encoder| write(&rest, encoder)));
    let mut text = String::new();
    encode_registry(&mut text, &registry)?;
    Ok(text)
}

/// Writes the metrics with their values of this moment.
///
/// Counters are encoded as gauges are, under names that end in `_total` already: in the text format the type's line has
/// the whole name of a counter. Only OpenMetrics, for which the library makes that line, leaves the suffix out there.
fn write(rest: &Rest, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (succeeded, failed, query_time) = rest.cache().loads().figures();
    let help = "The query time in seconds of the last schema cache load";
    let mut metric = encoder.encode_descriptor("schema_cache_query_time_seconds", help, None, Gauge)?;
    metric.encode_gauge(&query_time.as_secs_f64())?;
    let help = "The total number of times the schema cache was loaded";
    let mut metric = encoder.encode_descriptor("schema_cache_loads_total", help, None, Counter)?;
    for (status, count) in [("SUCCESS", succeeded), ("FAIL", failed)] {
        metric.encode_family(&[("status", status)])?.encode_gauge(&count)?;
    }
    let pool = rest.database().pool_statistics();
    let [available, waiting, max] = [pool.available, pool.waiting, pool.max].map(|count| count as u64);
    let configuration = rest.current_configuration();
    let tokens = configuration.verifier.as_ref().map(Verifier::cache_statistics).unwrap_or_default();
    for (name, kind, help, value) in [
        ("db_pool_timeouts_total", Counter, "The total number of pool connection timeouts", pool.timeouts),
        ("db_pool_available", Gauge, "Available connections in the pool", available),
        ("db_pool_waiting", Gauge, "Requests waiting to acquire a pool connection", waiting),
        ("db_pool_max", Gauge, "Max pool connections", max),
        ("jwt_cache_requests_total", Counter, "The total number of JWT cache lookups", tokens.requests),
        ("jwt_cache_hits_total", Counter, "The total number of JWT cache hits", tokens.hits),
        ("jwt_cache_evictions_total", Counter, "The total number of JWT cache evictions", tokens.evictions),
    ] {
        encoder.encode_descriptor(name, help, None, kind)?.encode_gauge(&value)?;
    }
    Ok(())
}
