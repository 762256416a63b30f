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

/// Largest body in bytes.
const LIMIT: usize = 1 << 20;

/// A body with the fields of `T` in format `F`. It is not parsed at extraction but by the endpoint, after that has
/// identified the caller and the kind of request, or never.
///
/// Errors of the extraction: `request_entity_too_large` beyond 1 MiB, `bad_json` for a body that breaks off.
pub(super) struct RequestFields<T, F> {
    bytes: Bytes,
    /// Whether the content type says so.
    is_json: bool,
    shape: PhantomData<fn() -> (T, F)>,
}

/// JSON, whatever its content type says.
pub(super) type Body<T> = RequestFields<T, JsonOnly>;
/// A form, whatever its content type says: what providers post back.
pub(super) type FormFields<T> = RequestFields<T, FormOnly>;
/// JSON if its content type says so, else a form: what OAuth clients post.
pub(super) type FormOrJson<T> = RequestFields<T, JsonOrForm>;

/// How a body is written.
pub(super) trait Format: 'static {
    /// Whether there must be a body, as the OpenAPI document says.
    const IS_REQUIRED: bool;
    /// The content types that the OpenAPI document names.
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
    /// Returns some fields alone. Errors: as [`read`](Self::read).
    pub(super) fn read_as<U: DeserializeOwned>(&self) -> Result<U, Error> {
        let fields: Result<Map<String, Value>, _> = serde_json::from_slice(&self.bytes);
        fields.and_then(|fields| U::deserialize(Value::Object(fields))).map_err(refusals::bad_json)
    }
}

impl<T: DeserializeOwned> RequestFields<T, JsonOnly> {
    /// Reads the body.
    ///
    /// Errors: `bad_json` for no JSON, an empty body and fields of a wrong type.
    pub(super) fn read(&self) -> Result<T, Error> {
        self.read_as()
    }

    /// Reads the body like [`read`](Self::read), but an empty one has no fields.
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
    /// Returns the fields; `None` for what is no JSON, or of another shape. Of a form's fields of one name the first
    /// counts.
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
