use std::marker::PhantomData;

use poem::{Request, RequestBody};
use poem_openapi::payload::{Form, Payload};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::{ParseFromJSON, Type};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use url::form_urlencoded;

use super::body;

/// A form, whatever its content type says, with the fields of `T`: what providers post back.
///
/// Errors: `request_entity_too_large` beyond 1 MiB.
pub(super) struct FormFields<T> {
    fields: Vec<(String, String)>,
    shape: PhantomData<T>,
}

impl<T> FormFields<T> {
    /// The first value of `name`; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

impl<'a, T: Type + ParseFromJSON + Send> ApiExtractor<'a> for FormFields<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        let content = vec![MetaMediaType { content_type: Form::<T>::CONTENT_TYPE, schema: T::schema_ref() }];
        Some(MetaRequest { description: None, content, required: false })
    }

    async fn from_request(
        _request: &'a Request,
        request_body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<FormFields<T>> {
        let bytes = body::read(request_body).await?;
        let fields =
            form_urlencoded::parse(&bytes).map(|(name, value)| (name.into_owned(), value.into_owned()));
        Ok(FormFields { fields: fields.collect(), shape: PhantomData })
    }
}
