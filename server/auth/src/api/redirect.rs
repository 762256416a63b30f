//! Responses that redirect the browser.

use poem_openapi::ApiResponse;

/// Sends the browser elsewhere.
#[derive(ApiResponse)]
pub(super) enum Redirect {
    /// On the way that was asked for.
    #[oai(status = 302)]
    Found(#[oai(header = "Location")] String),
    /// To the place that takes over.
    #[oai(status = 303)]
    SeeOther(#[oai(header = "Location")] String),
}
