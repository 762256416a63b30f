use std::marker::PhantomData;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use poem::{Request, RequestBody};
use poem_openapi::payload::{Form, Json, Payload};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::{ParseFromJSON, Type};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::body;

/// A body that is JSON if its content type says so, else a form, with the fields of `T`: what OAuth clients post. It is
/// read when the endpoint gets to it.
///
/// Errors: `request_entity_too_large` beyond 1 MiB.
pub(super) struct FormOrJson<T> {
    bytes: Bytes,
    is_json: bool,
    shape: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> FormOrJson<T> {
    /// The fields; None for what is no JSON, or of another shape. Of a form's fields of one name the first counts.
    pub(super) fn read(self) -> Option<T> {
        let fields: Map<String, Value> = if self.is_json {
            serde_json::from_slice(&self.bytes).ok()?
        } else {
            let mut fields = Map::new();
            for (name, value) in form_urlencoded::parse(&self.bytes) {
                fields.entry(name).or_insert_with(|| Value::String(value.into_owned()));
            }
            fields
        };
        T::deserialize(Value::Object(fields)).ok()
    }
}

impl<'a, T: Type + ParseFromJSON + DeserializeOwned> ApiExtractor<'a> for FormOrJson<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        let media = |content_type| MetaMediaType { content_type, schema: T::schema_ref() };
        let content = vec![media(Form::<T>::CONTENT_TYPE), media(Json::<T>::CONTENT_TYPE)];
        Some(MetaRequest { description: None, content, required: true })
    }

    async fn from_request(
        request: &'a Request,
        request_body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<FormOrJson<T>> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("application/json"));
        Ok(FormOrJson { bytes: body::read(request_body).await?, is_json, shape: PhantomData })
    }
}
