//! Metrics for Prometheus.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Method, StatusCode};
use parking_lot::Mutex;
use poem::{Endpoint, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::local;
use crate::process;

/// The prefix of the names of our own metrics.
const PREFIX: &str = "basalt";

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Upper bounds in seconds: a request that only reads takes less than a millisecond, a password hash a tenth of a
/// second, an edge function possibly minutes.
const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096, 16.384];

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"];
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// All metrics of the process; cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Inner>);

struct Inner {
    registry: Mutex<Registry>,
    requests: Family<Labels<3>, Counter>,
    durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
    limited: Family<Labels<1>, Counter>,
    services: Mutex<HashMap<&'static str, Arc<ServiceMetrics>>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let requests = Family::default();
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let limited = Family::default();
        let mut registry = Registry::default();
        registry.register_collector(process::collector());
        let own = registry.sub_registry_with_prefix(PREFIX);
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        own.register("build", "The program", version);
        own.register("http_requests", "Requests that got a response", requests.clone());
        own.register(
            "http_requests_limited",
            "Requests that were refused with 429, because of a limit of their rate",
            limited.clone(),
        );
        own.register(
            "http_request_duration_seconds",
            "Time from the end of a request's head to the beginning of its response",
            durations.clone(),
        );
        let (registry, services) = (Mutex::new(registry), Mutex::default());
        Self(Arc::new(Inner { registry, requests, durations, limited, services }))
    }
}

impl Metrics {
    /// Calls `add` to register more metrics; their names get the prefix `basalt_`.
    pub(crate) fn register(&self, add: impl FnOnce(&mut Registry)) {
        let mut registry = self.0.registry.lock();
        add(registry.sub_registry_with_prefix(PREFIX));
    }

    /// Returns all metrics in the text format of OpenMetrics.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(32 << 10);
        let registry = self.0.registry.lock();
        if let Err(error) = encode(&mut text, &registry) {
            // Writing into a String does not fail, so this is an error in a metric of ours.
            tracing::error!(%error, "cannot encode metrics");
        }
        text
    }

    /// Returns the metrics of one service. Its faces keep them, so that requests need not look them up by label.
    pub(crate) fn service(&self, service: &'static str) -> Arc<ServiceMetrics> {
        let mut services = self.0.services.lock();
        let new = || {
            Arc::new(ServiceMetrics {
                service,
                metrics: self.clone(),
                requests: Default::default(),
                duration: self.0.durations.get_or_create_owned(&[("service", service)]),
                limited: self.0.limited.get_or_create_owned(&[("service", service)]),
            })
        };
        Arc::clone(services.entry(service).or_insert_with(new))
    }

    /// Returns what each service has answered.
    pub(crate) fn counts(&self) -> Vec<RequestCount> {
        self.0.services.lock().values().map(|service| service.count()).collect()
    }
}

/// What a service has answered since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestCount {
    /// Its name in logs and metrics.
    pub service: &'static str,
    /// All requests.
    pub all: u64,
    /// Those that were refused with 429.
    pub limited: u64,
}

/// The metrics of one service.
pub(crate) struct ServiceMetrics {
    service: &'static str,
    metrics: Metrics,
    requests: [[OnceLock<Counter>; CLASSES.len()]; METHODS.len()],
    duration: Histogram,
    limited: Counter,
}

impl ServiceMetrics {
    /// Counts a request that got `status` after the time `took`.
    pub(crate) fn record(&self, method: &Method, status: StatusCode, took: Duration) {
        let last = METHODS.len() - 1;
        let method = METHODS[..last].iter().position(|name| *name == method.as_str()).unwrap_or(last);
        let class = (usize::from(status.as_u16() / 100)).clamp(1, CLASSES.len()) - 1;
        let counter = self.requests[method][class].get_or_init(|| {
            let labels = [("service", self.service), ("method", METHODS[method]), ("status", CLASSES[class])];
            self.metrics.0.requests.get_or_create_owned(&labels)
        });
        counter.inc();
        self.duration.observe(took.as_secs_f64());
        if status == StatusCode::TOO_MANY_REQUESTS {
            self.limited.inc();
        }
    }

    fn count(&self) -> RequestCount {
        let counters = self.requests.iter().flatten().filter_map(OnceLock::get);
        let all = counters.map(Counter::get).sum();
        RequestCount { service: self.service, all, limited: self.limited.get() }
    }
}

/// Returns the page of all metrics.
pub(crate) fn endpoint(metrics: Metrics) -> impl Endpoint<Output = Response> {
    poem::endpoint::make_sync(move |request| {
        local::refusal(&request, "metrics").unwrap_or_else(|| {
            Response::builder()
                .content_type("application/openmetrics-text; version=1.0.0; charset=utf-8")
                .body(metrics.text())
        })
    })
}
