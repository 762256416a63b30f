//! Metrics for Prometheus.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::{Method, StatusCode};
use poem::{Endpoint, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::Outsider;

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Upper bounds in seconds: a request that only reads takes under a millisecond, a password hash a tenth of a
/// second, an edge function a while.
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
    services: Mutex<HashMap<&'static str, Arc<ServiceMetrics>>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let requests = Family::default();
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let mut registry = Registry::with_prefix("basalt");
        registry.register("http_requests", "Requests answered", requests.clone());
        registry.register(
            "http_request_duration_seconds",
            "Time from the end of a request's head to the beginning of its answer",
            durations.clone(),
        );
        let (registry, services) = (Mutex::new(registry), Mutex::default());
        Self(Arc::new(Inner { registry, requests, durations, services }))
    }
}

impl Metrics {
    /// Lets `add` register more metrics.
    pub(crate) fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.0.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the series of one service, looked up once so that a request costs no look-up by label.
    pub(crate) fn service(&self, service: &'static str) -> Arc<ServiceMetrics> {
        let mut services = self.0.services.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            Arc::new(ServiceMetrics {
                service,
                metrics: self.clone(),
                requests: Default::default(),
                duration: self.0.durations.get_or_create_owned(&[("service", service)]),
            })
        };
        Arc::clone(services.entry(service).or_insert_with(new))
    }
}

pub(crate) struct ServiceMetrics {
    service: &'static str,
    metrics: Metrics,
    requests: [[OnceLock<Counter>; CLASSES.len()]; METHODS.len()],
    duration: Histogram,
}

impl ServiceMetrics {
    pub(crate) fn answered(&self, method: &Method, status: StatusCode, took: Duration) {
        let last = METHODS.len() - 1;
        let method = METHODS[..last].iter().position(|name| *name == method.as_str()).unwrap_or(last);
        let class = (usize::from(status.as_u16() / 100)).clamp(1, CLASSES.len()) - 1;
        let counter = self.requests[method][class].get_or_init(|| {
            let labels = [("service", self.service), ("method", METHODS[method]), ("status", CLASSES[class])];
            self.metrics.0.requests.get_or_create_owned(&labels)
        });
        counter.inc();
        self.duration.observe(took.as_secs_f64());
    }
}

pub(crate) fn endpoint(metrics: Metrics) -> impl Endpoint<Output = Response> {
    poem::endpoint::make_sync(move |request| {
        if Outsider::of(&request).is_some() {
            let reason =
                "metrics are for this machine alone: ask for them as http://127.0.0.1 or http://localhost";
            return Response::builder().status(StatusCode::FORBIDDEN).body(reason);
        }
        let mut text = String::with_capacity(16 << 10);
        let registry = metrics.0.registry.lock().unwrap_or_else(PoisonError::into_inner);
        match encode(&mut text, &registry) {
            Ok(()) => Response::builder()
                .content_type("application/openmetrics-text; version=1.0.0; charset=utf-8")
                .body(text),
            Err(error) => {
                tracing::error!(%error, "cannot encode metrics");
                Response::builder().status(StatusCode::INTERNAL_SERVER_ERROR).finish()
            }
        }
    })
}
