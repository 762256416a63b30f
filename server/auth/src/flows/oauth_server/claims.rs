//! What clients learn of a user, by the scopes that the user has granted (OpenID Connect Core, sections 2, 5.1 and
//! 5.4).

use poem_openapi::Object;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokens::Keys;
use uuid::Uuid;

use super::scopes;
use crate::Error;
use crate::flows::bearer::Bearer;
use crate::store::model::user::User;

/// Life of an ID token in seconds.
const ID_TOKEN_LIFE: i64 = 3600;

/// The claims about a user that a client may know.
#[derive(Debug, Object)]
#[oai(skip_serializing_if_is_none)]
pub(crate) struct UserInfo {
    /// The user's id.
    sub: Uuid,
    email: Option<String>,
    email_verified: Option<bool>,
    name: Option<String>,
    /// The URL of a portrait.
    picture: Option<String>,
    preferred_username: Option<String>,
    /// Unix seconds.
    updated_at: Option<i64>,
    /// The metadata that the user has written.
    user_metadata: Option<Value>,
    phone: Option<String>,
    phone_verified: Option<bool>,
}

/// Returns the claims that `bearer`'s session may know; only the id if the session belongs to no client.
pub(crate) fn user_info(bearer: &Bearer) -> UserInfo {
    let user = &bearer.user;
    let granted = bearer.session.as_ref().and_then(|session| session.scopes.as_deref()).unwrap_or_default();
    let granted = scopes::parse(granted);
    let email = granted.contains(&scopes::EMAIL);
    let phone = granted.contains(&scopes::PHONE);
    let profile = granted.contains(&scopes::PROFILE).then_some(user);
    UserInfo {
        sub: user.id,
        email: text(&user.email).filter(|_| email),
        email_verified: (email && user.email_confirmed_at.is_some()).then_some(true),
        name: profile.and_then(name),
        picture: profile.and_then(picture),
        preferred_username: profile.and_then(preferred_username),
        updated_at: profile.and_then(updated_at),
        user_metadata: profile.map(|user| user.user_metadata.clone()),
        phone: text(&user.phone).filter(|_| phone),
        phone_verified: (phone && user.phone_confirmed_at.is_some()).then_some(true),
    }
}

#[derive(Serialize)]
struct IdToken<'a> {
    iss: &'a str,
    sub: Uuid,
    aud: Uuid,
    exp: i64,
    iat: i64,
    auth_time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    email_verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_number: Option<String>,
    phone_number_verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_username: Option<String>,
    client_id: Uuid,
}

/// Returns whether an ID token goes with what is granted, and can be made.
///
/// Errors: an internal error if tokens are signed with a shared secret only, since clients must not know it.
pub(super) fn needs_id_token(keys: &Keys, scope: &str) -> Result<bool, Error> {
    if !scopes::parse(scope).contains(&scopes::OPENID) {
        return Ok(false);
    }
    if keys.signs_publicly() {
        return Ok(true);
    }
    Err(Error::Internal(
        "scope openid needs an asymmetric key to sign ID tokens, but a shared secret signs; set GOTRUE_JWT_KEYS".to_owned(),
    ))
}

/// Returns the ID token of `user` for `client`.
pub(super) fn id_token(
    keys: &Keys,
    issuer: &str,
    user: &User,
    client: Uuid,
    scope: &str,
    nonce: Option<&str>,
) -> Result<String, Error> {
    let granted = scopes::parse(scope);
    let email = granted.contains(&scopes::EMAIL);
    let phone = granted.contains(&scopes::PHONE);
    let profile = granted.contains(&scopes::PROFILE).then_some(user);
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let claims = IdToken {
        iss: issuer,
        sub: user.id,
        aud: client,
        exp: now + ID_TOKEN_LIFE,
        iat: now,
        auth_time: user.last_sign_in_at.as_deref().and_then(seconds).unwrap_or(now),
        nonce,
        email: text(&user.email).filter(|_| email),
        email_verified: email && user.email_confirmed_at.is_some(),
        phone_number: text(&user.phone).filter(|_| phone),
        phone_number_verified: phone && user.phone_confirmed_at.is_some(),
        name: profile.and_then(name),
        picture: profile.and_then(picture),
        updated_at: profile.and_then(updated_at),
        preferred_username: profile.and_then(preferred_username),
        client_id: client,
    };
    keys.sign(&claims).map_err(|error| Error::Internal(error.to_string()))
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned()).filter(|value| !value.is_empty())
}

/// Returns the first of `members` of the user's own metadata that is a text.
fn metadata(user: &User, members: &[&str]) -> Option<String> {
    members.iter().find_map(|member| text(user.user_metadata.get(member)?.as_str()?))
}

fn name(user: &User) -> Option<String> {
    metadata(user, &["name"]).or_else(|| text(&user.email))
}

fn picture(user: &User) -> Option<String> {
    metadata(user, &["picture", "avatar_url"])
}

fn preferred_username(user: &User) -> Option<String> {
    metadata(user, &["preferred_username", "username"])
}

fn updated_at(user: &User) -> Option<i64> {
    user.updated_at.as_deref().and_then(seconds).filter(|&seconds| seconds > 0)
}

fn seconds(timestamp: &str) -> Option<i64> {
    OffsetDateTime::parse(timestamp, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
}
