//! Payloads that several endpoints share.

use poem_openapi::ApiResponse;
use poem_openapi::payload::Json;
use poem_openapi::types::{ParseFromJSON, ToJSON};

/// A response that something was created, or that a command was carried out.
#[derive(ApiResponse)]
pub(super) enum Created<T: ParseFromJSON + ToJSON> {
    /// It was.
    #[oai(status = 201)]
    Created(Json<T>),
}

impl<T: ParseFromJSON + ToJSON> Created<T> {
    pub(super) fn of(body: T) -> Self {
        Self::Created(Json(body))
    }
}

/// A response without content.
#[derive(ApiResponse)]
pub(super) enum Done {
    /// It is done.
    #[oai(status = 200)]
    Ok,
    /// It was created.
    #[oai(status = 201)]
    Created,
    /// It is done, and there is nothing to return.
    #[oai(status = 204)]
    NoContent,
}
