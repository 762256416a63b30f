//! The metrics of PostgREST's admin server, under PostgREST's names.

use std::fmt;
use std::time::Duration;

use database::PoolStatistics;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, MetricEncoder};
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use prometheus_client::registry::Registry;
use tokens::CacheStatistics;

use crate::service::Rest;

/// Returns the metrics of `rest` in Prometheus' text format, version 0.0.4, which is what PostgREST answers.
///
/// Errors: none that a text is known to cause.
pub(super) fn text(rest: &Rest) -> Result<String, fmt::Error> {
    let (succeeded, failed, query_time) = rest.cache().loads().figures();
    let statistics = Statistics {
        loads: Loads { succeeded, failed },
        query_time,
        pool: rest.database().pool_statistics(),
        tokens: rest
            .current_configuration()
            .verifier
            .as_ref()
            .map(tokens::Verifier::cache_statistics)
            .unwrap_or_default(),
    };
    let mut registry = Registry::with_prefix("pgrst");
    registry.register_collector(Box::new(statistics));
    let mut text = String::new();
    encode_registry(&mut text, &registry)?;
    Ok(text)
}

/// The values at the moment of a scrape.
#[derive(Debug)]
struct Statistics {
    loads: Loads,
    query_time: Duration,
    pool: PoolStatistics,
    tokens: CacheStatistics,
}

impl Collector for Statistics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self { loads, query_time, pool, tokens } = self;
        let mut metric = |name, kind, help, value: &dyn Value| {
            value.encode(encoder.encode_descriptor(name, help, None, kind)?)
        };
        metric(
            "schema_cache_query_time_seconds",
            Gauge,
            "The query time in seconds of the last schema cache load",
            &query_time.as_secs_f64(),
        )?;
        metric(
            "schema_cache_loads_total",
            Counter,
            "The total number of times the schema cache was loaded",
            loads,
        )?;
        metric(
            "db_pool_timeouts_total",
            Counter,
            "The total number of pool connection timeouts",
            &pool.timeouts,
        )?;
        metric("db_pool_available", Gauge, "Available connections in the pool", &pool.available)?;
        metric("db_pool_waiting", Gauge, "Requests waiting to acquire a pool connection", &pool.waiting)?;
        metric("db_pool_max", Gauge, "Max pool connections", &pool.max)?;
        metric(
            "jwt_cache_requests_total",
            Counter,
            "The total number of JWT cache lookups",
            &tokens.requests,
        )?;
        metric("jwt_cache_hits_total", Counter, "The total number of JWT cache hits", &tokens.hits)?;
        metric(
            "jwt_cache_evictions_total",
            Counter,
            "The total number of JWT cache evictions",
            &tokens.evictions,
        )
    }
}

/// The value of a metric, or its values by the label `status`.
///
/// Counters are encoded as gauges are, under names that end in `_total` already: in the text format the type's line has
/// the whole name of a counter. Only OpenMetrics, for which the library makes that line, leaves the suffix out there.
trait Value {
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result;
}

impl<V: EncodeGaugeValue> Value for V {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(self)
    }
}

/// Loads of the schema cache.
#[derive(Debug)]
struct Loads {
    succeeded: u64,
    failed: u64,
}

impl Value for Loads {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_family(&[("status", "SUCCESS")])?.encode_gauge(&self.succeeded)?;
        encoder.encode_family(&[("status", "FAIL")])?.encode_gauge(&self.failed)
    }
}
