//! Sends the metrics of `/metrics` under the same names, except for the suffix `_total`, which collectors add again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource as ResourceMessage;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_sdk::Resource;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::SCOPE;
use crate::collector::Collector;
use crate::openmetrics::{self, Family, Sample};

/// The sender of metrics.
#[derive(Debug)]
pub(crate) struct Reporter {
    collector: Collector,
    resource: ResourceMessage,
    interval: Duration,
    started: SystemTime,
}

impl Reporter {
    pub(crate) fn new(collector: Collector, resource: &Resource, interval: Duration) -> Self {
        let attributes = ResourceAttributesWithSchema::from(resource).attributes.0;
        let resource = ResourceMessage { attributes, ..ResourceMessage::default() };
        Self { collector, resource, interval, started: SystemTime::now() }
    }

    /// Sends the metrics that `metrics` returns at intervals until `stop`, and then once more.
    pub(crate) async fn run(self, metrics: impl Fn() -> String, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is immediate, when there is nothing to send yet.
        ticks.tick().await;
        let mut is_running = true;
        while is_running {
            is_running = stop.run_until_cancelled(ticks.tick()).await.is_some();
            let message = self.message(&metrics(), SystemTime::now());
            let count = message.resource_metrics.iter().flat_map(|all| &all.scope_metrics);
            let count = count.map(|scope| scope.metrics.len()).sum();
            self.collector.send(&message, count, "metrics").await;
        }
    }

    fn message(&self, text: &str, now: SystemTime) -> ExportMetricsServiceRequest {
        let times = Times { start: nanoseconds(self.started), now: nanoseconds(now) };
        let metrics =
            openmetrics::parse(text).into_iter().filter_map(|family| times.metric(family)).collect();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let scope =
            InstrumentationScope { name: SCOPE.to_owned(), version, ..InstrumentationScope::default() };
        let scope = ScopeMetrics { scope: Some(scope), metrics, schema_url: String::new() };
        let resource = Some(self.resource.clone());
        let all = ResourceMetrics { resource, scope_metrics: vec![scope], schema_url: String::new() };
        ExportMetricsServiceRequest { resource_metrics: vec![all] }
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The period in which values are counted, in nanoseconds of Unix time.
struct Times {
    start: u64,
    now: u64,
}

impl Times {
    /// Converts `family` to OTLP; `None` for a kind that OTLP does not have.
    fn metric(&self, family: Family) -> Option<Metric> {
        let Family { name, kind, help, samples } = family;
        let cumulative = i32::from(AggregationTemporality::Cumulative);
        let data = match kind.as_str() {
            "counter" => Data::Sum(Sum {
                data_points: self.numbers(samples, "_total", self.start),
                aggregation_temporality: cumulative,
                is_monotonic: true,
            }),
            "gauge" => Data::Gauge(Gauge { data_points: self.numbers(samples, "", 0) }),
            "info" => Data::Gauge(Gauge { data_points: self.numbers(samples, "_info", 0) }),
            "histogram" => Data::Histogram(Histogram {
                data_points: self.histograms(samples),
                aggregation_temporality: cumulative,
            }),
            _ => return None,
        };
        let name = if kind == "info" { format!("{name}_info") } else { name };
        let unit = [("_seconds", "s"), ("_bytes", "By")].iter().find(|(suffix, _)| name.ends_with(suffix));
        let unit = unit.map_or("", |(_, unit)| unit).to_owned();
        Some(Metric { name, description: help, unit, data: Some(data), ..Metric::default() })
    }

    fn numbers(&self, samples: Vec<Sample>, suffix: &str, start: u64) -> Vec<NumberDataPoint> {
        let samples = samples.into_iter().filter(|sample| sample.suffix == suffix);
        let point = |sample: Sample| NumberDataPoint {
            attributes: attributes(sample.labels),
            start_time_unix_nano: start,
            time_unix_nano: self.now,
            value: Some(Value::AsDouble(sample.value)),
            ..NumberDataPoint::default()
        };
        samples.map(point).collect()
    }

    fn histograms(&self, samples: Vec<Sample>) -> Vec<HistogramDataPoint> {
        let mut points: Vec<(Vec<(String, String)>, HistogramDataPoint)> = Vec::new();
        for Sample { suffix, mut labels, value } in samples {
            let bound = labels.iter().position(|(name, _)| name == "le").map(|at| labels.remove(at).1);
            if points.last().is_none_or(|(known, _)| *known != labels) {
                let point = HistogramDataPoint {
                    attributes: attributes(labels.clone()),
                    start_time_unix_nano: self.start,
                    time_unix_nano: self.now,
                    ..HistogramDataPoint::default()
                };
                points.push((labels, point));
            }
            let Some((_, point)) = points.last_mut() else { continue };
            match (suffix.as_str(), bound) {
                ("_sum", _) => point.sum = Some(value),
                ("_count", _) => point.count = value as u64,
                ("_bucket", Some(bound)) => {
                    // OTLP's buckets are counted separately, those of OpenMetrics up to their bound.
                    let before: u64 = point.bucket_counts.iter().sum();
                    point.bucket_counts.push((value as u64).saturating_sub(before));
                    point.explicit_bounds.extend(bound.parse::<f64>().ok().filter(|bound| bound.is_finite()));
                }
                _ => {}
            }
        }
        points.into_iter().map(|(_, point)| point).collect()
    }
}

fn attributes(labels: Vec<(String, String)>) -> Vec<KeyValue> {
    let attribute = |(key, value)| KeyValue {
        key,
        value: Some(AnyValue { value: Some(any_value::Value::StringValue(value)) }),
        ..KeyValue::default()
    };
    labels.into_iter().map(attribute).collect()
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::family::Family as Labelled;
    use prometheus_client::metrics::histogram::Histogram as Measured;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn histograms_have_counts_for_each_of_their_buckets() {
        let mut registry = Registry::default();
        let durations: Labelled<[(&'static str, &'static str); 1], Measured> =
            Labelled::new_with_constructor(|| Measured::new([0.5, 1.0]));
        for (service, seconds) in [("a", 0.1), ("a", 0.2), ("a", 0.7), ("b", 9.0)] {
            durations.get_or_create(&[("service", service)]).observe(seconds);
        }
        registry.register("took_seconds", "Time", durations);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let family = openmetrics::parse(&text).remove(0);
        let metric = Times { start: 1, now: 2 }.metric(family).unwrap();
        assert_eq!((metric.name.as_str(), metric.unit.as_str()), ("took_seconds", "s"));
        let Some(Data::Histogram(histogram)) = metric.data else { panic!("{metric:?}") };
        let mut points: Vec<_> = histogram
            .data_points
            .into_iter()
            .map(|point| (point.count, point.sum, point.bucket_counts, point.explicit_bounds))
            .collect();
        points.sort_by_key(|point| point.0);
        let bounds = vec![0.5, 1.0];
        assert_eq!(
            points,
            [(1, Some(9.0), vec![0, 0, 1], bounds.clone()), (3, Some(1.0), vec![2, 1, 0], bounds)]
        );
    }
}
