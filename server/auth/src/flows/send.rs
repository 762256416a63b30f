//! Codes that users request: to sign in, to recover an account, to get a confirmation again, or to reauthenticate.

use http::StatusCode;
use rand::RngExt;
use rand::distr::Alphanumeric;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::bearer::Bearer;
use super::pkce::Challenge;
use super::sign_up::{self, RegistrationOutcome, SignUp, begin_flow};
use super::{Context, deliver};
use crate::flows::services::Accounts;
use crate::store::audit::{Action, Actor};
use crate::store::model::address::{self, Address};
use crate::store::one_time_tokens::Kind;
use crate::store::users::{self, Account};
use crate::store::{self, Work};
use crate::{Code, Error, MailKind, Settings};

/// A request for a code to sign in with.
pub(crate) struct Otp {
    pub(crate) address: Address,
    /// The new user's own metadata.
    pub(crate) data: Map<String, Value>,
    /// Whether unknown users become users.
    pub(crate) create_user: bool,
    /// `sms` or `whatsapp`.
    pub(crate) channel: String,
    pub(crate) challenge: Option<Challenge>,
}

/// Sends a code for signing in. Returns the id of a text message that went out, empty if none did.
///
/// Errors: `otp_disabled` for an unknown user who is not to be created; `email_provider_disabled` (422),
/// `phone_provider_disabled`; `validation_failed`; those of sign-up and of sending.
pub(crate) async fn otp(context: &Context<'_, Accounts>, request: Otp) -> Result<String, Error> {
    let existing =
        users::find_by_address(&context.services.database, &request.address, &context.audience).await?;
    if existing.is_none() && !request.create_user {
        return Err(Code::OtpDisabled.because("Signups not allowed for otp"));
    }
    check_enabled(context, &request)?;
    match existing {
        Some(account) if account.is_confirmed(&request.address) => {
            sign_in_code(context, &account, &request).await
        }
        _ => sign_up_code(context, request).await,
    }
}

fn check_enabled(context: &Context<'_, Accounts>, request: &Otp) -> Result<(), Error> {
    match request.address {
        Address::Email(_) => require_magic_link(&context.services.settings),
        Address::Phone(_) if !context.services.settings.providers.phone => {
            Err(Code::PhoneProviderDisabled.because("Unsupported phone provider"))
        }
        Address::Phone(_) => deliver::check_channel(&context.delivery(), &request.channel),
    }
}

/// Checks that users may sign in by mail.
///
/// Errors: `email_provider_disabled` (422).
pub(crate) fn require_magic_link(settings: &Settings) -> Result<(), Error> {
    let providers = &settings.providers;
    let disabled = |message| Err(Code::EmailProviderDisabled.at(StatusCode::UNPROCESSABLE_ENTITY, message));
    match (providers.email, providers.magic_link) {
        (false, _) => disabled("Email logins are disabled"),
        (true, false) => disabled("Login with magic link is disabled"),
        (true, true) => Ok(()),
    }
}

/// Creates a user for an unknown or unconfirmed address, with a random password. The confirmation that is sent signs
/// the user in; where addresses are confirmed at once, a code is sent in addition.
async fn sign_up_code(context: &Context<'_, Accounts>, request: Otp) -> Result<String, Error> {
    sign_up::check_open(context)?;
    let sign_up = SignUp {
        address: request.address.clone(),
        password: random_password(),
        data: request.data.clone(),
        channel: request.channel.clone(),
        challenge: request.challenge.clone(),
    };
    match sign_up::register(context, &sign_up, false).await? {
        RegistrationOutcome::New(account, _)
        | RegistrationOutcome::Unconfirmed(account, _)
        | RegistrationOutcome::Taken(account)
            if account.is_confirmed(&request.address) =>
        {
            sign_in_code(context, &account, &request).await
        }
        _ => Ok(String::new()),
    }
}

/// Returns 48 letters and digits, 285 bits of entropy.
pub(crate) fn random_password() -> String {
    rand::rng().sample_iter(Alphanumeric).take(48).map(char::from).collect()
}

