//! Rows of `auth.oauth_client_states`: code verifiers of sign-ins at external providers that use PKCE.

use serde::Deserialize;
use uuid::Uuid;

use super::{Executor, documents, owned, text};
use crate::Error;

/// A sign-in that is under way.
#[derive(Deserialize)]
pub(crate) struct ClientState {
    pub(crate) provider_type: String,
    pub(crate) code_verifier: Option<String>,
    /// Seconds since it began.
    pub(crate) age: f64,
}

/// Keeps the code verifier of a sign-in at `provider`; returns its id.
pub(crate) async fn create(executor: &impl Executor, provider: &str, verifier: &str) -> Result<Uuid, Error> {
    let id = Uuid::new_v4();
    let sql = "insert into auth.oauth_client_states (id, provider_type, code_verifier, created_at)
      values ($1::uuid, $2, $3, now())";
    executor.change(sql, vec![owned(id), text(provider), text(verifier)]).await?;
    Ok(id)
}

/// Takes the state `id` away: it is good for one attempt.
pub(crate) async fn take(executor: &impl Executor, id: Uuid) -> Result<Option<ClientState>, Error> {
    let document = documents::with_age("s");
    let sql = format!("delete from auth.oauth_client_states s where s.id = $1::uuid returning {document}");
    executor.change_returning(&sql, vec![owned(id)]).await
}
