//! Inserts of rows of users.

use serde_json::Value;
use uuid::Uuid;

use super::Account;
use crate::Error;
use crate::store::documents;
use crate::store::model::user::User;
use crate::store::{Executor, NO_INSTANCE, owned, text, text_unless_empty};

/// A user who is to be stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct NewUser {
    pub(crate) id: Uuid,
    pub(crate) audience: String,
    /// The Postgres role of the user's requests.
    pub(crate) role: String,
    /// Lowercase; empty for none.
    pub(crate) email: String,
    /// Digits only; empty for none.
    pub(crate) phone: String,
    /// Empty for none.
    pub(crate) encrypted_password: String,
    /// An object.
    pub(crate) user_metadata: Value,
    /// An object.
    pub(crate) app_metadata: Value,
    pub(crate) is_sso_user: bool,
    pub(crate) is_anonymous: bool,
}

impl NewUser {
    /// Returns the user as clients would see them now, for the hooks that are called before anything is stored.
    pub(crate) fn preview(&self) -> User {
        User {
            id: self.id,
            aud: self.audience.clone(),
            role: self.role.clone(),
            email: self.email.clone(),
            phone: self.phone.clone(),
            app_metadata: self.app_metadata.clone(),
            user_metadata: self.user_metadata.clone(),
            is_anonymous: self.is_anonymous,
            ..User::default()
        }
    }

    /// Stores the user. The result includes changes made by triggers.
    ///
    /// Errors: a unique violation of `users_email_partial_key` or `users_phone_key` if the address is taken.
    pub(crate) async fn create(&self, executor: &impl Executor) -> Result<Account, Error> {
        let insert = format!(
            "insert into auth.users (instance_id, id, aud, role, email, phone, encrypted_password,
               raw_user_meta_data, raw_app_meta_data, is_sso_user, is_anonymous, created_at, updated_at,
               confirmation_token, recovery_token, email_change_token_new, email_change)
             values ({NO_INSTANCE}, $1::uuid, $2, $3, $4, $5, $6, $7::jsonb, $8::jsonb, $9::boolean, $10::boolean,
               now(), now(), '', '', '', '')"
        );
        let parameters = vec![
            owned(self.id),
            text(&self.audience),
            text(&self.role),
            text_unless_empty(&self.email),
            text_unless_empty(&self.phone),
            // Upstream stores no password as empty text, and its queries for users without one look for both.
            text(&self.encrypted_password),
            owned(&self.user_metadata),
            owned(&self.app_metadata),
            owned(self.is_sso_user),
            owned(self.is_anonymous),
        ];
        let saved = executor.change(&insert, parameters).await;
        saved.map_err(|error| error.with_purpose("saving new user"))?;
        // A statement of its own: only it sees what triggers after the insert have done to the row.
        let select = format!("select {} from auth.users u where u.id = $1::uuid", documents::account("u"));
        let account = executor.read(&select, vec![owned(self.id)]).await?;
        account.ok_or_else(|| Error::Internal("a trigger has removed the new user".to_owned()))
    }
}
