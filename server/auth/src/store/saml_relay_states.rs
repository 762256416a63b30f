//! Rows of `auth.saml_relay_states`: users who are at an identity provider.

use serde::Deserialize;
use uuid::Uuid;

use super::{Executor, documents, owned, text};
use crate::Error;

/// A sign-in that is under way.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RelayState {
    pub(crate) sso_provider_id: Uuid,
    /// What the response has to refer to.
    pub(crate) request_id: String,
    /// Where the user is sent in the end; `None` or empty for the site.
    pub(crate) redirect_to: Option<String>,
    pub(crate) flow_state_id: Option<Uuid>,
    /// Seconds since it began.
    pub(crate) age: f64,
}

/// What is known of a sign-in when it begins.
pub(crate) struct NewRelayState<'a> {
    pub(crate) id: Uuid,
    pub(crate) sso_provider_id: Uuid,
    pub(crate) request_id: &'a str,
    /// Empty for the site, and stored as such: upstream cannot read null here.
    pub(crate) redirect_to: &'a str,
    pub(crate) flow_state_id: Uuid,
}

/// Notes that a user leaves for an identity provider.
pub(crate) async fn create(executor: &impl Executor, new: &NewRelayState<'_>) -> Result<(), Error> {
    let sql = "insert into auth.saml_relay_states
        (id, sso_provider_id, request_id, redirect_to, flow_state_id, created_at, updated_at)
      values ($1::uuid, $2::uuid, $3, $4, $5::uuid, now(), now())";
    let parameters = vec![
        owned(new.id),
        owned(new.sso_provider_id),
        text(new.request_id),
        text(new.redirect_to),
        owned(new.flow_state_id),
    ];
    executor.change(sql, parameters).await.map(drop)
}

/// Takes the state `id` away: it is good for one attempt, on any node.
pub(crate) async fn take(executor: &impl Executor, id: Uuid) -> Result<Option<RelayState>, Error> {
    let document = documents::with_age("s");
    let sql = format!("delete from auth.saml_relay_states s where s.id = $1::uuid returning {document}");
    executor.change_returning(&sql, vec![owned(id)]).await
}
