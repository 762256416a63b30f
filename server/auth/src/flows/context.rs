//! What flows need to know of a request besides its fields.

use std::borrow::Cow;

use serde_json::Value;

use crate::store::Executor;
use crate::store::audit::{self, Action, Actor};
use crate::store::model::client::Client;
use crate::{Error, Settings};

/// A request, apart from its fields, and what its family of flows works with ([`services`](crate::flows::services)).
pub(crate) struct Context<'a, S> {
    pub(crate) services: &'a S,
    pub(crate) settings: &'a Settings,
    pub(crate) client: Client<'a>,
    /// The audience that the request is about.
    pub(crate) audience: Cow<'a, str>,
    /// Where links and redirects lead in the end: what the request asks for if it is allowed, else the site.
    pub(crate) redirect_to: Cow<'a, str>,
}

impl<S> Context<'_, S> {
    /// Returns the same request for flows that work with `services`.
    pub(crate) fn with<'b, T>(&'b self, services: &'b T) -> Context<'b, T> {
        Context {
            services,
            settings: self.settings,
            client: self.client,
            audience: Cow::Borrowed(&self.audience),
            redirect_to: Cow::Borrowed(&self.redirect_to),
        }
    }

    /// Writes to the audit log that `actor` did `action` by this request. `traits` is an object with details, or null.
    pub(crate) async fn log(
        &self,
        executor: &impl Executor,
        actor: Actor<'_>,
        action: Action,
        traits: Value,
    ) -> Result<(), Error> {
        audit::write(executor, self.settings, actor, action, self.client.address, traits).await
    }
}
