//! Passkeys: security keys as first factor, which store the user's id themselves.

use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use super::access_token::Session;
use super::bearer::{Admin, Bearer};
use super::factors::owner;
use super::session::SignIn;
use super::{Context, session};
use crate::error::refusals;
use crate::factors::aaguid;
use crate::factors::assertion::Assertion;
use crate::factors::credential::Credential;
use crate::factors::webauthn::Failure;
use crate::flows::services::Passkeys;
use crate::store::audit::{Action, Actor};
use crate::store::passkeys::{self, Ceremony, OwnedPasskey, Passkey};
use crate::store::{self, factors};
use crate::{Code, Error, Settings};

/// Longest name of a passkey in characters.
const LONGEST_NAME: usize = 120;

/// A started ceremony and its id.
pub(crate) struct StartedCeremony {
    pub(crate) challenge: Uuid,
    /// What the browser's `navigator.credentials` takes as `publicKey`.
    pub(crate) options: Value,
    /// Unix seconds.
    pub(crate) expires_at: i64,
}

/// What ends a ceremony.
pub(crate) struct Answer {
    pub(crate) challenge: Uuid,
    /// What the browser has got from the authenticator.
    pub(crate) credential: Value,
}

impl Answer {
    /// Reads the fields of an answer.
    ///
    /// Errors: `validation_failed` for what is missing or no UUID.
    pub(crate) fn parse(challenge: &str, credential: Option<Value>) -> Result<Self, Error> {
        if challenge.is_empty() {
            return Err(Error::validation("challenge_id is required"));
        }
        let credential = credential.ok_or_else(|| Error::validation("credential is required"))?;
        let challenge = challenge.parse();
        let challenge = challenge.map_err(|_| Error::validation("challenge_id must be a valid UUID"))?;
        Ok(Self { challenge, credential })
    }
}

/// Checks that passkeys are on.
///
/// Errors: `passkey_disabled`.
pub(crate) fn require_enabled(settings: &Settings) -> Result<(), Error> {
    match settings.passkeys.enabled {
        true => Ok(()),
        false => Err(Code::PasskeyDisabled.because("Passkeys are disabled")),
    }
}

/// Checks that this session is verified by a second factor, if the user has one.
///
/// Errors: `insufficient_aal`.
fn require_second_factor(bearer: &Bearer) -> Result<(), Error> {
    if bearer.user.has_verified_factor() && !bearer.is_aal2() {
        let message = "AAL2 session is required to manage passkeys when MFA is enabled";
        return Err(Code::InsufficientAal.because(message));
    }
    Ok(())
}

/// Checks that the user may register a passkey.
///
/// Errors: `no_authorization` (403) for anonymous users, `validation_failed` (422) for those of single sign-on,
/// `insufficient_aal`.
pub(crate) fn require_eligible(bearer: &Bearer) -> Result<(), Error> {
    if bearer.is_anonymous() {
        let message = "Anonymous user not allowed to perform these actions";
        return Err(Code::NoAuthorization.at(StatusCode::FORBIDDEN, message));
    }
    if bearer.is_sso_user {
        let message = "SSO users cannot register passkeys";
        return Err(Code::ValidationFailed.at(StatusCode::UNPROCESSABLE_ENTITY, message));
    }
    require_second_factor(bearer)
}

fn too_many() -> Error {
    Code::TooManyPasskeys.because("Maximum number of passkeys reached")
}

fn refused(failure: Failure, message: &'static str) -> Error {
    if let Failure::Internal(error) = failure {
        return error;
    }
    tracing::debug!(cause = %failure, "a passkey was refused");
    Code::WebauthnVerificationFailed.because(message)
}

/// Begins the registration of a passkey of the caller.
///
/// Errors: as [`require_eligible`]; `too_many_passkeys`.
pub(crate) async fn start_registration(
    context: &Context<'_, Passkeys>,
    bearer: &Bearer,
) -> Result<StartedCeremony, Error> {
    require_eligible(bearer)?;
    let (services, user) = (context.services, &bearer.user);
    let known = passkeys::list(&services.database, user.id).await?;
    if known.len() >= services.settings.passkeys.max_per_user {
        return Err(too_many());
    }
    let known: Vec<_> = known.into_iter().map(|passkey| passkey.credential).collect();
    let started = services.relying_party.start_registration(&owner(user), true, &known)?;
    let (id, expiry) = (Uuid::new_v4(), services.settings.webauthn.challenge_expiry);
    let (user, kind) = (Some(user.id), Ceremony::Registration);
    let expires_at = passkeys::start(&services.database, id, user, kind, &started.state, expiry).await?;
    Ok(StartedCeremony { challenge: id, options: started.options, expires_at })
}

