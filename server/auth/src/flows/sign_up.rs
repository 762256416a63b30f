//! Sign-up of users.

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::access_token::{self, Session};
use super::pkce::Challenge;
use super::session::{self, SignIn};
use super::{Context, deliver};
use crate::error::refusals;
use crate::flows::services::Accounts;
use crate::secrets::passwords;
use crate::store::audit::{Action, Actor};
use crate::store::flow_states::{self, NewFlowState};
use crate::store::identities::{self, NewIdentity};
use crate::store::model::address::{self, Address};
use crate::store::model::session::GrantedSession;
use crate::store::model::user::User;
use crate::store::one_time_tokens::{self, Kind};
use crate::store::users::{self, Account, Changes, NewUser};
use crate::store::{self, Work};
use crate::{Code, Error, MailKind};

/// What claim `amr` calls the sign-in of an account that needs no confirmation.
const METHOD: &str = "password";

/// A request to sign up.
pub(crate) struct SignUp {
    pub(crate) address: Address,
    pub(crate) password: String,
    /// The user's own metadata.
    pub(crate) data: Map<String, Value>,
    /// By which a phone number is confirmed: `sms` or `whatsapp`.
    pub(crate) channel: String,
    pub(crate) challenge: Option<Challenge>,
}

/// The outcome of a sign-up.
pub(crate) enum SignUpOutcome {
    /// Nothing remains to be confirmed.
    Session(Box<Session>),
    /// The address is to be confirmed; or it belongs to a user already, which is not revealed.
    User(Box<User>),
}

/// Creates an account, or sends the confirmation of an unconfirmed one again.
///
/// Neither the response nor its duration reveals whether a confirmed account exists, unless the settings confirm all
/// addresses at once.
///
/// The caller has made its [`check`]. Errors: `validation_failed`; `email_provider_disabled`,
/// `phone_provider_disabled` (400); `user_already_exists` where addresses are confirmed at once; those of the hook
/// and of sending.
pub(crate) async fn sign_up(
    context: &Context<'_, Accounts>,
    request: SignUp,
) -> Result<SignUpOutcome, Error> {
    check_provider(context, &request)?;
    let registered = register(context, &request, true).await?;
    let settings = &context.services.settings;
    let (account, granted) = match registered {
        RegistrationOutcome::New(account, granted) | RegistrationOutcome::Unconfirmed(account, granted) => {
            (account, granted)
        }
        RegistrationOutcome::Taken(account) => {
            let by = Actor::User(account.id());
            log(context, &context.services.database, by, Action::UserRepeatedSignup, &request).await?;
            if settings.mail.autoconfirm || settings.sms.autoconfirm {
                return Err(Code::UserAlreadyExists.because("User already registered"));
            }
            context.services.delivery.messages.imitate_sending().await;
            return Ok(SignUpOutcome::User(Box::new(imitated_user(context, &request)?)));
        }
    };
    if let Some(granted) = granted {
        let session =
            access_token::issue(&context.services.sessions, *granted, METHOD, &context.client).await?;
        return Ok(SignUpOutcome::Session(Box::new(session)));
    }
    let mut user = account.user;
    if user.invited_at.is_some() {
        // A person who signs up with the address of an invited user must not see the data of the invitation.
        user.user_metadata = json!({});
        user.identities.clear();
    }
    Ok(SignUpOutcome::User(Box::new(user)))
}

/// Checks that sign-ups are open, and that `password` may be set. It is called before anything else.
///
/// Errors: `signup_disabled`, `validation_failed`, `weak_password`.
pub(crate) async fn check(context: &Context<'_, Accounts>, password: &str) -> Result<(), Error> {
    check_open(context)?;
    check_password(context, password).await
}

/// Checks that `password` may be set.
///
/// Errors: `validation_failed`, `weak_password`.
pub(super) async fn check_password(context: &Context<'_, Accounts>, password: &str) -> Result<(), Error> {
    if password.is_empty() {
        return Err(Error::validation("Signup requires a valid password"));
    }
    passwords::check_new(&context.services.settings.passwords, &context.services.leaks, password).await
}

