//! The wrapper around a service: API keys, CORS, limits, log and metrics.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use fairness::Network;
use futures_util::FutureExt;
use http::{HeaderValue, StatusCode, Uri};
use poem::{Endpoint, IntoResponse, Request, Response};
use serde_json::json;
use telemetry::Span;

use crate::credentials::{KeyCheck, hide_key, refusal};
use crate::metrics::ServiceMetrics;
use crate::request_id::{SB_REQUEST_ID, X_REQUEST_ID};
use crate::trace::RequestSpan;
use crate::{
    Bearer, BearerSource, BodyMemory, Caller, Gateway, Names, RequestId, body_limit, caller, cors,
    credentials, forwarded, request_limits, response,
};

/// An endpoint that runs a service behind the gateway.
pub struct Face<E> {
    gateway: Gateway,
    service: &'static str,
    /// Which paths need no API key; `None` if all of them are open.
    keyless: Option<Vec<&'static str>>,
    /// The path that only secret keys may call.
    secret: Option<&'static str>,
    body_limit: u64,
    /// Whether the service reads bodies part by part and keeps none of them in memory.
    streams_bodies: bool,
    /// Whether the service itself answers preflights and sets the headers of CORS.
    owns_cors: bool,
    /// Which headers of its responses scripts of other origins may read.
    exposed: HeaderValue,
    names: Names,
    metrics: Arc<ServiceMetrics>,
    endpoint: E,
}

impl<E: Endpoint> Face<E> {
    pub(crate) fn new(
        gateway: Gateway,
        service: &'static str,
        keyless: Option<Vec<&'static str>>,
        endpoint: E,
    ) -> Self {
        let metrics = gateway.0.metrics.service(service);
        let body_limit = gateway.0.settings.body_limit.0;
        Self {
            gateway,
            service,
            keyless,
            secret: None,
            body_limit,
            streams_bodies: false,
            owns_cors: false,
            exposed: cors::ANY,
            names: Names::default(),
            metrics,
            endpoint,
        }
    }

    /// Refuses the publishable key and other keys that clients have for `path`, relative to the service's mount point.
    pub fn keeping_secret(mut self, path: &'static str) -> Self {
        self.secret = Some(path);
        self
    }

    /// Allows bodies of any size: the service has limits of its own, and writes what arrives somewhere else.
    pub fn streaming_bodies(mut self) -> Self {
        self.body_limit = u64::MAX;
        self.streams_bodies = true;
        self
    }

    /// Leaves cross-origin requests to the service: it answers preflights, and sets the CORS headers of its responses.
    pub fn without_cors(mut self) -> Self {
        self.owns_cors = true;
        self
    }

    /// Lets scripts of other origins read only the headers that `names` lists, separated by commas, instead of all.
    pub fn exposing(mut self, names: &'static str) -> Self {
        self.exposed = HeaderValue::from_static(names);
        self
    }

