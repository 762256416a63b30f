//! The span of a call.
//!
//! Source: OpenTelemetry's semantic conventions, "HTTP spans" (client) and "FaaS spans" (outgoing invocations).

use poem::{Request, Response};
use telemetry::{Span, begin_call};

use crate::Error;

/// Begins the span of a call, and passes it to the function in the header `traceparent`. Returns `None` if the request
/// is not traced.
pub(crate) fn begin(request: &mut Request, function: &str) -> Option<Span> {
    let method = request.method().to_string();
    let mut span = begin_call(format!("{method} /{function}"), request.headers_mut())?;
    span.set("http.request.method", method);
    span.set("faas.invoked_name", function.to_owned());
    span.set("faas.invoked_provider", "basalt");
    Some(span)
}

/// Ends `span` with the outcome of the call.
pub(crate) fn end(mut span: Span, outcome: &Result<Response, Error>) {
    match outcome {
        Ok(response) => {
            let status = response.status();
            span.set("http.response.status_code", i64::from(status.as_u16()));
            if status.is_server_error() {
                span.fail(status.as_str().to_owned());
            }
        }
        Err(error) => span.fail(error.code()),
    }
}
