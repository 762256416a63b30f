//! Deleting rows of users, and making deleted users anonymous.

use uuid::Uuid;

use crate::Error;
use crate::store::{Executor, owned};

/// Removes user `id` and everything that depends on the account. Returns whether there was one.
///
/// Errors: a foreign key violation of a table of the project that refers to the user and does not let go.
pub(crate) async fn delete(executor: &impl Executor, id: Uuid) -> Result<bool, Error> {
    let sql = "delete from auth.users where id = $1::uuid";
    let removed = executor.change(sql, vec![owned(id)]).await;
    Ok(removed.map_err(|error| error.with_purpose("deleting user"))? > 0)
}

/// Returns a SQL expression: upstream's hash of `value` of user `$1`, which hides the value and frees it for others.
fn hash_expression(value: &str) -> String {
    format!(
        "rtrim(translate(encode(sha256(convert_to($1::uuid::text || {value}, 'UTF8')), 'base64'), '+/', '-_'), '=')"
    )
}

/// Deletes user `id` softly: the row stays, for tables that refer to it, without personal data. A user who is deleted
/// already stays as they are.
pub(crate) async fn obscure(executor: &impl Executor, id: Uuid) -> Result<(), Error> {
    let sql = format!(
        "with gone as (
           update auth.users u set
             email = {email}, phone = left({phone}, 15),
             email_change = {email_change}, phone_change = left({phone_change}, 15),
             encrypted_password = null, confirmation_token = '', recovery_token = '', email_change_token_new = '',
             email_change_token_current = '', phone_change_token = '', reauthentication_token = '',
             raw_user_meta_data = '{{}}', raw_app_meta_data = '{{}}', deleted_at = now(), updated_at = now()
           where u.id = $1::uuid and u.deleted_at is null
           returning u.id
         ), identities as (
           update auth.identities i set identity_data = '{{}}', provider_id = {subject}, updated_at = now()
           from gone where i.user_id = gone.id
         ), tokens as (
           delete from auth.one_time_tokens t using gone where t.user_id = gone.id
         ), flows as (
           delete from auth.flow_state f using gone where f.user_id = gone.id
         ), factors as (
           delete from auth.mfa_factors f using gone where f.user_id = gone.id
         ), passkeys as (
           delete from auth.webauthn_credentials c using gone where c.user_id = gone.id
         )
         delete from auth.sessions s using gone where s.user_id = gone.id",
        email = hash_expression("coalesce(u.email, '')"),
        phone = hash_expression("coalesce(u.phone, '')"),
        email_change = hash_expression("coalesce(u.email_change, '')"),
        phone_change = hash_expression("coalesce(u.phone_change, '')"),
        subject = hash_expression("i.provider || ':' || i.provider_id"),
    );
    executor.change(&sql, vec![owned(id)]).await.map(drop)
}
