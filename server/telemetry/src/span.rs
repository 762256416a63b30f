//! Spans: the parts of a trace.
//!
//! Source: the OpenTelemetry specification, and W3C Trace Context for `traceparent`.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{Span as _, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracer;

use crate::request;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The tracer of requests. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tracer(SdkTracer);

impl Tracer {
    /// Returns a tracer that creates its spans with `tracer`.
    pub const fn new(tracer: SdkTracer) -> Self {
        Self(tracer)
    }

    /// Begins the span of a request. If `headers` name a trace, it becomes part of that trace.
    pub fn begin_request(&self, headers: &HeaderMap, name: impl Into<Cow<'static, str>>) -> Span {
        let propagator = TraceContextPropagator::new();
        let parent = propagator.extract_with_context(&Context::new(), &Headers(headers));
        Span::begin(&self.0, &parent, SpanKind::Server, name)
    }
}

/// The parent of spans.
#[derive(Debug, Clone)]
pub struct Parent {
    tracer: SdkTracer,
    context: SpanContext,
}

impl Parent {
    /// Begins a child; `None` if the trace is not sampled.
    pub fn begin(&self, name: impl Into<Cow<'static, str>>) -> Option<Span> {
        self.begin_as(SpanKind::Internal, name)
    }

    pub(crate) fn begin_as(&self, kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Option<Span> {
        let parent = || Context::new().with_remote_span_context(self.context.clone());
        self.context.is_sampled().then(|| Span::begin(&self.tracer, &parent(), kind, name))
    }

    /// Sets the trace headers of a message that is a child of this parent.
    fn write_to(&self, headers: &mut HeaderMap) {
        let context = &self.context;
        let flags = context.trace_flags().to_u8();
        let parent = format!("00-{}-{}-{flags:02x}", context.trace_id(), context.span_id());
        let state = Some(context.trace_state().header()).filter(|state| !state.is_empty());
        for (name, text) in [(TRACEPARENT, Some(parent)), (TRACESTATE, state)] {
            match text.and_then(|text| HeaderValue::try_from(text).ok()) {
                Some(value) => headers.insert(name, value),
                None => headers.remove(name),
            };
        }
    }
}

/// A part of a trace that has begun. It ends when it is dropped.
#[derive(Debug)]
pub struct Span {
    span: opentelemetry_sdk::trace::Span,
    tracer: SdkTracer,
}

impl Span {
    fn begin(
        tracer: &SdkTracer,
        parent: &Context,
        kind: SpanKind,
        name: impl Into<Cow<'static, str>>,
    ) -> Self {
        let builder = tracer.span_builder(name).with_kind(kind);
        Self { span: tracer.build_with_context(builder, parent), tracer: tracer.clone() }
    }

    /// Sets an attribute, under a name of OpenTelemetry's semantic conventions if there is one. It must not be a secret
    /// or a value that a client has sent.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.span.set_attribute(KeyValue::new(name, value));
    }

    /// Replaces the name.
    pub fn rename(&mut self, name: impl Into<Cow<'static, str>>) {
        self.span.update_name(name);
    }

    /// Marks the span as failed; `kind` must be one of a few words, such as a status or an SQLSTATE.
    pub fn fail(&mut self, kind: impl Into<Cow<'static, str>>) {
        let kind: Cow<'static, str> = kind.into();
        self.set("error.type", kind.into_owned());
        self.span.set_status(Status::error(""));
    }

    /// Returns the span as a parent of others.
    pub fn as_parent(&self) -> Parent {
        Parent { tracer: self.tracer.clone(), context: self.span.span_context().clone() }
    }

    /// Sets the trace headers of a message that is part of this span.
    pub fn write_to(&self, headers: &mut HeaderMap) {
        self.as_parent().write_to(headers);
    }

    /// Returns the trace's id, for log lines; `None` if the trace is not recorded.
    pub fn trace_id(&self) -> Option<String> {
        let context = self.span.span_context();
        context.is_sampled().then(|| context.trace_id().to_string())
    }
}

/// Begins the span of a call to another server, as part of the request that this task handles, and sets the trace
/// headers of the call. Without tracing, `headers` stay unchanged.
pub fn begin_call(name: impl Into<Cow<'static, str>>, headers: &mut HeaderMap) -> Option<Span> {
    let parent = request::current(|request| request.parent.clone()).flatten()?;
    let span = parent.begin_as(SpanKind::Client, name);
    match &span {
        Some(span) => span.write_to(headers),
        None => parent.write_to(headers),
    }
    span
}

/// Sets the trace headers of a message that is part of the request that this task handles. Without tracing, `headers`
/// stay unchanged.
pub fn write_parent_to(headers: &mut HeaderMap) {
    request::current(|request| request.parent.as_ref().map(|parent| parent.write_to(headers)));
}

/// Headers for OpenTelemetry's propagator.
struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.get_all(name).iter();
        let value = values.next().and_then(|value| value.to_str().ok());
        // Several parents are invalid (W3C Trace Context, section 3.2).
        value.filter(|_| values.next().is_none())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}
