//! Changing a user as an administrator.

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::bearer::Admin;
use super::super::verify::effects;
use super::super::{Context, send, sign_up};
use super::{UserFields, ban, log, name};
use crate::Error;
use crate::flows::services::Accounts;
use crate::secrets::passwords;
use crate::store::audit::Action;
use crate::store::model::address;
use crate::store::model::user::User;
use crate::store::one_time_tokens;
use crate::store::users::{self, Account, Changes};
use crate::store::{self, Work, sessions};

/// Changes user `id`. Nothing changes unless everything may. A new password ends all sessions.
///
/// Errors: `validation_failed`, `weak_password`, `user_not_found`; `email_exists`, `phone_exists` for addresses of
/// others.
pub(crate) async fn update(
    context: &Context<'_, Accounts>,
    admin: &Admin,
    id: Uuid,
    mut fields: UserFields,
) -> Result<User, Error> {
    if !fields.email.is_empty() {
        fields.email = address::email(&fields.email)?;
    }
    if !fields.phone.is_empty() {
        fields.phone = address::phone(&fields.phone)?;
    }
    let ban = ban::parse(&fields.ban)?;
    let role = name("role", &fields.role)?;
    let hash = new_hash(context, id, fields.password.as_deref()).await?;
    let work = store::begin(&context.services.database).await?;
    let account = send::lock_account(&work, id).await?;
    confirm(&work, id, &fields).await?;
    if let Some(hash) = &hash {
        // All sessions end and all open codes become invalid, since another person may know the old password.
        one_time_tokens::clear_all(&work, id).await?;
        Changes::new().encrypted_password(hash).unsend_all().apply(&work, id).await?;
        sessions::end_others(&work, id, None).await?;
    }
    put_identities(&work, &account, &fields).await?;
    if hash.is_some() && !account.has_password() {
        let account = send::lock_account(&work, id).await?;
        effects::first_password_set(context, &work, account).await?;
    }
    let (user_metadata, app_metadata) = (document(&fields.user_metadata), document(&fields.app_metadata));
    let mut changes = addresses(&account, &fields);
    if !role.is_empty() {
        changes = changes.role(role);
    }
    if let Some(data) = &user_metadata {
        changes = changes.merge_user_metadata(data);
    }
    if let Some(data) = &app_metadata {
        changes = changes.merge_app_metadata(data);
    }
    if let Some(seconds) = ban {
        changes = changes.ban(seconds);
    }
    let account = changes.apply(&work, id).await.map_err(users::as_address_conflict)?;
    log(context, &work, admin, Action::UserModified, &account.user, &[]).await?;
    work.commit().await?;
    Ok(account.user)
}

fn document(members: &Option<serde_json::Map<String, Value>>) -> Option<Value> {
    members.clone().map(Value::Object)
}

/// Returns what is to be stored of the new password, if there is one and it may be set.
async fn new_hash(
    context: &Context<'_, Accounts>,
    id: Uuid,
    password: Option<&str>,
) -> Result<Option<String>, Error> {
    let Some(password) = password else { return Ok(None) };
    passwords::check_new(&context.services.settings.passwords, &context.services.leaks, password).await?;
    let hash = context.services.hasher.hash(password.to_owned()).await?;
    context.services.settings.encryption.seal(id, &hash).map(Some)
}

async fn confirm(work: &Work, id: Uuid, fields: &UserFields) -> Result<(), Error> {
    if fields.confirm_email {
        sign_up::confirm_email(work, id).await?;
    }
    if fields.confirm_phone {
        sign_up::confirm_phone(work, id).await?;
    }
    Ok(())
}

/// Gives every new address its identity.
async fn put_identities(work: &Work, account: &Account, fields: &UserFields) -> Result<(), Error> {
    if !fields.email.is_empty() {
        let data = json!({ "email": fields.email, "email_verified": fields.confirm_email });
        effects::put_identity(work, account, "email", &data).await?;
    }
    if !fields.phone.is_empty() {
        let data = json!({ "phone": fields.phone, "phone_verified": fields.confirm_phone });
        effects::put_identity(work, account, "phone", &data).await?;
    }
    Ok(())
}

/// Returns the changes that set the addresses. An anonymous user who gets a confirmed one is not anonymous any more.
fn addresses<'a>(account: &Account, fields: &'a UserFields) -> Changes<'a> {
    let mut changes = Changes::new();
    let by_email = !fields.email.is_empty() && fields.confirm_email;
    let by_phone = !fields.phone.is_empty() && fields.confirm_phone;
    if account.user.is_anonymous && (by_email || by_phone) {
        changes = changes.anonymous(false);
    }
    if !fields.email.is_empty() {
        changes = changes.email(&fields.email);
    }
    if !fields.phone.is_empty() {
        changes = changes.phone(&fields.phone);
    }
    changes
}
