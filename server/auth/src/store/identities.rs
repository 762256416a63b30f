//! Rows of `auth.identities`: the ways in which users may sign in.

use serde_json::Value;
use uuid::Uuid;

use super::{Executor, documents, owned, text};
use crate::Error;
use crate::store::model::user::Identity;

/// An identity that is to be stored.
pub(crate) struct NewIdentity<'a> {
    pub(crate) user_id: Uuid,
    /// The provider's own id of the user; the user's id for `email` and `phone`.
    pub(crate) subject: &'a str,
    pub(crate) provider: &'a str,
    /// What the provider says of the user; its member `sub` must be the subject.
    pub(crate) data: &'a Value,
}

/// Stores an identity as just used.
///
/// Errors: a unique violation of `identities_provider_id_provider_unique` if the subject is taken.
pub(crate) async fn create(executor: &impl Executor, new: &NewIdentity<'_>) -> Result<Identity, Error> {
    let sql = format!(
        "insert into auth.identities as i
           (id, provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
         values (gen_random_uuid(), $1, $2::uuid, $3::jsonb, $4, now(), now(), now())
         returning {document}",
        document = documents::identity("i"),
    );
    let parameters = vec![text(new.subject), owned(new.user_id), owned(new.data), text(new.provider)];
    let created = executor.change_returning(&sql, parameters).await?;
    created.ok_or_else(|| Error::Internal("an identity was not stored".to_owned()))
}

/// Returns the identity of `provider`'s `subject`.
pub(crate) async fn find(
    executor: &impl Executor,
    provider: &str,
    subject: &str,
) -> Result<Option<Identity>, Error> {
    let document = documents::identity("i");
    let sql =
        format!("select {document} from auth.identities i where i.provider = $1 and i.provider_id = $2");
    executor.read(&sql, vec![text(provider), text(subject)]).await
}

/// Merges `data` into what is known of identity `id`, and notes that it was just used.
pub(crate) async fn update(executor: &impl Executor, id: Uuid, data: &Value) -> Result<Identity, Error> {
    let sql = format!(
        "update auth.identities i
         set identity_data = i.identity_data || $2::jsonb, last_sign_in_at = now(), updated_at = now()
         where i.id = $1::uuid returning {document}",
        document = documents::identity("i"),
    );
    let updated = executor.change_returning(&sql, vec![owned(id), owned(data)]).await?;
    updated.ok_or_else(|| Error::Internal("an identity is gone".to_owned()))
}

/// Replaces what is known of identity `id`, and notes that it was just used.
pub(crate) async fn replace(executor: &impl Executor, id: Uuid, data: &Value) -> Result<(), Error> {
    let sql =
        "update auth.identities set identity_data = $2::jsonb, last_sign_in_at = now(), updated_at = now()
      where id = $1::uuid";
    executor.change(sql, vec![owned(id), owned(data)]).await.map(drop)
}

/// Removes identity `id`.
pub(crate) async fn delete(executor: &impl Executor, id: Uuid) -> Result<(), Error> {
    let sql = "delete from auth.identities where id = $1::uuid";
    executor.change(sql, vec![owned(id)]).await.map(drop)
}

/// Removes all identities of a user except `kept`: their owners are not verified.
pub(crate) async fn delete_others(executor: &impl Executor, user: Uuid, kept: Uuid) -> Result<(), Error> {
    let sql = "delete from auth.identities where user_id = $1::uuid and id <> $2::uuid";
    executor.change(sql, vec![owned(user), owned(kept)]).await.map(drop)
}
