//! A JSON member that is always present and may be null.

use std::borrow::Cow;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;

/// A member that is always there and may be null. (One of type `Option` may be missing.)
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Nullable<T>(pub(crate) Option<T>);

impl<T: Type> Type for Nullable<T> {
    const IS_REQUIRED: bool = true;

    type RawValueType = T::RawValueType;
    type RawElementValueType = T::RawElementValueType;

    fn name() -> Cow<'static, str> {
        format!("nullable_{}", T::name()).into()
    }

    fn schema_ref() -> MetaSchemaRef {
        T::schema_ref().merge(MetaSchema { nullable: true, ..MetaSchema::ANY })
    }

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn as_raw_value(&self) -> Option<&Self::RawValueType> {
        self.0.as_ref()?.as_raw_value()
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self::RawElementValueType> + 'a> {
        match &self.0 {
            Some(value) => value.raw_element_iter(),
            None => Box::new(std::iter::empty()),
        }
    }
}

impl<T: ParseFromJSON> ParseFromJSON for Nullable<T> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        match value.unwrap_or_default() {
            Value::Null => Ok(Self(None)),
            value => {
                let parsed =
                    T::parse_from_json(Some(value)).map_err(poem_openapi::types::ParseError::propagate)?;
                Ok(Self(Some(parsed)))
            }
        }
    }
}

impl<T: ToJSON> ToJSON for Nullable<T> {
    fn to_json(&self) -> Option<Value> {
        Some(self.0.as_ref().and_then(ToJSON::to_json).unwrap_or_default())
    }
}