/// Deletes the ceremony that `answer` ends; returns its state, which the answer is verified against.
///
/// Errors: `webauthn_challenge_not_found`, `webauthn_challenge_expired`.
async fn take(
    context: &Context<'_, Passkeys>,
    answer: &Answer,
    user: Option<Uuid>,
    kind: Ceremony,
) -> Result<Value, Error> {
    let started = passkeys::take(&context.services.database, answer.challenge, user, kind).await?;
    let started = started
        .ok_or_else(|| Code::WebauthnChallengeNotFound.because("Challenge not found or already used"))?;
    if started.is_expired {
        return Err(Code::WebauthnChallengeExpired.because("Challenge has expired"));
    }
    Ok(started.state)
}

/// Ends the registration of a passkey of the caller.
///
/// Errors: as [`start_registration`]; `webauthn_challenge_not_found`, `webauthn_challenge_expired`,
/// `webauthn_verification_failed`, `webauthn_credential_exists`.
pub(crate) async fn finish_registration(
    context: &Context<'_, Passkeys>,
    bearer: &Bearer,
    answer: &Answer,
) -> Result<Passkey, Error> {
    require_eligible(bearer)?;
    let user = bearer.user.id;
    let state = take(context, answer, Some(user), Ceremony::Registration).await?;
    let credential = context.services.relying_party.finish_registration(state, &answer.credential);
    let credential = credential.map_err(|failure| match failure {
        Failure::Malformed(_) => refused(failure, "Invalid credential response"),
        _ => refused(failure, "Credential verification failed"),
    })?;
    store(context, user, &credential).await
}

async fn store(
    context: &Context<'_, Passkeys>,
    user: Uuid,
    credential: &Credential,
) -> Result<Passkey, Error> {
    let settings = &context.services.settings;
    let work = store::begin(&context.services.database).await?;
    factors::lock_owner(&work, user).await?;
    if passkeys::list(&work, user).await?.len() >= settings.passkeys.max_per_user {
        return Err(too_many());
    }
    let name = aaguid::name(credential.authenticator.aaguid);
    let passkey = passkeys::insert(&work, user, name, credential).await.map_err(|error| {
        match error.violates("webauthn_credentials_credential_id_key") {
            true => Code::WebauthnCredentialExists.because("This credential is already registered"),
            false => error,
        }
    })?;
    let (actor, traits) = (Actor::User(user), json!({ "passkey_id": passkey.id }));
    context.log(&work, actor, Action::PasskeyCreated, traits).await?;
    work.commit().await?;
    Ok(passkey)
}

/// Begins a sign-in with any passkey that the authenticator has for this site.
pub(crate) async fn start_authentication(context: &Context<'_, Passkeys>) -> Result<StartedCeremony, Error> {
    let services = context.services;
    let started = services.relying_party.start_authentication(None, &[])?;
    let (id, expiry) = (Uuid::new_v4(), services.settings.webauthn.challenge_expiry);
    let kind = Ceremony::Authentication;
    let expires_at = passkeys::start(&services.database, id, None, kind, &started.state, expiry).await?;
    Ok(StartedCeremony { challenge: id, options: started.options, expires_at })
}

