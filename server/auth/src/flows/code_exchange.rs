//! The exchange of a PKCE code for a session.

use http::StatusCode;
use serde_json::json;

use super::access_token::Session;
use super::session::{self, SignIn};
use super::{Context, pkce};
use crate::flows::services::Sessions;
use crate::store::audit::{Action, Actor};
use crate::store::flow_states::{self, FlowState};
use crate::store::{self, users};
use crate::{Code, Error};

/// Exchanges `code` for a session if the flow's challenge was derived from `verifier`. Of several exchanges of one
/// code, one wins; a wrong verifier leaves the code as it is.
///
/// Errors: `validation_failed` for empty fields, `flow_state_not_found` for an unknown or used code,
/// `flow_state_expired`, `bad_code_verifier`, `user_banned`.
pub(crate) async fn exchange(
    context: &Context<'_, Sessions>,
    code: &str,
    verifier: &str,
) -> Result<Session, Error> {
    if code.is_empty() || verifier.is_empty() {
        let message = "invalid request: both auth code and code verifier should be non-empty";
        return Err(Error::validation(message));
    }
    // No text in Postgres contains a NUL.
    if code.contains('\0') {
        return Err(not_found());
    }
    let services = context.services;
    let work = store::begin(&services.database).await?;
    let flow = flow_states::find_by_code(&work, code).await?.ok_or_else(not_found)?;
    let user_id = flow.user_id.ok_or_else(not_found)?;
    check_age(context, &flow)?;
    let (challenge, method) = (flow.code_challenge.as_deref(), flow.code_challenge_method.as_deref());
    pkce::verify(challenge.unwrap_or_default(), method.unwrap_or_default(), verifier)?;
    let account = users::find(&work, user_id).await?.ok_or_else(not_found)?;
    if account.banned {
        return Err(Code::UserBanned.at(StatusCode::BAD_REQUEST, "User is banned"));
    }
    let traits = json!({ "provider_type": flow.provider_type });
    context.log(&work, Actor::User(user_id), Action::Login, traits).await?;
    let sign_in = SignIn { method: &flow.authentication_method, ..SignIn::default() };
    let session = session::begin(services, &work, user_id, sign_in, &context.client).await?;
    flow_states::delete(&work, flow.id).await?;
    work.commit().await?;
    Ok(session.with_provider_tokens(
        flow.provider_access_token.unwrap_or_default(),
        flow.provider_refresh_token.unwrap_or_default(),
    ))
}

/// Checks that `flow` is not too old. A magic link is often opened late, so its flow counts from then.
///
/// Errors: `flow_state_expired`.
fn check_age(context: &Context<'_, Sessions>, flow: &FlowState) -> Result<(), Error> {
    let expiry = context.services.settings.providers.flow_state_expiry.as_secs_f64().max(300.0);
    let opened = flow.code_age.filter(|_| flow.authentication_method == "magiclink");
    if opened.unwrap_or(flow.age) <= expiry {
        return Ok(());
    }
    Err(Code::FlowStateExpired.because("invalid flow state, flow state has expired"))
}

fn not_found() -> Error {
    Code::FlowStateNotFound.at(StatusCode::NOT_FOUND, "invalid flow state, no valid flow state found")
}
