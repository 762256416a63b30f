//! The endpoints of health checks.

use std::time::Duration;

use http::header::CACHE_CONTROL;
use http::{Method, StatusCode};
use poem::{Endpoint, Request, Response};

/// How long the check of readiness may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct Health<F> {
    ready: F,
}

pub(crate) fn endpoint<F, Fut>(ready: F) -> impl Endpoint<Output = Response>
where
    F: Fn() -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), String>> + Send,
{
    Health { ready }
}

impl<F, Fut> Endpoint for Health<F>
where
    F: Fn() -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), String>> + Send,
{
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(answer(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"));
        }
        match request.uri().path().trim_end_matches('/') {
            "/live" => Ok(answer(StatusCode::OK, "ok")),
            "" | "/ready" => Ok(self.readiness().await),
            _ => Ok(answer(StatusCode::NOT_FOUND, "not found")),
        }
    }
}

impl<F, Fut> Health<F>
where
    F: Fn() -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), String>> + Send,
{
    async fn readiness(&self) -> Response {
        let reason = match tokio::time::timeout(PATIENCE, (self.ready)()).await {
            Ok(Ok(())) => return answer(StatusCode::OK, "ok"),
            Ok(Err(reason)) => reason,
            Err(_) => format!("the check took longer than {PATIENCE:?}"),
        };
        tracing::warn!(%reason, "not ready");
        answer(StatusCode::SERVICE_UNAVAILABLE, "unavailable")
    }
}

fn answer(status: StatusCode, text: &str) -> Response {
    let body = serde_json::json!({ "status": text }).to_string();
    Response::builder()
        .status(status)
        .content_type("application/json")
        .header(CACHE_CONTROL, "no-store")
        .body(body)
}
