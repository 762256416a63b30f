//! Sends spans and metrics to an OpenTelemetry collector, by OTLP over HTTP with protobuf.
//!
//! `spans` is a bounded queue, to which requests add their spans without waiting, and a task that sends them; `metrics`
//! sends the metrics of `/metrics` at intervals; `collector` is the HTTP client of both. If the collector is down,
//! spans are lost, but no request waits or fails.
//!
//! Source: the OpenTelemetry specification, "OTLP" and "Environment variables".

mod collector;
mod metrics;
mod openmetrics;
mod resource;
mod settings;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use prometheus_client::registry::Registry;
use telemetry::Tracer;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use settings::{Compression, ExporterKind, Protocol, SamplerKind, Settings};

use collector::Collector;
use spans::{Queue, SpanCounts};

/// How long the shutdown waits for the last spans and metrics.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// The name of the instrumentation scope of spans and metrics.
const SCOPE: &str = "basalt";

/// The export to a collector, in the background.
#[derive(Debug)]
pub struct Export {
    provider: Option<SdkTracerProvider>,
    counts: Arc<SpanCounts>,
    metrics: Option<metrics::Reporter>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Export {
    /// Starts the export that `settings` configure; `None` if they configure none. Must be called inside a Tokio
    /// runtime.
    ///
    /// Errors: a sentence when TLS cannot be set up.
    pub fn start(settings: &Settings) -> Result<Option<Self>, String> {
        let (traces, reports) = (settings.traces(), settings.metrics());
        if traces.is_none() && reports.is_none() {
            return Ok(None);
        }
        let resource = resource::of(settings);
        let (counts, stop, tasks) =
            (Arc::<SpanCounts>::default(), CancellationToken::new(), TaskTracker::new());
        let provider = traces.map(Collector::new).transpose()?.map(|collector| {
            let (queue, spans) = Queue::new(settings.queue_size, Arc::clone(&counts));
            tasks.spawn(spans.send(collector, &resource, settings, stop.clone()));
            let provider = SdkTracerProvider::builder().with_sampler(settings.sampler());
            provider.with_resource(resource.clone()).with_span_processor(queue).build()
        });
        let metrics = reports.map(Collector::new).transpose()?.map(|collector| {
            let interval = Duration::from_millis(settings.metric_interval.max(1));
            metrics::Reporter::new(collector, &resource, interval)
        });
        Ok(Some(Self { provider, counts, metrics, stop, tasks }))
    }

    /// Returns the tracer; `None` if only metrics are sent.
    pub fn tracer(&self) -> Option<Tracer> {
        self.provider.as_ref().map(|provider| Tracer::new(provider.tracer(SCOPE)))
    }

    /// Starts to send metrics, if the settings say so. `metrics` returns them in the text format of OpenMetrics.
    pub fn report(&mut self, metrics: impl Fn() -> String + Send + Sync + 'static) {
        if let Some(reporter) = self.metrics.take() {
            self.tasks.spawn(reporter.run(metrics, self.stop.clone()));
        }
    }

    /// Registers the metrics of the export itself.
    pub fn register(&self, registry: &mut Registry) {
        registry.register_collector(spans::metrics(Arc::clone(&self.counts)));
    }

    /// Sends the last spans and metrics, for a few seconds at most, and ends the export.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_LIMIT, self.tasks.wait()).await.is_err() {
            tracing::warn!("the collector did not take the last spans and metrics in time");
        }
    }
}
