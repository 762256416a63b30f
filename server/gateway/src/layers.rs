//! The layers around a service, and the order in which a request passes them.
//!
//! | layer | what it does |
//! |---|---|
//! | [`access_log`] | the line in the log, the metrics and the span of the request; the id in its response |
//! | [`connections`] | what the caller's network holds of the server's connections |
//! | [`cors`] | responds to preflights, and lets scripts of other origins read responses |
//! | [`rate_limit`] | requests a minute of an address and of an API key |
//! | [`api_key`] | refuses requests without a key, and exchanges opaque keys for tokens |
//! | [`places`] | how many requests of a service there may be at the same time |
//! | [`body_limit`] | the size, the time and the memory of the body |
//! | [`panics`] | makes a response of everything that the service may end with |
//!
//! The layers are functions that one endpoint calls. As middleware of poem's, one around the other, each would box a
//! future of its own for every request.

mod access_log;
mod api_key;
mod body_limit;
mod connections;
mod cors;
mod panics;
mod places;
mod rate_limit;
mod request_id;
mod trace;

use fairness::FairSemaphore;
use http::HeaderValue;
use poem::{Endpoint, Request, Response};
use telemetry::Span;

pub use body_limit::BodyMemory;
pub use connections::HeldConnection;
pub use cors::preflight;
pub use request_id::RequestId;

pub(crate) use api_key::{Credentials, RequiredKey, api_key as api_key_of};
pub(crate) use body_limit::memory as memory_for_bodies;
pub(crate) use connections::Connections;
pub(crate) use places::Places;
pub(crate) use rate_limit::{RateLimit, RequestCounts};

use access_log::AccessLog;
use body_limit::BodyLimit;
use cors::Cors;

use crate::{Caller, Gateway, forwarded};

/// A service behind all layers: an endpoint that always returns a response.
pub struct Layered<E> {
    gateway: Gateway,
    log: AccessLog,
    cors: Cors,
    key: RequiredKey,
    body: BodyLimit,
    /// `None` if the number of requests is not limited.
    places: Option<FairSemaphore>,
    query_shape: fn(&str) -> String,
    endpoint: E,
}

impl<E: Endpoint> Layered<E> {
    pub(crate) fn new(gateway: Gateway, service: &'static str, key: RequiredKey, endpoint: E) -> Self {
        Self {
            log: AccessLog::new(service, gateway.metrics_of(service), gateway.events_of(service)),
            cors: Cors::default(),
            key,
            body: BodyLimit::new(gateway.settings().body_limit.0),
            places: gateway.places_of(service),
            query_shape: telemetry::names_only,
            gateway,
            endpoint,
        }
    }

    /// Refuses the publishable key and other keys that clients have for `path`, relative to the service's mount point.
    pub fn keeping_secret(mut self, path: &'static str) -> Self {
        self.key.keep_secret(path);
        self
    }

    /// Allows bodies of any size: the service has limits of its own, and writes what arrives somewhere else.
    pub fn streaming_bodies(mut self) -> Self {
        self.body = BodyLimit::streaming();
        self
    }

    /// Leaves the number of requests at the same time to the service, which has limits of its own.
    pub fn without_places(mut self) -> Self {
        self.places = None;
        self
    }

    /// Leaves cross-origin requests to the service: it responds to preflights, and sets the CORS headers of its
    /// responses.
    pub fn without_cors(mut self) -> Self {
        self.cors = Cors::Service;
        self
    }

    /// Lets scripts of other origins read only the headers that `names` lists, separated by commas, instead of all.
    pub fn exposing(mut self, names: &'static str) -> Self {
        self.cors = Cors::Exposing(HeaderValue::from_static(names));
        self
    }

    /// Sets the function that removes the values from a query string, for the table of slow statements. Without it, the
    /// values of all parameters are removed.
    pub fn shaping_queries_by(mut self, shape: fn(&str) -> String) -> Self {
        self.query_shape = shape;
        self
    }
}

impl<E: Endpoint> Endpoint for Layered<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let record = self.log.begin(&request, &self.gateway);
        let mut response = match self.gateway.connections().hold(record.network) {
            Ok(held) => {
                let mut response = self.respond(request, &record).await;
                if let Some(held) = held {
                    response.extensions_mut().insert(held);
                }
                response
            }
            Err(()) => rate_limit::too_many(1),
        };
        self.cors.admit(response.headers_mut());
        record.request_id.set_on(response.headers_mut());
        self.log.end(record, &response);
        Ok(response)
    }
}

impl<E: Endpoint> Layered<E> {
    /// Lets `request` pass the layers that may refuse it, and the service respond to it.
    async fn respond(&self, mut request: Request, record: &access_log::Record) -> Response {
        if let Some(response) = self.cors.preflight(&request) {
            return response;
        }
        if let Some(refusal) = self.gateway.refusal_of_rate(&request, record.address) {
            return refusal;
        }
        let checked = match self.key.check(&mut request, self.gateway.credentials()) {
            Ok(checked) => checked,
            Err(refusal) => return *refusal,
        };
        if self.gateway.settings().trusted_proxies == 0 && forwarded::remove(request.headers_mut()) {
            self.gateway.warn_of_untrusted_proxies();
        }
        request.extensions_mut().insert(Caller {
            request_id: record.request_id.clone(),
            address: record.address,
            network: record.network,
            api_key: checked.kind,
            bearer: checked.bearer,
            bearer_source: checked.bearer_source,
            external_url: self.gateway.external_url().cloned(),
        });
        let _place = match &self.places {
            None => None,
            Some(places) => match places.try_acquire(record.network) {
                Some(place) => Some(place),
                None => return places::none_left(),
            },
        };
        let watch = match self.body.watch(&mut request, self.gateway.body_memory(), record.network) {
            Ok(watch) => watch,
            Err(refusal) => return *refusal,
        };
        let response = fairness::on_behalf_of(record.network, self.call_service(request, record)).await;
        watch.judge(response)
    }

    async fn call_service(&self, request: Request, record: &access_log::Record) -> Response {
        let service = self.log.service();
        let parent = record.parent();
        // The span ends when it is dropped, at the end of this function.
        let span = parent.as_ref().and_then(|parent| parent.begin(service));
        let context = telemetry::Request {
            service,
            method: request.method().clone(),
            uri: record.uri.clone(),
            id: record.request_id.header().clone(),
            query_shape: self.query_shape,
            route: record.route(),
            parent: span.as_ref().map(Span::as_parent).or(parent),
        };
        let handling = telemetry::handling(context, self.endpoint.call(request));
        panics::response_of(handling, service, &record.request_id).await
    }
}