/// Ends a sign-in with a passkey.
///
/// Errors: `webauthn_challenge_not_found`, `webauthn_challenge_expired`, `webauthn_verification_failed`;
/// `email_not_confirmed`, `phone_not_confirmed`, `user_banned` (403), only after the passkey was verified.
pub(crate) async fn finish_authentication(
    context: &Context<'_, Passkeys>,
    answer: &Answer,
) -> Result<Session, Error> {
    let services = context.services;
    let state = take(context, answer, None, Ceremony::Authentication).await?;
    let assertion = Assertion::parse(&answer.credential);
    let assertion = assertion.map_err(|failure| refused(failure, "Invalid credential response"))?;
    let failed = || Code::WebauthnVerificationFailed.because("Credential verification failed");
    let owner = assertion.user().ok_or_else(failed)?;
    let held = passkeys::find(&services.database, assertion.credential_id(), owner).await?;
    let held = held.ok_or_else(failed)?;
    let authenticator =
        services.relying_party.finish_authentication(state, &assertion, &held.passkey.credential);
    let authenticator =
        authenticator.map_err(|failure| refused(failure, "Credential verification failed"))?;
    require_confirmed(&held)?;
    let work = store::begin(&services.database).await?;
    if !passkeys::set_used(&work, held.passkey.id, authenticator.sign_count, authenticator.backup_state)
        .await?
    {
        return Err(failed());
    }
    let (actor, traits) = (Actor::User(owner), json!({ "passkey_id": held.passkey.id }));
    context.log(&work, actor, Action::Login, traits).await?;
    let sign_in = SignIn { method: "passkey", ..SignIn::default() };
    let session = session::begin(&services.sessions, &work, owner, sign_in, &context.client).await?;
    work.commit().await?;
    Ok(session)
}

fn require_confirmed(held: &OwnedPasskey) -> Result<(), Error> {
    let user = &held.account.user;
    if !user.email.is_empty() && user.email_confirmed_at.is_none() {
        return Err(Code::EmailNotConfirmed.at(StatusCode::FORBIDDEN, "Email not confirmed"));
    }
    if !user.phone.is_empty() && user.phone_confirmed_at.is_none() {
        return Err(Code::PhoneNotConfirmed.at(StatusCode::FORBIDDEN, "Phone not confirmed"));
    }
    if held.account.banned {
        return Err(refusals::user_banned());
    }
    Ok(())
}

fn not_found() -> Error {
    refusals::id_not_uuid("Passkey not found")
}

/// Returns the id of a passkey as it stands in a path.
///
/// Errors: `validation_failed` (404).
pub(crate) fn parse_id(id: &str) -> Result<Uuid, Error> {
    id.parse().map_err(|_| not_found())
}

/// Gives passkey `id` of the caller a name.
///
/// Errors: `validation_failed` (404) for an unknown one, `validation_failed` for an empty name and for one that is too
/// long.
pub(crate) async fn rename(
    context: &Context<'_, Passkeys>,
    bearer: &Bearer,
    id: Uuid,
    name: &str,
) -> Result<Passkey, Error> {
    if name.is_empty() {
        return Err(Error::validation("friendly_name is required"));
    }
    if name.chars().count() > LONGEST_NAME || name.contains('\0') {
        let message = format!("friendly_name must be {LONGEST_NAME} characters or less");
        return Err(Error::validation(message));
    }
    let user = bearer.user.id;
    let work = store::begin(&context.services.database).await?;
    let passkey = passkeys::rename(&work, user, id, name).await?.ok_or_else(not_found)?;
    let actor = Actor::User(user);
    let traits = json!({ "passkey_id": id });
    context.log(&work, actor, Action::PasskeyUpdated, traits).await?;
    work.commit().await?;
    Ok(passkey)
}

/// Removes the caller's passkey with `id` as it stands in a path.
///
/// Errors: `insufficient_aal`; `validation_failed` (404) for an unknown one.
pub(crate) async fn delete(context: &Context<'_, Passkeys>, bearer: &Bearer, id: &str) -> Result<(), Error> {
    require_second_factor(bearer)?;
    let (user, id) = (bearer.user.id, parse_id(id)?);
    remove(context, Actor::User(user), user, id, json!({ "passkey_id": id })).await
}

/// Removes the passkey of `user` with `id` as it stands in a path, as an administrator.
///
/// Errors: `validation_failed` (404) for an unknown one.
pub(crate) async fn delete_of(
    context: &Context<'_, Passkeys>,
    admin: &Admin,
    user: Uuid,
    id: &str,
) -> Result<(), Error> {
    let id = parse_id(id)?;
    remove(context, admin.actor(), user, id, json!({ "user_id": user, "passkey_id": id })).await
}

async fn remove(
    context: &Context<'_, Passkeys>,
    actor: Actor<'_>,
    user: Uuid,
    id: Uuid,
    traits: Value,
) -> Result<(), Error> {
    let work = store::begin(&context.services.database).await?;
    if !passkeys::delete(&work, user, id).await? {
        return Err(not_found());
    }
    context.log(&work, actor, Action::PasskeyDeleted, traits).await?;
    Ok(work.commit().await?)
}