/// Checks that sign-ups are open.
///
/// Errors: `signup_disabled`.
pub(crate) fn check_open(context: &Context<'_, Accounts>) -> Result<(), Error> {
    if context.services.settings.disable_signup { Err(refusals::signup_disabled()) } else { Ok(()) }
}

fn check_provider(context: &Context<'_, Accounts>, request: &SignUp) -> Result<(), Error> {
    let providers = &context.services.settings.providers;
    match &request.address {
        Address::Email(_) if !providers.email => {
            Err(Code::EmailProviderDisabled.because("Email signups are disabled"))
        }
        Address::Phone(_) if !providers.phone => {
            Err(Code::PhoneProviderDisabled.because("Phone signups are disabled"))
        }
        Address::Phone(_) if request.challenge.is_some() => {
            Err(Error::validation("PKCE not supported for phone signups"))
        }
        Address::Phone(_) => deliver::check_channel(&context.delivery(), &request.channel),
        Address::Email(_) => Ok(()),
    }
}

/// Returns the address of a request to sign up, in which absent fields are empty.
///
/// Errors: `validation_failed` for both, none, and what is no address.
pub(crate) fn address(context: &Context<'_, Accounts>, email: &str, phone: &str) -> Result<Address, Error> {
    match (email, phone) {
        ("", "") => {
            let providers = &context.services.settings.providers;
            Err(Error::validation(match (providers.email, providers.phone) {
                (true, true) => "Sign up only available with email or phone provider",
                (true, false) => "Sign up only available with email provider",
                (false, true) => "Sign up only available with phone provider",
                (false, false) => "Sign up with this provider not possible",
            }))
        }
        (email, "") => address::email(email).map(Address::Email),
        ("", phone) => address::phone(phone).map(Address::Phone),
        _ => Err(Error::validation("Only an email address or phone number should be provided on signup.")),
    }
}

/// The result of a registration.
pub(crate) enum RegistrationOutcome {
    /// The address was free: a new account has it now, with a session if one was requested and nothing remains to be
    /// confirmed.
    New(Account, Option<Box<GrantedSession>>),
    /// An unconfirmed account has the address; its confirmation was sent again. A session as above.
    Unconfirmed(Account, Option<Box<GrantedSession>>),
    /// A confirmed account has the address, and is unchanged.
    Taken(Account),
}

/// Creates the account that `request` asks for, or repeats its confirmation. Does not check password rules. A session,
/// if `with_session`, is stored together with the account: a sign-up that fails leaves nothing behind.
pub(crate) async fn register(
    context: &Context<'_, Accounts>,
    request: &SignUp,
    with_session: bool,
) -> Result<RegistrationOutcome, Error> {
    // Hashed in any case, so that it takes as long whether the account exists or not.
    let hash = context.services.hasher.hash(request.password.clone()).await?;
    match attempt(context, request, &hash, with_session).await {
        // A concurrent request has created an account with the same address.
        Err(error) if users::is_address_conflict(&error) => {
            attempt(context, request, &hash, with_session).await.map_err(users::as_address_conflict)
        }
        other => other,
    }
}

