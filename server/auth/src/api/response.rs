//! Responses that several endpoints share.

use poem_openapi::{ApiResponse, Object};

/// An empty object.
#[derive(Object)]
pub(super) struct Empty {}

/// A redirect of the browser.
#[derive(ApiResponse)]
pub(super) enum Redirect {
    /// To the requested page or service.
    #[oai(status = 302)]
    Found(#[oai(header = "Location")] String),
    /// To the page that continues the process.
    #[oai(status = 303)]
    SeeOther(#[oai(header = "Location")] String),
}

/// An answer without content.
#[derive(ApiResponse)]
pub(super) enum Done {
    #[oai(status = 204)]
    NoContent,
}
