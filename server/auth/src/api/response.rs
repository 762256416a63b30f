//! Responses that several endpoints share.

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

/// Done, and there is nothing to tell.
#[derive(ApiResponse)]
pub(super) enum Done {
    #[oai(status = 204)]
    NoContent,
}
