//! Sends spans and metrics to an OpenTelemetry collector, by OTLP over HTTP with protobuf.
//!
//! `spans` is a queue of limited length, which requests put their spans into without waiting, and a task that sends
//! them; `metrics` sends what `/metrics` shows, at intervals; `collector` is the HTTP client of both. What cannot be sent
//! is lost: a collector that is down costs spans, never requests.
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
use spans::{Counts, Queue};

/// How long the end waits for what is still to be sent.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// The name of the part of the program that spans and metrics come from.
const SCOPE: &str = "basalt";

/// What sends to a collector, in the background.
#[derive(Debug)]
pub struct Export {
    provider: Option<SdkTracerProvider>,
    counts: Arc<Counts>,
    metrics: Option<metrics::Reporter>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Export {
    /// Starts to send what `settings` ask for; `None` if that is nothing. Must be called inside a Tokio runtime.
    ///
    /// Errors: a sentence when TLS cannot be set up.
    pub fn start(settings: &Settings) -> Result<Option<Self>, String> {
        let (traces, reports) = (settings.traces(), settings.metrics());
        if traces.is_none() && reports.is_none() {
            return Ok(None);
        }
        let resource = resource::of(settings);
        let (counts, stop, tasks) = (Arc::<Counts>::default(), CancellationToken::new(), TaskTracker::new());
        let provider = match traces {
            Some(target) => {
                let (queue, spans) = Queue::new(settings.queue_size, Arc::clone(&counts));
                let collector = Collector::new(target)?;
                tasks.spawn(spans.send(collector, &resource, settings, stop.clone()));
                let provider = SdkTracerProvider::builder().with_sampler(settings.sampler());
                Some(provider.with_resource(resource.clone()).with_span_processor(queue).build())
            }
            None => None,
        };
        let metrics = match reports {
            Some(target) => {
                let interval = Duration::from_millis(settings.metric_interval.max(1));
                Some(metrics::Reporter::new(Collector::new(target)?, &resource, interval))
            }
            None => None,
        };
        Ok(Some(Self { provider, counts, metrics, stop, tasks }))
    }

    /// Returns what makes spans; `None` if only metrics are sent.
    pub fn tracer(&self) -> Option<Tracer> {
        self.provider.as_ref().map(|provider| Tracer::new(provider.tracer(SCOPE)))
    }

    /// Starts to send the metrics that `metrics` returns in the text format of OpenMetrics, if they are to be sent.
    pub fn report(&mut self, metrics: impl Fn() -> String + Send + Sync + 'static) {
        if let Some(reporter) = self.metrics.take() {
            self.tasks.spawn(reporter.run(metrics, self.stop.clone()));
        }
    }

    /// Adds metrics of its own to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        self.counts.register(registry);
    }

    /// Sends what is left, for a few seconds at most, and ends.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_LIMIT, self.tasks.wait()).await.is_err() {
            tracing::warn!("the collector did not take the last spans and metrics in time");
        }
    }
}
