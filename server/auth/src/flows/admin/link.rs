//! Links of mails that are returned to an administrator instead of being sent.

use serde_json::{Map, Value};

use super::super::bearer::Admin;
use super::super::{Context, invite, send, sign_up};
use crate::delivery::messages::{OneTimeCode, action_link};
use crate::error::refusals;
use crate::flows::services::Accounts;
use crate::store::audit::{Action, Actor};
use crate::store::model::address;
use crate::store::model::address::Address;
use crate::store::model::user::User;
use crate::store::one_time_tokens::{self, Kind};
use crate::store::users::{self, Account, Changes, NewUser};
use crate::store::{self, Work};
use crate::{Code, Error, MailKind};

::settings::words! {
    /// What a link does.
    pub(crate) enum LinkType {
        SignUp = "signup",
        Invite = "invite",
        MagicLink = "magiclink",
        Recovery = "recovery",
        /// Confirms at the current address that another may replace it.
        EmailChangeCurrent = "email_change_current",
        /// Confirms the address that is to replace the current one.
        EmailChangeNew = "email_change_new",
    }
}

impl LinkType {
    /// Parses the name of a type.
    ///
    /// Errors: `validation_failed` for an unknown name.
    pub(crate) fn parse(name: &str) -> Result<Self, Error> {
        Self::of_name(name).ok_or_else(|| {
            Error::validation(format!(
                "Invalid email action link type requested: {name:?}; expected signup, invite, magiclink, \
                 recovery, email_change_current or email_change_new"
            ))
        })
    }

    /// Returns the mail that would hold the link.
    const fn mail(self) -> MailKind {
        match self {
            Self::SignUp => MailKind::Confirmation,
            Self::Invite => MailKind::Invite,
            Self::MagicLink => MailKind::MagicLink,
            Self::Recovery => MailKind::Recovery,
            Self::EmailChangeCurrent | Self::EmailChangeNew => MailKind::EmailChange,
        }
    }

    const fn token(self) -> Kind {
        match self {
            Self::SignUp | Self::Invite => Kind::Confirmation,
            Self::MagicLink | Self::Recovery => Kind::Recovery,
            Self::EmailChangeCurrent => Kind::EmailChangeCurrent,
            Self::EmailChangeNew => Kind::EmailChangeNew,
        }
    }
}

/// A request for a link.
pub(crate) struct LinkRequest {
    pub(crate) kind: LinkType,
    /// Lowercase.
    pub(crate) email: String,
    /// Of changes of the address alone.
    pub(crate) new_email: String,
    /// Of [`LinkType::SignUp`] alone.
    pub(crate) password: String,
    /// The new user's own metadata.
    pub(crate) data: Map<String, Value>,
}

/// A link that was made.
pub(crate) struct Link {
    pub(crate) user: User,
    /// Its type, which may differ from the requested one.
    pub(crate) kind: LinkType,
    pub(crate) url: String,
    /// The code that may be typed instead, and its hash.
    pub(crate) code: OneTimeCode,
}

/// Makes a link. It is not mailed, so that no limit of mails counts; a magic link for an unknown address becomes the
/// confirmation of a sign-up.
///
/// Errors: `user_not_found` for an unknown user who wants to recover or change something; `email_exists` for a
/// confirmed user who is to sign up, and for a new address that belongs to a user; `validation_failed`,
/// `weak_password`; those of the hook.
pub(crate) async fn generate(
    context: &Context<'_, Accounts>,
    admin: &Admin,
    mut request: LinkRequest,
) -> Result<Link, Error> {
    let services = context.services;
    let address = Address::Email(request.email.clone());
    let known = users::find_by_address(&services.database, &address, &context.audience).await?;
    let new = if known.is_none() { Some(new_user(context, &mut request).await?) } else { None };
    if let Some(new) = &new {
        services.hooks.before_user_created(&new.preview(), &context.client).await?;
    }
    let work = store::begin(&services.database).await?;
    let account = match &new {
        Some(new) => invite::create(&work, new).await.map_err(users::as_address_conflict)?,
        None => find_user(context, &work, &address, &request).await?,
    };
    log(context, &work, admin, &account, request.kind).await?;
    let target = change_address(context, &work, &account, &request).await?;
    if request.kind == LinkType::Invite {
        Changes::new().set_invited().apply(&work, account.id()).await?;
    }
    let code = services.delivery.codes.generate(&target, services.settings.mail.otp_length, false);
    let account =
        one_time_tokens::put(&work, account.id(), request.kind.token(), &code.hash, &target).await?;
    work.commit().await?;
    if new.is_some() {
        services.hooks.after_user_created(&account.user, &context.client).await?;
    }
    let requested_host = &context.client.requested_host;
    let url = action_link(
        &services.settings,
        requested_host,
        request.kind.mail(),
        &code.hash,
        &context.redirect_to,
    );
    Ok(Link { user: account.user, kind: request.kind, url, code })
}

