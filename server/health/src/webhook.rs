//! The webhook that gets the list.

use std::time::Duration;

use reqwest::redirect::Policy;
use serde_json::Value;
use settings::Secret;

/// How long the request may take, and a connection.
const LIMIT: Duration = Duration::from_secs(10);
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Sends `body` to `url`, which must not be logged: it often has a token in it.
///
/// Errors: a sentence without the URL.
pub(crate) async fn post(url: &Secret, body: &Value) -> Result<(), String> {
    let client =
        tls::client_builder()?.timeout(LIMIT).connect_timeout(CONNECT_LIMIT).redirect(Policy::none());
    let client = client.build().map_err(tls::describe)?;
    let response = client.post(url.expose()).json(body).send().await.map_err(tls::describe)?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("the webhook responded with {status}")),
    }
}
