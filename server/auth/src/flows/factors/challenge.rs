//! Creation of a challenge for a factor, whose kind may be verified
//! ([`require_verifiable`](super::require_verifiable)).

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Holder, factor_not_found, owner};
use crate::Error;
use crate::delivery::messages::TextMessage;
use crate::error::refusals;
use crate::factors::FactorType;
use crate::factors::webauthn::StartedCeremony;
use crate::flows::services::Factors;
use crate::flows::{Context, deliver, one_time_code};
use crate::store::audit::{Action, Actor};
use crate::store::factors::{self, ChallengeOutcome, NewChallenge};
use crate::store::model::user::Factor;
use crate::store::{self, users};

/// How many times storing a challenge is tried: the column of its creation time is unique.
const TRIES: usize = 5;

/// A challenge that was made.
pub(crate) struct Challenge {
    pub(crate) id: Uuid,
    pub(crate) factor_type: FactorType,
    /// Unix seconds.
    pub(crate) expires_at: i64,
    pub(crate) webauthn: Option<WebauthnChallenge>,
}

/// What a browser is to do with a security key.
pub(crate) struct WebauthnChallenge {
    /// `create` or `request`.
    pub(crate) ceremony: &'static str,
    /// The `publicKey` of `navigator.credentials.create` or `.get`.
    pub(crate) options: Value,
}

/// Challenges the holder to show an app's code.
pub(crate) async fn totp(
    context: &Context<'_, Factors>,
    holder: &Holder,
    factor: &Factor,
) -> Result<Challenge, Error> {
    let challenge = new_challenge(context, factor);
    let expires_at = store(context, holder, factor, &challenge, None).await?;
    Ok(Challenge { id: challenge.id, factor_type: FactorType::Totp, expires_at, webauthn: None })
}

/// Sends the holder a code over `channel`, `sms` or `whatsapp`.
///
/// Errors: `validation_failed`, `over_sms_send_rate_limit`; those of sending.
pub(crate) async fn phone(
    context: &Context<'_, Factors>,
    holder: &Holder,
    factor: &Factor,
    channel: &str,
) -> Result<Challenge, Error> {
    let channel = if channel.is_empty() { "sms" } else { channel };
    deliver::check_channel(&context.delivery(), channel)?;
    let settings = &context.services.settings;
    let account =
        users::find(&context.services.database, holder.user.id).await?.ok_or_else(factor_not_found)?;
    let code = one_time_code::digits(settings.mfa.phone.otp_length);
    let mut challenge = new_challenge(context, factor);
    let sealed = settings.encryption.seal(challenge.id, &code)?;
    (challenge.code, challenge.frequency) = (&sealed, Some(settings.mfa.phone.max_frequency));
    let message = TextMessage {
        phone: &factor.phone,
        code: &code,
        channel,
        is_factor: true,
        account: &account,
        client: &context.client,
    };
    let expires_at = store(context, holder, factor, &challenge, Some(&message)).await?;
    Ok(Challenge { id: challenge.id, factor_type: FactorType::Phone, expires_at, webauthn: None })
}

/// Begins the ceremony in which a security key is registered or, once it is verified, used.
pub(crate) async fn webauthn(
    context: &Context<'_, Factors>,
    holder: &Holder,
    factor: &Factor,
) -> Result<Challenge, Error> {
    let credentials = factors::credentials(&context.services.database, holder.user.id).await?;
    let (ceremony, StartedCeremony { options, state }) = if factor.is_verified() {
        let own = credentials.into_iter().filter(|held| held.factor_id == factor.id);
        let own: Vec<_> = own.map(|held| held.credential).collect();
        ("request", context.services.relying_party.start_authentication(Some(holder.user.id), &own)?)
    } else {
        let known: Vec<_> = credentials.into_iter().map(|held| held.credential).collect();
        ("create", context.services.relying_party.start_registration(&owner(&holder.user), false, &known)?)
    };
    let mut challenge = new_challenge(context, factor);
    challenge.ceremony = Some(&state);
    let expires_at = store(context, holder, factor, &challenge, None).await?;
    let webauthn = Some(WebauthnChallenge { ceremony, options });
    Ok(Challenge { id: challenge.id, factor_type: FactorType::Webauthn, expires_at, webauthn })
}

fn new_challenge<'a>(context: &Context<'_, Factors>, factor: &Factor) -> NewChallenge<'a> {
    NewChallenge {
        id: Uuid::new_v4(),
        factor_id: factor.id,
        address: context.client.address,
        code: "",
        ceremony: None,
        frequency: None,
        expiry: context.services.settings.mfa.challenge_expiry,
    }
}

/// Stores `challenge` and sends `message`, if there is one; returns until when it may be answered, in Unix seconds.
async fn store(
    context: &Context<'_, Factors>,
    holder: &Holder,
    factor: &Factor,
    challenge: &NewChallenge<'_>,
    message: Option<&TextMessage<'_>>,
) -> Result<i64, Error> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        match try_store(context, holder, factor, challenge, message).await {
            Err(error) if tries > 0 && error.violates("mfa_factors_last_challenged_at_key") => {}
            outcome => return outcome,
        }
    }
}

async fn try_store(
    context: &Context<'_, Factors>,
    holder: &Holder,
    factor: &Factor,
    challenge: &NewChallenge<'_>,
    message: Option<&TextMessage<'_>>,
) -> Result<i64, Error> {
    let work = store::begin(&context.services.database).await?;
    let expires_at = match factors::challenge(&work, challenge).await?.ok_or_else(factor_not_found)? {
        ChallengeOutcome::Until(moment) => moment,
        ChallengeOutcome::Wait(seconds) => {
            return Err(refusals::sms_too_soon(Duration::from_secs_f64(seconds.max(0.0))));
        }
    };
    let traits = json!({ "factor_id": factor.id, "factor_status": factor.status });
    let actor = Actor::User(holder.user.id);
    context.log(&work, actor, Action::ChallengeCreated, traits).await?;
    if let Some(message) = message {
        context.services.delivery.messages.send_sms(*message).await?;
    }
    work.commit().await?;
    Ok(expires_at)
}
