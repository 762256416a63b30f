//! Sign-out.

use crate::client::Client;
use crate::flows::bearer::Bearer;
use crate::session::LogoutScope;
use crate::store::sessions;
use crate::{Auth, Error};

/// Ends the caller's sessions; their refresh tokens go with them. Access tokens that were issued for them are
/// refused by this service at once, by others when they expire.
pub(crate) async fn sign_out(
    auth: &Auth,
    bearer: &Bearer,
    scope: LogoutScope,
    client: &Client<'_>,
) -> Result<(), Error> {
    sessions::end(&auth.database, &auth.settings, bearer.user.id, bearer.session_id(), scope, client).await
}
