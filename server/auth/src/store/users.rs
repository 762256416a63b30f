//! Rows of `auth.users` with their identities and factors.

mod changes;
mod list;
mod new;
mod removal;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use postgres::Database;
use serde::Deserialize;
use uuid::Uuid;

pub(crate) use changes::{Changes, derive_providers};
pub(crate) use list::{Selection, after, page};
pub(crate) use new::NewUser;
pub(crate) use removal::{delete, obscure};

use super::pending_code::{Kind, PendingCode};
use super::{Executor, Parameter, documents, fetch, owned, text, transaction};
use crate::error::refusals;
use crate::secrets::encryption::DecryptedSecret;
use crate::store::model::address::Address;
use crate::store::model::session::Session;
use crate::store::model::user::User;
use crate::{EncryptionSettings, Error, Settings};

/// A user, together with what no response may hold.
#[derive(Deserialize)]
pub(crate) struct Account {
    pub(crate) user: User,
    /// `None` or empty for a user without a password.
    pub(crate) encrypted_password: Option<String>,
    pub(crate) banned: bool,
    /// How many of two addresses have confirmed the change of the e-mail address.
    pub(crate) email_change_confirm_status: i16,
    /// The open codes.
    pub(crate) pending: BTreeMap<Kind, PendingCode>,
}

impl Account {
    pub(crate) fn id(&self) -> Uuid {
        self.user.id
    }

    pub(crate) fn has_password(&self) -> bool {
        self.encrypted_password.as_ref().is_some_and(|hash| !hash.is_empty())
    }

    /// Returns whether an address of the kind of `address` is confirmed.
    pub(crate) fn is_confirmed(&self, address: &Address) -> bool {
        match address {
            Address::Email(_) => self.user.email_confirmed_at.is_some(),
            Address::Phone(_) => self.user.phone_confirmed_at.is_some(),
        }
    }

    /// Returns the hash of the password, decrypted. `None` for a user without one.
    ///
    /// Errors: as [`EncryptionSettings::open`].
    pub(crate) fn password_hash(
        &self,
        encryption: &EncryptionSettings,
    ) -> Result<Option<DecryptedSecret<'_>>, Error> {
        let stored = self.encrypted_password.as_deref().filter(|hash| !hash.is_empty());
        stored.map(|stored| encryption.open(self.id(), stored)).transpose()
    }

    /// Returns the code of `kind`; one with an empty hash if there is none.
    pub(crate) fn pending(&self, kind: Kind) -> PendingCode {
        self.pending.get(&kind).cloned().unwrap_or_default()
    }
}

async fn find_where<E: Executor>(
    executor: &E,
    condition: &str,
    parameters: Vec<Parameter<'_>>,
) -> Result<Option<Account>, Error> {
    let account = documents::account("u");
    let sql = format!("select {account} from auth.users u where {condition}");
    // A lock is for flows that decide by what they read; alone, it would be gone at once.
    if E::HOLDS_LOCKS {
        executor.change_returning(&format!("{sql} for update of u"), parameters).await
    } else {
        executor.read(&sql, parameters).await
    }
}

/// Returns the user who has `address` in `audience`. Users of single sign-on and deleted ones are not found. Within a
/// transaction, the row stays locked until its end.
pub(crate) async fn find_by_address(
    executor: &impl Executor,
    address: &Address,
    audience: &str,
) -> Result<Option<Account>, Error> {
    let (column, value) = match address {
        Address::Email(email) => ("email", email),
        Address::Phone(phone) => ("phone", phone),
    };
    let condition = format!("u.{column} = $1 and u.aud = $2 and not u.is_sso_user and u.deleted_at is null");
    find_where(executor, &condition, vec![text(value), text(audience)]).await
}

/// Returns the user `id`. Within a transaction, the row stays locked until its end.
pub(crate) async fn find(executor: &impl Executor, id: Uuid) -> Result<Option<Account>, Error> {
    find_where(executor, "u.id = $1::uuid", vec![owned(id)]).await
}

