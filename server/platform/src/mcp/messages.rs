//! What is a message of JSON-RPC, and the errors of what is none (JSON-RPC 2.0, sections 4 and 5.1).

use http::StatusCode;
use poem::Response;
use rmcp::model::{ErrorCode, InitializeRequestParams};
use serde_json::{Value, json};

/// Returns the response that says why `body` is not one message; `None` if it is.
pub(super) fn refused(body: &[u8]) -> Option<Response> {
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return Some(refusal(ErrorCode::PARSE_ERROR, "Parse error: this is not JSON", &Value::Null));
    };
    let id = message.get("id");
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    let shown = id.filter(|id| is_id(id)).cloned().unwrap_or_default();
    let invalid = |why: &str| Some(refusal(ErrorCode::INVALID_REQUEST, why, &shown));
    if !message.is_object() {
        return invalid("Invalid Request: one message is expected, which is an object");
    }
    if message.get("jsonrpc") != Some(&json!("2.0")) {
        return invalid("Invalid Request: jsonrpc has to be \"2.0\"");
    }
    if id.is_some_and(|id| !is_id(id)) {
        return invalid("Invalid Request: id has to be a text or a whole number");
    }
    let is_reply = message.get("result").is_some() || message.get("error").is_some();
    match message.get("method") {
        None if is_reply => return None,
        Some(Value::String(_)) => {}
        _ => return invalid("Invalid Request: method has to be a text"),
    }
    if message.get("params").is_some_and(|params| !params.is_object()) {
        return invalid("Invalid Request: params has to be an object");
    }
    let is_initialization = message["method"] == "initialize" && id.is_some();
    let params = message.get("params").unwrap_or(&Value::Null);
    match is_initialization.then(|| serde_json::from_value::<InitializeRequestParams>(params.clone())) {
        Some(Err(error)) => {
            let why = format!("Invalid initialize request: {error}");
            Some(refusal(ErrorCode::INVALID_PARAMS, &why, &shown))
        }
        _ => None,
    }
}

/// Returns the response of an error. One of the parameters belongs to a request, others to none.
fn refusal(code: ErrorCode, message: &str, id: &Value) -> Response {
    let status = if code == ErrorCode::INVALID_PARAMS { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let error = json!({ "code": code.0, "message": message });
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    Response::builder().status(status).content_type("application/json").body(body.to_string())
}
