//! Spans that have ended wait in a queue until there are enough of them, or a moment has passed.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use prometheus_client::collector::Collector as Source;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

use crate::collector::Collector;
use crate::settings::Settings;

/// What became of spans.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    sent: AtomicU64,
    /// Those that found the queue full.
    dropped: AtomicU64,
    /// Those that the collector did not take.
    failed: AtomicU64,
}

impl Counts {
    pub(crate) fn register(self: &Arc<Self>, registry: &mut Registry) {
        registry.register_collector(Box::new(Arc::clone(self)));
    }
}

impl Source for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Spans, by what became of them: sent, dropped since the queue was full, or failed";
        let mut metric = encoder.encode_descriptor("telemetry_spans", help, None, MetricType::Counter)?;
        for (outcome, count) in [("sent", &self.sent), ("dropped", &self.dropped), ("failed", &self.failed)] {
            let labels = [("outcome", outcome)];
            let count = count.load(Ordering::Relaxed);
            ConstCounter::new(count).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// Where spans go that have ended. Nothing here waits.
#[derive(Debug)]
pub(crate) struct Queue {
    sender: Sender<SpanData>,
    counts: Arc<Counts>,
}

/// The other end of a [`Queue`].
pub(crate) struct Spans {
    receiver: Receiver<SpanData>,
    counts: Arc<Counts>,
}

impl Queue {
    /// Returns a queue for up to `size` spans, and its other end.
    pub(crate) fn new(size: usize, counts: Arc<Counts>) -> (Self, Spans) {
        let (sender, receiver) = channel(size.max(1));
        (Self { sender, counts: Arc::clone(&counts) }, Spans { receiver, counts })
    }
}

impl SpanProcessor for Queue {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.sender.try_send(span).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

impl Spans {
    /// Sends what comes to `collector` until `stop`, and then what is left.
    pub(crate) fn send(
        mut self,
        collector: Collector,
        resource: &Resource,
        settings: &Settings,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + use<> {
        let resource = ResourceAttributesWithSchema::from(resource);
        let (most, delay) = (settings.batch_size.max(1), Duration::from_millis(settings.schedule_delay));
        async move {
            while let Some(batch) = self.next(most, delay, &stop).await {
                let count = batch.len();
                let spans = group_spans_by_resource_and_scope(batch, &resource);
                let message = ExportTraceServiceRequest { resource_spans: spans };
                let is_sent = collector.send(&message, count, "spans").await;
                let counter = if is_sent { &self.counts.sent } else { &self.counts.failed };
                counter.fetch_add(count as u64, Ordering::Relaxed);
            }
        }
    }

    /// Waits for up to `most` spans; after the first one for as long as `delay`. `None` when there will be no more.
    async fn next(
        &mut self,
        most: usize,
        delay: Duration,
        stop: &CancellationToken,
    ) -> Option<Vec<SpanData>> {
        let mut batch = Vec::with_capacity(most.min(64));
        let filled = async {
            if self.receiver.recv_many(&mut batch, most).await == 0 {
                return;
            }
            let more = async {
                while batch.len() < most {
                    let room = most - batch.len();
                    if self.receiver.recv_many(&mut batch, room).await == 0 {
                        return;
                    }
                }
            };
            let _ = tokio::time::timeout(delay, more).await;
        };
        if stop.run_until_cancelled(filled).await.is_none() {
            self.receiver.close();
            while batch.len() < most
                && let Ok(span) = self.receiver.try_recv()
            {
                batch.push(span);
            }
        }
        (!batch.is_empty()).then_some(batch)
    }
}