async fn sign_in_code(
    context: &Context<'_, Accounts>,
    account: &Account,
    request: &Otp,
) -> Result<String, Error> {
    let work = store::begin(&context.services.database).await?;
    let account = lock_account(&work, account.id()).await?;
    let message_id = match &request.address {
        Address::Email(_) => {
            context.log(&work, Actor::User(account.id()), Action::UserRecoveryRequested, Value::Null).await?;
            let flow = ("magiclink", "magiclink");
            let pkce = begin_flow(&work, request.challenge.as_ref(), account.id(), flow).await?;
            deliver::mail(&context.delivery(), &work, account, MailKind::MagicLink, pkce).await?;
            String::new()
        }
        Address::Phone(phone) => {
            let traits = json!({ "channel": request.channel });
            context.log(&work, Actor::User(account.id()), Action::UserRecoveryRequested, traits).await?;
            let code = (Kind::Confirmation, phone.as_str());
            deliver::text_message(&context.delivery(), &work, account, code, &request.channel)
                .await?
                .message_id
        }
    };
    work.commit().await?;
    Ok(message_id)
}

/// Mails a recovery code to the user of `email`. The result does not reveal whether there is one.
///
/// Errors: those of sending.
pub(crate) async fn recover(
    context: &Context<'_, Accounts>,
    email: String,
    challenge: Option<Challenge>,
) -> Result<(), Error> {
    let work = store::begin(&context.services.database).await?;
    let account = users::find_by_address(&work, &Address::Email(email), &context.audience).await?;
    let Some(account) = account else {
        drop(work);
        context.services.delivery.messages.imitate_sending().await;
        return Ok(());
    };
    context.log(&work, Actor::User(account.id()), Action::UserRecoveryRequested, Value::Null).await?;
    let pkce = begin_flow(&work, challenge.as_ref(), account.id(), ("recovery", "recovery")).await?;
    deliver::mail(&context.delivery(), &work, account, MailKind::Recovery, pkce).await?;
    Ok(work.commit().await?)
}

::settings::words! {
    /// The code that is to be sent again.
    pub(crate) enum Repeat {
        SignUp = "signup",
        EmailChange = "email_change",
        Sms = "sms",
        PhoneChange = "phone_change",
    }
}

impl Repeat {
    /// Parses the name of what is sent again.
    ///
    /// Errors: `validation_failed` for an unknown name.
    pub(crate) fn parse(name: &str) -> Result<Self, Error> {
        const EXPECTED: &str = "Missing one of these types: signup, email_change, sms, phone_change";
        Self::of_name(name).ok_or_else(|| Error::validation(EXPECTED))
    }

    /// Returns the one address of the request, in which absent fields are empty. Changes are looked up by the current
    /// one.
    ///
    /// Errors: `validation_failed`; `email_provider_disabled`, `phone_provider_disabled`.
    pub(crate) fn address(
        self,
        context: &Context<'_, Accounts>,
        email: &str,
        phone: &str,
    ) -> Result<Address, Error> {
        match self {
            Self::SignUp if email.is_empty() => {
                return Err(Error::validation("Type provided requires an email address"));
            }
            Self::Sms if phone.is_empty() => {
                return Err(Error::validation("Type provided requires a phone number"));
            }
            _ => {}
        }
        let providers = &context.services.settings.providers;
        match (email, phone) {
            ("", "") => Err(Error::validation("Missing email address or phone number")),
            (_, "") if !providers.email => {
                Err(Code::EmailProviderDisabled.because("Email logins are disabled"))
            }
            ("", _) if !providers.phone => {
                Err(Code::PhoneProviderDisabled.because("Phone logins are disabled"))
            }
            (email, "") => address::email(email).map(Address::Email),
            ("", phone) => address::phone(phone).map(Address::Phone),
            _ => Err(Error::validation("Only an email address or phone number should be provided.")),
        }
    }

    /// Returns whether `account` awaits that code.
    fn is_due(self, account: &Account) -> bool {
        let user = &account.user;
        match self {
            Self::SignUp => user.email_confirmed_at.is_none() && !user.email.is_empty(),
            Self::Sms => user.phone_confirmed_at.is_none() && !user.phone.is_empty(),
            Self::EmailChange => user.new_email.is_some(),
            Self::PhoneChange => user.new_phone.is_some(),
        }
    }
}

