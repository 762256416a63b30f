//! Ids of requests.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue};
use poem::Request;
use uuid::Uuid;

/// Header that carries the id in both directions.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Header in which hosted Supabase returns the id.
const SB_REQUEST_ID: HeaderName = HeaderName::from_static("sb-request-id");

/// The id of one request, in responses and in every log line about it: the one that the caller (or a proxy) sent as
/// `x-request-id`, if that is 1 to 64 letters, digits, `-`, `_` or `.`; else a new UUID of version 7.
#[derive(Clone)]
pub struct RequestId(HeaderValue);

impl RequestId {
    pub(crate) fn of(request: &Request) -> Self {
        match request.headers().get(&X_REQUEST_ID) {
            Some(value) if is_harmless(value.as_bytes()) => Self(value.clone()),
            _ => Self::generate(),
        }
    }

    fn generate() -> Self {
        let mut buffer = Uuid::encode_buffer();
        let millis =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64);
        // Random bytes from this thread's generator: no system call for each request.
        let id = uuid::Builder::from_unix_timestamp_millis(millis, &rand::random()).into_uuid();
        let text = id.hyphenated().encode_lower(&mut buffer);
        Self(HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("unknown")))
    }

    /// Sets the headers of a response that carry the id.
    pub(super) fn set_on(&self, headers: &mut HeaderMap) {
        headers.insert(X_REQUEST_ID, self.0.clone());
        headers.insert(SB_REQUEST_ID, self.0.clone());
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// Returns the id as the value of a header.
    pub const fn header(&self) -> &HeaderValue {
        &self.0
    }
}

/// Reports whether `id` may be repeated in logs and responses: it must not be possible to forge parts of them with it.
fn is_harmless(id: &[u8]) -> bool {
    (1..=64).contains(&id.len())
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
