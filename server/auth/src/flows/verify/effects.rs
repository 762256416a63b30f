//! The effects of a verified code.

use serde_json::{Value, json};

use super::super::{Context, deliver, send, sign_up};
use super::Purpose;
use crate::flows::services::Accounts;
use crate::store::audit::{Action, Actor};
use crate::store::identities::{self, NewIdentity};
use crate::store::one_time_tokens::{self, Kind};
use crate::store::users::{self, Account, Changes};
use crate::store::{Work, sessions};
use crate::{Error, MailKind};

/// Applies the effect of a code of `kind` for `purpose`. `None` while another address has to confirm, too.
pub(super) async fn apply(
    context: &Context<'_, Accounts>,
    work: &Work,
    account: Account,
    purpose: Purpose,
    kind: Kind,
) -> Result<Option<Account>, Error> {
    let id = account.id();
    match purpose {
        Purpose::SignUp | Purpose::Invite | Purpose::Email => signed_up(context, work, account).await?,
        Purpose::Recovery | Purpose::MagicLink => recovered(context, work, account).await?,
        Purpose::Sms => {
            context
                .log(work, Actor::User(account.id()), Action::UserSignedUp, json!({ "provider": "phone" }))
                .await?;
            sign_up::confirm_phone(work, id).await?;
            Changes::new().anonymous(false).apply(work, id).await?;
        }
        Purpose::EmailChange if needs_other_address(context, &account) => {
            one_time_tokens::clear(work, id, kind).await?;
            let new = account.user.new_email.as_deref().unwrap_or_default();
            Changes::new().email_change(new, 1).apply(work, id).await?;
            return Ok(None);
        }
        Purpose::EmailChange => email_changed(context, work, &account).await?,
        Purpose::PhoneChange => phone_changed(context, work, &account).await?,
    }
    users::derive_providers(work, id).await.map(Some)
}

/// Confirms the address. An invited user has no password yet and gets a random one.
async fn signed_up(context: &Context<'_, Accounts>, work: &Work, account: Account) -> Result<(), Error> {
    let id = account.id();
    if !account.has_password() && account.user.invited_at.is_some() {
        let services = context.services;
        let hash = services.hasher.hash(send::random_password()).await?;
        let hash = services.settings.encryption.seal(id, &hash)?;
        Changes::new().encrypted_password(&hash).apply(work, id).await?;
        sessions::end_others(work, id, None).await?;
    }
    context
        .log(work, Actor::User(account.id()), Action::UserSignedUp, json!({ "provider": "email" }))
        .await?;
    sign_up::confirm_email(work, id).await?;
    let same = |email: &Option<String>| email.as_ref() == Some(&account.user.email);
    for identity in account.user.identities.iter().filter(|identity| same(&identity.email)) {
        identities::update(work, identity.identity_id, &json!({ "email_verified": true })).await?;
    }
    Ok(())
}

async fn recovered(context: &Context<'_, Accounts>, work: &Work, account: Account) -> Result<(), Error> {
    let id = account.id();
    if account.user.email_confirmed_at.is_some() {
        one_time_tokens::clear_all(work, id).await?;
        return context.log(work, Actor::User(account.id()), Action::Login, Value::Null).await;
    }
    context
        .log(work, Actor::User(account.id()), Action::UserSignedUp, json!({ "provider": "email" }))
        .await?;
    sign_up::confirm_email(work, id).await.map(drop)
}

/// Returns whether the other address has to confirm the change, too. Automatic confirmation is about the first address
/// of an account, and frees nobody from this: whoever has a session of another person must not get the account with it.
/// This is stricter than upstream.
fn needs_other_address(context: &Context<'_, Accounts>, account: &Account) -> bool {
    context.services.settings.mail.secure_email_change
        && account.email_change_confirm_status == 0
        && !account.user.email.is_empty()
}

/// Puts the new e-mail address in the place of the current one. An anonymous user becomes a permanent one.
pub(crate) async fn email_changed(
    context: &Context<'_, Accounts>,
    work: &Work,
    account: &Account,
) -> Result<(), Error> {
    let (id, new) = (account.id(), account.user.new_email.clone().unwrap_or_default());
    context.log(work, Actor::User(account.id()), Action::UserModified, Value::Null).await?;
    let data = json!({ "email": new, "email_verified": true });
    put_identity(work, account, "email", &data).await?;
    one_time_tokens::clear_all(work, id).await?;
    let changes = Changes::new().email(&new).email_change("", 0).anonymous(false);
    changes.apply(work, id).await.map_err(users::as_address_conflict)?;
    if account.user.email_confirmed_at.is_none() {
        sign_up::confirm_email(work, id).await?;
    }
    deliver::notify(&context.delivery(), account, MailKind::EmailChanged, &account.user.email).await;
    Ok(())
}

/// Puts the new phone number in the place of the current one. An anonymous user becomes a permanent one.
pub(crate) async fn phone_changed(
    context: &Context<'_, Accounts>,
    work: &Work,
    account: &Account,
) -> Result<(), Error> {
    let (id, new) = (account.id(), account.user.new_phone.clone().unwrap_or_default());
    context.log(work, Actor::User(account.id()), Action::UserModified, Value::Null).await?;
    let data = json!({ "phone": new, "phone_verified": true });
    let linked = put_identity(work, account, "phone", &data).await?;
    one_time_tokens::clear_all(work, id).await?;
    let changes = Changes::new().phone(&new).phone_change("").confirm_phone().anonymous(false);
    let changed = changes.apply(work, id).await.map_err(users::as_address_conflict)?;
    if account.user.phone != new {
        deliver::notify(&context.delivery(), &changed, MailKind::PhoneChanged, &account.user.phone).await;
    }
    if linked {
        deliver::notify(&context.delivery(), &changed, MailKind::IdentityLinked, "phone").await;
    }
    Ok(())
}

/// Gives the owner of a first password the e-mail identity that belongs to it, if the address is confirmed and there is
/// none. Anonymous users get theirs with their address; users of single sign-on have no password of their own.
pub(in crate::flows) async fn first_password_set(
    context: &Context<'_, Accounts>,
    work: &Work,
    account: Account,
) -> Result<Account, Error> {
    let user = &account.user;
    let has = |provider: &dyn Fn(&str) -> bool| user.identities.iter().any(|one| provider(&one.provider));
    let is_due = context.services.settings.identity_for_first_password
        && !user.is_anonymous
        && !user.email.is_empty()
        && user.email_confirmed_at.is_some()
        && !has(&|provider| provider == "email" || provider.starts_with("sso:"));
    if !is_due {
        return Ok(account);
    }
    let data = json!({ "email": user.email, "email_verified": true });
    put_identity(work, &account, "email", &data).await?;
    users::derive_providers(work, account.id()).await
}

/// Merges `data` into the account's identity of `provider`, or adds that identity. Returns whether it was added.
pub(in crate::flows) async fn put_identity(
    work: &Work,
    account: &Account,
    provider: &str,
    data: &Value,
) -> Result<bool, Error> {
    let subject = account.id().to_string();
    if let Some(identity) = identities::find(work, provider, &subject).await? {
        identities::update(work, identity.identity_id, data).await?;
        return Ok(false);
    }
    let mut whole = json!({ "sub": subject, "email_verified": false, "phone_verified": false });
    if let (Value::Object(whole), Value::Object(data)) = (&mut whole, data) {
        whole.extend(data.clone());
    }
    let new = NewIdentity { user_id: account.id(), subject: &subject, provider, data: &whole };
    identities::create(work, &new).await?;
    Ok(true)
}
