//! Fields that several endpoints use.

use poem_openapi::Object;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Error;
use crate::error::refusals;

/// The data of a captcha.
#[derive(Object, Deserialize, Default)]
pub(super) struct Security {
    /// The token that the captcha's provider has given to the page.
    captcha_token: Option<String>,
}

/// The field of a body that contains [`Security`].
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
/// Errors: `bad_json` for any other value; `validation_failed` for text with a NUL, which Postgres cannot store.
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

/// Returns whether any text in `value` contains a NUL.
pub(super) fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The response to a request that sends a message. It has an id only if a text message was sent.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
pub(super) struct SendResponse {
    /// The message's id at its provider.
    message_id: Option<String>,
}

impl SendResponse {
    /// Returns the response to a request that has sent a message; `message_id` may be empty.
    pub(super) fn new(message_id: String) -> Self {
        Self { message_id: Some(message_id).filter(|id| !id.is_empty()) }
    }
}
