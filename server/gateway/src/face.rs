//! The wrapper around a service: API keys, CORS, limits, log and metrics.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use http::{HeaderValue, StatusCode};
use poem::{Endpoint, IntoResponse, Request, Response};

use crate::credentials::{PresentedKey, hide_key, refusal};
use crate::metrics::ServiceMetrics;
use crate::request_id::{SB_REQUEST_ID, X_REQUEST_ID};
use crate::{
    Bearer, BearerSource, Caller, Gateway, RequestId, body_limit, caller, cors, credentials, forwarded,
};

/// A service as the world sees it.
pub struct Face<E> {
    gateway: Gateway,
    service: &'static str,
    /// Which paths need no API key; None if none does.
    keyless: Option<Vec<&'static str>>,
    body_limit: u64,
    /// Whether the service says itself who may read its answers.
    owns_cors: bool,
    /// Whether the service gets the headers of proxies although none is trusted.
    passes_forwarding: bool,
    /// Which headers of its answers scripts of other origins may read.
    exposed: HeaderValue,
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
            body_limit,
            owns_cors: false,
            passes_forwarding: true,
            exposed: cors::ANY,
            metrics,
            endpoint,
        }
    }

    /// Allows bodies of up to `bytes`, in place of what the gateway's settings say.
    pub fn body_limit(mut self, bytes: u64) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Leaves cross-origin requests to the service: it answers preflights, and its answers say who may read them.
    pub fn without_cors(mut self) -> Self {
        self.owns_cors = true;
        self
    }

    /// Hides the headers of proxies from the service, unless there are proxies that are trusted: whoever
    /// calls could send them, too.
    pub fn without_untrusted_forwarding(mut self) -> Self {
        self.passes_forwarding = false;
        self
    }

    /// Lets scripts of other origins read those headers alone that `names` lists, separated by commas, in place of all.
    pub fn exposing(mut self, names: &'static str) -> Self {
        self.exposed = HeaderValue::from_static(names);
        self
    }

    async fn answer(&self, mut request: Request, request_id: &RequestId, address: IpAddr) -> Response {
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
        let (presented, bearer, bearer_source) = match &inner.credentials {
            Some(credentials) => credentials.of(&request),
            None => (PresentedKey::Nothing, Bearer::of(request.headers()), BearerSource::Authorization),
        };
        if let Some(response) = refusal(&presented, self.needs_key(request.uri().path())) {
            return response;
        }
        if inner.credentials.is_some() {
            hide_key(&mut request);
        }
        if !self.passes_forwarding && inner.settings.trusted_proxies == 0 {
            forwarded::remove(request.headers_mut());
        }
        let api_key = match presented {
            PresentedKey::Known(kind) => Some(kind),
            PresentedKey::Nothing | PresentedKey::Unknown | PresentedKey::Exposed => None,
        };
        request.extensions_mut().insert(Caller {
            request_id: request_id.clone(),
            address,
            api_key,
            bearer,
            bearer_source,
        });
        let Ok(watch) = body_limit::apply(&mut request, self.body_limit) else {
            return body_limit::too_large(self.body_limit);
        };
        let response = self.call_service(request, request_id).await;
        watch.refusal(self.body_limit).unwrap_or(response)
    }

    fn needs_key(&self, path: &str) -> bool {
        let is_covered = |keyless: &&str| match keyless.strip_suffix('*') {
            Some(folder) => path.starts_with(folder),
            None => path == *keyless,
        };
        self.keyless.as_ref().is_some_and(|keyless| !keyless.iter().any(is_covered))
    }

    async fn call_service(&self, request: Request, request_id: &RequestId) -> Response {
        // The request is consumed and the service keeps its own state behind locks that survive a panic.
        match AssertUnwindSafe(self.endpoint.call(request)).catch_unwind().await {
            Ok(Ok(output)) => output.into_response(),
            Ok(Err(error)) => error.into_response(),
            Err(_) => {
                tracing::error!(%request_id, service = self.service, "a request ended in a panic");
                let body = serde_json::json!({ "message": "Internal server error", "request_id": request_id.as_str() });
                Response::builder()
                    .status(StatusCode::INTERNAL_SERVER_ERROR)
                    .content_type("application/json")
                    .body(body.to_string())
            }
        }
    }
}

impl<E: Endpoint> Endpoint for Face<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let start = Instant::now();
        let request_id = RequestId::of(&request);
        let address = caller::address(&request, self.gateway.0.settings.trusted_proxies);
        let method = request.method().clone();
        let uri = request.original_uri().clone();
        let mut response = self.answer(request, &request_id, address).await;
        let headers = response.headers_mut();
        if !self.owns_cors {
            cors::admit(headers, &self.exposed);
        }
        headers.insert(X_REQUEST_ID, request_id.header().clone());
        headers.insert(SB_REQUEST_ID, request_id.header().clone());
        let took = start.elapsed();
        self.metrics.answered(&method, response.status(), took);
        // The path alone: query strings hold keys, tokens and what people search for.
        tracing::info!(
            target: "access",
            %request_id,
            service = self.service,
            %address,
            %method,
            path = uri.path(),
            status = response.status().as_u16(),
            microseconds = took.as_micros() as u64,
        );
        Ok(response)
    }
}
