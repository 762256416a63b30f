//! All SQL of the service. Every function is one round trip: a statement that returns one row with one JSON
//! document, or none. It runs in a transaction of its own or, where a flow has several steps, within a [`Work`].

pub(crate) mod accounts;
pub(crate) mod audit;
pub(crate) mod cleanup;
pub(crate) mod custom_providers;
mod documents;
mod executor;
pub(crate) mod factors;
pub(crate) mod flow_states;
pub(crate) mod identities;
pub(crate) mod model;
pub(crate) mod oauth_authorizations;
pub(crate) mod oauth_client_states;
pub(crate) mod oauth_clients;
pub(crate) mod oauth_consents;
pub(crate) mod one_time_tokens;
pub(crate) mod passkeys;
mod pending_code;
pub(crate) mod recovery_codes;
pub(crate) mod refresh;
pub(crate) mod saml_relay_states;
pub(crate) mod sessions;
pub(crate) mod sso_providers;
pub(crate) mod users;

use std::borrow::Cow;
use std::time::Duration;

use postgres::{Database, Isolation, Transaction};
use serde::de::DeserializeOwned;

pub(crate) use executor::Executor;
pub(crate) use postgres::{Parameter, Work, text};

use crate::Error;

/// How long a statement may wait for another request that changes the same session.
const LOCK_TIMEOUT: &str = "5s";

/// The nil UUID that fills columns `instance_id`.
const NO_INSTANCE: &str = "'00000000-0000-0000-0000-000000000000'::uuid";

/// Returns `value` as a parameter, null if it is empty.
pub(crate) fn text_unless_empty(value: &str) -> Parameter<'_> {
    text(Some(value).filter(|value| !value.is_empty())?)
}

pub(crate) fn owned(value: impl ToString) -> Parameter<'static> {
    Some(Cow::Owned(value.to_string().into_bytes()))
}

/// Returns an interval, null for none.
pub(crate) fn interval(duration: Option<Duration>) -> Parameter<'static> {
    let duration = duration.filter(|duration| !duration.is_zero())?;
    owned(format!("{} microseconds", duration.as_micros()))
}

/// Returns a transaction of which each statement sees what others have committed before it began, so that a statement
/// after one that waited for a lock sees what the lock was held for.
fn transaction<'a>() -> Transaction<'a> {
    Transaction::anonymous().isolation(Isolation::ReadCommitted).setting("lock_timeout", LOCK_TIMEOUT)
}

/// Begins a transaction of several round trips on `database`, each statement of which sees what others have committed
/// before it began.
pub(crate) async fn begin(database: &Database) -> Result<Work, Error> {
    Ok(database.begin(&[("lock_timeout", LOCK_TIMEOUT)]).await?)
}

/// Runs `transaction` and reads the JSON document in the only row of its last statement, if there is a row.
async fn fetch<T: DeserializeOwned>(
    database: &Database,
    transaction: Transaction<'_>,
) -> Result<Option<T>, Error> {
    let result = database.run(&transaction).await?;
    let Some(row) = result.row() else { return Ok(None) };
    let document = row.get(0).ok_or_else(|| Error::Internal("a statement returned null".to_owned()))?;
    let parsed = serde_json::from_slice(document);
    parsed.map(Some).map_err(|error| Error::Internal(format!("a row has an unexpected shape: {error}")))
}