/// Sends a code again, if the user of `address` awaits it; the result does not reveal whether that is so. Returns the
/// id of a text message that went out, empty if none did.
///
/// Errors: those of sending.
pub(crate) async fn resend(
    context: &Context<'_, Accounts>,
    repeat: Repeat,
    address: Address,
    challenge: Option<Challenge>,
) -> Result<String, Error> {
    let work = store::begin(&context.services.database).await?;
    let account = users::find_by_address(&work, &address, &context.audience).await?;
    let Some(account) = account.filter(|account| repeat.is_due(account)) else {
        drop(work);
        context.services.delivery.messages.imitate_sending().await;
        return Ok(String::new());
    };
    let id = account.id();
    let mut message_id = String::new();
    match repeat {
        Repeat::SignUp => {
            context
                .log(&work, Actor::User(account.id()), Action::UserConfirmationRequested, Value::Null)
                .await?;
            let flow = ("email/signup", "email/signup");
            let pkce = begin_flow(&work, challenge.as_ref(), id, flow).await?;
            deliver::mail(&context.delivery(), &work, account, MailKind::Confirmation, pkce).await?;
        }
        Repeat::EmailChange => {
            let new = account.user.new_email.clone().unwrap_or_default();
            let flow = ("email_change", "email_change");
            let pkce = begin_flow(&work, challenge.as_ref(), id, flow).await?;
            deliver::email_change(&context.delivery(), &work, account, &new, pkce).await?;
        }
        Repeat::Sms => {
            context.log(&work, Actor::User(account.id()), Action::UserRecoveryRequested, Value::Null).await?;
            let phone = account.user.phone.clone();
            let code = (Kind::Confirmation, phone.as_str());
            message_id =
                deliver::text_message(&context.delivery(), &work, account, code, "sms").await?.message_id;
        }
        Repeat::PhoneChange => {
            let phone = account.user.new_phone.clone().unwrap_or_default();
            let code = (Kind::PhoneChange, phone.as_str());
            message_id =
                deliver::text_message(&context.delivery(), &work, account, code, "sms").await?.message_id;
        }
    }
    work.commit().await?;
    Ok(message_id)
}

/// Sends the caller a code for reauthentication, which is sent back together with a new password. Returns the id of a
/// text message that went out, empty if none did.
///
/// Errors: `validation_failed` for a user without an address; `email_not_confirmed`, `phone_not_confirmed` (422);
/// those of sending.
pub(crate) async fn reauthenticate(
    context: &Context<'_, Accounts>,
    bearer: &Bearer,
) -> Result<String, Error> {
    let user = &bearer.user;
    if user.email.is_empty() && user.phone.is_empty() {
        return Err(Error::validation(
            "Reauthentication requires the user to have an email or a phone number",
        ));
    }
    let by_mail = !user.email.is_empty();
    let unconfirmed = |code: Code, message| Err(code.at(StatusCode::UNPROCESSABLE_ENTITY, message));
    if by_mail && user.email_confirmed_at.is_none() {
        return unconfirmed(Code::EmailNotConfirmed, "Please verify your email first.");
    }
    if !by_mail && user.phone_confirmed_at.is_none() {
        return unconfirmed(Code::PhoneNotConfirmed, "Please verify your phone first.");
    }
    let work = store::begin(&context.services.database).await?;
    let account = lock_account(&work, user.id).await?;
    context.log(&work, Actor::User(account.id()), Action::UserReauthenticateRequested, Value::Null).await?;
    let mut message_id = String::new();
    if by_mail {
        deliver::mail(&context.delivery(), &work, account, MailKind::Reauthentication, false).await?;
    } else {
        let code = (Kind::Reauthentication, user.phone.as_str());
        message_id =
            deliver::text_message(&context.delivery(), &work, account, code, "sms").await?.message_id;
    }
    work.commit().await?;
    Ok(message_id)
}

/// Returns the account `id`, locked until `work` ends.
pub(super) async fn lock_account(work: &Work, id: Uuid) -> Result<Account, Error> {
    let account = users::find(work, id).await?;
    account.ok_or_else(|| Code::UserNotFound.because("User not found"))
}
