//! Request bodies. The OpenAPI document describes them, but poem-openapi does not parse them: upstream accepts bodies
//! that poem-openapi would refuse, and refuses others with its own error codes.

use std::marker::PhantomData;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use poem::{Request, RequestBody};
use poem_openapi::payload::{self, Payload};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::request;
use crate::error::refusals;
use crate::{Code, Error};

/// The maximum size of a body in bytes.
const LIMIT: usize = 1 << 20;

/// A body with the fields of `T` in format `F`. It is not parsed at extraction. The endpoint parses it after it has
/// identified the caller and the kind of request, or does not parse it at all.
///
/// Errors of the extraction: `request_entity_too_large` beyond 1 MiB, `bad_json` for a body that breaks off.
pub(super) struct RequestFields<T, F> {
    bytes: Bytes,
    /// Whether the content type is JSON.
    is_json: bool,
    shape: PhantomData<fn() -> (T, F)>,
}

/// JSON, even if the content type is another one.
pub(super) type Body<T> = RequestFields<T, JsonOnly>;
/// A form, even if the content type is another one: the body that providers post back.
pub(super) type FormFields<T> = RequestFields<T, FormOnly>;
/// JSON if the content type is JSON, else a form: the body that OAuth clients post.
pub(super) type FormOrJson<T> = RequestFields<T, JsonOrForm>;

/// A format of bodies.
pub(super) trait Format: 'static {
    /// Whether a body is required, according to the OpenAPI document.
    const IS_REQUIRED: bool;
    /// The content types in the OpenAPI document.
    const CONTENT_TYPES: &'static [&'static str];
}

const JSON: &str = <payload::Json<Value> as Payload>::CONTENT_TYPE;
const FORM: &str = <payload::Form<Value> as Payload>::CONTENT_TYPE;

pub(super) struct JsonOnly;
pub(super) struct FormOnly;
pub(super) struct JsonOrForm;

impl Format for JsonOnly {
    const IS_REQUIRED: bool = true;
    const CONTENT_TYPES: &'static [&'static str] = &[JSON];
}

impl Format for FormOnly {
    const IS_REQUIRED: bool = false;
    const CONTENT_TYPES: &'static [&'static str] = &[FORM];
}

impl Format for JsonOrForm {
    const IS_REQUIRED: bool = true;
    const CONTENT_TYPES: &'static [&'static str] = &[FORM, JSON];
}

impl<T> RequestFields<T, JsonOnly> {
    /// Returns only some fields. Errors: as [`read`](Self::read).
    pub(super) fn read_as<U: DeserializeOwned>(&self) -> Result<U, Error> {
        let fields: Result<Map<String, Value>, _> = serde_json::from_slice(&self.bytes);
        fields.and_then(|fields| U::deserialize(Value::Object(fields))).map_err(refusals::bad_json)
    }
}

impl<T: DeserializeOwned> RequestFields<T, JsonOnly> {
    /// Parses the body.
    ///
    /// Errors: `bad_json` for text that is not JSON, an empty body and fields of a wrong type.
    pub(super) fn read(&self) -> Result<T, Error> {
        self.read_as()
    }

    /// Parses the body like [`read`](Self::read), but an empty one has no fields.
    pub(super) fn read_or_default(&self) -> Result<T, Error>
    where
        T: Default,
    {
        if self.bytes.is_empty() { Ok(T::default()) } else { self.read() }
    }
}

impl<T> RequestFields<T, FormOnly> {
    /// Returns the first value of field `name`, else of the parameter of that name in the query of `request`; empty if
    /// there is neither.
    pub(super) fn text_or_parameter(&self, request: &Request, name: &str) -> String {
        let text = self.text(name);
        if text.is_empty() { request::parameter(request, name) } else { text }
    }

    /// Returns the first value of field `name`; empty if there is none.
    pub(super) fn text(&self, name: &str) -> String {
        let mut fields = form_urlencoded::parse(&self.bytes);
        fields.find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    }
}

impl<T: DeserializeOwned> RequestFields<T, JsonOrForm> {
    /// Returns the fields; `None` for a body that is not JSON, or has another structure. If a form has several fields
    /// of one name, the first is used.
    pub(super) fn read(&self) -> Option<T> {
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

impl<'a, T: Type, F: Format> ApiExtractor<'a> for RequestFields<T, F> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        let media = |content_type| MetaMediaType { content_type, schema: T::schema_ref() };
        let content = F::CONTENT_TYPES.iter().copied().map(media).collect();
        Some(MetaRequest { description: None, content, required: F::IS_REQUIRED })
    }

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("application/json"));
        let bytes = body.take()?.into_bytes_limit(LIMIT).await.map_err(|error| match error {
            poem::error::ReadBodyError::PayloadTooLarge => {
                let message = format!("Request body too large (max {LIMIT} bytes)");
                Code::RequestEntityTooLarge.because(message)
            }
            other => refusals::bad_json(other),
        })?;
        Ok(Self { bytes, is_json, shape: PhantomData })
    }
}
