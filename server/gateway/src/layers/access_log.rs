//! What is recorded of each request: a line in the log, metrics, a recent event, and a span if requests are traced.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use events::{Events, RequestTexts, What};
use fairness::Network;
use http::header::USER_AGENT;
use http::{HeaderValue, Method, Uri};
use poem::{Request, Response};
use telemetry::Parent;

use super::RequestId;
use super::trace::RequestSpan;
use crate::metrics::ServiceMetrics;
use crate::{Gateway, caller};

/// The access log of one service.
pub(super) struct AccessLog {
    service: &'static str,
    metrics: Arc<ServiceMetrics>,
    /// `None` if requests of this service are no events.
    events: Option<Arc<Events>>,
}

/// What is known of a request before it has a response.
pub(super) struct Record {
    pub(super) request_id: RequestId,
    /// The client's address.
    pub(super) address: IpAddr,
    /// The caller's network, if it has a share of what callers hold.
    pub(super) network: Option<Network>,
    /// The target, as the client sent it.
    pub(super) uri: Uri,
    method: Method,
    /// `None` if the request has none, or is no event.
    agent: Option<HeaderValue>,
    start: Instant,
    /// `None` if requests are not traced.
    span: Option<RequestSpan>,
}

impl AccessLog {
    pub(super) const fn new(
        service: &'static str,
        metrics: Arc<ServiceMetrics>,
        events: Option<Arc<Events>>,
    ) -> Self {
        Self { service, metrics, events }
    }

    /// Returns the service's name in logs and metrics.
    pub(super) const fn service(&self) -> &'static str {
        self.service
    }

    /// Begins to record `request`, which has just arrived.
    pub(super) fn begin(&self, request: &Request, gateway: &Gateway) -> Record {
        let start = Instant::now();
        let settings = gateway.settings();
        let request_id = RequestId::of(request);
        let address = caller::address(request, settings.trusted_proxies);
        let span = gateway
            .tracer()
            .map(|tracer| RequestSpan::begin(tracer, request, self.service, (&request_id, address)));
        Record {
            network: settings.network_shares.then(|| Network::of(address)).flatten(),
            method: request.method().clone(),
            uri: request.original_uri().clone(),
            agent: self.events.as_ref().and_then(|_| request.headers().get(USER_AGENT).cloned()),
            request_id,
            address,
            start,
            span,
        }
    }

    /// Records the request with its `response`.
    pub(super) fn end(&self, record: Record, response: &Response) {
        let Record { request_id, address, uri, method, agent, start, span, .. } = record;
        let took = start.elapsed();
        self.metrics.record(&method, response.status(), took);
        let trace_id = span.and_then(|span| span.end(response));
        if let Some(events) = self.events.as_ref().filter(|events| events.are_kept()) {
            let agent = agent.as_ref().and_then(|agent| agent.to_str().ok()).unwrap_or_default();
            events.push(What::Request(events::Request {
                service: self.service,
                method: method.clone(),
                status: response.status().as_u16(),
                took,
                address,
                texts: RequestTexts::new(uri.path(), request_id.as_str(), agent),
            }));
        }
        // Only the path: query strings may contain keys, tokens and search terms.
        tracing::info!(
            target: "access",
            %request_id,
            service = self.service,
            %address,
            %method,
            path = uri.path(),
            status = response.status().as_u16(),
            microseconds = took.as_micros() as u64,
            trace_id,
        );
    }
}

impl Record {
    /// Returns the parent of the request's spans; `None` if requests are not traced.
    pub(super) fn parent(&self) -> Option<Parent> {
        self.span.as_ref().map(RequestSpan::as_parent)
    }

    /// Returns where a service that has no table of routes names the route; `None` if requests are not traced.
    pub(super) fn route(&self) -> Option<Arc<OnceLock<&'static str>>> {
        self.span.as_ref().map(RequestSpan::route)
    }
}
