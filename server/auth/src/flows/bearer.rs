//! The user and the rights of an access token.

use std::sync::Arc;

use http::StatusCode;
use postgres::Database;
use time::OffsetDateTime;
use tokens::{Verified, Verifier};
use uuid::Uuid;

use crate::error::refusals;
use crate::store::audit::Actor;
use crate::store::model::session::Session;
use crate::store::model::user::User;
use crate::store::{sessions, users};
use crate::{Code, Error, Settings};

/// A user who has shown a valid access token.
pub(crate) struct Bearer {
    pub(crate) user: User,
    /// The live session that the token was issued for; `None` for tokens without one.
    pub(crate) session: Option<Session>,
    pub(crate) is_sso_user: bool,
    claims: Arc<Verified>,
}

impl Bearer {
    pub(crate) fn session_id(&self) -> Option<Uuid> {
        self.session.as_ref().map(|session| session.id)
    }

    /// Returns whether the token was given to an OAuth client, and is not the user's own.
    pub(crate) fn is_oauth_client(&self) -> bool {
        is_oauth_client(&self.claims)
            || self.session.as_ref().is_some_and(|session| session.oauth_client_id.is_some())
    }

    /// Returns whether the user has shown a second factor in this session.
    pub(crate) fn is_aal2(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.aal.as_deref() == Some("aal2"))
    }

    /// Returns whether the token says that its user has no address.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.claims.claims.get("is_anonymous").and_then(serde_json::Value::as_bool).unwrap_or_default()
    }

    /// Returns the first audience in the token.
    pub(crate) fn audience(&self) -> Option<&str> {
        let audience = self.claims.claims.get("aud")?;
        audience.as_str().or_else(|| audience.as_array()?.first()?.as_str())
    }

    /// Returns whether the token's role administers users, in which case its audience means nothing.
    pub(crate) fn is_admin(&self, settings: &Settings) -> bool {
        self.claims.role().is_some_and(|role| is_admin_role(settings, role))
    }
}

/// Checks `token`, then its user, then its session.
///
/// Errors, in this order: `no_authorization` (401), `bad_jwt` (403; 400 for a `sub` that is no UUID),
/// `user_not_found`, `session_not_found`, `user_banned` (403).
pub(crate) async fn authenticate(
    verifier: &Verifier,
    database: &Database,
    token: Option<&str>,
) -> Result<Bearer, Error> {
    let claims = verify(verifier, token)?;
    let subject = claims.subject().filter(|subject| !subject.is_empty());
    let subject = subject.ok_or_else(|| Code::BadJwt.because("invalid claim: missing sub claim"))?;
    let subject = Uuid::parse_str(subject)
        .map_err(|_| Code::BadJwt.at(StatusCode::BAD_REQUEST, "invalid claim: sub claim must be a UUID"))?;
    let session = session_id(&claims)?;
    let found = users::find_bearer(database, subject, session).await?.ok_or_else(refusals::user_gone)?;
    if session.is_some() && found.session.is_none() {
        return Err(refusals::session_gone());
    }
    if found.banned {
        return Err(refusals::user_banned());
    }
    Ok(Bearer { user: found.user, session: found.session, is_sso_user: found.is_sso_user, claims })
}

fn verify(verifier: &Verifier, token: Option<&str>) -> Result<Arc<Verified>, Error> {
    let missing = || Code::NoAuthorization.because("This endpoint requires a valid Bearer token");
    let token = token.filter(|token| !token.is_empty()).ok_or_else(missing)?;
    let refused = |error: tokens::Error| {
        Code::BadJwt.because(format!("invalid JWT: unable to parse or verify signature, {error}"))
    };
    let claims = verifier.verify(token).map_err(refused)?;
    // Other services allow for clocks that differ. This one has set the time itself, and is as strict as upstream's.
    let now = OffsetDateTime::now_utc().unix_timestamp();
    if claims.expires_at().is_some_and(|expires| expires <= now) {
        return Err(refused(tokens::Error::Expired));
    }
    Ok(claims)
}

/// An administrator, who has shown a token that administers users.
pub(crate) struct Admin {
    role: String,
}

impl Admin {
    /// Returns the actor for the audit log.
    pub(crate) fn actor(&self) -> Actor<'_> {
        Actor::Role(&self.role)
    }
}

/// Checks that `token` administers users; one that an administrator has given to an OAuth client does not. It needs no
/// user; if it names a session, that must be alive and valid.
///
/// Errors: `no_authorization` (401), `bad_jwt`, `not_admin`, `session_not_found`, `session_expired` (403).
pub(crate) async fn authorize_admin(
    verifier: &Verifier,
    database: &Database,
    settings: &Settings,
    token: Option<&str>,
) -> Result<Admin, Error> {
    let claims = verify(verifier, token)?;
    let role = claims.role().filter(|role| is_admin_role(settings, role));
    let role = role.filter(|_| !is_oauth_client(&claims));
    let role = role.ok_or_else(|| Code::NotAdmin.because("User not allowed"))?.to_owned();
    if let Some(session) = session_id(&claims)? {
        match sessions::validity(database, settings, session).await? {
            None => return Err(refusals::session_gone()),
            Some(false) => {
                let message = "Session is expired";
                return Err(Code::SessionExpired.at(StatusCode::FORBIDDEN, message));
            }
            Some(true) => {}
        }
    }
    Ok(Admin { role })
}

fn is_oauth_client(claims: &Verified) -> bool {
    claims.claims.get("client_id").is_some_and(|client| !client.is_null())
}

fn is_admin_role(settings: &Settings, role: &str) -> bool {
    settings.token.admin_roles.iter().any(|admin| admin == role)
}

fn session_id(claims: &Verified) -> Result<Option<Uuid>, Error> {
    let Some(id) = claims.session_id().filter(|id| !id.is_empty()) else { return Ok(None) };
    let id = Uuid::parse_str(id)
        .map_err(|_| Code::BadJwt.because("invalid claim: session_id claim must be a UUID"))?;
    Ok(Some(id).filter(|id| !id.is_nil()))
}
