//! The start of sessions, and their elevation to aal2. Every kind of sign-in ends here.

use uuid::Uuid;

use crate::error::refusals;
use crate::flows::access_token::{self, Session};
use crate::flows::services::Sessions;
use crate::secrets::refresh_token::{self, Key, RefreshToken};
use crate::store::model::client::Client;
use crate::store::model::session::GrantedSession;
use crate::store::sessions::{self, NewSession, StepUp};
use crate::store::{Executor, Work};
use crate::{Error, Settings};

/// How a user has signed in.
#[derive(Default)]
pub(crate) struct SignIn<'a> {
    /// An entry of claim `amr`: `password`, `otp`, `oauth`, `sso/saml`, `anonymous`, `web3`, `passkey`, ….
    pub(crate) method: &'a str,
    /// The provider in the audit log's entry of the login; `None` if the flow writes another entry.
    pub(crate) login: Option<&'a str>,
    /// Which of the settings' tags the session has.
    pub(crate) tag: Option<&'a str>,
    /// When the session ends at the latest, in RFC 3339.
    pub(crate) not_after: Option<&'a str>,
    /// The OAuth client that the session is for, and the scopes that it may have.
    pub(crate) oauth_client: Option<(Uuid, &'a str)>,
    /// The id that the session gets; a random one if `None`.
    pub(crate) id: Option<Uuid>,
}

/// Begins a session of `user`, who has signed in as `sign_in` describes, and returns its tokens.
///
/// Errors: `invalid_credentials` if the user is gone; those of the hook that rewrites claims.
pub(crate) async fn begin(
    services: &Sessions,
    executor: &impl Executor,
    user: Uuid,
    sign_in: SignIn<'_>,
    client: &Client<'_>,
) -> Result<Session, Error> {
    let method = sign_in.method;
    let granted = open(&services.settings, executor, user, sign_in, client).await?;
    access_token::issue(services, granted, method, client).await
}

/// Stores a session: the first half of [`begin`]. The second half is [`access_token::issue`], which calls a hook that
/// has to see what the transaction stored.
///
/// Errors: `invalid_credentials` if the user is gone.
pub(super) async fn open(
    settings: &Settings,
    executor: &impl Executor,
    user: Uuid,
    sign_in: SignIn<'_>,
    client: &Client<'_>,
) -> Result<GrantedSession, Error> {
    let id = sign_in.id.unwrap_or_else(Uuid::new_v4);
    let key = (settings.security.refresh_token_algorithm == 2).then(Key::generate);
    let token = match &key {
        Some(key) => refresh_token::sign(id, 0, key.as_str())?,
        None => RefreshToken::generate(),
    };
    let sealed = key.as_ref().map(|key| settings.encryption.seal(id, key.as_str())).transpose()?;
    let opening = NewSession {
        id,
        user_id: user,
        method: sign_in.method,
        token: &token,
        token_key: sealed.as_deref(),
        tag: sign_in.tag,
        not_after: sign_in.not_after,
        oauth_client: sign_in.oauth_client,
        login: sign_in.login,
    };
    let granted = sessions::begin(executor, settings, &opening, client).await?;
    granted.ok_or_else(refusals::invalid_credentials)
}

/// Raises session `id` to aal2, because its user has verified `factor` by `method` (`totp`, `mfa/phone`,
/// `mfa/webauthn`, `mfa/recovery_code`). Its earlier refresh tokens become invalid.
///
/// Errors: `session_not_found` if it has ended; those of the hook that rewrites claims.
pub(crate) async fn step_up(
    services: &Sessions,
    work: &Work,
    id: Uuid,
    factor: Uuid,
    method: &str,
    client: &Client<'_>,
) -> Result<Session, Error> {
    let token = RefreshToken::generate();
    let step = StepUp { session_id: id, method, factor_id: factor, token: &token };
    let granted = sessions::step_up(work, &step).await?;
    let granted = granted.ok_or_else(refusals::session_gone)?;
    access_token::issue(services, granted, method, client).await
}
