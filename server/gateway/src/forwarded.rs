//! Headers in which proxies describe a caller. The caller may also have forged them.

use http::header::{FORWARDED, VIA};
use http::{HeaderMap, HeaderName};

/// Headers in which proxies and content delivery networks describe the original request.
const HEADERS: [HeaderName; 15] = [
    FORWARDED,
    VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-port"),
    HeaderName::from_static("x-forwarded-prefix"),
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-forwarded-server"),
    HeaderName::from_static("x-original-forwarded-for"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-client-ip"),
    HeaderName::from_static("x-cluster-client-ip"),
    HeaderName::from_static("true-client-ip"),
    HeaderName::from_static("cf-connecting-ip"),
    HeaderName::from_static("fastly-client-ip"),
];

/// Removes the headers that only a trusted proxy may send.
pub(crate) fn remove(headers: &mut HeaderMap) {
    // Most requests have none, and comparing their few names costs less than looking up each of these.
    if !headers.keys().any(|name| HEADERS.contains(name)) {
        return;
    }
    for name in &HEADERS {
        headers.remove(name);
    }
}
