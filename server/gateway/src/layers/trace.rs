//! The span of a request.
//!
//! Source: OpenTelemetry's semantic conventions, "HTTP spans" (server).

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use http::Version;
use http::uri::Authority;
use poem::{PathPattern, Request, Response};
use telemetry::{Parent, Span, Tracer};

use super::RequestId;
use crate::public_address::received_host;

/// The methods that the conventions list; any other is [`OTHER`].
const METHODS: [&str; 9] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
const OTHER: &str = "_OTHER";
/// The route of a request that no route has matched.
const UNKNOWN: &str = "/*";

/// The span of a request that is being handled.
pub(crate) struct RequestSpan {
    span: Span,
    method: &'static str,
    /// Where the service is mounted.
    mount: String,
    /// The route, as a service names it that has no table of routes of poem's.
    route: Arc<OnceLock<&'static str>>,
}

impl RequestSpan {
    /// Begins the span of `request` to `service`, as a part of the trace in its headers. The query string is left out:
    /// it may contain keys, tokens and search terms.
    pub(crate) fn begin(
        tracer: &Tracer,
        request: &Request,
        service: &'static str,
        (id, address): (&RequestId, IpAddr),
    ) -> Self {
        let known = METHODS.iter().find(|method| **method == request.method().as_str());
        let method = known.copied().unwrap_or(OTHER);
        let mut span = tracer.begin_request(request.headers(), method);
        let original = request.original_uri().path();
        let path = request.uri().path();
        let mount = original.strip_suffix(path).unwrap_or(original.trim_end_matches('/')).to_owned();
        span.set("http.request.method", method);
        span.set("url.path", original.to_owned());
        span.set("url.scheme", request.scheme().as_str().to_owned());
        span.set("client.address", address.to_string());
        span.set("basalt.service", service);
        span.set("basalt.request_id", id.to_string());
        if let Some(version) = protocol(request.version()) {
            span.set("network.protocol.version", version);
        }
        if let Some(host) = received_host(request).and_then(|host| host.parse::<Authority>().ok()) {
            span.set("server.address", host.host().to_owned());
            if let Some(port) = host.port_u16() {
                span.set("server.port", i64::from(port));
            }
        }
        Self { span, method, mount, route: Arc::default() }
    }

    /// Returns this span as the parent of other spans.
    pub(crate) fn as_parent(&self) -> Parent {
        self.span.as_parent()
    }

    /// Returns where the service names the route.
    pub(crate) fn route(&self) -> Arc<OnceLock<&'static str>> {
        Arc::clone(&self.route)
    }

    /// Ends the span with `response`. Returns the trace's id if the trace is recorded.
    pub(crate) fn end(mut self, response: &Response) -> Option<String> {
        let route = match response.data::<PathPattern>() {
            Some(PathPattern(pattern)) => Cow::Owned(braced(pattern)),
            None => Cow::Borrowed(*self.route.get().unwrap_or(&UNKNOWN)),
        };
        let route = format!("{}{route}", self.mount);
        let method = if self.method == OTHER { "HTTP" } else { self.method };
        self.span.rename(format!("{method} {route}"));
        self.span.set("http.route", route);
        let status = response.status();
        self.span.set("http.response.status_code", i64::from(status.as_u16()));
        if status.is_server_error() {
            self.span.fail(status.as_str().to_owned());
        }
        self.span.trace_id()
    }
}

fn protocol(version: Version) -> Option<&'static str> {
    match version {
        Version::HTTP_10 => Some("1.0"),
        Version::HTTP_11 => Some("1.1"),
        Version::HTTP_2 => Some("2"),
        _ => None,
    }
}

/// Returns a pattern of poem's with its parameters as `{name}` in place of `:name`.
fn braced(pattern: &str) -> String {
    let segments = pattern.split('/').map(|segment| match segment.strip_prefix([':', '*']) {
        Some(name) => format!("{{{name}}}"),
        None => segment.to_owned(),
    });
    segments.collect::<Vec<_>>().join("/")
}