/// Returns the user of `audience` who is about to change the phone number to `phone`. Within a transaction, the row
/// stays locked until its end.
pub(crate) async fn find_by_phone_change(
    executor: &impl Executor,
    phone: &str,
    audience: &str,
) -> Result<Option<Account>, Error> {
    // That it is not empty is what lets Postgres use the index, which is of those alone that have one.
    let condition = "u.id = (
        select n.id from auth.users n
        where n.phone_change = $1 and n.phone_change <> '' and n.aud = $2 and not n.is_sso_user
        order by n.phone_change_sent_at desc nulls last limit 1
      )";
    find_where(executor, condition, vec![text(phone), text(audience)]).await
}

/// Returns the user of `audience` other than `except` who has `email`, or an identity with it of a provider that links
/// accounts by address.
pub(crate) async fn find_duplicate(
    executor: &impl Executor,
    settings: &Settings,
    email: &str,
    audience: &str,
    except: Option<Uuid>,
) -> Result<Option<Account>, Error> {
    // The two ways to have it are looked up apart and then put together: for an `or` of them, Postgres reads all users.
    let condition = "u.id = (
        select d.id from auth.users d
        where d.aud = $2 and d.id is distinct from $3::uuid and d.deleted_at is null and d.id in (
          select o.id from auth.users o where o.email = $1 and not o.is_sso_user
          union
          select i.user_id from auth.identities i
          where i.email = $1 and i.provider not like 'sso:%' and not $4::jsonb ? i.provider
        )
        order by (d.email = $1) desc nulls last, d.created_at limit 1
      )";
    let own_domain: Vec<_> = settings.providers.linking_domains.keys().collect();
    let parameters =
        vec![text(email), text(audience), except.and_then(owned), owned(serde_json::json!(own_domain))];
    find_where(executor, condition, parameters).await
}

/// Returns whether a user was not stored because the address belongs to another user.
pub(crate) fn is_address_conflict(error: &Error) -> bool {
    error.violates("users_email_partial_key") || error.violates("users_phone_key")
}

/// Converts a unique violation of an address into the matching refusal.
pub(crate) fn as_address_conflict(error: Error) -> Error {
    if error.violates("users_email_partial_key") {
        return refusals::email_exists();
    }
    if error.violates("users_phone_key") { refusals::phone_exists() } else { error }
}

/// Stores the same hash of a password encrypted with another key, unless the password was changed meanwhile.
pub(crate) async fn reseal_password(
    executor: &impl Executor,
    id: Uuid,
    stored: &str,
    sealed: &str,
) -> Result<(), Error> {
    let sql = "update auth.users set encrypted_password = $3, updated_at = now()
       where id = $1::uuid and encrypted_password = $2";
    executor.change(sql, vec![owned(id), text(stored), text(sealed)]).await.map(drop)
}

/// Who an access token speaks for.
#[derive(Deserialize)]
pub(crate) struct Bearer {
    pub(crate) user: User,
    pub(crate) banned: bool,
    pub(crate) is_sso_user: bool,
    pub(crate) session: Option<Session>,
}

static BEARER: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select jsonb_build_object(
           'user', {user},
           'banned', coalesce(u.banned_until > now(), false),
           'is_sso_user', u.is_sso_user,
           'session', (select {session} from auth.sessions s where s.id = $2::uuid and s.user_id = u.id)
         )
         from auth.users u where u.id = $1::uuid",
        user = documents::user("u"),
        session = documents::session("s"),
    )
});

/// Returns the user `id`, together with the session of theirs that the token names, if it names one that is alive. A
/// standby, which may not know of a recent sign-out, is used only while there is no primary.
pub(crate) async fn find_bearer(
    database: &Database,
    id: Uuid,
    session: Option<Uuid>,
) -> Result<Option<Bearer>, Error> {
    let parameters = vec![owned(id), session.and_then(owned)];
    let lookup = transaction().read_only().on_primary().statement(BEARER.as_str(), parameters);
    fetch(database, lookup).await
}
