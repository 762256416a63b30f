//! Users in lists of users.

use std::borrow::Cow;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;

use crate::store::model::user::User;

/// A user in a list: as in other responses, except that member `identities` is null.
#[derive(Debug)]
pub(super) struct ListedUser(pub(super) User);

impl Type for ListedUser {
    const IS_REQUIRED: bool = true;

    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        "ListedUser".into()
    }

    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Reference(Self::name().into_owned())
    }

    fn register(registry: &mut Registry) {
        registry.create_schema::<Self, _>(Self::name().into_owned(), |registry| {
            let mut schema = registry.create_fake_schema::<User>();
            schema.description = Some("A user, without identities and factors.");
            for (name, property) in &mut schema.properties {
                if *name == "identities" {
                    let null =
                        MetaSchema { nullable: true, enum_items: vec![Value::Null], ..MetaSchema::ANY };
                    *property = MetaSchemaRef::Inline(Box::new(null));
                }
            }
            schema
        });
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

impl ParseFromJSON for ListedUser {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        let mut value = value.unwrap_or_default();
        if let Value::Object(members) = &mut value {
            members.insert("identities".to_owned(), Value::Array(Vec::new()));
        }
        let user = User::parse_from_json(Some(value)).map_err(poem_openapi::types::ParseError::propagate)?;
        Ok(Self(user))
    }
}

impl ToJSON for ListedUser {
    fn to_json(&self) -> Option<Value> {
        let mut user = self.0.to_json()?;
        if let Value::Object(members) = &mut user {
            members.insert("identities".to_owned(), Value::Null);
        }
        Some(user)
    }
}
