//! Changes of a user by themselves.

use http::StatusCode;
use serde_json::{Map, Value};

use super::bearer::Bearer;
use super::pkce::Challenge;
use super::verify::effects;
use super::{Context, deliver, send, sign_up};
use crate::error::refusals;
use crate::flows::services::Accounts;
use crate::secrets::passwords;
use crate::store::audit::{Action, Actor};
use crate::store::model::address::{self, Address};
use crate::store::model::user::User;
use crate::store::one_time_tokens::{self, Kind};
use crate::store::users::{self, Account, Changes};
use crate::store::{self, Work, sessions};
use crate::{Code, Error, MailKind};

/// After that many seconds a session does not prove any more that its user is still there.
const RECENT: f64 = 24.0 * 3600.0;

/// The changes. Empty texts count as absent, except for the password.
#[derive(Default)]
pub(crate) struct Update {
    pub(crate) email: String,
    pub(crate) phone: String,
    /// Empty only to be refused as weak.
    pub(crate) password: Option<String>,
    pub(crate) current_password: String,
    /// The code that [`send::reauthenticate`] has sent.
    pub(crate) nonce: String,
    /// Merged into the user's own metadata.
    pub(crate) data: Option<Map<String, Value>>,
    /// Merged into the service's metadata.
    pub(crate) app_metadata: Option<Map<String, Value>>,
    pub(crate) channel: String,
    pub(crate) challenge: Option<Challenge>,
}

/// Changes the caller's account. Nothing changes unless everything may.
///
/// Errors, in this order: `validation_failed`; `weak_password`; `not_admin`; `insufficient_aal` (401);
/// `validation_failed` (422) for a password of an anonymous user without an address; `user_sso_managed`;
/// `email_exists`, `phone_exists`; `reauthentication_needed`, `reauthentication_not_valid`;
/// `current_password_required`, `current_password_invalid`; `same_password`; those of sending.
pub(crate) async fn update(
    context: &Context<'_, Accounts>,
    bearer: &Bearer,
    request: Update,
) -> Result<User, Error> {
    let request = validate(context, request).await?;
    let user = &bearer.user;
    check_permissions(context, bearer, &request)?;
    check_addresses(context, user, &request).await?;
    let hash = new_hash(context, bearer, &request).await?;
    let work = store::begin(&context.services.database).await?;
    let mut account = send::lock_account(&work, user.id).await?;
    if let Some(hash) = &hash {
        account = set_password(context, &work, bearer, &request, hash).await?;
    }
    account = merge(&work, account, &request).await?;
    account = change_email(context, &work, account, &request).await?;
    account = change_phone(context, &work, account, &request).await?;
    context.log(&work, Actor::User(account.id()), Action::UserModified, Value::Null).await?;
    work.commit().await?;
    Ok(account.user)
}

async fn validate(context: &Context<'_, Accounts>, mut request: Update) -> Result<Update, Error> {
    if !request.email.is_empty() {
        request.email = address::email(&request.email)?;
    }
    if !request.phone.is_empty() {
        request.phone = address::phone(&request.phone)?;
        if request.channel.is_empty() {
            "sms".clone_into(&mut request.channel);
        }
        deliver::check_channel(&context.delivery(), &request.channel)?;
    }
    if let Some(password) = &request.password {
        passwords::check_new(&context.services.settings.passwords, &context.services.leaks, password).await?;
    }
    Ok(request)
}

