//! Invitations of users by administrators.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::bearer::Admin;
use super::{Context, deliver};
use crate::error::refusals;
use crate::flows::services::Accounts;
use crate::store::audit::Action;
use crate::store::identities::{self, NewIdentity};
use crate::store::model::address::Address;
use crate::store::model::user::User;
use crate::store::users::{self, Account, Changes, NewUser};
use crate::store::{self, Work};
use crate::{Error, MailKind};

/// Mails an invitation to `email`, creating its user if there is none yet. May be repeated at any time until the user
/// has confirmed the address.
///
/// Errors: `email_exists` for a confirmed user; those of the hook and of sending.
pub(crate) async fn invite(
    context: &Context<'_, Accounts>,
    admin: &Admin,
    email: &str,
    data: Map<String, Value>,
) -> Result<User, Error> {
    let services = context.services;
    let address = Address::Email(email.to_owned());
    let known = users::find_by_address(&services.database, &address, &context.audience).await?;
    let new = new_user(context, email, data);
    if known.is_none() {
        services.hooks.before_user_created(&new.preview(), &context.client).await?;
    }
    let work = store::begin(&services.database).await?;
    let account = match users::find_by_address(&work, &address, &context.audience).await? {
        Some(account) if account.user.email_confirmed_at.is_some() => return Err(refusals::email_exists()),
        Some(account) => account,
        None => create(&work, &new).await?,
    };
    let traits = json!({ "user_id": account.id(), "user_email": email });
    context.log(&work, admin.actor(), Action::UserInvited, traits).await?;
    let account = Changes::new().set_invited().apply(&work, account.id()).await?;
    let account = deliver::mail(&context.delivery(), &work, account, MailKind::Invite, false).await?;
    work.commit().await?;
    if known.is_none() {
        services.hooks.after_user_created(&account.user, &context.client).await?;
    }
    Ok(account.user)
}

/// Returns a user without a password who is to be stored.
pub(super) fn new_user(context: &Context<'_, Accounts>, email: &str, data: Map<String, Value>) -> NewUser {
    NewUser {
        id: Uuid::new_v4(),
        audience: context.audience.to_string(),
        role: context.services.settings.token.default_role.clone(),
        email: email.to_owned(),
        user_metadata: Value::Object(data),
        app_metadata: json!({ "provider": "email", "providers": ["email"] }),
        ..NewUser::default()
    }
}

/// Stores a user together with an identity of the e-mail address.
pub(super) async fn create(work: &Work, new: &NewUser) -> Result<Account, Error> {
    let account = new.create(work).await?;
    let subject = account.id().to_string();
    let data =
        json!({ "sub": subject, "email": new.email, "email_verified": false, "phone_verified": false });
    let identity = NewIdentity { user_id: account.id(), subject: &subject, provider: "email", data: &data };
    identities::create(work, &identity).await?;
    Ok(account)
}
