//! Refusals that several flows share, so that each text exists once.

use std::time::Duration;

use http::StatusCode;

use super::{Code, Error};

/// Returns the refusal of a body that is not JSON, or not of the right shape.
pub(crate) fn bad_json(cause: impl std::fmt::Display) -> Error {
    Code::BadJson.because(format!("Could not parse request body as JSON: {cause}"))
}

/// Returns the refusal of a request that took too long.
pub(crate) fn request_timeout() -> Error {
    Code::RequestTimeout.because("Processing this request timed out, please retry after a moment.")
}

/// Returns the refusal of a request while others change the same session.
pub(crate) fn conflict() -> Error {
    Code::Conflict.because("Too many concurrent token refresh requests on the same session or refresh token")
}

/// Returns the refusal of too many requests of one client.
pub(crate) fn over_request_rate_limit() -> Error {
    Code::OverRequestRateLimit.because("Request rate limit reached")
}

/// Returns the refusal of a sign-in while too many others wait for their hash: no client's fault, and over in a moment.
pub(crate) fn overloaded() -> Error {
    let message = "Too many sign-ins at the same time, please retry after a moment.".into();
    Error::Refused { status: StatusCode::SERVICE_UNAVAILABLE, code: Code::OverRequestRateLimit, message }
}

/// Returns the refusal of another mail to this user so soon; `wait` is what remains to be waited.
pub(crate) fn mail_too_soon(wait: Duration) -> Error {
    Code::OverEmailSendRateLimit.because(too_soon(wait))
}

/// Returns the refusal of another text message to this user so soon; `wait` is what remains to be waited.
pub(crate) fn sms_too_soon(wait: Duration) -> Error {
    Code::OverSmsSendRateLimit.because(too_soon(wait))
}

fn too_soon(wait: Duration) -> String {
    format!("For security purposes, you can only request this after {} seconds.", wait.as_secs().max(1))
}

/// Returns the refusal of an unknown user or a wrong password: deliberately the same.
pub(crate) fn invalid_credentials() -> Error {
    Code::InvalidCredentials.because("Invalid login credentials")
}

/// Returns the refusal for an access token whose user is banned.
pub(crate) fn user_banned() -> Error {
    Code::UserBanned.because("User is banned")
}

/// Returns the refusal where new users are not taken.
pub(crate) fn signup_disabled() -> Error {
    Code::SignupDisabled.because("Signups not allowed for this instance")
}

/// Returns the refusal of an e-mail address that belongs to another user.
pub(crate) fn email_exists() -> Error {
    Code::EmailExists.because("A user with this email address has already been registered")
}

/// Returns the refusal of a phone number that belongs to another user.
pub(crate) fn phone_exists() -> Error {
    Code::PhoneExists.because("A user with this phone number has already been registered")
}

/// Returns the refusal of an id in a path that is not a UUID.
pub(crate) fn id_not_uuid(message: &'static str) -> Error {
    Code::ValidationFailed.at(StatusCode::NOT_FOUND, message)
}

/// Returns the refusal for an access token whose user is gone.
pub(crate) fn user_gone() -> Error {
    Code::UserNotFound.at(StatusCode::FORBIDDEN, "User from sub claim in JWT does not exist")
}

/// Returns the refusal for an access token whose session is gone.
pub(crate) fn session_gone() -> Error {
    Code::SessionNotFound.because("Session from session_id claim in JWT does not exist")
}
