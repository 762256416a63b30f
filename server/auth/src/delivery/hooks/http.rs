//! Hooks that are called over HTTP.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use reqwest::Method;
use time::OffsetDateTime;
use tokio::time::Instant;
use uuid::Uuid;

use super::signature;
use crate::http_client::{HttpClient, HttpError, HttpResponse, Reach};
use crate::{Code, Error, Hook};

/// Largest response in bytes.
const RESPONSE_LIMIT: usize = 200 * 1024;
/// How often a hook is called at most for one event.
const ATTEMPTS: u32 = 3;

/// The time limits of calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct HookTimeouts {
    /// In all, pauses included.
    pub(super) total: Duration,
    /// Between two attempts.
    pub(super) pause: Duration,
}

impl Default for HookTimeouts {
    fn default() -> Self {
        Self { total: Duration::from_secs(5), pause: Duration::from_secs(2) }
    }
}

/// What an attempt led to, other than a response.
enum Failure {
    /// Another attempt may succeed.
    Retryable(Error),
    Final(Error),
}

/// Calls `hook` with `payload` and returns the JSON of its response, if there is any.
///
/// Errors: `hook_timeout`, `hook_timeout_after_retry`, `hook_payload_over_size_limit`,
/// `hook_payload_invalid_content_type`; 500 for any other status than 200, 202 and 204.
pub(super) async fn call(
    client: &HttpClient,
    hook: &Hook,
    payload: &[u8],
    timeouts: HookTimeouts,
) -> Result<Option<Bytes>, Error> {
    let deadline = Instant::now() + timeouts.total;
    let timeout = || {
        let seconds = timeouts.total.as_secs_f64();
        Code::HookTimeout.because(format!("Failed to reach hook within maximum time of {seconds:.6} seconds"))
    };
    // A receiver can recognize a repeated event by its id.
    let id = Uuid::new_v4();
    let mut attempt = 1;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let result = tokio::time::timeout(left, attempt_call(client, hook, id, payload)).await;
        match result {
            Err(_) => return Err(timeout()),
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(Failure::Final(error))) => return Err(error),
            Ok(Err(Failure::Retryable(error))) if attempt == ATTEMPTS => return Err(error),
            Ok(Err(Failure::Retryable(_))) => {}
        }
        if Instant::now() + timeouts.pause >= deadline {
            return Err(timeout());
        }
        tokio::time::sleep(timeouts.pause).await;
        attempt += 1;
    }
}

async fn attempt_call(
    client: &HttpClient,
    hook: &Hook,
    id: Uuid,
    payload: &[u8],
) -> Result<Option<Bytes>, Failure> {
    let internal =
        |error: String| Failure::Final(Error::Internal(format!("a hook cannot be called: {error}")));
    let (id, now) = (id.to_string(), OffsetDateTime::now_utc().unix_timestamp());
    let signature = signature::header(&hook.secrets, &id, now, payload).map_err(internal)?;
    let reach = if hook.is_public { Reach::Public } else { Reach::Anywhere };
    let request = client.request(Method::POST, &hook.uri, reach);
    let request = request
        .map_err(|error| internal(error.to_string()))?
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT_ENCODING, "identity")
        .header("webhook-id", id)
        .header("webhook-timestamp", now)
        .header("webhook-signature", signature)
        .body(payload.to_vec());
    match client.send(request).await {
        Ok(response) => read_response(response),
        Err(HttpError::TooLarge(_)) => Err(Failure::Final(too_large())),
        Err(error) => {
            tracing::warn!(%error, "a hook cannot be reached");
            let code = Code::HookTimeoutAfterRetry;
            Err(Failure::Retryable(code.because("Failed to reach hook after maximum retries")))
        }
    }
}

fn read_response(response: HttpResponse) -> Result<Option<Bytes>, Failure> {
    let failed = |message: String| Code::UnexpectedFailure.because(message);
    let error = match response.status {
        StatusCode::NO_CONTENT => return Ok(None),
        StatusCode::OK | StatusCode::ACCEPTED => {
            check_content_type(&response.headers).map_err(Failure::Final)?;
            if response.body.len() > RESPONSE_LIMIT {
                return Err(Failure::Final(too_large()));
            }
            return Ok(Some(response.body));
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let error = failed("Service currently unavailable due to hook".to_owned());
            let is_retryable = response.headers.contains_key(RETRY_AFTER);
            return Err(if is_retryable { Failure::Retryable(error) } else { Failure::Final(error) });
        }
        StatusCode::BAD_REQUEST => failed("Invalid payload sent to hook".to_owned()),
        StatusCode::UNAUTHORIZED => failed("Hook requires authorization token".to_owned()),
        status => failed(format!("Unexpected status code returned from hook: {}", status.as_u16())),
    };
    Err(Failure::Final(error))
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Error> {
    let refuse = |message: String| Err(Code::HookPayloadInvalidContentType.because(message));
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return refuse("Invalid Content-Type: Missing Content-Type header".to_owned());
    };
    let value = String::from_utf8_lossy(value.as_bytes());
    let media_type = value.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return refuse(format!("Invalid JSON response. Received content-type: {value}"));
    }
    Ok(())
}

fn too_large() -> Error {
    Code::HookPayloadOverSizeLimit
        .because(format!("Payload size exceeded size limit of {RESPONSE_LIMIT} bytes"))
}
