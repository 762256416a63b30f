//! Code of the project that takes part in decisions.

use serde_json::Value;
use uuid::Uuid;

use crate::store::sessions::Client;
use crate::user::User;
use crate::{Error, Settings};

/// What a hook has said of an attempt to show a password or a second factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Goes on as if there were no hook.
    Continue,
    /// The attempt has failed, whatever it was.
    Reject {
        /// For the user.
        message: String,
        /// Whether all sessions of the user end, too.
        logout: bool,
    },
}

/// The hooks of the project.
pub(crate) struct Hooks {}

impl Hooks {
    pub(crate) fn new(_settings: &Settings) -> Hooks {
        Hooks {}
    }

    /// Asks whether `user` may be created. Errors: the refusal.
    pub(crate) async fn before_user_created(&self, user: &User, client: &Client<'_>) -> Result<(), Error> {
        let _ = (user, client);
        Ok(())
    }

    /// Tells that `user` was created. Errors: what the hook answered; the user stays.
    pub(crate) async fn after_user_created(&self, user: &User, client: &Client<'_>) -> Result<(), Error> {
        let _ = (user, client);
        Ok(())
    }

    /// Lets the hook rewrite `claims` of an access token for `user`, who has come by `method`.
    ///
    /// Errors: the refusal; 500 for claims that lack something.
    pub(crate) async fn customize_access_token(
        &self,
        user: Uuid,
        claims: Value,
        method: &str,
        client: &Client<'_>,
    ) -> Result<Value, Error> {
        let _ = (user, method, client);
        Ok(claims)
    }

    /// Asks about an attempt to sign in with a password that was right or not.
    pub(crate) async fn password_verification(
        &self,
        user: Uuid,
        valid: bool,
        client: &Client<'_>,
    ) -> Result<Decision, Error> {
        let _ = (user, valid, client);
        Ok(Decision::Continue)
    }

    /// Asks about an attempt to verify a factor of kind `kind` that was right or not.
    pub(crate) async fn mfa_verification(
        &self,
        user: Uuid,
        (factor, kind): (Uuid, &str),
        valid: bool,
        client: &Client<'_>,
    ) -> Result<Decision, Error> {
        let _ = (user, factor, kind, valid, client);
        Ok(Decision::Continue)
    }
}
