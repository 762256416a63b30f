//! Deleting a user as an administrator.

use super::super::Context;
use super::super::bearer::Admin;
use super::{log, unknown};
use crate::Error;
use crate::flows::services::Accounts;
use crate::store;
use crate::store::audit::Action;
use crate::store::users::{self, Account};

/// Removes a user with everything that depends on the account; or, if `soft`, keeps a row without personal data, for
/// tables that refer to it. Deleting a user softly a second time changes nothing.
///
/// Errors: `user_not_found` where a concurrent request has deleted the user; those of tables of the project that refer
/// to the user and do not let go.
pub(crate) async fn delete(
    context: &Context<'_, Accounts>,
    admin: &Admin,
    account: &Account,
    soft: bool,
) -> Result<(), Error> {
    let work = store::begin(&context.services.database).await?;
    if soft {
        users::obscure(&work, account.id()).await?;
    } else if !users::delete(&work, account.id()).await? {
        return Err(unknown());
    }
    log(context, &work, admin, Action::UserDeleted, &account.user, &[]).await?;
    Ok(work.commit().await?)
}
