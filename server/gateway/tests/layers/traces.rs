//! The spans of requests.

use std::collections::BTreeMap;

use gateway::{Gateway, Settings};
use http::uri::Scheme;
use http::{Method, StatusCode};
use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use poem::endpoint::make;
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Body, Endpoint, EndpointExt as _, Request, RequestBuilder, RequestParts, Response, Route};
use telemetry::{Tracer, begin_call};
use tokens::{KeyOverrides, Keys};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";

/// Returns a gateway with a tracer, and the exporter of its spans.
fn traced() -> (Gateway, InMemorySpanExporter) {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::load_or_create(&folder.path().join("keys.json"), KeyOverrides::default()).unwrap();
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let tracer = Tracer::new(provider.tracer("test"));
    (Gateway::new(Settings::default(), keys, Some(tracer)), exporter)
}

/// Returns a service that calls another server, and responds with the `traceparent` that it sends there.
fn caller(status: StatusCode) -> impl Endpoint<Output = Response> {
    make(move |mut request: Request| async move {
        let before = request.header("traceparent").map(str::to_owned);
        drop(begin_call("GET", request.headers_mut()));
        let sent = request.header("traceparent").unwrap_or("nothing").to_owned();
        let body = if before.as_ref() == Some(&sent) { "unchanged".to_owned() } else { sent };
        Ok::<_, poem::Error>(Response::builder().status(status).body(body))
    })
}

/// Sends `request` to `service` as a server does, with its original URI, and returns the body of the response.
async fn ask(service: &impl Endpoint<Output = Response>, request: RequestBuilder) -> String {
    let request = request.finish();
    let builder = http::Request::builder().method(request.method()).uri(request.uri());
    let (mut parts, ()) = builder.body(()).unwrap().into_parts();
    parts.headers = request.headers().clone();
    let parts = RequestParts::from((parts, LocalAddr::default(), RemoteAddr::default(), Scheme::HTTP));
    let request = Request::from_parts(parts, Body::empty());
    service.call(request).await.unwrap().into_body().into_string().await.unwrap()
}

fn get(uri: &str) -> RequestBuilder {
    Request::builder().method(Method::GET).uri_str(uri)
}

fn attributes(span: &SpanData) -> BTreeMap<&str, String> {
    span.attributes.iter().map(|attribute| (attribute.key.as_str(), attribute.value.to_string())).collect()
}

#[tokio::test]
async fn a_request_its_service_and_its_calls_are_one_trace() {
    let (gateway, exporter) = traced();
    let things = caller(StatusCode::OK).before(async |request| {
        telemetry::name_route("/{thing}");
        Ok(request)
    });
    let service = Route::new().nest("/things/v1", gateway.open("things", things));
    let request =
        get("http://shop.example:8080/things/v1/lamp?token=hunter2").header("host", "shop.example:8080");
    let sent = ask(&service.map_to_response(), request.header("traceparent", format!("{PARENT}-01"))).await;
    let spans = exporter.get_finished_spans().unwrap();
    let [call, service, request] = &spans[..] else { panic!("{spans:?}") };
    let id = |span: &SpanData| span.span_context.span_id();
    assert_eq!(sent, format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", id(call)));
    assert_eq!((call.parent_span_id, service.parent_span_id), (id(service), id(request)));
    assert_eq!(request.parent_span_id.to_string(), "b7ad6b7169203331");
    assert!(request.parent_span_is_remote && !service.parent_span_is_remote);
    assert_eq!((&request.span_kind, &call.span_kind), (&SpanKind::Server, &SpanKind::Client));
    assert_eq!((&*request.name, &*service.name), ("GET /things/v1/{thing}", "things"));
    let found = attributes(request);
    for (name, value) in [
        ("http.route", "/things/v1/{thing}"),
        ("url.path", "/things/v1/lamp"),
        ("server.address", "shop.example"),
        ("server.port", "8080"),
        ("http.response.status_code", "200"),
        ("basalt.service", "things"),
    ] {
        assert_eq!(found.get(name).map(String::as_str), Some(value), "{name} in {found:?}");
    }
    assert!(!format!("{spans:?}").contains("hunter2"));
}

#[tokio::test]
async fn routes_are_those_that_the_service_has_matched() {
    let (gateway, exporter) = traced();
    let service = Route::new().at("/users/:user_id", caller(StatusCode::INTERNAL_SERVER_ERROR));
    let service = gateway.open("auth", service.map_to_response());
    let method = Method::from_bytes(b"BREW").unwrap();
    ask(&service, Request::builder().method(method).uri_str("/users/7")).await;
    let spans = exporter.get_finished_spans().unwrap();
    let request = spans.last().unwrap();
    assert_eq!(request.name, "HTTP /users/{user_id}");
    let found = attributes(request);
    assert_eq!((&*found["http.request.method"], &*found["error.type"]), ("_OTHER", "500"));
    assert!(matches!(request.status, Status::Error { .. }), "{:?}", request.status);
}

#[tokio::test]
async fn refusals_are_traced_too_and_unsampled_traces_are_not() {
    let (gateway, exporter) = traced();
    let service = gateway.guarded("things", caller(StatusCode::OK));
    ask(&service, get("/").header("traceparent", format!("{PARENT}-01"))).await;
    let spans = exporter.get_finished_spans().unwrap();
    let [request] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(attributes(request)["http.response.status_code"], "401");
    exporter.reset();
    let service = gateway.open("things", caller(StatusCode::OK));
    let sent = ask(&service, get("/").header("traceparent", format!("{PARENT}-00"))).await;
    assert!(sent.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && sent.ends_with("-00"), "{sent}");
    assert!(!sent.contains("b7ad6b7169203331"), "{sent}");
    assert!(exporter.get_finished_spans().unwrap().is_empty());
}

#[tokio::test]
async fn without_a_tracer_the_clients_trace_headers_are_passed_on() {
    let gateway = Gateway::without_keys(Settings::default());
    let service = gateway.open("things", caller(StatusCode::OK));
    for header in [format!("{PARENT}-01"), "rubbish".to_owned()] {
        assert_eq!(ask(&service, get("/").header("traceparent", header)).await, "unchanged");
    }
    assert_eq!(ask(&service, get("/")).await, "nothing");
}
