//! Rows of `auth.users` with their identities and factors.

use std::sync::LazyLock;

use database::Database;
use serde::Deserialize;
use uuid::Uuid;

use super::{fetch, owned, text, transaction};
use crate::Error;
use crate::flows::Address;
use crate::store::sessions::{Session, session_document};
use crate::user::User;

/// A SQL expression: the public JSON document of the row of `auth.users` named `alias`, without its secrets.
pub(super) fn document(alias: &str) -> String {
    format!(
        "(to_jsonb({alias}) - array[
          'encrypted_password', 'confirmation_token', 'recovery_token', 'email_change_token_new',
          'email_change_token_current', 'phone_change_token', 'reauthentication_token'
        ] || jsonb_build_object(
          'identities', coalesce((
            select jsonb_agg(to_jsonb(i) order by i.created_at, i.id) from auth.identities i where i.user_id = {alias}.id
          ), '[]'),
          'factors', coalesce((
            select jsonb_agg(to_jsonb(f) - array['secret', 'web_authn_credential'] order by f.created_at, f.id)
            from auth.mfa_factors f where f.user_id = {alias}.id
          ), '[]')
        ))"
    )
}

/// What a sign-in with a password needs to know.
#[derive(Deserialize)]
pub(crate) struct Candidate {
    pub(crate) user: User,
    pub(crate) encrypted_password: Option<String>,
    pub(crate) banned: bool,
}

fn by_address(column: &str) -> String {
    format!(
        "select jsonb_build_object(
           'user', {user},
           'encrypted_password', u.encrypted_password,
           'banned', coalesce(u.banned_until > now(), false)
         )
         from auth.users u
         where u.{column} = $1 and u.aud = $2 and not u.is_sso_user and u.deleted_at is null",
        user = document("u"),
    )
}

static BY_EMAIL: LazyLock<String> = LazyLock::new(|| by_address("email"));
static BY_PHONE: LazyLock<String> = LazyLock::new(|| by_address("phone"));

/// The user who has `address` in `audience`. Users of single sign-on have no password here and are not found.
pub(crate) async fn find_by_address(
    database: &Database,
    address: &Address,
    audience: &str,
) -> Result<Option<Candidate>, Error> {
    let (sql, value) = match address {
        Address::Email(email) => (&BY_EMAIL, email),
        Address::Phone(phone) => (&BY_PHONE, phone),
    };
    let parameters = vec![text(value), text(audience)];
    fetch(database, transaction().read_only().statement(sql.as_str(), parameters)).await
}

/// Who an access token speaks for.
#[derive(Deserialize)]
pub(crate) struct Bearer {
    pub(crate) user: User,
    pub(crate) banned: bool,
    pub(crate) session: Option<Session>,
}

static BEARER: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select jsonb_build_object(
           'user', {user},
           'banned', coalesce(u.banned_until > now(), false),
           'session', (select {session} from auth.sessions s where s.id = $2::uuid and s.user_id = u.id)
         )
         from auth.users u where u.id = $1::uuid",
        user = document("u"),
        session = session_document("s"),
    )
});

/// The user `id`, together with the session of theirs that the token names, if it names one that is alive.
pub(crate) async fn find_bearer(
    database: &Database,
    id: Uuid,
    session: Option<Uuid>,
) -> Result<Option<Bearer>, Error> {
    let parameters = vec![owned(id), session.and_then(owned)];
    fetch(database, transaction().read_only().statement(BEARER.as_str(), parameters)).await
}
