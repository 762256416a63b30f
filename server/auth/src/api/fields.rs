//! Fields that several endpoints take.

use poem_openapi::Object;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Error;
use crate::error::refusals;

/// Proof of being human.
#[derive(Object, Deserialize, Default)]
pub(super) struct Security {
    /// What the captcha's provider has given the page.
    captcha_token: Option<String>,
}

/// The field of a body that [`Security`] is in.
#[derive(Deserialize)]
pub(super) struct SecurityField {
    gotrue_meta_security: Option<Security>,
}

impl SecurityField {
    /// Returns the captcha's token; empty without one.
    pub(super) fn token(self) -> String {
        self.gotrue_meta_security.and_then(|security| security.captcha_token).unwrap_or_default()
    }
}

/// Returns the members of an object; none if the field is missing.
///
/// Errors: `bad_json` for anything else; `validation_failed` for text with a NUL, which Postgres cannot store.
pub(super) fn object(field: &str, value: Option<Value>) -> Result<Map<String, Value>, Error> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(members))
            if members.iter().any(|(name, value)| name.contains('\0') || has_nul(value)) =>
        {
            Err(Error::validation(format!("{field} must not contain NUL characters")))
        }
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(refusals::bad_json(format_args!("{field} must be an object"))),
    }
}

/// Returns whether any text in `value` has a NUL.
pub(super) fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Nothing, or the id of the text message that went out.
#[derive(Object)]
#[oai(rename = "Sent", skip_serializing_if_is_none)]
pub(super) struct SendAnswer {
    /// The message's id at its provider.
    message_id: Option<String>,
}

impl SendAnswer {
    /// Makes the answer to a request that has sent a message; `message_id` may be empty.
    pub(super) fn new(message_id: String) -> Self {
        Self { message_id: Some(message_id).filter(|id| !id.is_empty()) }
    }
}
