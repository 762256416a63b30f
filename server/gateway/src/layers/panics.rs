//! Makes a response of everything that a service may end with.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use http::StatusCode;
use poem::{IntoResponse, Response};
use serde_json::json;

use super::RequestId;
use crate::response;

/// Waits for the outcome of `handling` and returns it as a response; 500 for a panic, which is logged.
pub(super) async fn response_of(
    handling: impl Future<Output = poem::Result<impl IntoResponse>>,
    service: &'static str,
    request_id: &RequestId,
) -> Response {
    // A panic leaves no broken state: the request is consumed, and the locks of the service survive a panic.
    match AssertUnwindSafe(handling).catch_unwind().await {
        Ok(Ok(output)) => output.into_response(),
        Ok(Err(error)) => error.into_response(),
        Err(_) => {
            tracing::error!(%request_id, service, "a request ended in a panic");
            let body = json!({ "message": "Internal server error", "request_id": request_id.as_str() });
            response::json(StatusCode::INTERNAL_SERVER_ERROR, &body)
        }
    }
}
