//! Administration of users. Changes take effect at once: no mail is sent and nothing has to be confirmed.

mod ban;
mod create;
mod delete;
pub(crate) mod link;
mod update;

use postgres::Database;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::Context;
use super::bearer::Admin;
use crate::error::refusals;
use crate::flows::services::Accounts;
use crate::store::Work;
use crate::store::audit::Action;
use crate::store::model::user::User;
use crate::store::users::{self, Account};
use crate::{Code, Error};

pub(crate) use create::create;
pub(crate) use delete::delete;
pub(crate) use update::update;

/// Most characters of a role or an audience, which columns of `auth.users` hold.
const LONGEST: usize = 255;

/// The fields of a user that an administrator sets. Empty texts count as absent, except for the password.
#[derive(Default)]
pub(crate) struct UserFields {
    /// Of new users alone.
    pub(crate) id: String,
    /// Of new users alone.
    pub(crate) audience: String,
    /// The Postgres role of the user's requests.
    pub(crate) role: String,
    pub(crate) email: String,
    pub(crate) phone: String,
    pub(crate) password: Option<String>,
    /// Of new users alone: the hash that another system has made.
    pub(crate) password_hash: String,
    pub(crate) confirm_email: bool,
    pub(crate) confirm_phone: bool,
    /// Merged into the user's own metadata.
    pub(crate) user_metadata: Option<Map<String, Value>>,
    /// Merged into the service's metadata.
    pub(crate) app_metadata: Option<Map<String, Value>>,
    /// How long the user may not sign in, in Go's syntax (`24h`); `none` lifts the ban.
    pub(crate) ban: String,
}

/// Returns the user with the id in a path.
///
/// Errors: `validation_failed` (404) for an id that is no UUID, `user_not_found`.
pub(crate) async fn find(database: &Database, id: &str) -> Result<Account, Error> {
    let id = Uuid::parse_str(id).map_err(|_| refusals::id_not_uuid("user_id must be an UUID"))?;
    let account = users::find(database, id).await?;
    account.ok_or_else(unknown)
}

fn unknown() -> Error {
    Code::UserNotFound.because("User not found")
}

/// Returns `value` without blanks around it, if a column of at most 255 characters can hold it; it may be empty.
///
/// Errors: `validation_failed`.
fn name<'a>(field: &str, value: &'a str) -> Result<&'a str, Error> {
    if value.contains('\0') {
        return Err(Error::validation(format!("{field} must not contain NUL characters")));
    }
    if value.chars().count() > LONGEST {
        return Err(Error::validation(format!("{field} must not be longer than {LONGEST} characters")));
    }
    Ok(value.trim())
}

/// Writes to the audit log what `admin` has done to `user`; `more` is added to the entry's data about the user.
async fn log(
    context: &Context<'_, Accounts>,
    work: &Work,
    admin: &Admin,
    action: Action,
    user: &User,
    more: &[(&str, &str)],
) -> Result<(), Error> {
    let mut traits = json!({ "user_id": user.id, "user_email": user.email, "user_phone": user.phone });
    for (name, value) in more {
        traits[*name] = json!(value);
    }
    context.log(work, admin.actor(), action, traits).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_their_columns() {
        assert_eq!(name("role", " editor ").unwrap(), "editor");
        assert_eq!(name("role", "").unwrap(), "");
        assert!(name("role", &"ü".repeat(255)).is_ok());
        assert!(name("role", &"ü".repeat(256)).is_err() && name("role", "a\0b").is_err());
    }
}
