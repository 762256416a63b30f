//! Payloads that several endpoints share.

use poem_openapi::ApiResponse;
use poem_openapi::payload::Json;
use poem_openapi::types::{ParseFromJSON, ToJSON};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

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

/// Returns an id of something that has a name only: the name itself if it is an id, else one that follows from it.
pub(super) fn id_of(name: &str) -> Uuid {
    Uuid::parse_str(name).unwrap_or_else(|_| {
        let digest: [u8; 32] = Sha256::digest(name).into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    })
}