/// Checks that this caller may make such changes at all.
fn check_permissions(
    context: &Context<'_, Accounts>,
    bearer: &Bearer,
    request: &Update,
) -> Result<(), Error> {
    let user = &bearer.user;
    let admin_roles = &context.services.settings.token.admin_roles;
    if request.app_metadata.is_some() && !admin_roles.contains(&user.role) {
        return Err(Code::NotAdmin.because("Updating app_metadata requires admin privileges"));
    }
    let changes_email = !request.email.is_empty() && request.email != user.email;
    let changes_phone = !request.phone.is_empty() && request.phone != user.phone;
    let changes = request.password.is_some() || changes_email || changes_phone;
    if changes && user.has_verified_factor() && !bearer.is_aal2() {
        let message = "AAL2 session is required to update email or password when MFA is enabled.";
        return Err(Code::InsufficientAal.at(StatusCode::UNAUTHORIZED, message));
    }
    if user.is_anonymous && request.password.is_some() && request.email.is_empty() && request.phone.is_empty()
    {
        let message = "Updating password of an anonymous user without an email or phone is not allowed";
        return Err(Code::ValidationFailed.at(StatusCode::UNPROCESSABLE_ENTITY, message));
    }
    if bearer.is_sso_user && (changes || !request.nonce.is_empty()) {
        let message = "Updating email, phone, password of a SSO account only possible via SSO";
        return Err(Code::UserSsoManaged.because(message));
    }
    Ok(())
}

async fn check_addresses(
    context: &Context<'_, Accounts>,
    user: &User,
    request: &Update,
) -> Result<(), Error> {
    let (services, audience) = (context.services, &context.audience);
    if !request.email.is_empty() && request.email != user.email {
        let (database, settings) = (&services.database, &services.settings);
        let other =
            users::find_duplicate(database, settings, &request.email, audience, Some(user.id)).await?;
        if other.is_some() {
            return Err(refusals::email_exists());
        }
    }
    if !request.phone.is_empty() && request.phone != user.phone {
        let address = Address::Phone(request.phone.clone());
        if users::find_by_address(&services.database, &address, audience).await?.is_some() {
            return Err(refusals::phone_exists());
        }
    }
    Ok(())
}

/// Returns the hash of the new password, if there is one and it may be set.
async fn new_hash(
    context: &Context<'_, Accounts>,
    bearer: &Bearer,
    request: &Update,
) -> Result<Option<String>, Error> {
    let Some(password) = &request.password else { return Ok(None) };
    let (services, security) = (context.services, &context.services.settings.security);
    let account = users::find(&services.database, bearer.user.id).await?;
    let account = account.ok_or_else(refusals::user_gone)?;
    let is_recent = bearer.session.as_ref().is_some_and(|session| session.age <= RECENT);
    if security.password_change_requires_reauthentication && !is_recent {
        check_nonce(context, &account, &request.nonce).await?;
    }
    if account.has_password() {
        let current = account.password_hash(&services.settings.encryption)?;
        let current = current.as_ref().map(|current| &*current.text);
        if security.password_change_requires_current && !is_recovery(context, bearer).await? {
            let message = "Current password required when setting new password.";
            if request.current_password.is_empty() {
                return Err(Code::CurrentPasswordRequired.because(message));
            }
            if !services.hasher.verify(request.current_password.clone(), current).await? {
                return Err(Code::CurrentPasswordInvalid.because(message));
            }
        }
        if services.hasher.verify(password.clone(), current).await? {
            let message = "New password should be different from the old password.";
            return Err(Code::SamePassword.because(message));
        }
    }
    let hash = services.hasher.hash(password.clone()).await?;
    services.settings.encryption.seal(bearer.user.id, &hash).map(Some)
}

/// Returns whether the session has begun with a code: its user may have forgotten the password.
async fn is_recovery(context: &Context<'_, Accounts>, bearer: &Bearer) -> Result<bool, Error> {
    let Some(session) = &bearer.session else { return Ok(false) };
    let methods = sessions::methods(&context.services.database, session.id).await?;
    Ok(methods.iter().any(|entry| matches!(entry.method.as_str(), "otp" | "magiclink" | "recovery")))
}