    /// Sets the names of the service's requests in traces and in the table of slow statements.
    pub fn named(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    async fn answer(&self, mut request: Request, record: RequestRecord<'_>, address: IpAddr) -> Response {
        if !self.owns_cors
            && let Some(response) = cors::preflight(&request)
        {
            return response;
        }
        let inner = &self.gateway.0;
        if inner.request_limits.exist() {
            let key = credentials::api_key(&request);
            if let Some(refusal) = inner.request_limits.refusal(address, key.as_deref()) {
                return refusal;
            }
        }
        let (key_check, bearer, bearer_source) = match &inner.credentials {
            Some(credentials) => credentials.of(&request),
            None => (KeyCheck::Missing, Bearer::of(request.headers()), BearerSource::Authorization),
        };
        if let Some(response) = refusal(&key_check, self.needs_key(request.uri().path())) {
            return response;
        }
        if let Some(credentials) = &inner.credentials {
            if self.secret == Some(request.uri().path())
                && let Some(response) = credentials.refusal_of_public_key(&request, &key_check)
            {
                return response;
            }
            hide_key(&mut request);
        }
        if inner.settings.trusted_proxies == 0 && forwarded::remove(request.headers_mut()) {
            self.gateway.warn_of_untrusted_proxies();
        }
        let api_key = match key_check {
            KeyCheck::Valid(kind) => Some(kind),
            KeyCheck::Missing | KeyCheck::Unknown | KeyCheck::InBrowser => None,
        };
        request.extensions_mut().insert(Caller {
            request_id: record.request_id.clone(),
            address,
            network: record.network,
            api_key,
            bearer,
            bearer_source,
            external_url: inner.external_url.clone(),
        });
        let memory = (!self.streams_bodies).then_some((&inner.body_memory, record.network));
        if self.streams_bodies {
            request.extensions_mut().insert(BodyMemory::new(&inner.body_memory, record.network));
        }
        let Ok(watch) = body_limit::apply(&mut request, self.body_limit, memory) else {
            return body_limit::too_large(self.body_limit);
        };
        let response = fairness::on_behalf_of(record.network, self.call_service(request, record)).await;
        watch.judge(self.body_limit, response)
    }

    fn needs_key(&self, path: &str) -> bool {
        let is_covered = |keyless: &&str| match keyless.strip_suffix('*') {
            Some(folder) => path.starts_with(folder),
            None => path == *keyless,
        };
        self.keyless.as_ref().is_some_and(|keyless| !keyless.iter().any(is_covered))
    }

    async fn call_service(&self, request: Request, record: RequestRecord<'_>) -> Response {
        let RequestRecord { request_id, uri, span, .. } = record;
        let parent = span.map(RequestSpan::as_parent);
        // The span ends when it is dropped, at the end of this function.
        let service_span = parent.as_ref().and_then(|parent| parent.begin(self.service));
        let context = telemetry::Request {
            service: self.service,
            method: request.method().clone(),
            uri: uri.clone(),
            id: request_id.header().clone(),
            query_shape: self.names.query,
            parent: service_span.as_ref().map(Span::as_parent).or(parent),
        };
        let answered = telemetry::answering(context, self.endpoint.call(request));
        // A panic leaves no broken state: the request is consumed, and the locks of the service survive a panic.
        match AssertUnwindSafe(answered).catch_unwind().await {
            Ok(Ok(output)) => output.into_response(),
            Ok(Err(error)) => error.into_response(),
            Err(_) => {
                tracing::error!(%request_id, service = self.service, "a request ended in a panic");
                let body = json!({ "message": "Internal server error", "request_id": request_id.as_str() });
                response::json(StatusCode::INTERNAL_SERVER_ERROR, &body)
            }
        }
    }
}

/// The data of a request for the log and the traces.
#[derive(Clone, Copy)]
struct RequestRecord<'a> {
    request_id: &'a RequestId,
    /// Its target, as the client sent it.
    uri: &'a Uri,
    /// The caller's network, if it has a share of what callers hold.
    network: Option<Network>,
    /// `None` if requests are not traced.
    span: Option<&'a RequestSpan>,
}

impl<E: Endpoint> Endpoint for Face<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let start = Instant::now();
        let request_id = RequestId::of(&request);
        let address = caller::address(&request, self.gateway.0.settings.trusted_proxies);
        let method = request.method().clone();
        let uri = request.original_uri().clone();
        let span = self.gateway.0.tracer.as_ref().map(|tracer| {
            RequestSpan::begin(tracer, &request, self.service, self.names, (&request_id, address))
        });
        let network = self.gateway.0.settings.network_shares.then(|| Network::of(address)).flatten();
        let record = RequestRecord { request_id: &request_id, uri: &uri, network, span: span.as_ref() };
        let mut response = match self.gateway.0.connections.hold(network) {
            Ok(held) => {
                let mut response = self.answer(request, record, address).await;
                if let Some(held) = held {
                    response.extensions_mut().insert(held);
                }
                response
            }
            Err(()) => request_limits::too_many(1),
        };
        let headers = response.headers_mut();
        if !self.owns_cors {
            cors::admit(headers, &self.exposed);
        }
        headers.insert(X_REQUEST_ID, request_id.header().clone());
        headers.insert(SB_REQUEST_ID, request_id.header().clone());
        let took = start.elapsed();
        self.metrics.record(&method, response.status(), took);
        let trace_id = span.and_then(|span| span.end(&response));
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
        Ok(response)
    }
}