async fn attempt(
    context: &Context<'_, Accounts>,
    request: &SignUp,
    hash: &str,
    with_session: bool,
) -> Result<RegistrationOutcome, Error> {
    let services = context.services;
    let existing = find(context, &request.address).await?;
    let new = new_user(context, request, hash)?;
    if existing.is_none() {
        services.hooks.before_user_created(&new.preview(), &context.client).await?;
    }
    let work = store::begin(&services.database).await?;
    let is_new = existing.is_none();
    let account = match existing {
        None => new.create(&work).await?,
        Some(existing) => {
            let current = users::find(&work, existing.id()).await?;
            let account = current.ok_or_else(refusals::conflict)?;
            if account.is_confirmed(&request.address) {
                return Ok(RegistrationOutcome::Taken(account));
            }
            account
        }
    };
    let account = with_identity(&work, account, request).await?;
    let account = confirm_or_ask(context, &work, account, request).await?;
    let granted = match with_session && account.is_confirmed(&request.address) {
        true => {
            let sign_in =
                SignIn { method: METHOD, login: Some(request.address.provider()), ..SignIn::default() };
            let granted =
                session::open(&services.settings, &work, account.id(), sign_in, &context.client).await?;
            Some(Box::new(granted))
        }
        false => None,
    };
    work.commit().await?;
    if is_new {
        services.hooks.after_user_created(&account.user, &context.client).await?;
        return Ok(RegistrationOutcome::New(account, granted));
    }
    Ok(RegistrationOutcome::Unconfirmed(account, granted))
}

async fn find(context: &Context<'_, Accounts>, address: &Address) -> Result<Option<Account>, Error> {
    let (services, audience) = (context.services, &*context.audience);
    match address {
        Address::Email(email) => {
            users::find_duplicate(&services.database, &services.settings, email, audience, None).await
        }
        Address::Phone(_) => users::find_by_address(&services.database, address, audience).await,
    }
}

fn new_user(context: &Context<'_, Accounts>, request: &SignUp, hash: &str) -> Result<NewUser, Error> {
    let provider = request.address.provider();
    let (mut email, mut phone) = (String::new(), String::new());
    match &request.address {
        Address::Email(text) => email.clone_from(text),
        Address::Phone(text) => phone.clone_from(text),
    }
    let id = Uuid::new_v4();
    Ok(NewUser {
        id,
        audience: context.audience.to_string(),
        role: context.services.settings.token.default_role.clone(),
        email,
        phone,
        encrypted_password: context.services.settings.encryption.seal(id, hash)?,
        user_metadata: Value::Object(request.data.clone()),
        app_metadata: json!({ "provider": provider, "providers": [provider] }),
        is_sso_user: false,
        is_anonymous: false,
    })
}

/// Adds the identity of the address if the account lacks it. The account's other identities are unverified, so they are
/// removed.
async fn with_identity(work: &Work, account: Account, request: &SignUp) -> Result<Account, Error> {
    let (id, provider) = (account.id(), request.address.provider());
    let subject = id.to_string();
    if identities::find(work, provider, &subject).await?.is_some() {
        return Ok(account);
    }
    let mut data = Map::new();
    data.insert("sub".to_owned(), json!(subject));
    if !account.user.email.is_empty() {
        data.insert("email".to_owned(), json!(account.user.email));
    }
    data.insert("email_verified".to_owned(), json!(false));
    data.insert("phone_verified".to_owned(), json!(false));
    for (name, value) in &request.data {
        data.entry(name).or_insert_with(|| value.clone());
    }
    let data = Value::Object(data);
    let new = NewIdentity { user_id: id, subject: &subject, provider, data: &data };
    let identity = identities::create(work, &new).await?;
    Changes::new().replace_user_metadata(&data).apply(work, id).await?;
    identities::delete_others(work, id, identity.identity_id).await?;
    users::derive_providers(work, id).await
}

async fn confirm_or_ask(
    context: &Context<'_, Accounts>,
    work: &Work,
    account: Account,
    request: &SignUp,
) -> Result<Account, Error> {
    let (settings, id) = (&context.services.settings, account.id());
    let autoconfirm = match &request.address {
        Address::Email(_) => settings.mail.autoconfirm,
        Address::Phone(_) => settings.sms.autoconfirm,
    };
    let action = if autoconfirm { Action::UserSignedUp } else { Action::UserConfirmationRequested };
    log(context, work, Actor::User(id), action, request).await?;
    match (&request.address, autoconfirm) {
        (Address::Email(_), true) => confirm_email(work, id).await,
        (Address::Phone(_), true) => confirm_phone(work, id).await,
        (Address::Email(_), false) => {
            let pkce = begin_flow(work, request.challenge.as_ref(), id, ("email", "email/signup")).await?;
            deliver::mail(&context.delivery(), work, account, MailKind::Confirmation, pkce).await
        }
        (Address::Phone(phone), false) => {
            let code = (Kind::Confirmation, phone.as_str());
            deliver::text_message(&context.delivery(), work, account, code, &request.channel)
                .await
                .map(|sent| sent.account)
        }
    }
}

