//! Updates of rows of users.

use std::borrow::Cow;

use serde_json::Value;
use uuid::Uuid;

use super::Account;
use crate::Error;
use crate::store::documents;
use crate::store::{Executor, Parameter, owned, text, text_unless_empty};

/// Changes of a user's row that are made at once.
#[derive(Default)]
pub(crate) struct Changes<'a> {
    assignments: Vec<Cow<'static, str>>,
    parameters: Vec<Parameter<'a>>,
}

impl<'a> Changes<'a> {
    pub(crate) fn new() -> Self {
        Changes::default()
    }

    /// Adds the assignment that `sql` makes of the number of a parameter, which is `value`.
    fn bind(mut self, value: Parameter<'a>, sql: impl FnOnce(usize) -> String) -> Self {
        self.parameters.push(value);
        // The first parameter is the user's id.
        self.assignments.push(sql(self.parameters.len() + 1).into());
        self
    }

    /// Sets `column` to `value`, which Postgres reads as a `kind`.
    fn set(self, column: &'static str, kind: &'static str, value: Parameter<'a>) -> Self {
        self.bind(value, |number| format!("{column} = ${number}::{kind}"))
    }

    fn assign(mut self, assignment: &'static str) -> Self {
        self.assignments.push(assignment.into());
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.assignments.is_empty()
    }

    /// Marks the e-mail address as confirmed.
    pub(crate) fn confirm_email(self) -> Self {
        self.assign("email_confirmed_at = now()")
    }

    /// Marks the phone number as confirmed.
    pub(crate) fn confirm_phone(self) -> Self {
        self.assign("phone_confirmed_at = now()")
    }

    /// Marks the e-mail address as not confirmed.
    pub(crate) fn unconfirm_email(self) -> Self {
        self.assign("email_confirmed_at = null")
    }

    /// Sets the e-mail address; an empty one removes it.
    pub(crate) fn email(self, email: &'a str) -> Self {
        self.set("email", "text", text_unless_empty(email))
    }

    /// Sets the phone number; an empty one removes it.
    pub(crate) fn phone(self, phone: &'a str) -> Self {
        self.set("phone", "text", text_unless_empty(phone))
    }

    /// Marks the phone number as not confirmed.
    pub(crate) fn unconfirm_phone(self) -> Self {
        self.assign("phone_confirmed_at = null")
    }

    /// Sets the address that is to replace the current one, and how many addresses have confirmed that.
    pub(crate) fn email_change(self, email: &'a str, confirmed: i16) -> Self {
        self.set("email_change", "text", text(email)).set(
            "email_change_confirm_status",
            "smallint",
            owned(confirmed),
        )
    }

    /// Sets the number that is to replace the current one.
    pub(crate) fn phone_change(self, phone: &'a str) -> Self {
        self.set("phone_change", "text", text(phone))
    }

    /// Sets the password's hash; empty for no password.
    pub(crate) fn encrypted_password(self, hash: &'a str) -> Self {
        self.set("encrypted_password", "text", text(hash))
    }

    pub(crate) fn role(self, role: &'a str) -> Self {
        self.set("role", "text", text(role))
    }

    pub(crate) fn set_invited(self) -> Self {
        self.assign("invited_at = now()")
    }

    /// Forgets when codes were sent, so that the next may follow at once.
    pub(crate) fn unsend_all(self) -> Self {
        self.assign(
            "confirmation_sent_at = null, recovery_sent_at = null, email_change_sent_at = null,
               phone_change_sent_at = null, reauthentication_sent_at = null",
        )
    }

    pub(crate) fn anonymous(self, anonymous: bool) -> Self {
        self.set("is_anonymous", "boolean", owned(anonymous))
    }

    /// Bans the user for that many seconds from now; zero lifts the ban.
    pub(crate) fn ban(self, seconds: f64) -> Self {
        if seconds == 0.0 {
            return self.assign("banned_until = null");
        }
        let duration = owned(format!("{seconds} seconds"));
        self.bind(duration, |number| format!("banned_until = now() + ${number}::interval"))
    }

    /// Merges an object into the user's own metadata; members that are null are removed.
    pub(crate) fn merge_user_metadata(self, data: &Value) -> Self {
        self.merge("raw_user_meta_data", data)
    }

    /// Merges an object into the service's metadata; members that are null are removed.
    pub(crate) fn merge_app_metadata(self, data: &Value) -> Self {
        self.merge("raw_app_meta_data", data)
    }

    /// Replaces the user's own metadata.
    pub(crate) fn replace_user_metadata(self, data: &Value) -> Self {
        self.set("raw_user_meta_data", "jsonb", owned(data))
    }

    fn merge(self, column: &'static str, data: &Value) -> Self {
        // Only the members that are being set to null go: others may be null since before.
        self.bind(owned(data), |number| {
            format!(
                "{column} = (case when jsonb_typeof({column}) = 'object' then {column} else '{{}}' end || ${number}::jsonb)
                   - coalesce((select array_agg(key) from jsonb_each(${number}::jsonb) where value = 'null'), '{{}}')"
            )
        })
    }

    /// Makes the changes.
    ///
    /// Errors: a unique violation of `users_email_partial_key` or `users_phone_key` if an address is taken.
    pub(crate) async fn apply(mut self, executor: &impl Executor, id: Uuid) -> Result<Account, Error> {
        self.assignments.push("updated_at = now()".into());
        let sql = format!(
            "update auth.users u set {} where u.id = $1::uuid returning {}",
            self.assignments.join(", "),
            documents::account("u"),
        );
        let mut parameters = vec![owned(id)];
        parameters.append(&mut self.parameters);
        let account = executor.change_returning(&sql, parameters).await;
        let account = account.map_err(|error| error.with_purpose("updating user"))?;
        account.ok_or_else(|| Error::Internal("the user who is to change is gone".to_owned()))
    }
}

/// Derives `provider` and `providers` of a user's app metadata from the identities, oldest first.
pub(crate) async fn derive_providers(executor: &impl Executor, id: Uuid) -> Result<Account, Error> {
    let sql = format!(
        "with known as (
           select jsonb_agg(p.provider order by p.since, p.provider) as names from (
             select i.provider, min(i.created_at) as since from auth.identities i where i.user_id = $1::uuid
             group by i.provider
           ) p
         )
         update auth.users u set updated_at = now(), raw_app_meta_data =
           coalesce(u.raw_app_meta_data, '{{}}')
             || jsonb_build_object('providers', coalesce(known.names, '[]'))
             || case when known.names is null then '{{}}' else jsonb_build_object('provider', known.names -> 0) end
         from known where u.id = $1::uuid returning {}",
        documents::account("u"),
    );
    let account = executor.change_returning(&sql, vec![owned(id)]).await?;
    account.ok_or_else(|| Error::Internal("the user whose providers are derived is gone".to_owned()))
}
