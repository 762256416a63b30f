//! Users as clients see them. Nothing in here is secret.

use poem_openapi::Object;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use crate::store::model::nullable::Nullable;

/// A user account.
#[derive(Debug, Clone, Default, Deserialize, Object)]
#[oai(skip_serializing_if_is_none)]
pub(crate) struct User {
    pub(crate) id: Uuid,
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) aud: String,
    /// The Postgres role of the user's requests.
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) role: String,
    /// Empty if the user has none.
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) email: String,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) email_confirmed_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) invited_at: Option<String>,
    /// Without a leading plus sign; empty if the user has none.
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) phone: String,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) phone_confirmed_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) confirmation_sent_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) confirmed_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) recovery_sent_at: Option<String>,
    #[serde(default, rename = "email_change", deserialize_with = "unless_empty")]
    pub(crate) new_email: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) email_change_sent_at: Option<String>,
    #[serde(default, rename = "phone_change", deserialize_with = "unless_empty")]
    pub(crate) new_phone: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) phone_change_sent_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) reauthentication_sent_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) last_sign_in_at: Option<String>,
    /// Written only by the server.
    #[serde(default, rename = "raw_app_meta_data", deserialize_with = "object")]
    pub(crate) app_metadata: Value,
    /// Written by the user.
    #[serde(default, rename = "raw_user_meta_data", deserialize_with = "object")]
    pub(crate) user_metadata: Value,
    /// Second factors; absent if there are none.
    #[oai(default, skip_serializing_if_is_empty)]
    pub(crate) factors: Vec<Factor>,
    pub(crate) identities: Vec<Identity>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) created_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) updated_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) banned_until: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) deleted_at: Option<String>,
    pub(crate) is_anonymous: bool,
}

impl User {
    /// Returns whether the user has a second factor that works.
    pub(crate) fn has_verified_factor(&self) -> bool {
        self.factors.iter().any(Factor::is_verified)
    }
}

/// A way to sign in.
#[derive(Debug, Clone, Deserialize, Object)]
#[oai(skip_serializing_if_is_none)]
pub(crate) struct Identity {
    #[serde(rename = "id")]
    pub(crate) identity_id: Uuid,
    /// The provider's id of the user.
    #[serde(rename = "provider_id")]
    pub(crate) id: String,
    pub(crate) user_id: Uuid,
    /// What the provider says of the user; absent of a user who was deleted softly.
    #[serde(default, deserialize_with = "object")]
    #[oai(default, skip_serializing_if = "is_empty")]
    pub(crate) identity_data: Value,
    pub(crate) provider: String,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) last_sign_in_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) created_at: Option<String>,
    #[serde(default, deserialize_with = "timestamp")]
    pub(crate) updated_at: Option<String>,
    #[serde(default, deserialize_with = "unless_empty")]
    pub(crate) email: Option<String>,
}

/// A second factor.
#[derive(Debug, Clone, Deserialize, Object)]
pub(crate) struct Factor {
    pub(crate) id: Uuid,
    #[serde(deserialize_with = "timestamp")]
    pub(crate) created_at: Option<String>,
    #[serde(deserialize_with = "timestamp")]
    pub(crate) updated_at: Option<String>,
    /// `unverified` or `verified`.
    pub(crate) status: String,
    #[serde(default, deserialize_with = "unless_empty")]
    #[oai(skip_serializing_if_is_none)]
    pub(crate) friendly_name: Option<String>,
    /// `totp`, `phone`, `webauthn` or `recovery_code`.
    pub(crate) factor_type: String,
    /// Empty unless the type is `phone`.
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) phone: String,
    /// Null if it has never been challenged.
    #[serde(default, deserialize_with = "nullable_timestamp")]
    pub(crate) last_challenged_at: Nullable<String>,
    /// The model of a security key.
    #[serde(default)]
    #[oai(skip_serializing_if_is_none)]
    pub(crate) web_authn_aaguid: Option<Uuid>,
    /// The last challenge that a security key has signed.
    #[serde(default)]
    #[oai(skip_serializing_if_is_none)]
    pub(crate) last_webauthn_challenge_data: Option<Value>,
}

impl Factor {
    pub(crate) fn is_verified(&self) -> bool {
        self.status == "verified"
    }

    /// Returns the name that its owner gave it; empty for none.
    pub(crate) fn name(&self) -> &str {
        self.friendly_name.as_deref().unwrap_or_default()
    }
}

fn or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn unless_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(if value.is_null() { Value::Object(serde_json::Map::new()) } else { value })
}

fn is_empty(object: &Value) -> bool {
    object.as_object().is_some_and(serde_json::Map::is_empty)
}

fn nullable_timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nullable<String>, D::Error> {
    timestamp(deserializer).map(Nullable)
}

/// The first and the last time that RFC 3339 can express.
const EARLIEST: &str = "0001-01-01T00:00:00Z";
const LATEST: &str = "9999-12-31T23:59:59Z";

/// Reads a timestamp of Postgres, which writes it with the offset of its session, as UTC. What RFC 3339 cannot express
/// becomes the nearest moment that it can: administrators ban users until `infinity`.
pub(crate) fn timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    if text == "-infinity" || text.ends_with(" BC") {
        return Ok(Some(EARLIEST.to_owned()));
    }
    if text == "infinity" || text.find('-').is_some_and(|digits_of_year| digits_of_year > 4) {
        return Ok(Some(LATEST.to_owned()));
    }
    let moment = OffsetDateTime::parse(&text, &Rfc3339).map_err(serde::de::Error::custom)?;
    match moment.checked_to_offset(time::UtcOffset::UTC) {
        Some(moment) => moment.format(&Rfc3339).map(Some).map_err(serde::de::Error::custom),
        None => Ok(Some(if moment.year() > 1 { LATEST } else { EARLIEST }.to_owned())),
    }
}
