//! A user's profile at a provider, in the form that identities store.

use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// An e-mail address of the user at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Email {
    /// Lowercase.
    pub(crate) address: String,
    /// Whether the provider has verified it.
    pub(crate) verified: bool,
    pub(crate) primary: bool,
}

impl Email {
    /// Returns the user's main address; none if it is empty.
    pub(crate) fn primary(address: &str, verified: bool) -> Option<Self> {
        Self::new(address, verified, true)
    }

    /// Returns an address; none if it is empty.
    pub(crate) fn new(address: &str, verified: bool, primary: bool) -> Option<Self> {
        let address = address.to_lowercase();
        let exists = !address.is_empty() && !address.contains('\0');
        exists.then_some(Self { address, verified, primary })
    }
}

/// A user as a provider describes them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Profile {
    pub(crate) claims: Claims,
    pub(crate) emails: Vec<Email>,
}

impl Profile {
    /// Returns a profile with one address, as most providers return it.
    pub(crate) fn with_email(claims: Claims, email: Option<Email>) -> Self {
        Self { claims, emails: email.into_iter().collect() }
    }

    /// Returns the provider's id of the user; empty if it gave none, or one that Postgres cannot store as text.
    pub(crate) fn subject(&self) -> &str {
        Some(self.claims.text("sub")).filter(|subject| !subject.contains('\0')).unwrap_or_default()
    }

    /// Returns the address that the identity carries: the primary one, else the last.
    pub(crate) fn email(&self) -> Option<&Email> {
        self.emails.iter().find(|email| email.primary).or_else(|| self.emails.last())
    }

    /// Returns what the identity keeps (`identity_data`) and the user's metadata takes over.
    pub(crate) fn identity_data(&self) -> Map<String, Value> {
        let mut data = self.claims.0.clone();
        data.remove("email");
        if let Some(email) = self.email() {
            data.insert("email".into(), email.address.clone().into());
        }
        data.insert("email_verified".into(), self.email().is_some_and(|email| email.verified).into());
        data.entry("phone_verified").or_insert(false.into());
        data.values_mut().for_each(without_nul);
        data
    }
}

/// Claims by name: those of OpenID Connect (Core 1.0, section 5.1) and `full_name`, `avatar_url`, `user_name`, `slug`
/// and `provider_id`, which clients of the first versions know. Empty ones are left out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claims(Map<String, Value>);

/// Claims that are text.
const TEXTS: [&str; 22] = [
    "iss",
    "sub",
    "name",
    "family_name",
    "given_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "profile",
    "picture",
    "website",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
    "email",
    "phone",
    "full_name",
    "avatar_url",
    "slug",
    "provider_id",
    "user_name",
];

impl Claims {
    /// Returns the claims of `subject` at `issuer`.
    pub(crate) fn of(issuer: &str, subject: &str) -> Self {
        Self::default().with("iss", issuer).with("sub", subject).with("provider_id", subject)
    }

    /// Adds `name`, unless `value` is empty.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if !value.is_empty() {
            self.0.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Adds the name of a person, under both names that it has.
    #[must_use]
    pub(crate) fn with_name(self, name: &str) -> Self {
        self.with("name", name).with("full_name", name)
    }

    /// Adds the address of a picture, under both names that it has.
    #[must_use]
    pub(crate) fn with_picture(self, address: &str) -> Self {
        self.with("picture", address).with("avatar_url", address)
    }

    /// Adds a claim that only this provider has, empty or not.
    #[must_use]
    pub(crate) fn custom(self, name: &str, value: impl Into<Value>) -> Self {
        self.all_custom(Map::from_iter([(name.to_owned(), value.into())]))
    }

    /// Adds all of `custom` as claims that only this provider has.
    #[must_use]
    pub(crate) fn all_custom(mut self, custom: Map<String, Value>) -> Self {
        let mut all = match self.0.remove("custom_claims") {
            Some(Value::Object(known)) => known,
            _ => Map::new(),
        };
        all.extend(custom);
        self.0.insert("custom_claims".to_owned(), all.into());
        self
    }

    /// Returns a claim that is text; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether a claim is true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Returns the claims that an ID token or a userinfo response states in OpenID Connect's own words; others are left
    /// out.
    ///
    /// Errors: the name of a claim of the wrong type.
    pub(crate) fn standard(document: &Map<String, Value>) -> Result<Self, String> {
        let wrong = |name: &str| format!("claim {name:?} has an unexpected type");
        let mut claims = Self::default();
        for (name, value) in document.iter().filter(|(_, value)| !value.is_null()) {
            let value = match name.as_str() {
                text if TEXTS.contains(&text) => match value.as_str() {
                    Some("") => continue,
                    Some(text) => Value::from(text),
                    None => return Err(wrong(name)),
                },
                "email_verified" | "phone_verified" => value.as_bool().ok_or_else(|| wrong(name))?.into(),
                "iat" | "exp" => value.is_number().then(|| value.clone()).ok_or_else(|| wrong(name))?,
                "aud" => audiences(value).ok_or_else(|| wrong(name))?.into(),
                "updated_at" => moment(value).ok_or_else(|| wrong(name))?.into(),
                "custom_claims" if value.is_object() => value.clone(),
                _ => continue,
            };
            claims.0.insert(name.clone(), value);
        }
        Ok(claims)
    }

    /// Returns the claims as a JSON object.
    pub(crate) fn as_object(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// Takes NULs out of all text, which Postgres cannot hold.
fn without_nul(value: &mut Value) {
    match value {
        Value::String(text) if text.contains('\0') => text.retain(|character| character != '\0'),
        Value::Array(values) => values.iter_mut().for_each(without_nul),
        Value::Object(members) => {
            if members.keys().any(|name| name.contains('\0')) {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(name, value)| (name.replace('\0', ""), value))
                    .collect();
            }
            members.values_mut().for_each(without_nul);
        }
        _ => {}
    }
}

/// Reads claim `aud`: one name or several.
pub(crate) fn audiences(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(name) => Some(vec![name.clone()]),
        Value::Array(names) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// Returns a moment in Unix seconds, as the standard has it, or in RFC 3339, as some write it; in RFC 3339.
fn moment(value: &Value) -> Option<String> {
    let moment = match value {
        Value::String(text) => OffsetDateTime::parse(text, &Rfc3339).ok()?,
        value => OffsetDateTime::from_unix_timestamp(value.as_f64()? as i64).ok()?,
    };
    moment.to_offset(time::UtcOffset::UTC).format(&Rfc3339).ok()
}
