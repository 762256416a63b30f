//! Who a request with an access token speaks for.

use std::sync::Arc;

use http::StatusCode;
use tokens::Verified;
use uuid::Uuid;

use crate::error::refusals;
use crate::store::sessions::Session;
use crate::store::users;
use crate::user::User;
use crate::{Auth, Code, Error};

/// A user who has shown a valid access token.
pub(crate) struct Bearer {
    pub(crate) user: User,
    pub(crate) is_sso_user: bool,
    /// The live session that the token was issued for; None for tokens without one.
    pub(crate) session: Option<Session>,
    claims: Arc<Verified>,
}

impl Bearer {
    pub(crate) fn session_id(&self) -> Option<Uuid> {
        self.session.as_ref().map(|session| session.id)
    }

    /// Whether a second factor was shown in the session.
    pub(crate) fn is_aal2(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.aal.as_deref() == Some("aal2"))
    }

    /// The first audience in the token.
    pub(crate) fn audience(&self) -> Option<&str> {
        let audience = self.claims.claims.get("aud")?;
        audience.as_str().or_else(|| audience.as_array()?.first()?.as_str())
    }

    /// Whether the token's role administers users, in which case its audience means nothing.
    pub(crate) fn is_admin(&self, auth: &Auth) -> bool {
        self.claims
            .role()
            .is_some_and(|role| auth.settings.token.admin_roles.iter().any(|admin| admin == role))
    }
}

/// Checks `token`, then its user, then its session.
///
/// Errors, in this order: `no_authorization` (401), `bad_jwt` (403; 400 for a `sub` that is no UUID),
/// `user_not_found`, `session_not_found`, `user_banned` (403).
pub(crate) async fn authenticate(auth: &Auth, token: Option<&str>) -> Result<Bearer, Error> {
    let token = token.filter(|token| !token.is_empty()).ok_or_else(refusals::no_authorization)?;
    let claims = auth.verifier.verify(token).map_err(|error| {
        Code::BadJwt.because(format!("invalid JWT: unable to parse or verify signature, {error}"))
    })?;
    let subject = claims.subject().filter(|subject| !subject.is_empty());
    let subject = subject.ok_or_else(|| Code::BadJwt.because("invalid claim: missing sub claim"))?;
    let subject = Uuid::parse_str(subject)
        .map_err(|_| Code::BadJwt.at(StatusCode::BAD_REQUEST, "invalid claim: sub claim must be a UUID"))?;
    let session = session_id(&claims)?;
    let found = users::find_bearer(&auth.database, subject, session).await?.ok_or_else(|| {
        Code::UserNotFound.at(StatusCode::FORBIDDEN, "User from sub claim in JWT does not exist")
    })?;
    if session.is_some() && found.session.is_none() {
        return Err(refusals::session_gone());
    }
    if found.banned {
        return Err(refusals::user_banned());
    }
    Ok(Bearer { user: found.user, is_sso_user: found.is_sso_user, session: found.session, claims })
}

fn session_id(claims: &Verified) -> Result<Option<Uuid>, Error> {
    let Some(id) = claims.session_id().filter(|id| !id.is_empty()) else { return Ok(None) };
    let id = Uuid::parse_str(id)
        .map_err(|_| Code::BadJwt.because("invalid claim: session_id claim must be a UUID"))?;
    Ok(Some(id).filter(|id| !id.is_nil()))
}
