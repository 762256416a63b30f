//! The export of spans to a collector, and without one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use std::io::Read as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use http::{HeaderMap, HeaderValue};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span as SentSpan;
use otlp::{Compression, Export, ExporterKind, SamplerKind, Settings};
use poem::listener::{Acceptor as _, Listener as _, TcpListener};
use poem::{Server, endpoint};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use prost::Message as _;
use tokio::net::TcpListener as Silent;

const PARENT: &str = "0af7651916cd43dd8448eb211c80319c";
const PATIENCE: Duration = Duration::from_secs(60);

/// Path, headers and body of a request.
type Post = (String, HeaderMap, Vec<u8>);

/// A collector and the requests that it has received.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Post>>>);

impl Collector {
    async fn listen() -> (Self, String) {
        let collector = Self::default();
        let got = collector.clone();
        let take = endpoint::make(move |mut request: poem::Request| {
            let got = got.clone();
            async move {
                let body = request.take_body().into_vec().await.unwrap();
                let body = match request.header("content-encoding") {
                    Some("gzip") => {
                        let mut plain = Vec::new();
                        GzDecoder::new(&*body).read_to_end(&mut plain).unwrap();
                        plain
                    }
                    _ => body,
                };
                let path = request.uri().path().to_owned();
                got.0.lock().unwrap().push((path, request.headers().clone(), body));
                Ok::<_, poem::Error>("")
            }
        });
        let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.unwrap();
        let address = acceptor.local_addr()[0].as_socket_addr().copied().unwrap();
        tokio::spawn(Server::new_with_acceptor(acceptor).run(take));
        (collector, format!("http://{address}"))
    }

