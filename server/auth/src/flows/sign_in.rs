//! Sign-in with a password.

use http::StatusCode;
use postgres::Database;
use uuid::Uuid;

use crate::delivery::hooks::{AttemptDecision, Hooks};
use crate::error::refusals;
use crate::flows::access_token::Session;
use crate::flows::services::Accounts;
use crate::flows::session::{self, SignIn};
use crate::secrets::passwords;
use crate::store::model::address::Address;
use crate::store::model::client::Client;
use crate::store::{sessions, users};
use crate::{Code, Error};

/// Begins a session of the user who has `address` and `password` in `audience`.
///
/// Errors: `invalid_credentials` for an unknown user, one without a password and a wrong password, after the same
/// amount of work each; `user_banned`; `email_not_confirmed` or `phone_not_confirmed`, only to those who know the
/// password; `over_request_rate_limit` when too many sign-ins wait for their hash.
pub(crate) async fn with_password(
    services: &Accounts,
    address: Address,
    password: String,
    audience: &str,
    client: &Client<'_>,
) -> Result<Session, Error> {
    let settings = &services.settings;
    match address {
        Address::Email(_) if !settings.providers.email => {
            return Err(
                Code::EmailProviderDisabled.at(StatusCode::UNPROCESSABLE_ENTITY, "Email logins are disabled")
            );
        }
        Address::Phone(_) if !settings.providers.phone => {
            return Err(
                Code::PhoneProviderDisabled.at(StatusCode::UNPROCESSABLE_ENTITY, "Phone logins are disabled")
            );
        }
        _ => {}
    }
    let candidate = users::find_by_address(&services.database, &address, audience).await?;
    let opened = candidate.as_ref().map(|candidate| candidate.password_hash(&settings.encryption));
    let opened = opened.transpose()?.flatten();
    let hash = opened.as_ref().map(|opened| &*opened.text);
    if hash.is_some() && candidate.as_ref().is_some_and(|candidate| candidate.banned) {
        return Err(Code::UserBanned.at(StatusCode::BAD_REQUEST, "User is banned"));
    }
    let matches = services.hasher.verify(password.clone(), hash).await?;
    if let Some(candidate) = candidate.as_ref().filter(|_| hash.is_some()) {
        ask_hook(&services.hooks, &services.database, candidate.id(), matches, client).await?;
    }
    let stale = opened.filter(|opened| opened.is_stale).map(|opened| opened.text.into_owned());
    let account = candidate.filter(|_| matches).ok_or_else(refusals::invalid_credentials)?;
    let (user, stale) = (account.user, account.encrypted_password.zip(stale));
    match address {
        Address::Email(_) if user.email_confirmed_at.is_none() => {
            return Err(Code::EmailNotConfirmed.because("Email not confirmed"));
        }
        Address::Phone(_) if user.phone_confirmed_at.is_none() => {
            return Err(Code::PhoneNotConfirmed.because("Phone not confirmed"));
        }
        _ => {}
    }
    if let Some((stored, hash)) = stale {
        let sealed = settings.encryption.seal(user.id, &hash)?;
        users::reseal_password(&services.database, user.id, &stored, &sealed).await?;
    }
    let weakness = passwords::weakness(&services.settings.passwords, &services.leaks, &password)
        .await
        .unwrap_or_else(|error| {
            // A right password is accepted even if its strength cannot be checked at the moment.
            tracing::warn!(%error, "a password's strength could not be checked at sign-in");
            None
        });
    let sign_in = SignIn { method: "password", login: Some(address.provider()), ..SignIn::default() };
    let session = session::begin(&services.sessions, &services.database, user.id, sign_in, client).await?;
    Ok(session.with_weak_password(weakness))
}

/// Asks the project's hook about an attempt, successful or not.
///
/// Errors: `invalid_credentials` with the hook's message, if it refuses; those of the hook itself.
async fn ask_hook(
    hooks: &Hooks,
    database: &Database,
    user: Uuid,
    matches: bool,
    client: &Client<'_>,
) -> Result<(), Error> {
    let decision = hooks.password_verification(user, matches, client).await?;
    let AttemptDecision::Reject { message, logout } = decision else { return Ok(()) };
    if logout {
        sessions::end_others(database, user, None).await?;
    }
    Err(Code::InvalidCredentials.because(message))
}
