//! Headers in which proxies describe a caller. The caller may also have forged them.

use http::header::{FORWARDED, VIA};
use http::{HeaderMap, HeaderName};

pub(crate) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(crate) const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
pub(crate) const X_FORWARDED_PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
pub(crate) const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The beginnings of names of headers in which proxies and content delivery networks describe the original request.
const PREFIXES: [&str; 11] = [
    "x-forwarded",
    "x_forwarded",
    "x-original-",
    "x-originating-",
    "x-envoy-",
    "x-rewrite-",
    "x-remote-",
    "x-goog-iap-",
    "x-amzn-oidc-",
    "cf-",
    "cloudfront-",
];

/// Further names of such headers.
const NAMES: [&str; 20] = [
    "client-ip",
    "do-connecting-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded-for",
    "front-end-https",
    "sb-forwarded-for",
    "true-client-ip",
    "x-azure-clientip",
    "x-azure-socketip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-host",
    "x-http-host-override",
    "x-nf-client-connection-ip",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-scheme",
    "x-url-scheme",
    "x-vercel-forwarded-for",
];

/// Reports whether only a proxy may send the header `name`, which is in lower case.
pub fn is_forwarding_header(name: &str) -> bool {
    matches!(name.as_bytes(), [b'c' | b'd' | b'f' | b's' | b't' | b'v' | b'x', ..])
        && (name == FORWARDED.as_str()
            || name == VIA.as_str()
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || NAMES.contains(&name))
}

/// Removes the headers that only a trusted proxy may send. Reports whether there were any.
pub(crate) fn remove(headers: &mut HeaderMap) -> bool {
    // Most requests have none, so that nothing is allocated for them.
    let found: Vec<HeaderName> =
        headers.keys().filter(|name| is_forwarding_header(name.as_str())).cloned().collect();
    for name in &found {
        headers.remove(name);
    }
    !found.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_proxies_are_told_from_those_of_clients() {
        for name in [
            "forwarded",
            "via",
            "x-forwarded",
            "x-forwarded-for",
            "x-forwarded-prefix",
            "x-forwarded-client-cert",
            "x-original-url",
            "x-originating-ip",
            "x-remote-user",
            "x_forwarded_for",
            "do-connecting-ip",
            "cloudfront-viewer-address",
            "x-original-forwarded-for",
            "x-rewrite-url",
            "x-real-ip",
            "x-host",
            "true-client-ip",
            "cf-connecting-ip",
            "sb-forwarded-for",
        ] {
            assert!(is_forwarding_header(name), "{name}");
        }
        for name in [
            "x-client-info",
            "x-request-id",
            "x-upsert",
            "x-amz-date",
            "x-http-method-override",
            "x-supabase-api-version",
            "content-type",
            "cookie",
            "tus-resumable",
            "sb-request-id",
            "traceparent",
            "host",
        ] {
            assert!(!is_forwarding_header(name), "{name}");
        }
    }
}
