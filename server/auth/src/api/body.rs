use std::marker::PhantomData;

use bytes::Bytes;
use poem::{Request, RequestBody};
use poem_openapi::payload::{Json, Payload};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Error;
use crate::error::refusals;

/// Largest body in bytes.
const LIMIT: usize = 1 << 20;

/// A JSON body, whatever its content type says.
///
/// Errors: `bad_json` for no JSON, an empty body and fields of a wrong type, `request_entity_too_large` beyond 1 MiB.
pub(super) struct Body<T>(pub(super) T);

impl<'a, T: Type + DeserializeOwned> ApiExtractor<'a> for Body<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        request_meta::<T>()
    }

    async fn from_request(
        _request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Body<T>> {
        Ok(Body(parse(&read(body).await?)?))
    }
}

/// A JSON body that is read when the endpoint gets to it: after it has found who asks and for what, or never.
pub(super) struct Unread<T> {
    bytes: Bytes,
    shape: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Unread<T> {
    /// Errors: `bad_json` as for [`Body`].
    pub(super) fn read(self) -> Result<T, Error> {
        parse(&self.bytes)
    }

    /// An empty body is one without fields. Errors: as [`read`](Self::read).
    pub(super) fn read_or_default(self) -> Result<T, Error>
    where
        T: Default,
    {
        if self.bytes.is_empty() { Ok(T::default()) } else { self.read() }
    }
}

impl<'a, T: Type + DeserializeOwned> ApiExtractor<'a> for Unread<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        request_meta::<T>()
    }

    async fn from_request(
        _request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Unread<T>> {
        Ok(Unread { bytes: read(body).await?, shape: PhantomData })
    }
}

fn request_meta<T: Type>() -> Option<MetaRequest> {
    let content_type = <Json<T> as Payload>::CONTENT_TYPE;
    let content = vec![MetaMediaType { content_type, schema: T::schema_ref() }];
    Some(MetaRequest { description: None, content, required: true })
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let fields: Result<Map<String, Value>, _> = serde_json::from_slice(bytes);
    fields.and_then(|fields| T::deserialize(Value::Object(fields))).map_err(refusals::bad_json)
}

/// The whole body.
///
/// Errors: `request_entity_too_large` beyond 1 MiB, `bad_json` for one that breaks off.
pub(super) async fn read(body: &mut RequestBody) -> poem::Result<Bytes> {
    let bytes = body.take()?.into_bytes_limit(LIMIT).await.map_err(|error| match error {
        poem::error::ReadBodyError::PayloadTooLarge => refusals::body_too_large(LIMIT),
        other => refusals::bad_json(other),
    })?;
    Ok(bytes)
}