/// Marks the e-mail address of user `id` as confirmed; all open codes become invalid.
pub(crate) async fn confirm_email(work: &Work, id: Uuid) -> Result<Account, Error> {
    one_time_tokens::clear_all(work, id).await?;
    let verified = json!({ "email_verified": true });
    Changes::new().confirm_email().merge_user_metadata(&verified).apply(work, id).await
}

/// Marks the phone number of user `id` as confirmed; all open codes become invalid.
pub(crate) async fn confirm_phone(work: &Work, id: Uuid) -> Result<Account, Error> {
    one_time_tokens::clear_all(work, id).await?;
    Changes::new().confirm_phone().apply(work, id).await
}

/// Begins a flow of user `id` that ends with the exchange of a code, if the request uses PKCE. Returns whether it does.
pub(crate) async fn begin_flow(
    work: &Work,
    challenge: Option<&Challenge>,
    id: Uuid,
    (provider_type, authentication_method): (&str, &str),
) -> Result<bool, Error> {
    let Some(challenge) = challenge else { return Ok(false) };
    let new = NewFlowState {
        user_id: Some(id),
        code_challenge: challenge.text(),
        code_challenge_method: challenge.method(),
        provider_type,
        authentication_method,
        ..NewFlowState::default()
    };
    flow_states::create(work, &new).await?;
    Ok(true)
}

async fn log(
    context: &Context<'_, Accounts>,
    executor: &impl crate::store::Executor,
    actor: Actor<'_>,
    action: Action,
    request: &SignUp,
) -> Result<(), Error> {
    let mut traits = json!({ "provider": request.address.provider() });
    if let (Address::Phone(_), Action::UserSignedUp) = (&request.address, action) {
        traits["channel"] = json!(request.channel);
    }
    context.log(executor, actor, action, traits).await
}

/// Returns the user that would be returned if the account were new.
fn imitated_user(context: &Context<'_, Accounts>, request: &SignUp) -> Result<User, Error> {
    let now = OffsetDateTime::now_utc();
    // Postgres, where the real ones come from, counts microseconds.
    let now = now.replace_nanosecond(now.microsecond() * 1000).unwrap_or(now);
    let now = now.format(&Rfc3339).map_err(|error| Error::Internal(error.to_string()))?;
    let mut user = new_user(context, request, "")?.preview();
    user.role.clear();
    user.confirmation_sent_at = Some(now.clone());
    user.created_at = Some(now.clone());
    user.updated_at = Some(now);
    Ok(user)
}

/// Creates a user without any address and begins a session.
///
/// Errors: `signup_disabled`; those of the hook.
pub(crate) async fn anonymously(
    context: &Context<'_, Accounts>,
    data: Map<String, Value>,
) -> Result<Session, Error> {
    check_open(context)?;
    let services = context.services;
    let new = NewUser {
        id: Uuid::new_v4(),
        audience: context.audience.to_string(),
        role: services.settings.token.default_role.clone(),
        user_metadata: Value::Object(data),
        app_metadata: json!({}),
        is_anonymous: true,
        ..NewUser::default()
    };
    services.hooks.before_user_created(&new.preview(), &context.client).await?;
    let work = store::begin(&services.database).await?;
    let account = new.create(&work).await.map_err(|error| error.with_purpose("creating anonymous user"))?;
    let sign_in = SignIn { method: "anonymous", ..SignIn::default() };
    let session = session::begin(&services.sessions, &work, account.id(), sign_in, &context.client).await?;
    work.commit().await?;
    services.hooks.after_user_created(&account.user, &context.client).await?;
    Ok(session)
}
