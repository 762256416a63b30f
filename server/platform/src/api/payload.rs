//! Payloads that several endpoints share.

use poem::{IntoResponse, Response};
use poem_openapi::ApiResponse;
use poem_openapi::payload::{Json, Payload};
use poem_openapi::registry::{MetaSchemaRef, Registry};
use poem_openapi::types::{ParseFromJSON, ToJSON};
use serde_json::Value;
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

/// Objects as a document of JSON, which was written as text.
pub(super) struct Document(pub(super) String);

impl Payload for Document {
    const CONTENT_TYPE: &'static str = <Json<Vec<Value>> as Payload>::CONTENT_TYPE;

    fn check_content_type(content_type: &str) -> bool {
        <Json<Vec<Value>> as Payload>::check_content_type(content_type)
    }

    fn schema_ref() -> MetaSchemaRef {
        <Json<Vec<Value>> as Payload>::schema_ref()
    }

    fn register(registry: &mut Registry) {
        <Json<Vec<Value>> as Payload>::register(registry);
    }
}

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        Response::builder().content_type(Self::CONTENT_TYPE).body(self.0)
    }
}

/// A response with rows.
#[derive(ApiResponse)]
pub(super) enum Rows {
    /// The statements were run.
    #[oai(status = 201)]
    Created(Document),
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
