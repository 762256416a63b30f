use std::borrow::Cow;

use database::ServerError;
use http::StatusCode;

/// Everything that this service answers with other than success.
///
/// [`code`](Error::code) and [`status`](Error::status) follow Supabase Auth's table of error codes; the texts are
/// those that clients match on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The body is not JSON, or not of the right shape.
    #[error("Could not parse request body as JSON: {0}")]
    BadJson(String),
    /// A parameter is missing or wrong.
    #[error("{0}")]
    ValidationFailed(Cow<'static, str>),
    /// `grant_type` is missing or unknown.
    #[error("unsupported_grant_type")]
    UnsupportedGrantType,
    /// Unknown user or wrong password; deliberately not told apart.
    #[error("Invalid login credentials")]
    InvalidCredentials,
    /// E-mail sign-in is switched off.
    #[error("Email logins are disabled")]
    EmailProviderDisabled,
    /// Phone sign-in is switched off.
    #[error("Phone logins are disabled")]
    PhoneProviderDisabled,
    /// Right password, but the address is not confirmed yet.
    #[error("Email not confirmed")]
    EmailNotConfirmed,
    /// Right password, but the number is not confirmed yet.
    #[error("Phone not confirmed")]
    PhoneNotConfirmed,
    /// The user is banned.
    #[error("{}", match .0 { Door::Refresh => "Invalid Refresh Token: User Banned", _ => "User is banned" })]
    UserBanned(Door),
    /// No bearer token.
    #[error("This endpoint requires a valid Bearer token")]
    NoAuthorization,
    /// A bearer token that cannot be used, and why.
    #[error("{0}")]
    BadJwt(String),
    /// A bearer token whose `sub` cannot be a user's id.
    #[error("invalid claim: sub claim must be a UUID")]
    SubjectNotUuid,
    /// The bearer token's user is gone.
    #[error("User from sub claim in JWT does not exist")]
    UserNotFound,
    /// The token's session is gone.
    #[error("{}", match .0 {
        Door::Refresh => "Invalid Refresh Token: No Valid Session Found",
        _ => "Session from session_id claim in JWT does not exist",
    })]
    SessionNotFound(Door),
    /// A refresh token that was never issued, or whose session was ended.
    #[error("Invalid Refresh Token: Refresh Token Not Found")]
    RefreshTokenNotFound,
    /// A refresh token that was replaced too long ago.
    #[error("Invalid Refresh Token: Already Used")]
    RefreshTokenAlreadyUsed,
    /// The session has ended by the rules of `SessionSettings`.
    #[error("Invalid Refresh Token: Session Expired{}", .0.suffix())]
    SessionExpired(Expiry),
    /// An OAuth-style refusal (RFC 6749, section 5.2).
    #[error("{description}")]
    OAuth {
        /// The standard's error code.
        error: &'static str,
        /// What a developer should know.
        description: &'static str,
    },
    /// The body is larger than the stated number of bytes.
    #[error("Request body too large (max {0} bytes)")]
    RequestTooLarge(usize),
    /// The request took too long.
    #[error("Processing this request timed out, please retry after a moment.")]
    RequestTimeout,
    /// Others are changing the same session.
    #[error("Too many concurrent token refresh requests on the same session or refresh token")]
    Conflict,
    /// Too many sign-ins are waiting already.
    #[error("Request rate limit reached")]
    OverRequestRateLimit,
    /// The database cannot be reached, or has refused a statement of ours. Told to the log, not to the caller.
    #[error("{}", database_message(.0))]
    Database(#[source] database::Error),
    /// A defect of ours. Told to the log, not to the caller.
    #[error("Unexpected failure, please check server logs for more information")]
    Internal(String),
}

/// Where somebody was refused; decides between 400 and 403.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Sign-in.
    SignIn,
    /// Refresh of a session.
    Refresh,
    /// A request with an access token.
    Bearer,
}

/// By which rule a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// Its own end or the longest life of sessions.
    Lifetime,
    /// Nobody refreshed it for too long.
    Inactivity,
    /// The second factor was not given in time.
    LowAal,
    /// A newer session took its place.
    NewerLogin,
}

