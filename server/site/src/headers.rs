//! Security headers, and the origin that they depend on.

use std::fmt;

use gateway::PublicAddress;
use poem::Request;
use poem::http::header::{
    CONTENT_SECURITY_POLICY, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use poem::http::{HeaderMap, HeaderName, HeaderValue};

/// The origin with which a browser has reached the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    host: String,
    secure: bool,
}

impl Origin {
    /// Returns the origin of `request`. A missing or malformed host counts as `localhost`.
    pub(crate) fn of(request: &Request) -> Self {
        let PublicAddress { scheme, host, .. } = PublicAddress::received(request);
        let host = if gateway::is_host(&host) { host.into_owned() } else { "localhost".to_owned() };
        Self { host, secure: scheme == "https" }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.host)
    }
}

/// Returns the Content-Security-Policy of a page: it may only use its own files, and call the API and the origins in
/// `connect_src`. Source: Content Security Policy Level 3.
pub(crate) fn content_security_policy(
    origin: &Origin,
    api_url: Option<&str>,
    connect_src: &[String],
) -> String {
    let page = origin.to_string();
    let api = api_url.unwrap_or(&page);
    // Older versions of Safari do not include ws: in 'self'.
    let socket = api.replacen("http", "ws", 1);
    let foreign = if api == page { String::new() } else { format!(" {api}") };
    let others: String = connect_src.iter().map(|origin| format!(" {origin}")).collect();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; manifest-src 'self'; \
         img-src 'self' data: blob:{foreign}; media-src 'self' blob:{foreign}; \
         connect-src 'self' {socket}{foreign}{others}; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
    )
}

/// Adds the security headers to an answer. `policy` is its Content-Security-Policy.
pub(crate) fn secure(headers: &mut HeaderMap, origin: &Origin, policy: Option<&str>) {
    let fixed = |value| HeaderValue::from_static(value);
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(X_FRAME_OPTIONS, fixed("DENY"));
    headers.insert(REFERRER_POLICY, fixed("strict-origin-when-cross-origin"));
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), fixed("same-origin"));
    headers.insert(
        HeaderName::from_static("permissions-policy"),
        fixed("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    );
    if let Some(policy) = policy.and_then(|policy| HeaderValue::from_str(policy).ok()) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    if origin.secure {
        // Browsers ignore this header over plain HTTP; there, it would also require TLS, which may not exist.
        headers.insert(STRICT_TRANSPORT_SECURITY, fixed("max-age=31536000"));
    }
}

#[cfg(test)]
mod tests {
    use poem::http::header::HOST;

    use super::*;

    fn origin(host: &str, proto: Option<&str>) -> Origin {
        let mut request = Request::builder().header(HOST, host);
        if let Some(proto) = proto {
            request = request.header("x-forwarded-proto", proto);
        }
        Origin::of(&request.finish())
    }

    #[test]
    fn origins_come_from_the_request() {
        assert_eq!(origin("a.example:8080", None).to_string(), "http://a.example:8080");
        assert_eq!(origin("a.example", Some("https, http")).to_string(), "https://a.example");
        assert_eq!(origin("evil\"; script-src *", None).to_string(), "http://localhost");
    }

    #[test]
    fn the_policy_admits_the_api_and_nothing_else() {
        let page = origin("site.example", Some("https"));
        let policy = content_security_policy(&page, None, &["https://ip.example".to_owned()]);
        assert!(policy.contains("connect-src 'self' wss://site.example https://ip.example;"), "{policy}");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(!policy.contains("unsafe"));
        let policy = content_security_policy(&page, Some("https://api.example"), &[]);
        assert!(policy.contains("connect-src 'self' wss://api.example https://api.example;"), "{policy}");
        assert!(policy.contains("img-src 'self' data: blob: https://api.example;"), "{policy}");
    }
}
