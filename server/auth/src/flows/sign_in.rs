//! Sign-in with a password.

use http::StatusCode;

use crate::error::refusals;
use crate::flows::access_token::Session;
use crate::flows::session::{self, SignIn};
use crate::store::sessions::Client;
use crate::store::users;
use crate::{Auth, Code, Error};

/// What a user signs in with.
pub(crate) enum Address {
    /// Lowercase.
    Email(String),
    /// Digits only, without the leading plus sign.
    Phone(String),
}

impl Address {
    /// The one address of a request in which absent fields are empty.
    ///
    /// Errors: `validation_failed` for none or both; `invalid_credentials` for one with a NUL, which no text in
    /// Postgres contains, so that nobody has it.
    pub(crate) fn from_fields(email: &str, phone: &str) -> Result<Address, Error> {
        if email.contains('\0') || phone.contains('\0') {
            return Err(refusals::invalid_credentials());
        }
        match (email, phone) {
            ("", "") => Err(Error::validation("missing email or phone")),
            (email, "") => Ok(Address::Email(email.to_lowercase())),
            ("", phone) => Ok(Address::Phone(phone.replace(['+', ' '], ""))),
            _ => Err(Error::validation("Only an email address or phone number should be provided on login.")),
        }
    }

    const fn provider(&self) -> &'static str {
        match self {
            Address::Email(_) => "email",
            Address::Phone(_) => "phone",
        }
    }
}

/// Begins a session of the user who has `address` and `password` in `audience`.
///
/// Errors: `invalid_credentials` for an unknown user, one without a password and a wrong password, after the same
/// amount of work each; `user_banned`; `email_not_confirmed` or `phone_not_confirmed`, only to those who know the
/// password; `over_request_rate_limit` when too many sign-ins wait for their hash.
pub(crate) async fn with_password(
    auth: &Auth,
    address: Address,
    password: String,
    audience: &str,
    client: &Client<'_>,
) -> Result<Session, Error> {
    let settings = &auth.settings;
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
    let candidate = users::find_by_address(&auth.database, &address, audience).await?;
    let hash = candidate.as_ref().and_then(|candidate| candidate.encrypted_password.as_deref());
    if hash.is_some() && candidate.as_ref().is_some_and(|candidate| candidate.banned) {
        return Err(Code::UserBanned.at(StatusCode::BAD_REQUEST, "User is banned"));
    }
    let weakness = settings.passwords.weakness(&password);
    let matches = auth.hasher.verify(password, hash).await?;
    let user = candidate.filter(|_| matches).ok_or_else(refusals::invalid_credentials)?.user;
    match address {
        Address::Email(_) if user.email_confirmed_at.is_none() => {
            return Err(Code::EmailNotConfirmed.because("Email not confirmed"));
        }
        Address::Phone(_) if user.phone_confirmed_at.is_none() => {
            return Err(Code::PhoneNotConfirmed.because("Phone not confirmed"));
        }
        _ => {}
    }
    let sign_in = SignIn { method: "password", login: Some(address.provider()), ..SignIn::default() };
    let session = session::begin(auth, &auth.database, user.id, sign_in, client).await?;
    Ok(session.with_weak_password(weakness))
}
