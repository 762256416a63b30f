//! The page of slow statements.

use poem::{Endpoint, Response};
use telemetry::SlowStatements;

use crate::local;

pub(crate) fn endpoint(slow: SlowStatements) -> impl Endpoint<Output = Response> {
    poem::endpoint::make_sync(move |request| {
        local::refusal(&request, "slow statements").unwrap_or_else(|| {
            Response::builder().content_type("application/json").body(slow.to_json().to_string())
        })
    })
}
