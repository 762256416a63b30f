//! The endpoint of health checks.

use std::time::Duration;

use http::header::CACHE_CONTROL;
use http::{HeaderValue, Method, StatusCode};
use poem::{Endpoint, Request, Response, endpoint};
use serde_json::json;

use crate::response;

/// How long the check of readiness may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the endpoint of `/`, `/live` and `/ready` below the mount point: 200 `{"status":"ok"}`, or 503 while `ready`
/// fails or takes longer than two seconds. The reason is logged and not sent to the caller.
pub fn health<F, Fut>(ready: F) -> impl Endpoint<Output = Response>
where
    F: Fn() -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), String>> + Send,
{
    endpoint::make(move |request| {
        // Only `/` and `/ready` await it; otherwise the check does not run.
        let check = ready();
        async move { Ok::<_, poem::Error>(respond(request, check).await) }
    })
}

async fn respond(request: Request, check: impl Future<Output = Result<(), String>>) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return status(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    }
    match request.uri().path().trim_end_matches('/') {
        "/live" => status(StatusCode::OK, "ok"),
        "" | "/ready" => readiness(check).await,
        _ => status(StatusCode::NOT_FOUND, "not found"),
    }
}

async fn readiness(check: impl Future<Output = Result<(), String>>) -> Response {
    let reason = match tokio::time::timeout(PATIENCE, check).await {
        Ok(Ok(())) => return status(StatusCode::OK, "ok"),
        Ok(Err(reason)) => reason,
        Err(_) => format!("the check took longer than {PATIENCE:?}"),
    };
    tracing::warn!(%reason, "not ready");
    status(StatusCode::SERVICE_UNAVAILABLE, "unavailable")
}

fn status(status: StatusCode, text: &str) -> Response {
    let mut response = response::json(status, &json!({ "status": text }));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
