//! What all HTTP services of Basalt share: the caller, API keys, CORS, limits, request ids, metrics, health.
//!
//! A service is a poem endpoint; [`Gateway::open`] and [`Gateway::guarded`] wrap it in a [`Face`]. The face does all of
//! the above in one pass over the request, stores a [`Caller`] in the request's extensions, and always returns a
//! response: errors and panics of the service become one.

mod body_limit;
mod caller;
mod coding;
mod connections;
mod cors;
mod credentials;
mod external_url;
mod face;
mod forwarded;
mod health;
mod local;
mod metrics;
mod names;
mod nodes;
mod origin;
mod process;
mod public_address;
mod request_id;
mod request_limits;
mod response;
mod settings;
mod slow;
mod trace;

use std::sync::{Arc, Once};

use fairness::Memory;
use poem::{Endpoint, Response};
use telemetry::Tracer;
use tokens::Keys;

pub use body_limit::BodyMemory;
pub use caller::{Bearer, BearerSource, Caller};
pub use coding::accepts_coding;
pub use connections::HeldConnection;
pub use cors::preflight;
pub use external_url::ExternalUrl;
pub use face::Face;
pub use fairness::Network;
pub use forwarded::is_forwarding_header;
pub use health::health;
pub use local::RemoteRequest;
pub use names::Names;
pub use nodes::{Nodes, number_of};
pub use origin::{is_host, origin};
pub use public_address::{PublicAddress, requested_host};
pub use request_id::RequestId;
pub use settings::Settings;
pub use slow::slow_statements;

use connections::Connections;
use credentials::Credentials;
use metrics::Metrics;
use request_limits::RequestLimits;

/// The state that all faces share; cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    settings: Settings,
    /// A copy of that in the settings, for the caller of each request.
    external_url: Option<Arc<ExternalUrl>>,
    /// `None` if requests need no API key.
    credentials: Option<Credentials>,
    metrics: Metrics,
    request_limits: Arc<RequestLimits>,
    connections: Connections,
    /// The memory for bodies, in units of [`body_limit::UNIT`].
    body_memory: Memory,
    nodes: Nodes,
    /// `None` if requests are not traced.
    tracer: Option<Tracer>,
    untrusted_proxies: Once,
}

impl Gateway {
    /// Returns a gateway that checks API keys against `keys`, and begins a span for each request if there is a
    /// `tracer`.
    pub fn new(settings: Settings, keys: Keys, tracer: Option<Tracer>) -> Self {
        Self::with(settings, Some(Credentials::new(keys)), tracer)
    }

    /// Returns a gateway for a server behind another gateway, which checks the API keys: a header `apikey` has no
    /// meaning, and `Authorization` is passed to services unchanged. Only for [`Gateway::open`].
    pub fn without_keys(settings: Settings) -> Self {
        Self::with(settings, None, None)
    }

    fn with(settings: Settings, credentials: Option<Credentials>, tracer: Option<Tracer>) -> Self {
        let nodes = Nodes::default();
        let request_limits = RequestLimits::new(settings.requests_per_address, settings.requests_per_key);
        let request_limits = Arc::new(request_limits);
        request_limits.listen_to(&nodes);
        let metrics = Metrics::default();
        let connections = Connections::default();
        let body_memory = body_limit::memory(settings.body_memory);
        Self(Arc::new(Inner {
            external_url: settings.external_url.clone().map(Arc::new),
            settings,
            credentials,
            metrics,
            request_limits,
            connections,
            body_memory,
            nodes,
            tracer,
            untrusted_proxies: Once::new(),
        }))
    }

    /// Divides the server's `number` of connections between the networks of callers, if networks have shares. The server has
    /// to keep the [`HeldConnection`] of each response.
    pub fn divide_connections(&self, number: usize) {
        if self.0.settings.network_shares {
            self.0.connections.divide(number);
        }
    }

    /// Logs once that headers of proxies are ignored: either a proxy was forgotten in the settings, or a caller has
    /// forged them.
    fn warn_of_untrusted_proxies(&self) {
        self.0.untrusted_proxies.call_once(|| {
            tracing::warn!(
                "a request had headers that proxies add, such as X-Forwarded-For; they are ignored, because \
                 basalt.trusted_proxies is 0"
            );
        });
    }

    /// Returns the project's other nodes.
    pub fn nodes(&self) -> &Nodes {
        &self.0.nodes
    }

    /// Sends the counted requests of addresses and keys to the other nodes, repeatedly until the future is dropped.
    pub async fn share_request_counts(&self) {
        self.0.request_limits.share(&self.0.nodes).await;
    }

    /// Returns a face that gives all requests access to `endpoint`, with or without an API key. `service` names it in
    /// logs and metrics.
    pub fn open<E: Endpoint>(&self, service: &'static str, endpoint: E) -> Face<E> {
        Face::new(self.clone(), service, None, endpoint)
    }

    /// Returns a face that gives access to `endpoint` only with an API key; other requests get 401 in the
    /// format of Supabase's gateway.
    pub fn guarded<E: Endpoint>(&self, service: &'static str, endpoint: E) -> Face<E> {
        self.guarded_except(service, [], endpoint)
    }

    /// Returns a face as [`Gateway::guarded`] does, except that `keyless` paths (relative to the service's mount point)
    /// need no key: they are for links and redirects, which cannot contain one. A path that ends in `/*` stands for all
    /// paths below it.
    pub fn guarded_except<E: Endpoint>(
        &self,
        service: &'static str,
        keyless: impl IntoIterator<Item = &'static str>,
        endpoint: E,
    ) -> Face<E> {
        Face::new(self.clone(), service, Some(keyless.into_iter().collect()), endpoint)
    }

    /// Calls `add` to register metrics of a service, in addition to those of the gateway.
    pub fn register(&self, add: impl FnOnce(&mut prometheus_client::registry::Registry)) {
        self.0.metrics.register(add);
    }

    /// Returns all metrics in the text format that Prometheus scrapes (OpenMetrics 1.0). Mount it on a port that the
    /// public cannot reach; in addition, a [`RemoteRequest`] is refused.
    pub fn metrics(&self) -> impl Endpoint<Output = Response> + use<> {
        metrics::endpoint(self.0.metrics.clone())
    }

    /// Returns a function that reads all metrics, in the same format.
    pub fn metrics_reader(&self) -> impl Fn() -> String + Send + Sync + use<> {
        let metrics = self.0.metrics.clone();
        move || metrics.text()
    }
}