    fn spans(&self) -> Vec<SentSpan> {
        let got = self.0.lock().unwrap();
        let bodies = got.iter().filter(|(path, ..)| path == "/v1/traces");
        let requests = bodies.map(|(.., body)| ExportTraceServiceRequest::decode(&**body).unwrap());
        let resources = requests.flat_map(|request| request.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }
}

fn settings(endpoint: &str) -> Settings {
    let metrics_exporter = ExporterKind::None;
    Settings {
        endpoint: Some(endpoint.to_owned()),
        schedule_delay: 20,
        metrics_exporter,
        ..Settings::default()
    }
}

fn parent(flags: &str) -> HeaderMap {
    let value = format!("00-{PARENT}-b7ad6b7169203331-{flags}");
    HeaderMap::from_iter([("traceparent".parse().unwrap(), HeaderValue::try_from(value).unwrap())])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the number of spans with `outcome` according to `/metrics`.
fn count(export: &Export, outcome: &str) -> u64 {
    let mut registry = Registry::default();
    export.register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    let prefix = format!("telemetry_spans_total{{outcome=\"{outcome}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap().parse().unwrap()
}

async fn wait_until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < PATIENCE, "it did not happen in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn spans_reach_the_collector_as_parts_of_the_clients_trace() {
    let (collector, endpoint) = Collector::listen().await;
    let headers = "authorization=Basic%20aHVudGVyMg%3D%3D";
    let settings = Settings {
        headers: headers.into(),
        compression: Compression::Gzip,
        service_name: Some("shop".to_owned()),
        resource_attributes: "deployment.environment.name=test".to_owned(),
        ..settings(&endpoint)
    };
    let export = Export::start(&settings).unwrap().unwrap();
    let tracer = export.tracer().unwrap();
    let mut request = tracer.begin_request(&parent("01"), "GET /");
    request.set("http.response.status_code", 500);
    request.fail("500");
    drop(request.as_parent().begin("service").unwrap());
    drop(request);
    wait_until(|| collector.spans().len() == 2).await;
    let spans = collector.spans();
    let [service, request] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((service.name.as_str(), request.name.as_str()), ("service", "GET /"));
    assert_eq!(hex(&request.trace_id), PARENT);
    assert_eq!(hex(&request.parent_span_id), "b7ad6b7169203331");
    assert_eq!((&service.trace_id, &service.parent_span_id), (&request.trace_id, &request.span_id));
    assert_eq!(request.status.as_ref().unwrap().code, 2);
    let got = collector.0.lock().unwrap();
    let (_, headers, body) = &got[0];
    assert_eq!(headers["authorization"], "Basic aHVudGVyMg==");
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let resource =
        ExportTraceServiceRequest::decode(&**body).unwrap().resource_spans.remove(0).resource.unwrap();
    let debug_text = format!("{resource:?}");
    assert!(
        debug_text.contains("\"shop\"") && debug_text.contains("deployment.environment.name"),
        "{debug_text}"
    );
}

#[tokio::test]
async fn samplers_decide_what_is_recorded_and_propagated() {
    let (collector, endpoint) = Collector::listen().await;
    let none = HeaderMap::new();
    let (with, without) = (parent("01"), parent("00"));
    for (sampler_kind, sampler_argument, headers, is_recorded) in [
        (SamplerKind::ParentBasedAlwaysOn, 1.0, &none, true),
        (SamplerKind::ParentBasedAlwaysOn, 1.0, &without, false),
        (SamplerKind::ParentBasedAlwaysOff, 1.0, &none, false),
        (SamplerKind::ParentBasedAlwaysOff, 1.0, &with, true),
        (SamplerKind::ParentBasedRatio, 0.0, &none, false),
        (SamplerKind::ParentBasedRatio, 0.0, &with, true),
        (SamplerKind::ParentBasedRatio, 1.0, &without, false),
        (SamplerKind::AlwaysOn, 1.0, &without, true),
        (SamplerKind::AlwaysOff, 1.0, &with, false),
        (SamplerKind::Ratio, 0.0, &with, false),
        (SamplerKind::Ratio, 1.0, &without, true),
    ] {
        let before = collector.spans().len();
        let settings = Settings { sampler_kind, sampler_argument, ..settings(&endpoint) };
        let export = Export::start(&settings).unwrap().unwrap();
        let span = export.tracer().unwrap().begin_request(headers, "GET /");
        let mut injected = HeaderMap::new();
        span.write_to(&mut injected);
        let traceparent = injected["traceparent"].to_str().unwrap().to_owned();
        assert_eq!(traceparent.ends_with("-01"), is_recorded, "{sampler_kind:?} {headers:?}: {traceparent}");
        assert_eq!(
            headers.is_empty(),
            !traceparent.contains(PARENT),
            "the trace stays the client's: {traceparent}"
        );
        assert_eq!(span.as_parent().begin("part").is_some(), is_recorded);
        assert_eq!(span.trace_id().is_some(), is_recorded);
        drop(span);
        export.stop().await;
        let expected = if is_recorded { 2 } else { 0 };
        assert_eq!(collector.spans().len() - before, expected, "{sampler_kind:?} {headers:?}");
    }
}

#[tokio::test]
async fn a_part_of_the_traces_is_recorded() {
    let (collector, endpoint) = Collector::listen().await;
    let settings =
        Settings { sampler_kind: SamplerKind::Ratio, sampler_argument: 0.25, ..settings(&endpoint) };
    let export = Export::start(&settings).unwrap().unwrap();
    let tracer = export.tracer().unwrap();
    for _ in 0..1000 {
        drop(tracer.begin_request(&HeaderMap::new(), "GET /"));
    }
    export.stop().await;
    let recorded = collector.spans().len();
    // Of a thousand traces, 250 are expected, with a standard deviation of 14.
    assert!((150..350).contains(&recorded), "{recorded}");
}

#[tokio::test]
async fn waiting_spans_are_sent_at_the_end() {
    let (collector, endpoint) = Collector::listen().await;
    let settings = Settings { schedule_delay: 600_000, batch_size: 7, ..settings(&endpoint) };
    let export = Export::start(&settings).unwrap().unwrap();
    let tracer = export.tracer().unwrap();
    for _ in 0..20 {
        drop(tracer.begin_request(&HeaderMap::new(), "GET /"));
    }
    export.stop().await;
    assert_eq!((collector.spans().len(), count(&export, "sent")), (20, 20));
    let sizes: Vec<usize> = {
        let got = collector.0.lock().unwrap();
        let decoded = got.iter().map(|(.., body)| ExportTraceServiceRequest::decode(&**body).unwrap());
        decoded.map(|request| request.resource_spans[0].scope_spans[0].spans.len()).collect()
    };
    assert!(sizes.iter().all(|size| *size <= 7), "{sizes:?}");
    drop(tracer.begin_request(&HeaderMap::new(), "after the end"));
    assert_eq!(count(&export, "dropped"), 1);
}

#[tokio::test]
async fn a_collector_that_never_responds_loses_spans_but_delays_no_request() {
    let silent = Silent::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let settings = Settings { queue_size: 100, batch_size: 10, schedule_delay: 0, ..settings(&endpoint) };
    let export = Export::start(&settings).unwrap().unwrap();
    let tracer = export.tracer().unwrap();
    let begun = Instant::now();
    for _ in 0..10_000 {
        drop(tracer.begin_request(&HeaderMap::new(), "GET /"));
    }
    // Far less than the time limit for the collector.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let dropped = count(&export, "dropped");
    assert!(dropped >= 10_000 - 100 - 10, "{dropped}");
    let begun = Instant::now();
    export.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    drop(silent);
}

#[tokio::test]
async fn spans_that_are_refused_are_counted() {
    let closed = Silent::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let export = Export::start(&settings(&format!("http://{closed}"))).unwrap().unwrap();
    drop(export.tracer().unwrap().begin_request(&HeaderMap::new(), "GET /"));
    wait_until(|| count(&export, "failed") == 1).await;
    assert_eq!((count(&export, "sent"), count(&export, "dropped")), (0, 0));
}

#[tokio::test]
async fn metrics_are_sent_at_intervals_and_at_the_end() {
    let (collector, endpoint) = Collector::listen().await;
    let settings = Settings {
        traces_exporter: ExporterKind::None,
        metrics_exporter: ExporterKind::Otlp,
        metric_interval: 20,
        ..settings(&endpoint)
    };
    let mut export = Export::start(&settings).unwrap().unwrap();
    assert!(export.tracer().is_none());
    let sent = || {
        let got = collector.0.lock().unwrap();
        assert!(got.iter().all(|(path, ..)| path == "/v1/metrics"));
        got.iter().map(|(.., body)| ExportMetricsServiceRequest::decode(&**body).unwrap()).collect::<Vec<_>>()
    };
    export.report(|| {
        "# HELP shop_sold Things sold.\n# TYPE shop_sold counter\nshop_sold_total{what=\"lamp\"} 7\n# EOF\n".to_owned()
    });
    wait_until(|| sent().len() >= 2).await;
    export.stop().await;
    let metric = sent().remove(0).resource_metrics.remove(0).scope_metrics.remove(0).metrics.remove(0);
    assert_eq!((metric.name.as_str(), metric.description.as_str()), ("shop_sold", "Things sold."));
    let debug_text = format!("{:?}", metric.data);
    assert!(
        debug_text.contains("is_monotonic: true")
            && debug_text.contains("AsDouble(7.0)")
            && debug_text.contains("lamp"),
        "{debug_text}"
    );
}

#[tokio::test]
async fn nothing_is_started_unless_it_is_configured() {
    assert!(Export::start(&Settings::default()).unwrap().is_none());
    let settings = Settings { disabled: true, ..settings("http://127.0.0.1:1") };
    assert!(Export::start(&settings).unwrap().is_none());
}
