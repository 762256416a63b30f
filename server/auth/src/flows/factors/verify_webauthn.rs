//! Verification of a security key as a second factor.

use super::Holder;
use super::verify::{Answer, Proof};
use crate::Error;
use crate::factors::assertion::Assertion;
use crate::factors::webauthn::{Failure, verified_members};
use crate::flows::Context;
use crate::flows::services::Factors;
use crate::store::factors::Challenge;
use crate::store::model::user::Factor;

/// Checks that the answer is complete.
///
/// Errors: `validation_failed`.
pub(super) fn check_form(answer: &Answer) -> Result<(), Error> {
    let Some(webauthn) = &answer.webauthn else {
        return Err(Error::validation("WebAuthn config required"));
    };
    if !matches!(webauthn.ceremony.as_str(), "create" | "request") {
        return Err(Error::validation("WebAuthn type must be create or request"));
    }
    if webauthn.response.is_none() {
        return Err(Error::validation("credential_response required"));
    }
    Ok(())
}

/// Returns what the answer proves, or `None` if it is wrong.
///
/// Errors: `validation_failed` for one of another form than browsers give it.
pub(super) fn check(
    context: &Context<'_, Factors>,
    holder: &Holder,
    factor: &Factor,
    challenge: &Challenge,
    answer: &Answer,
) -> Result<Option<Proof>, Error> {
    let Some(webauthn) = &answer.webauthn else { return Ok(None) };
    let (Some(response), Some(state)) = (&webauthn.response, &challenge.ceremony) else { return Ok(None) };
    // A verified factor must use its own key; an unverified one has no key yet and registers one.
    let proof = match (webauthn.ceremony.as_str(), &challenge.credential) {
        ("create", None) if !factor.is_verified() => {
            let registered = context.services.relying_party.finish_registration(state.clone(), response);
            registered
                .map(|credential| Proof::Registration { credential, response: verified_members(response) })
        }
        ("request", Some(credential)) => Assertion::parse(response).and_then(|assertion| {
            if assertion.names_other_user_than(holder.user.id) {
                return Err(Failure::OtherUser);
            }
            let authenticator = context.services.relying_party.finish_authentication(
                state.clone(),
                &assertion,
                credential,
            )?;
            Ok(Proof::Assertion { authenticator, response: verified_members(response) })
        }),
        _ => return Ok(None),
    };
    match proof {
        Ok(proof) => Ok(Some(proof)),
        Err(Failure::Malformed(_)) => Err(Error::validation("Invalid credential_response")),
        Err(Failure::Internal(error)) => Err(error),
        Err(cause @ (Failure::Refused(_) | Failure::OtherUser | Failure::Unreadable(_))) => {
            tracing::debug!(%cause, factor = %factor.id, "a security key was refused");
            Ok(None)
        }
    }
}
