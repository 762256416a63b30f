//! Refresh tokens: one use each, then rotated. A token that is used again, outside the reuse interval and not by a
//! client that merely missed the response, counts as stolen. If rotation is on, what it belongs to ends: the tokens of
//! its family, or the session of a token of the second format (RFC 9700, section 4.14.2). The rule itself is in the SQL
//! of `store::refresh`.

use http::StatusCode;
use postgres::Database;
use uuid::Uuid;

use crate::flows::access_token::{self, Session};
use crate::flows::services::Sessions;
use crate::secrets::refresh_token::RefreshToken;
use crate::store::model::client::Client;
use crate::store::model::session::GrantedSession;
use crate::store::refresh::{self, RefreshVerdict};
use crate::store::sessions;
use crate::{Code, Error, Settings};

/// A refreshed session.
pub(crate) struct RefreshedSession {
    pub(crate) session: Session,
    /// Whether the refresh token had been used before and its replacement was handed out again.
    pub(crate) reused: bool,
    /// Why that was allowed, for operators; empty if nothing is known.
    pub(crate) reuse_causes: String,
}

/// Exchanges a refresh token for the session's next access and refresh token. Parallel exchanges of one token all
/// get the same new one. `oauth_client` is the OAuth client that has proved who it is, if one has.
///
/// Errors (all 400 unless stated): `validation_failed`, `refresh_token_not_found`, `refresh_token_already_used`,
/// `session_not_found`, `session_expired`, `user_banned`; OAuth-style for sessions of OAuth clients; `conflict` (409)
/// when the session stays locked for five seconds.
pub(crate) async fn refresh(
    services: &Sessions,
    token: &str,
    oauth_client: Option<Uuid>,
    client: &Client<'_>,
) -> Result<RefreshedSession, Error> {
    let token = RefreshToken::parse(token)?;
    let is_checked = check_encrypted(&services.database, &services.settings, &token).await?;
    let settings = &services.settings;
    let refreshed =
        refresh::refresh(&services.database, settings, &token, is_checked, oauth_client, client).await?;
    let refreshed = refreshed.ok_or_else(not_found)?;
    let reused = match refreshed.verdict {
        RefreshVerdict::Rotated => false,
        RefreshVerdict::Returned => true,
        refusal => return Err(refuse(refusal, oauth_client)),
    };
    let granted = refreshed.granted.ok_or_else(|| Error::Internal("a refresh granted nothing".to_owned()))?;
    reseal(&services.database, &services.settings, &granted).await?;
    Ok(RefreshedSession {
        session: access_token::issue(services, granted, "token_refresh", client).await?,
        reused,
        reuse_causes: refreshed.causes,
    })
}

/// Checks the signature of a token whose key Postgres cannot read, because keys are encrypted: a round trip more
/// (`docs/decisions/0016-encrypted-refresh-token-keys-take-two-round-trips.md`). False if that is left to Postgres.
///
/// Errors: `refresh_token_not_found`; `unexpected_failure` for a key that cannot be decrypted.
async fn check_encrypted(
    database: &Database,
    settings: &Settings,
    token: &RefreshToken,
) -> Result<bool, Error> {
    let encryption = &settings.encryption;
    let RefreshToken::Counted(token) = token else { return Ok(false) };
    if encryption.current.is_none() && encryption.keys.is_empty() {
        return Ok(false);
    }
    let stored = sessions::token_key(database, token.session).await?.ok_or_else(not_found)?;
    let key = encryption.open(token.session, &stored)?;
    if token.is_signed_with(&key.text) { Ok(true) } else { Err(not_found()) }
}

/// Stores the key of the session's tokens again if it is not encrypted as new ones are.
async fn reseal(database: &Database, settings: &Settings, granted: &GrantedSession) -> Result<(), Error> {
    let encryption = &settings.encryption;
    let (id, Some(counted)) = (granted.session.id, &granted.session.counted) else { return Ok(()) };
    let key = encryption.open(id, &counted.key)?;
    if !key.is_stale {
        return Ok(());
    }
    let sealed = encryption.seal(id, &key.text)?;
    sessions::reseal_token_key(database, id, &counted.key, &sealed).await
}

fn refuse(verdict: RefreshVerdict, oauth_client: Option<Uuid>) -> Error {
    let (code, message) = match verdict {
        RefreshVerdict::AlreadyUsed => (Code::RefreshTokenAlreadyUsed, "Already Used"),
        RefreshVerdict::UserBanned => (Code::UserBanned, "User Banned"),
        RefreshVerdict::SessionGone => (Code::SessionNotFound, "No Valid Session Found"),
        RefreshVerdict::OauthSession => {
            return Error::oauth(
                "invalid_client",
                match oauth_client {
                    None => "Client authentication required for OAuth session",
                    Some(_) => "Client does not match the session's OAuth client",
                },
            );
        }
        RefreshVerdict::PlainSession => {
            let message = "Client authentication not allowed for non-OAuth session";
            return Error::oauth("invalid_client", message);
        }
        RefreshVerdict::Ended => (Code::SessionExpired, "Session Expired"),
        RefreshVerdict::Inactive => (Code::SessionExpired, "Session Expired (Inactivity)"),
        RefreshVerdict::LowAal => {
            (Code::SessionExpired, "Session Expired (Low AAL: User Needs MFA Verification)")
        }
        RefreshVerdict::Superseded => (Code::SessionExpired, "Session Expired (Revoked by Newer Login)"),
        RefreshVerdict::NotIssued => (Code::ValidationFailed, "Not Issued By This Server"),
        RefreshVerdict::UserGone | RefreshVerdict::Rotated | RefreshVerdict::Returned => return not_found(),
    };
    code.at(StatusCode::BAD_REQUEST, format!("Invalid Refresh Token: {message}"))
}

fn not_found() -> Error {
    Code::RefreshTokenNotFound.because("Invalid Refresh Token: Refresh Token Not Found")
}
