//! What all HTTP services of Basalt share: the caller, API keys, CORS, limits, request ids, metrics, health.
//!
//! A service is a poem endpoint; [`Gateway::open`] and [`Gateway::guarded`] put a [`Face`] around it. The face
//! does all of the above in one pass over the request, leaves a [`Caller`] in the request's extensions, and
//! always answers with a response: errors and panics of the service become one.

mod body_limit;
mod caller;
mod coding;
mod cors;
mod credentials;
mod face;
mod forwarded;
mod health;
mod local;
mod metrics;
mod names;
mod nodes;
mod origin;
mod process;
mod request_id;
mod request_limits;
mod settings;
mod slow;
mod trace;

use std::sync::Arc;

use poem::{Endpoint, Response};
use telemetry::{SlowStatements, Tracer};
use tokens::Keys;

pub use caller::{Bearer, BearerSource, Caller};
pub use coding::accepts_coding;
pub use cors::preflight;
pub use face::Face;
pub use local::Outsider;
pub use names::Names;
pub use nodes::{Nodes, number_of};
pub use origin::{is_host, origin};
pub use request_id::RequestId;
pub use request_limits::network;
pub use settings::Settings;
pub use tokens::ApiKeyKind;

use credentials::Credentials;
use metrics::Metrics;
use request_limits::RequestLimits;

/// The shared part of all faces; cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    settings: Settings,
    /// None where nobody asks for API keys.
    credentials: Option<Credentials>,
    metrics: Metrics,
    request_limits: Arc<RequestLimits>,
    nodes: Nodes,
    /// None if nobody traces.
    tracer: Option<Tracer>,
}

impl Gateway {
    /// Returns a gateway that knows the callers' keys.
    pub fn new(settings: Settings, keys: Keys) -> Self {
        Self::with_tracer(settings, keys, None)
    }

    /// Returns a gateway as [`Gateway::new`] does, which makes spans of requests by `tracer`.
    pub fn with_tracer(settings: Settings, keys: Keys, tracer: Option<Tracer>) -> Self {
        Self::with(settings, Some(Credentials::new(keys)), tracer)
    }

    /// Returns a gateway of a project whose API keys another one looks after: a header `apikey` means nothing, and
    /// `Authorization` reaches services as it is. For [`Gateway::open`] alone.
    pub fn without_keys(settings: Settings) -> Self {
        Self::with(settings, None, None)
    }

    fn with(settings: Settings, credentials: Option<Credentials>, tracer: Option<Tracer>) -> Self {
        let nodes = Nodes::default();
        let request_limits = RequestLimits::new(settings.requests_per_address, settings.requests_per_key);
        let request_limits = Arc::new(request_limits);
        request_limits.listen_to(&nodes);
        let metrics = Metrics::default();
        Self(Arc::new(Inner { settings, credentials, metrics, request_limits, nodes, tracer }))
    }

    /// Returns the project's other nodes.
    pub fn nodes(&self) -> &Nodes {
        &self.0.nodes
    }

    /// Tells the other nodes how many requests of addresses and keys have been counted, until the future is dropped.
    pub async fn tell_counted_requests(&self) {
        self.0.request_limits.tell(&self.0.nodes).await;
    }

    /// Returns a face that opens `endpoint` to everybody, with or without an API key. `service` names it in logs and
    /// metrics.
    pub fn open<E: Endpoint>(&self, service: &'static str, endpoint: E) -> Face<E> {
        Face::new(self.clone(), service, None, endpoint)
    }

    /// Returns a face that opens `endpoint` to holders of an API key; others get 401 in the shape of Supabase's
    /// gateway.
    pub fn guarded<E: Endpoint>(&self, service: &'static str, endpoint: E) -> Face<E> {
        self.guarded_except(service, [], endpoint)
    }

    /// Returns a face as [`Gateway::guarded`] does, but `keyless` paths (relative to the service's mount point) need no
    /// key, because links and redirects lead there, which cannot carry one. One that ends in `/*` stands for all paths
    /// below it.
    pub fn guarded_except<E: Endpoint>(
        &self,
        service: &'static str,
        keyless: impl IntoIterator<Item = &'static str>,
        endpoint: E,
    ) -> Face<E> {
        Face::new(self.clone(), service, Some(keyless.into_iter().collect()), endpoint)
    }

    /// Returns the endpoint of `/`, `/live` and `/ready` below the mount point: 200 `{"status":"ok"}`, or 503 while
    /// `ready` fails or takes longer than two seconds. Why it failed goes to the log, not to the caller.
    pub fn health<F, Fut>(&self, ready: F) -> impl Endpoint<Output = Response> + use<F, Fut>
    where
        F: Fn() -> Fut + Send + Sync,
        Fut: Future<Output = Result<(), String>> + Send,
    {
        health::endpoint(ready)
    }

    /// Lets a service add metrics of its own to those that [`Gateway::metrics`] returns.
    pub fn register(&self, add: impl FnOnce(&mut prometheus_client::registry::Registry)) {
        self.0.metrics.register(add);
    }

    /// Returns all metrics in the text format that Prometheus scrapes (OpenMetrics 1.0). Mount it on a port that the
    /// public cannot reach; requests that do not come from this machine ([`Outsider`]) are refused besides.
    pub fn metrics(&self) -> impl Endpoint<Output = Response> + use<> {
        metrics::endpoint(self.0.metrics.clone())
    }

    /// Returns a function that returns all metrics, in the same format.
    pub fn metrics_reader(&self) -> impl Fn() -> String + Send + Sync + use<> {
        let metrics = self.0.metrics.clone();
        move || metrics.text()
    }

    /// Returns the endpoint that shows the table of `slow` statements as JSON, under the same conditions.
    pub fn slow_statements(&self, slow: SlowStatements) -> impl Endpoint<Output = Response> + use<> {
        slow::endpoint(slow)
    }
}
