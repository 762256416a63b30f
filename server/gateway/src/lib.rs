//! What all HTTP services of Basalt share: the caller, API keys, CORS, limits, request ids, metrics, health.
//!
//! A service is a poem endpoint; [`Gateway::open`] and [`Gateway::guarded`] put it behind the [`layers`](Layered),
//! which do all of the above in one pass over the request, store a [`Caller`] in the request's extensions, and always
//! return a response: errors and panics of the service become one.

mod caller;
mod coding;
mod external_url;
mod forwarded;
mod health;
mod html;
mod layers;
mod local;
mod metrics;
mod nodes;
mod origin;
mod problems;
mod process;
mod public_address;
mod response;
mod settings;
mod slow;

use std::net::IpAddr;
use std::sync::{Arc, Once};

use events::Events;
use fairness::{FairSemaphore, Memory};
use poem::{Endpoint, Request, Response};
use telemetry::Tracer;
use tokens::Keys;

pub use caller::{Bearer, BearerSource, Caller};
pub use coding::accepts_coding;
pub use external_url::ExternalUrl;
pub use fairness::Network;
pub use forwarded::is_forwarding_header;
pub use health::health;
pub use html::escape_html;
pub use layers::{BodyMemory, HeldConnection, Layered, RequestId, preflight};
pub use local::RemoteRequest;
pub use metrics::RequestCount;
pub use nodes::{Nodes, number_of};
pub use origin::{is_host, origin};
pub use problems::{Question, problems};
pub use public_address::{PublicAddress, requested_host};
pub use settings::{Settings, settings_that_need_a_restart};
pub use slow::slow_statements;

use layers::{Connections, Credentials, Places, RateLimit, RequestCounts, RequiredKey};
use metrics::{Metrics, ServiceMetrics};

/// The settings and the state that the layers of all services share; cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    configuration: Arc<Configuration>,
    handles: Arc<Handles>,
    /// Where requests are kept as events; `None` if they are not.
    events: Option<Arc<Events>>,
}

/// Services whose requests are no events: those of the operators, who read these and would only see themselves.
const WITHOUT_EVENTS: [&str; 3] = ["platform", "mcp", "pg"];

/// What follows from the settings.
struct Configuration {
    settings: Settings,
    /// A copy of that in the settings, for the caller of each request.
    external_url: Option<Arc<ExternalUrl>>,
}

/// What outlives a change of the settings.
struct Handles {
    /// `None` if requests need no API key.
    credentials: Option<Credentials>,
    metrics: Metrics,
    request_counts: Arc<RequestCounts>,
    connections: Connections,
    body_memory: Memory,
    places: Places,
    nodes: Nodes,
    /// `None` if requests are not traced.
    tracer: Option<Tracer>,
    untrusted_proxies: Once,
}

