//! Refuses bodies that are larger than a service takes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{StatusCode, Version};
use poem::{Body, Request, Response};

/// Watches a body whose length is not known beforehand.
pub(crate) struct Watch(Option<Arc<AtomicBool>>);

impl Watch {
    /// Whether more came than was allowed, so that the service saw a broken body.
    pub(crate) fn exceeded(&self) -> bool {
        self.0.as_ref().is_some_and(|exceeded| exceeded.load(Ordering::Relaxed))
    }
}

/// The announced length is beyond the limit.
pub(crate) struct TooLarge;

/// Checks the announced length of the body, or puts a counter into one that announces none.
pub(crate) fn impose(request: &mut Request, limit: u64) -> Result<Watch, TooLarge> {
    let headers = request.headers();
    if headers.contains_key(TRANSFER_ENCODING) {
        return Ok(count(request, limit));
    }
    match headers
        .get(CONTENT_LENGTH)
        .map(|value| value.to_str().ok().and_then(|text| text.parse::<u64>().ok()))
    {
        Some(Some(length)) if length <= limit => Ok(Watch(None)),
        Some(_) => Err(TooLarge),
        None if request.version() == Version::HTTP_2 => Ok(count(request, limit)),
        // Neither length nor encoding: there is no body (RFC 9112, section 6.3).
        None => Ok(Watch(None)),
    }
}

fn count(request: &mut Request, limit: u64) -> Watch {
    let exceeded = Arc::new(AtomicBool::new(false));
    let watch = Watch(Some(Arc::clone(&exceeded)));
    let seen = AtomicU64::new(0);
    let chunks = request.take_body().into_bytes_stream().map(move |chunk| {
        let chunk: Bytes = chunk?;
        let total = seen.fetch_add(chunk.len() as u64, Ordering::Relaxed) + chunk.len() as u64;
        if total > limit {
            exceeded.store(true, Ordering::Relaxed);
            return Err(io::Error::other(format!("request body is larger than {limit} bytes")));
        }
        Ok(chunk)
    });
    request.set_body(Body::from_bytes_stream(chunks));
    watch
}

pub(crate) fn too_large(limit: u64) -> Response {
    let message = format!("Request body is larger than the {limit} bytes that are allowed here");
    let body = serde_json::json!({ "message": message }).to_string();
    Response::builder().status(StatusCode::PAYLOAD_TOO_LARGE).content_type("application/json").body(body)
}
