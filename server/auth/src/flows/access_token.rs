//! Access tokens and the answer that carries them.

use poem_openapi::Object;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::passwords::WeakPassword;
use crate::store::sessions::{Granted, Method};
use crate::user::User;
use crate::{Auth, Error, Settings};

/// A session as clients keep it.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
pub(crate) struct Session {
    /// The token to send as `Authorization: Bearer`.
    access_token: String,
    /// Always `bearer`.
    token_type: String,
    /// Seconds until the access token expires.
    expires_in: i64,
    /// When that is, in Unix seconds.
    expires_at: i64,
    /// To be exchanged, once, for the next session.
    refresh_token: String,
    user: User,
    /// Why the password should be changed, if it should.
    weak_password: Option<WeakPassword>,
    #[oai(skip)]
    id: Uuid,
}

impl Session {
    pub(crate) fn id(&self) -> Uuid {
        self.id
    }

    pub(crate) fn user_id(&self) -> Uuid {
        self.user.id
    }

    /// The first characters of the refresh token: enough to find it in a log, too few to use it.
    pub(crate) fn refresh_token_prefix(&self) -> &str {
        self.refresh_token.get(..5).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: Uuid,
    aud: &'a str,
    exp: i64,
    iat: i64,
    email: &'a str,
    phone: &'a str,
    app_metadata: &'a Value,
    user_metadata: &'a Value,
    role: &'a str,
    aal: &'static str,
    amr: &'a [Method],
    session_id: Uuid,
    is_anonymous: bool,
}

/// Signs an access token for `granted` and completes the answer.
pub(crate) fn issue(
    auth: &Auth,
    granted: Granted,
    weak_password: Option<WeakPassword>,
) -> Result<Session, Error> {
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let expires_at = expiry(&auth.settings, &granted, now);
    let user = &granted.user;
    let claims = Claims {
        iss: auth.settings.issuer(),
        sub: user.id,
        aud: &user.aud,
        exp: expires_at,
        iat: now,
        email: &user.email,
        phone: &user.phone,
        app_metadata: &user.app_metadata,
        user_metadata: &user.user_metadata,
        role: &user.role,
        aal: assurance(&granted.amr),
        amr: &granted.amr,
        session_id: granted.session.id,
        is_anonymous: user.is_anonymous,
    };
    let access_token = auth.keys.sign(&claims).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(Session {
        access_token,
        token_type: "bearer".to_owned(),
        expires_in: expires_at - now,
        expires_at,
        refresh_token: granted.refresh_token,
        id: granted.session.id,
        user: granted.user,
        weak_password,
    })
}

/// aal2 as soon as one of the methods is a second factor.
fn assurance(amr: &[Method]) -> &'static str {
    let second = |entry: &Method| matches!(entry.method.as_str(), "totp" | "mfa/phone" | "mfa/webauthn");
    if amr.iter().any(second) { "aal2" } else { "aal1" }
}

/// Sessions that lack a second factor which the user has may be allowed less than a whole token's life.
fn expiry(settings: &Settings, granted: &Granted, now: i64) -> i64 {
    let regular = now.saturating_add_unsigned(settings.jwt_expiry.as_secs());
    let lacks_factor = assurance(&granted.amr) == "aal1" && granted.user.has_verified_factor();
    match settings.sessions.allow_low_aal {
        Some(allowed) if lacks_factor && !allowed.is_zero() => {
            regular.min((granted.session.created_at + allowed.as_secs_f64()) as i64)
        }
        _ => regular,
    }
}
