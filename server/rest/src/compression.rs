//! Compressed bodies for clients that take them (RFC 9110, sections 8.4 and 12.5.3).

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use poem::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use poem::http::{HeaderMap, HeaderValue, Method};
use poem::{Request, Response};

/// Smaller bodies, in bytes, fit into one packet either way.
const LEAST: usize = 1400;
/// From this size on compressing takes so long that it must not hold up the connections of the same thread.
const LARGE: usize = 64 * 1024;

/// Reports whether the client of `request` accepts a response in gzip.
pub(crate) fn is_accepted(request: &Request) -> bool {
    *request.method() != Method::HEAD && gateway::accepts_coding(request.headers(), "gzip")
}

/// Returns `response` with its body in gzip, where that makes it smaller.
pub(crate) async fn compress(mut response: Response) -> Response {
    if !gains(response.headers()) {
        return response;
    }
    let Ok(body) = response.take_body().into_bytes().await else {
        // A body in memory can always be read.
        return response;
    };
    let compressed = match body.len() {
        ..LEAST => None,
        LEAST..LARGE => gzip(&body).ok(),
        _ => {
            let large = body.clone();
            tokio::task::spawn_blocking(move || gzip(&large)).await.ok().and_then(Result::ok)
        }
    };
    match compressed.filter(|compressed| compressed.len() < body.len()) {
        None => response.set_body(body),
        Some(compressed) => {
            response.set_body(compressed);
            let headers = response.headers_mut();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            // A cache must not give it to a client that did not ask for it.
            headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
    }
    response
}

/// Reports whether a body with these headers is compressible, not encoded yet, and allowed to be transformed.
fn gains(headers: &HeaderMap) -> bool {
    let text =
        |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let kind = text(CONTENT_TYPE);
    (kind.starts_with("text/") || kind.contains("json") || kind.contains("xml"))
        && !headers.contains_key(CONTENT_ENCODING)
        && !headers.contains_key(CONTENT_LENGTH)
        && !text(CACHE_CONTROL).contains("no-transform")
}

fn gzip(body: &[u8]) -> io::Result<Bytes> {
    // JSON's keys repeat so much that the fastest level already gains most.
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use poem::http::header::ACCEPT_ENCODING;

    use super::*;

    #[test]
    fn clients_say_what_they_take() {
        for (header, expected) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("br", false),
            ("*", false),
            ("", false),
        ] {
            let request = |method| Request::builder().method(method).header(ACCEPT_ENCODING, header).finish();
            assert_eq!(is_accepted(&request(Method::GET)), expected, "{header}");
            assert!(!is_accepted(&request(Method::HEAD)));
        }
    }

    #[tokio::test]
    async fn only_what_gains_is_compressed() {
        let response = |kind: &'static str, size: usize| {
            compress(Response::builder().content_type(kind).header(VARY, "Accept").body("x".repeat(size)))
        };
        for (kind, size, expected) in [
            ("application/json; charset=utf-8", LEAST, true),
            ("text/csv; charset=utf-8", 2 * LARGE, true),
            ("application/json", LEAST - 1, false),
            ("image/png", LARGE, false),
        ] {
            let response = response(kind, size).await;
            assert_eq!(response.header(CONTENT_ENCODING), expected.then_some("gzip"), "{kind} {size}");
            let vary: Vec<_> = response.headers().get_all(VARY).iter().collect();
            assert_eq!(vary.len(), if expected { 2 } else { 1 });
            let length = response.into_body().into_bytes().await.unwrap().len();
            assert_eq!(length < size, expected, "{kind} {size}");
        }
        let fixed = Response::builder().content_type("text/plain").header(CACHE_CONTROL, "no-transform");
        assert_eq!(compress(fixed.body("x".repeat(LARGE))).await.header(CONTENT_ENCODING), None);
    }
}