impl From<Settings> for Configuration {
    fn from(settings: Settings) -> Self {
        Self { external_url: settings.external_url.clone().map(Arc::new), settings }
    }
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
        let request_counts = Arc::<RequestCounts>::default();
        request_counts.listen_to(&nodes);
        let handles = Handles {
            credentials,
            metrics: Metrics::default(),
            request_counts,
            connections: Connections::default(),
            body_memory: layers::memory_for_bodies(settings.body_memory),
            places: Places::new(settings.max_requests),
            nodes,
            tracer,
            untrusted_proxies: Once::new(),
        };
        Self { configuration: Arc::new(settings.into()), handles: Arc::new(handles), events: None }
    }

    /// Keeps requests as `events`.
    #[must_use]
    pub fn recording(self, events: Arc<Events>) -> Self {
        Self { events: Some(events), ..self }
    }

    /// Returns a gateway with other `settings` and the state of this one: its counts, metrics and nodes. What
    /// [`settings_that_need_a_restart`] names stays as it is here.
    #[must_use]
    pub fn with_settings(&self, settings: Settings) -> Self {
        let current = self.settings();
        let kept = Settings {
            body_memory: current.body_memory,
            max_connections: current.max_connections,
            max_requests: current.max_requests,
            network_shares: current.network_shares,
            ..settings
        };
        let handles = Arc::clone(&self.handles);
        Self { configuration: Arc::new(kept.into()), handles, events: self.events.clone() }
    }

    /// Divides the server's `number` of connections between the networks of callers, if networks have shares. The
    /// server has to keep the [`HeldConnection`] of each response.
    pub fn divide_connections(&self, number: usize) {
        if self.settings().network_shares {
            self.handles.connections.divide(number);
        }
    }

    /// Logs once that headers of proxies are ignored: either a proxy was forgotten in the settings, or a caller has
    /// forged them.
    fn warn_of_untrusted_proxies(&self) {
        self.handles.untrusted_proxies.call_once(|| {
            tracing::warn!(
                "a request had headers that proxies add, such as X-Forwarded-For; they are ignored, because \
                 basalt.trusted_proxies is 0"
            );
        });
    }

    /// Counts `request` of `address`. Returns the refusal if the address or the API key has made too many.
    fn refusal_of_rate(&self, request: &Request, address: IpAddr) -> Option<Response> {
        let Settings { requests_per_address: per_address, requests_per_key: per_key, .. } = *self.settings();
        let limit = RateLimit { per_address, per_key };
        if !limit.exists() {
            return None;
        }
        self.handles.request_counts.refusal(limit, address, layers::api_key_of(request).as_deref())
    }

    fn settings(&self) -> &Settings {
        &self.configuration.settings
    }

    fn external_url(&self) -> Option<&Arc<ExternalUrl>> {
        self.configuration.external_url.as_ref()
    }

    fn credentials(&self) -> Option<&Credentials> {
        self.handles.credentials.as_ref()
    }

    fn connections(&self) -> &Connections {
        &self.handles.connections
    }

    fn body_memory(&self) -> &Memory {
        &self.handles.body_memory
    }

    fn places_of(&self, service: &'static str) -> Option<FairSemaphore> {
        self.handles.places.of(service)
    }

    fn tracer(&self) -> Option<&Tracer> {
        self.handles.tracer.as_ref()
    }

    fn metrics_of(&self, service: &'static str) -> Arc<ServiceMetrics> {
        self.handles.metrics.service(service)
    }

    fn events_of(&self, service: &'static str) -> Option<Arc<Events>> {
        self.events.clone().filter(|_| !WITHOUT_EVENTS.contains(&service))
    }

    /// Returns the project's other nodes.
    pub fn nodes(&self) -> &Nodes {
        &self.handles.nodes
    }

    /// Sends the counted requests of addresses and keys to the other nodes, repeatedly until the future is dropped.
    pub async fn share_request_counts(&self) {
        self.handles.request_counts.share(&self.handles.nodes).await;
    }

    /// Gives all requests access to `endpoint`, with or without an API key. `service` names it in logs and metrics.
    pub fn open<E: Endpoint>(&self, service: &'static str, endpoint: E) -> Layered<E> {
        Layered::new(self.clone(), service, RequiredKey::default(), endpoint)
    }

    /// Gives access to `endpoint` only with an API key; other requests get 401 in the format of Supabase's gateway.
    pub fn guarded<E: Endpoint>(&self, service: &'static str, endpoint: E) -> Layered<E> {
        self.guarded_except(service, [], endpoint)
    }

    /// Gives access as [`Gateway::guarded`] does, except that `keyless` paths (relative to the service's mount point)
    /// need no key: they are for links and redirects, which cannot contain one. A path that ends in `/*` stands for all
    /// paths below it.
    pub fn guarded_except<E: Endpoint>(
        &self,
        service: &'static str,
        keyless: impl IntoIterator<Item = &'static str>,
        endpoint: E,
    ) -> Layered<E> {
        Layered::new(self.clone(), service, RequiredKey::except(keyless), endpoint)
    }

    /// Calls `add` to register metrics of a service, in addition to those of the gateway.
    pub fn register(&self, add: impl FnOnce(&mut prometheus_client::registry::Registry)) {
        self.handles.metrics.register(add);
    }

    /// Returns what each service has answered since the start.
    pub fn request_counts(&self) -> Vec<RequestCount> {
        self.handles.metrics.counts()
    }

    /// Returns all metrics in the text format that Prometheus scrapes (OpenMetrics 1.0). Mount it on a port that the
    /// public cannot reach; in addition, a [`RemoteRequest`] is refused.
    pub fn metrics(&self) -> impl Endpoint<Output = Response> + use<> {
        metrics::endpoint(self.handles.metrics.clone())
    }

    /// Returns a function that reads all metrics, in the same format.
    pub fn metrics_reader(&self) -> impl Fn() -> String + Send + Sync + use<> {
        let metrics = self.handles.metrics.clone();
        move || metrics.text()
    }
}
