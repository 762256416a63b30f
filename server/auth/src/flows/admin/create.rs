//! Creating a user as an administrator.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::bearer::Admin;
use super::super::verify::effects;
use super::super::{Context, send, sign_up};
use super::{UserFields, ban, log, name};
use crate::error::refusals;
use crate::flows::services::Accounts;
use crate::secrets::hashes::Hash;
use crate::secrets::passwords;
use crate::store;
use crate::store::audit::Action;
use crate::store::model::address;
use crate::store::model::address::Address;
use crate::store::model::user::User;
use crate::store::users::{self, Changes, NewUser};
use crate::{Code, Error};

/// Creates a user. Password rules are not checked; a user without a password gets a random one.
///
/// Errors, in this order: `validation_failed` for no address or a wrong one; `email_exists`, `phone_exists`;
/// `validation_failed` for both kinds of passwords, one of more than 72 bytes, a hash of an unknown kind, a wrong id
/// and a wrong ban; `user_already_exists` for an id that is taken.
pub(crate) async fn create(
    context: &Context<'_, Accounts>,
    admin: &Admin,
    fields: UserFields,
) -> Result<User, Error> {
    let ban = ban::parse(&fields.ban);
    let new = new_user(context, &fields).await?;
    let ban = ban?;
    let work = store::begin(&context.services.database).await?;
    let account =
        new.create(&work).await.map_err(|error| as_conflict(error).with_purpose("creating new user"))?;
    for (provider, address) in addresses(&new) {
        effects::put_identity(&work, &account, provider, &json!({ provider: address })).await?;
    }
    let provider = addresses(&new).next().map(|(provider, _)| ("provider", provider));
    log(context, &work, admin, Action::UserSignedUp, &account.user, provider.as_slice()).await?;
    if fields.confirm_email {
        sign_up::confirm_email(&work, new.id).await?;
    }
    if fields.confirm_phone {
        sign_up::confirm_phone(&work, new.id).await?;
    }
    if let Some(seconds) = ban {
        Changes::new().ban(seconds).apply(&work, new.id).await?;
    }
    let account = send::lock_account(&work, new.id).await?;
    work.commit().await?;
    Ok(account.user)
}

/// Returns the providers of the user's addresses, and the addresses.
fn addresses(new: &NewUser) -> impl Iterator<Item = (&'static str, &str)> {
    let all = [("email", new.email.as_str()), ("phone", new.phone.as_str())];
    all.into_iter().filter(|(_, address)| !address.is_empty())
}

fn as_conflict(error: Error) -> Error {
    if error.violates("users_pkey") {
        return Code::UserAlreadyExists.because("A user with this id already exists");
    }
    users::as_address_conflict(error)
}

/// Returns the user that `fields` describe, checked and with a hash of the password.
async fn new_user(context: &Context<'_, Accounts>, fields: &UserFields) -> Result<NewUser, Error> {
    let settings = &context.services.settings;
    if fields.email.is_empty() && fields.phone.is_empty() {
        return Err(Error::validation("Cannot create a user without either an email or phone"));
    }
    let audience = Some(name("aud", &fields.audience)?).filter(|audience| !audience.is_empty());
    let role = Some(name("role", &fields.role)?).filter(|role| !role.is_empty());
    let mut new = NewUser {
        audience: audience.unwrap_or(&context.audience).to_owned(),
        role: role.unwrap_or(&settings.token.default_role).to_owned(),
        user_metadata: Value::Object(fields.user_metadata.clone().unwrap_or_default()),
        ..NewUser::default()
    };
    set_addresses(context, fields, &mut new).await?;
    check_password(fields)?;
    new.id = id(&fields.id)?;
    new.app_metadata = app_metadata(&new, fields.app_metadata.as_ref());
    let hash = hash(context, fields).await?;
    new.encrypted_password = settings.encryption.seal(new.id, &hash)?;
    Ok(new)
}

async fn set_addresses(
    context: &Context<'_, Accounts>,
    fields: &UserFields,
    new: &mut NewUser,
) -> Result<(), Error> {
    let (settings, database) = (&context.services.settings, &context.services.database);
    if !fields.email.is_empty() {
        new.email = address::email(&fields.email)?;
        if users::find_duplicate(database, settings, &new.email, &new.audience, None).await?.is_some() {
            return Err(refusals::email_exists());
        }
    }
    if !fields.phone.is_empty() {
        new.phone = address::phone(&fields.phone)?;
        let phone = Address::Phone(new.phone.clone());
        if users::find_by_address(database, &phone, &new.audience).await?.is_some() {
            return Err(refusals::phone_exists());
        }
    }
    Ok(())
}

fn check_password(fields: &UserFields) -> Result<(), Error> {
    if fields.password_hash.is_empty() {
        return passwords::check_length(fields.password.as_deref().unwrap_or_default());
    }
    if fields.password.is_some() {
        return Err(Error::validation("Only a password or a password hash should be provided"));
    }
    name("password_hash", &fields.password_hash)?;
    let parsed = Hash::parse(&fields.password_hash).map(drop);
    parsed.map_err(|error| {
        Error::validation(format!("password_hash must be of bcrypt, argon2i, argon2id or fbscrypt: {error}"))
    })
}

fn id(text: &str) -> Result<Uuid, Error> {
    if text.is_empty() {
        return Ok(Uuid::new_v4());
    }
    match Uuid::parse_str(text) {
        Ok(id) if id.is_nil() => Err(Error::validation("ID cannot be a nil uuid")),
        Ok(id) => Ok(id),
        Err(_) => Err(Error::validation("ID must conform to the uuid v4 format")),
    }
}

/// Returns the service's metadata of the user: the providers, and what the administrator adds, without members that are
/// null.
fn app_metadata(new: &NewUser, more: Option<&Map<String, Value>>) -> Value {
    let providers: Vec<_> = addresses(new).map(|(provider, _)| provider).collect();
    let mut metadata = Map::new();
    metadata.insert("provider".to_owned(), json!(providers.first()));
    metadata.insert("providers".to_owned(), json!(providers));
    for (name, value) in more.into_iter().flatten() {
        if value.is_null() {
            metadata.remove(name);
        } else {
            metadata.insert(name.clone(), value.clone());
        }
    }
    Value::Object(metadata)
}

async fn hash(context: &Context<'_, Accounts>, fields: &UserFields) -> Result<String, Error> {
    if !fields.password_hash.is_empty() {
        return Ok(fields.password_hash.clone());
    }
    let chosen = fields.password.clone().filter(|password| !password.is_empty());
    context.services.hasher.hash(chosen.unwrap_or_else(send::random_password)).await
}
