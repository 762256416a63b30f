//! Who a request with an access token speaks for.

use std::sync::Arc;

use tokens::Verified;
use uuid::Uuid;

use crate::error::Door;
use crate::store::users;
use crate::user::User;
use crate::{Auth, Error};

/// A user who has shown a valid access token.
pub(crate) struct Bearer {
    pub(crate) user: User,
    /// The live session that the token was issued for; None for tokens without one.
    pub(crate) session: Option<Uuid>,
    claims: Arc<Verified>,
}

impl Bearer {
    /// The first audience in the token.
    pub(crate) fn audience(&self) -> Option<&str> {
        let audience = self.claims.claims.get("aud")?;
        audience.as_str().or_else(|| audience.as_array()?.first()?.as_str())
    }

    /// Whether the token's role administers users, in which case its audience means nothing.
    pub(crate) fn is_admin(&self, auth: &Auth) -> bool {
        self.claims.role().is_some_and(|role| auth.settings.jwt_admin_roles.iter().any(|admin| admin == role))
    }
}

/// Checks `token`, then its user, then its session.
///
/// Errors, in this order: `no_authorization` (401), `bad_jwt` (403; 400 for a `sub` that is no UUID),
/// `user_not_found`, `session_not_found`, `user_banned` (403).
pub(crate) async fn authenticate(auth: &Auth, token: Option<&str>) -> Result<Bearer, Error> {
    let token = token.filter(|token| !token.is_empty()).ok_or(Error::NoAuthorization)?;
    let claims = auth.verifier.verify(token).map_err(|error| {
        Error::BadJwt(format!("invalid JWT: unable to parse or verify signature, {error}"))
    })?;
    let subject = claims.subject().filter(|subject| !subject.is_empty());
    let subject = subject.ok_or_else(|| Error::BadJwt("invalid claim: missing sub claim".to_owned()))?;
    let subject = Uuid::parse_str(subject).map_err(|_| Error::SubjectNotUuid)?;
    let session = session_id(&claims)?;
    let found = users::find_bearer(&auth.database, subject, session).await?.ok_or(Error::UserNotFound)?;
    if session.is_some() && found.session.is_none() {
        return Err(Error::SessionNotFound(Door::Bearer));
    }
    if found.banned {
        return Err(Error::UserBanned(Door::Bearer));
    }
    Ok(Bearer { user: found.user, session, claims })
}

fn session_id(claims: &Verified) -> Result<Option<Uuid>, Error> {
    let Some(id) = claims.session_id().filter(|id| !id.is_empty()) else { return Ok(None) };
    let id = Uuid::parse_str(id)
        .map_err(|_| Error::BadJwt("invalid claim: session_id claim must be a UUID".to_owned()))?;
    Ok(Some(id).filter(|id| !id.is_nil()))
}
