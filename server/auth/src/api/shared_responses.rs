//! Responses that several endpoints share.

use poem_openapi::{ApiResponse, Object};

/// An empty object.
#[derive(Object)]
pub(super) struct Empty {}

/// A redirect of the browser.
#[derive(ApiResponse)]
pub(super) enum Redirect {
    /// To the next page: the provider's, the consent page or the client's.
    #[oai(status = 302)]
    Found(#[oai(header = "Location")] String),
    /// To the site, with an error, if the sign-in is not known or has failed.
    #[oai(status = 303)]
    SeeOther(#[oai(header = "Location")] String),
}

/// A response without content.
#[derive(ApiResponse)]
pub(super) enum Done {
    #[oai(status = 204)]
    NoContent,
}
