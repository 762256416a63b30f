//! What flows need to know of a request besides its fields.

use serde_json::Value;

use crate::request::client::Client;
use crate::store::Executor;
use crate::store::audit::{self, Action, Actor};
use crate::{Auth, Error};

/// A request, apart from its fields.
pub(crate) struct Context<'a> {
    pub(crate) auth: &'a Auth,
    pub(crate) client: Client<'a>,
    /// The audience that the request is about.
    pub(crate) audience: String,
    /// Where links and redirects lead in the end: what the request asks for if it is allowed, else the site.
    pub(crate) redirect_to: String,
}

impl Context<'_> {
    /// Writes to the audit log that `actor` did `action` by this request. `traits` is an object with details, or null.
    pub(crate) async fn log(
        &self,
        executor: &impl Executor,
        actor: Actor<'_>,
        action: Action,
        traits: Value,
    ) -> Result<(), Error> {
        audit::write(executor, &self.auth.settings, actor, action, self.client.address, traits).await
    }
}
