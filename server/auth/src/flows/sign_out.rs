//! The end of sessions.

use crate::flows::bearer::Bearer;
use crate::store::sessions::{self, Client};
use crate::{Auth, Error};

/// Which sessions of the caller end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All.
    Global,
    /// The one that the request is made with.
    Local,
    /// All but that one.
    Others,
}

impl Scope {
    /// The name that clients send.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Scope::Global => "global",
            Scope::Local => "local",
            Scope::Others => "others",
        }
    }

    /// Errors: `validation_failed` for an unknown name.
    pub(crate) fn parse(name: Option<&str>) -> Result<Scope, Error> {
        match name.unwrap_or_default() {
            "" | "global" => Ok(Scope::Global),
            "local" => Ok(Scope::Local),
            "others" => Ok(Scope::Others),
            other => Err(Error::validation(format!("Unsupported logout scope {other:?}"))),
        }
    }
}

/// Ends the caller's sessions; their refresh tokens go with them. Access tokens that were issued for them are
/// refused by this service at once, by others when they expire.
pub(crate) async fn sign_out(
    auth: &Auth,
    bearer: &Bearer,
    scope: Scope,
    client: &Client<'_>,
) -> Result<(), Error> {
    sessions::end(&auth.database, &auth.settings, bearer.user.id, bearer.session_id(), scope, client).await
}
