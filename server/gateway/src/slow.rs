//! The page of slow statements.

use http::StatusCode;
use poem::{Endpoint, Response, endpoint};
use telemetry::SlowStatements;

use crate::{local, response};

/// Returns the endpoint that shows the table of `slow` statements as JSON. Mount it on a port that the public cannot
/// reach; in addition, a [`RemoteRequest`](crate::RemoteRequest) is refused.
pub fn slow_statements(slow: SlowStatements) -> impl Endpoint<Output = Response> {
    endpoint::make_sync(move |request| {
        local::refusal(&request, "slow statements")
            .unwrap_or_else(|| response::json(StatusCode::OK, &slow.to_json()))
    })
}