fn unknown() -> Error {
    Code::UserNotFound.because("User with this email not found")
}

/// Returns the user of a sign-up link or an invitation, not stored yet.
async fn new_user(context: &Context<'_, Accounts>, request: &mut LinkRequest) -> Result<NewUser, Error> {
    let services = context.services;
    let password = match request.kind {
        LinkType::Invite => return Ok(invite::new_user(context, &request.email, request.data.clone())),
        LinkType::SignUp => {
            sign_up::check_password(context, &request.password).await?;
            request.password.clone()
        }
        LinkType::MagicLink => {
            request.kind = LinkType::SignUp;
            send::random_password()
        }
        LinkType::Recovery | LinkType::EmailChangeCurrent | LinkType::EmailChangeNew => {
            return Err(unknown());
        }
    };
    let mut new = invite::new_user(context, &request.email, request.data.clone());
    let hash = services.hasher.hash(password).await?;
    new.encrypted_password = services.settings.encryption.seal(new.id, &hash)?;
    Ok(new)
}

/// Returns the account of a known user, locked until `work` ends, if it may have such a link.
async fn find_user(
    context: &Context<'_, Accounts>,
    work: &Work,
    address: &Address,
    request: &LinkRequest,
) -> Result<Account, Error> {
    let account = users::find_by_address(work, address, &context.audience).await?.ok_or_else(unknown)?;
    if !matches!(request.kind, LinkType::SignUp | LinkType::Invite) {
        return Ok(account);
    }
    if account.user.email_confirmed_at.is_some() {
        return Err(refusals::email_exists());
    }
    if request.kind == LinkType::SignUp && !request.data.is_empty() {
        let data = Value::Object(request.data.clone());
        return Changes::new().merge_user_metadata(&data).apply(work, account.id()).await;
    }
    Ok(account)
}

/// Returns the address that the link belongs to. If the link changes it, the change is noted.
async fn change_address(
    context: &Context<'_, Accounts>,
    work: &Work,
    account: &Account,
    request: &LinkRequest,
) -> Result<String, Error> {
    let settings = &context.services.settings;
    match request.kind {
        LinkType::EmailChangeCurrent if !settings.mail.secure_email_change => {
            return Err(Error::validation("Enable secure email change to generate link for current email"));
        }
        LinkType::EmailChangeCurrent | LinkType::EmailChangeNew => {}
        _ => return Ok(account.user.email.clone()),
    }
    let (id, new) = (account.id(), address::email(&request.new_email)?);
    if users::find_duplicate(work, settings, &new, &account.user.aud, Some(id)).await?.is_some() {
        return Err(refusals::email_exists());
    }
    Changes::new().email_change(&new, 0).apply(work, id).await?;
    Ok(if request.kind == LinkType::EmailChangeNew { new } else { account.user.email.clone() })
}

async fn log(
    context: &Context<'_, Accounts>,
    work: &Work,
    admin: &Admin,
    account: &Account,
    kind: LinkType,
) -> Result<(), Error> {
    match kind {
        LinkType::Invite => super::log(context, work, admin, Action::UserInvited, &account.user, &[]).await,
        LinkType::MagicLink | LinkType::Recovery => {
            let actor = Actor::User(account.id());
            context.log(work, actor, Action::UserRecoveryRequested, Value::Null).await
        }
        _ => Ok(()),
    }
}
