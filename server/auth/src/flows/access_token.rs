//! Access tokens and the response that carries them.

use poem_openapi::Object;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use tokens::Keys;
use uuid::Uuid;

use crate::delivery::hooks::Hooks;
use crate::error::WeakPassword;
use crate::factors::recovery_code;
use crate::flows::services::Sessions;
use crate::secrets::refresh_token;
use crate::store::model::client::Client;
use crate::store::model::session::{GrantedSession, Method};
use crate::store::model::user::User;
use crate::{Error, HookName, Settings};

/// A session in the form for clients.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
pub(crate) struct Session {
    /// The token to send as `Authorization: Bearer`.
    access_token: String,
    /// Always `bearer`.
    token_type: String,
    /// Seconds until the access token expires.
    expires_in: i64,
    /// The time at which it expires, in Unix seconds.
    expires_at: i64,
    /// The token to exchange for the next session; can be used once.
    refresh_token: String,
    user: User,
    /// Why the password should be changed, if it should.
    weak_password: Option<WeakPassword>,
    /// The OAuth provider's access token.
    provider_token: Option<String>,
    /// The OAuth provider's refresh token.
    provider_refresh_token: Option<String>,
    #[oai(skip)]
    id: Uuid,
    #[oai(skip)]
    counter: Option<i64>,
}

/// The response to an OAuth client (RFC 6749, section 5.1): tokens, without data of the user.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
pub(crate) struct ClientTokens {
    /// The token to send as `Authorization: Bearer`.
    access_token: String,
    /// Always `bearer`.
    token_type: String,
    /// Seconds until the access token expires.
    expires_in: i64,
    /// The token to exchange for the next tokens; can be used once.
    refresh_token: String,
    /// The ID token, which identifies the user to the client (OpenID Connect Core, section 2).
    id_token: Option<String>,
}

impl Session {
    /// Returns the session as an OAuth client keeps it.
    pub(crate) fn into_client_tokens(self, id_token: Option<String>) -> ClientTokens {
        ClientTokens {
            access_token: self.access_token,
            token_type: self.token_type,
            expires_in: self.expires_in,
            refresh_token: self.refresh_token,
            id_token,
        }
    }

    /// Adds the reason why the password should be changed.
    pub(crate) fn with_weak_password(mut self, weakness: Option<WeakPassword>) -> Self {
        self.weak_password = weakness;
        self
    }

    /// Adds the tokens of the OAuth provider that has authenticated the user; empty ones are left out.
    pub(crate) fn with_provider_tokens(mut self, access: String, refresh: String) -> Self {
        self.provider_token = Some(access).filter(|token| !token.is_empty());
        self.provider_refresh_token = Some(refresh).filter(|token| !token.is_empty());
        self
    }

    pub(crate) fn user(&self) -> &User {
        &self.user
    }

    /// Returns the members of the response that a redirect carries in its fragment (RFC 6749, section 4.2.2), in no
    /// order.
    pub(crate) fn fragment(&self) -> Vec<(&'static str, String)> {
        let mut members = vec![
            ("access_token", self.access_token.clone()),
            ("expires_at", self.expires_at.to_string()),
            ("expires_in", self.expires_in.to_string()),
            ("refresh_token", self.refresh_token.clone()),
            ("sb", String::new()),
            ("token_type", self.token_type.clone()),
        ];
        let provider = [
            ("provider_token", &self.provider_token),
            ("provider_refresh_token", &self.provider_refresh_token),
        ];
        members.extend(provider.into_iter().filter_map(|(name, token)| Some((name, token.clone()?))));
        members
    }

    pub(crate) fn id(&self) -> Uuid {
        self.id
    }

    /// Returns how often the session was refreshed, if its refresh tokens count that.
    pub(crate) fn counter(&self) -> Option<i64> {
        self.counter
    }

    /// Returns the first characters of the refresh token: enough to find it in a log, too few to use it.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
}

/// Signs an access token for `granted` and completes the response. The hook that rewrites claims gets the `method` of
/// the session: that of the sign-in, or `token_refresh`.
///
/// Errors: those of the hook.
pub(crate) async fn issue(
    services: &Sessions,
    mut granted: GrantedSession,
    method: &str,
    client: &Client<'_>,
) -> Result<Session, Error> {
    name_identity_provider(&mut granted);
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let expires_at = expiry(&services.settings, &granted, now);
    let user = &granted.user;
    let claims = Claims {
        iss: services.settings.issuer(),
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
        client_id: granted.session.oauth_client_id,
        scope: granted.session.scopes.as_deref(),
    };
    let refresh_token = match (&granted.refresh_token, &granted.session.counted) {
        (Some(token), _) => token.clone(),
        (None, Some(counted)) => {
            let key = services.settings.encryption.open(granted.session.id, &counted.key)?;
            refresh_token::sign(granted.session.id, counted.counter, &key.text)?
        }
        (None, None) => return Err(Error::Internal("a session has no refresh token".to_owned())),
    };
    let access_token = sign(&services.keys, &services.hooks, &claims, method, client).await?;
    Ok(Session {
        access_token,
        token_type: "bearer".to_owned(),
        expires_in: expires_at - now,
        expires_at,
        refresh_token,
        counter: granted.session.counted.map(|counted| counted.counter),
        id: granted.session.id,
        user: granted.user,
        weak_password: None,
        provider_token: None,
        provider_refresh_token: None,
    })
}

/// Signs `claims`, rewritten by the hook if there is one.
async fn sign(
    keys: &Keys,
    hooks: &Hooks,
    claims: &Claims<'_>,
    method: &str,
    client: &Client<'_>,
) -> Result<String, Error> {
    let signed = if hooks.is_on(HookName::CustomAccessToken) {
        let plain = serde_json::to_value(claims).map_err(|error| Error::Internal(error.to_string()))?;
        keys.sign(&hooks.customize_access_token(claims.sub, plain, method, client).await?)
    } else {
        keys.sign(claims)
    };
    signed.map_err(|error| Error::Internal(error.to_string()))
}

/// Names the identity provider in claim `amr` of a user of single sign-on, who has exactly one identity.
fn name_identity_provider(granted: &mut GrantedSession) {
    let [identity] = granted.user.identities.as_slice() else { return };
    let Some(provider) = identity.provider.strip_prefix("sso:") else { return };
    for entry in granted.amr.iter_mut().filter(|entry| entry.method == "sso/saml") {
        entry.provider = Some(provider.to_owned());
    }
}

/// Returns the level: aal2 as soon as one of the methods is a second factor.
fn assurance(amr: &[Method]) -> &'static str {
    let second = |entry: &Method| {
        matches!(entry.method.as_str(), "totp" | "mfa/phone" | "mfa/webauthn" | recovery_code::METHOD)
    };
    if amr.iter().any(second) { "aal2" } else { "aal1" }
}

/// Returns when the token expires. Sessions that lack a second factor which the user has may be allowed less than a
/// whole token's life.
fn expiry(settings: &Settings, granted: &GrantedSession, now: i64) -> i64 {
    let regular = now.saturating_add_unsigned(settings.token.expiry.as_secs());
    let lacks_factor = assurance(&granted.amr) == "aal1" && granted.user.has_verified_factor();
    match settings.sessions.allow_low_aal {
        Some(allowed) if lacks_factor && !allowed.is_zero() => {
            regular.min((granted.session.created_at + allowed.as_secs_f64()) as i64)
        }
        _ => regular,
    }
}
