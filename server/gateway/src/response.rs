//! Responses in JSON.

use http::StatusCode;
use poem::Response;
use serde_json::Value;

/// Returns a response with `status` and the body `value`.
pub(crate) fn json(status: StatusCode, value: &Value) -> Response {
    Response::builder().status(status).content_type("application/json").body(value.to_string())
}
