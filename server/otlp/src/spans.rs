//! The queue of ended spans, which are sent in batches.

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
use prometheus_client::encoding::EncodeMetric as _;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

use crate::collector::Collector;
use crate::settings::Settings;

/// Numbers of spans by their outcome.
#[derive(Debug, Default)]
pub(crate) struct SpanCounts {
    sent: AtomicU64,
    /// Spans that did not fit into the queue.
    dropped: AtomicU64,
    /// Spans that the collector did not accept.
    failed: AtomicU64,
}

/// Returns the metrics of `counts`.
pub(crate) fn metrics(counts: Arc<SpanCounts>) -> Box<dyn prometheus_client::collector::Collector> {
    telemetry::collector(move |encoder| {
        let help = "Spans, by what became of them: sent, dropped since the queue was full, or failed";
        let mut metric = encoder.encode_descriptor("telemetry_spans", help, None, MetricType::Counter)?;
        let counts = [("sent", &counts.sent), ("dropped", &counts.dropped), ("failed", &counts.failed)];
        for (outcome, count) in counts {
            let labels = [("outcome", outcome)];
            let count = count.load(Ordering::Relaxed);
            ConstCounter::new(count).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    })
}

/// The sending end of the queue. Adding a span does not wait.
#[derive(Debug)]
pub(crate) struct Queue {
    sender: Sender<SpanData>,
    counts: Arc<SpanCounts>,
}

/// The receiving end of the queue.
pub(crate) struct Spans {
    receiver: Receiver<SpanData>,
    counts: Arc<SpanCounts>,
}

impl Queue {
    /// Returns the two ends of a queue for up to `size` spans.
    pub(crate) fn new(size: usize, counts: Arc<SpanCounts>) -> (Self, Spans) {
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
    /// Sends the spans to `collector` until `stop`, and then the remaining ones.
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

    /// Returns the next batch of up to `most` spans: waits for the first one, and then for others at most as long as
    /// `delay`. Returns `None` when there will be no more spans.
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