async fn check_nonce(context: &Context<'_, Accounts>, account: &Account, nonce: &str) -> Result<(), Error> {
    if nonce.is_empty() {
        return Err(Code::ReauthenticationNeeded.because("Password update requires reauthentication"));
    }
    let (settings, user) = (&context.services.settings, &account.user);
    let (address, expiry) = match user.email.as_str() {
        "" => (user.phone.as_str(), settings.sms.otp_expiry),
        email => (email, settings.mail.otp_expiry),
    };
    let pending = account.pending(Kind::Reauthentication);
    let (limits, kind) = (&context.services.limits, Kind::Reauthentication);
    if pending.hash.is_empty() || !limits.take_code_try(account.id(), kind).await? {
        return Err(nonce_not_valid());
    }
    if pending.is(&context.services.delivery.codes.typed(address, nonce), expiry) {
        return Ok(());
    }
    if user.email.is_empty()
        && context.services.delivery.messages.provider_accepts(&user.phone, nonce).await?
    {
        return Ok(());
    }
    Err(nonce_not_valid())
}

fn nonce_not_valid() -> Error {
    Code::ReauthenticationNotValid.because("Nonce has expired or is invalid")
}

/// Sets the password. All other sessions end, and codes that were sent become invalid: another person may have known
/// the old one.
async fn set_password(
    context: &Context<'_, Accounts>,
    work: &Work,
    bearer: &Bearer,
    request: &Update,
    hash: &str,
) -> Result<Account, Error> {
    let id = bearer.user.id;
    let account = send::lock_account(work, id).await?;
    let settings = &context.services.settings.security;
    let nonce_counts = settings.password_change_requires_reauthentication && !request.nonce.is_empty();
    // Of several requests with one nonce, one wins: the others find it gone.
    if nonce_counts {
        if account.pending(Kind::Reauthentication).hash.is_empty() {
            return Err(nonce_not_valid());
        }
        context.services.limits.forget_code_tries(work, id, Kind::Reauthentication).await?;
    }
    let is_first = !account.has_password();
    one_time_tokens::clear_all(work, id).await?;
    let mut account = Changes::new().encrypted_password(hash).unsend_all().apply(work, id).await?;
    if is_first {
        account = effects::first_password_set(context, work, account).await?;
    }
    sessions::end_others(work, id, bearer.session_id()).await?;
    context.log(work, Actor::User(account.id()), Action::UserUpdatedPassword, Value::Null).await?;
    deliver::notify(&context.delivery(), &account, MailKind::PasswordChanged, "").await;
    Ok(account)
}

async fn merge(work: &Work, account: Account, request: &Update) -> Result<Account, Error> {
    let mut changes = Changes::new();
    if let Some(data) = &request.data {
        changes = changes.merge_user_metadata(&Value::Object(data.clone()));
    }
    if let Some(data) = &request.app_metadata {
        changes = changes.merge_app_metadata(&Value::Object(data.clone()));
    }
    if changes.is_empty() { Ok(account) } else { changes.apply(work, account.id()).await }
}

async fn change_email(
    context: &Context<'_, Accounts>,
    work: &Work,
    account: Account,
    request: &Update,
) -> Result<Account, Error> {
    let (id, new) = (account.id(), request.email.as_str());
    if new.is_empty() || new == account.user.email {
        return Ok(account);
    }
    // Permanent users always have to prove that the address is theirs; to anonymous ones it is like signing up.
    if account.user.is_anonymous && context.services.settings.mail.autoconfirm {
        let account = Changes::new().email_change(new, 0).apply(work, id).await?;
        effects::email_changed(context, work, &account).await?;
        return users::derive_providers(work, id).await;
    }
    let flow = ("email_change", "email_change");
    let pkce = sign_up::begin_flow(work, request.challenge.as_ref(), id, flow).await?;
    deliver::email_change(&context.delivery(), work, account, new, pkce).await
}

async fn change_phone(
    context: &Context<'_, Accounts>,
    work: &Work,
    account: Account,
    request: &Update,
) -> Result<Account, Error> {
    let (id, new) = (account.id(), request.phone.as_str());
    if new.is_empty() || new == account.user.phone {
        return Ok(account);
    }
    let account = Changes::new().phone_change(new).apply(work, id).await?;
    if context.services.settings.sms.autoconfirm {
        effects::phone_changed(context, work, &account).await?;
        return users::derive_providers(work, id).await;
    }
    let code = (Kind::PhoneChange, new);
    deliver::text_message(&context.delivery(), work, account, code, &request.channel)
        .await
        .map(|sent| sent.account)
}