impl Expiry {
    fn suffix(self) -> &'static str {
        match self {
            Expiry::Lifetime => "",
            Expiry::Inactivity => " (Inactivity)",
            Expiry::LowAal => " (Low AAL: User Needs MFA Verification)",
            Expiry::NewerLogin => " (Revoked by Newer Login)",
        }
    }
}

impl Error {
    /// A 400 `validation_failed` with this message.
    pub(crate) fn validation(message: impl Into<Cow<'static, str>>) -> Error {
        Error::ValidationFailed(message.into())
    }

    /// The code that clients tell errors apart by; empty for OAuth-style errors, which have their own.
    pub fn code(&self) -> &'static str {
        match self {
            Error::BadJson(_) => "bad_json",
            Error::ValidationFailed(_) => "validation_failed",
            Error::UnsupportedGrantType | Error::InvalidCredentials => "invalid_credentials",
            Error::EmailProviderDisabled => "email_provider_disabled",
            Error::PhoneProviderDisabled => "phone_provider_disabled",
            Error::EmailNotConfirmed => "email_not_confirmed",
            Error::PhoneNotConfirmed => "phone_not_confirmed",
            Error::UserBanned(_) => "user_banned",
            Error::NoAuthorization => "no_authorization",
            Error::BadJwt(_) | Error::SubjectNotUuid => "bad_jwt",
            Error::UserNotFound => "user_not_found",
            Error::SessionNotFound(_) => "session_not_found",
            Error::RefreshTokenNotFound => "refresh_token_not_found",
            Error::RefreshTokenAlreadyUsed => "refresh_token_already_used",
            Error::SessionExpired(_) => "session_expired",
            Error::OAuth { .. } => "",
            Error::RequestTooLarge(_) => "request_entity_too_large",
            Error::RequestTimeout => "request_timeout",
            Error::Conflict => "conflict",
            Error::OverRequestRateLimit => "over_request_rate_limit",
            Error::Database(_) | Error::Internal(_) => "unexpected_failure",
        }
    }

    /// The HTTP status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Error::EmailProviderDisabled | Error::PhoneProviderDisabled => StatusCode::UNPROCESSABLE_ENTITY,
            Error::NoAuthorization => StatusCode::UNAUTHORIZED,
            Error::BadJwt(_)
            | Error::UserNotFound
            | Error::UserBanned(Door::Bearer)
            | Error::SessionNotFound(Door::Bearer) => StatusCode::FORBIDDEN,
            Error::RequestTooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Error::RequestTimeout => StatusCode::GATEWAY_TIMEOUT,
            Error::Conflict => StatusCode::CONFLICT,
            Error::OverRequestRateLimit => StatusCode::TOO_MANY_REQUESTS,
            Error::Database(error) if error.is_unavailable() => StatusCode::SERVICE_UNAVAILABLE,
            Error::Database(_) | Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

impl Error {
    /// What a trigger or a constraint of the project said, which is meant for the client, and with which status:
    /// 500, or nnn if it was raised with SQLSTATE `PTnnn`.
    pub(crate) fn raised(&self) -> Option<(StatusCode, &ServerError)> {
        let Error::Database(error) = self else { return None };
        let server = error.server()?;
        let status = match server.code.as_str() {
            // raise_exception and the integrity constraint violations
            "P0001" | "23000" | "23001" | "23502" | "23503" | "23505" | "23514" | "23P01" => 500,
            other => other.strip_prefix("PT")?.parse().ok()?,
        };
        Some((StatusCode::from_u16(status).ok()?, server))
    }
}

/// Waiting in vain for a lock is a conflict, waiting in vain for the database a time-out.
impl From<database::Error> for Error {
    fn from(error: database::Error) -> Error {
        let state = error.server().map(|server| server.code.as_str());
        match (&error, state) {
            // lock_not_available, deadlock_detected, serialization_failure
            (_, Some("55P03" | "40P01" | "40001")) => Error::Conflict,
            (database::Error::AcquireTimeout(_) | database::Error::Timeout(_), _) => Error::RequestTimeout,
            _ => Error::Database(error),
        }
    }
}

fn database_message(error: &database::Error) -> &'static str {
    if error.is_unavailable() {
        "Database is not available, please retry"
    } else {
        "Database error querying schema"
    }
}
