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

    /// Reports whether a policy can name the origin: its grammar has no IPv6 addresses.
    fn has_policy_name(&self) -> bool {
        !self.host.contains(['[', ']'])
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.host)
    }
}

/// What a page may use besides its own files.
pub(crate) struct Policy<'a> {
    /// The API's URL, if it is not the page's origin.
    pub(crate) api_url: Option<&'a str>,
    /// The origin of the storage's objects, if they have one of their own.
    pub(crate) storage_origin: Option<&'a str>,
    /// Other origins that scripts may call.
    pub(crate) connect_src: &'a [String],
    /// Paths of the site's scripts and styles: folders, which end with a slash, and files.
    pub(crate) code: &'a [String],
}

/// Returns the Content-Security-Policy of a page: it may only use its own files, and call the API and the origins in
/// `connect_src`. Source: Content Security Policy Level 3.
///
/// Scripts and styles are named by their paths. `'self'` would also admit what users have uploaded, because storage
/// responds on the same origin. No path of the site redirects; behind a redirect browsers would compare no paths.
pub(crate) fn content_security_policy(origin: &Origin, policy: &Policy<'_>) -> String {
    let Policy { api_url, storage_origin, connect_src, code } = *policy;
    let page = origin.to_string();
    let api = api_url.unwrap_or(&page);
    // Older versions of Safari do not include ws: in 'self'.
    let socket = api.replacen("http", "ws", 1);
    let list = |origins: &[&str]| origins.iter().map(|origin| format!(" {origin}")).collect::<String>();
    let foreign: Vec<&str> = storage_origin.into_iter().chain(Some(api).filter(|api| *api != page)).collect();
    let foreign = list(&foreign);
    let others = list(&connect_src.iter().map(String::as_str).collect::<Vec<_>>());
    // A proxy that sends another host than the browser's has to be named in `api.external_url`.
    let code = match origin.has_policy_name() {
        true => [Some(&*page), api_url.filter(|api| *api != page)]
            .into_iter()
            .flatten()
            .flat_map(|origin| code.iter().map(move |path| format!(" {origin}{path}")))
            .collect(),
        false => " 'self'".to_owned(),
    };
    let code = if code.is_empty() { " 'none'".to_owned() } else { code };
    format!(
        "default-src 'none'; script-src{code}; style-src{code}; font-src 'self'; manifest-src 'self'; \
         img-src 'self' data: blob:{foreign}; media-src 'self' blob:{foreign}; \
         connect-src 'self' {socket}{foreign}{others}; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
    )
}

/// Adds the security headers to a response. `policy` is its Content-Security-Policy.
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

    fn policy(origin: &Origin, policy: &Policy<'_>) -> String {
        content_security_policy(origin, &Policy { code: &["/assets/".to_owned()], ..*policy })
    }

    const NOTHING: Policy<'static> =
        Policy { api_url: None, storage_origin: None, connect_src: &[], code: &[] };

    #[test]
    fn the_policy_admits_the_api_and_nothing_else() {
        let page = origin("site.example", Some("https"));
        let ip = ["https://ip.example".to_owned()];
        let own = policy(&page, &Policy { connect_src: &ip, ..NOTHING });
        assert!(own.contains("connect-src 'self' wss://site.example https://ip.example;"), "{own}");
        assert!(!own.contains("unsafe"));
        let foreign = policy(&page, &Policy { api_url: Some("https://api.example"), ..NOTHING });
        assert!(foreign.contains("connect-src 'self' wss://api.example https://api.example;"), "{foreign}");
        assert!(foreign.contains("img-src 'self' data: blob: https://api.example;"), "{foreign}");
        let files = policy(&page, &Policy { storage_origin: Some("https://files.example"), ..NOTHING });
        assert!(files.contains("img-src 'self' data: blob: https://files.example;"), "{files}");
        assert!(files.contains("connect-src 'self' wss://site.example https://files.example;"), "{files}");
    }

    #[test]
    fn scripts_and_styles_are_named_by_their_paths() {
        let page = origin("site.example:8080", None);
        let own = policy(&page, &NOTHING);
        let named =
            "script-src http://site.example:8080/assets/; style-src http://site.example:8080/assets/;";
        assert!(own.starts_with(&format!("default-src 'none'; {named}")), "{own}");
        let foreign = policy(&page, &Policy { api_url: Some("https://api.example"), ..NOTHING });
        let named = "script-src http://site.example:8080/assets/ https://api.example/assets/;";
        assert!(foreign.contains(named), "{foreign}");
        let without = content_security_policy(&page, &NOTHING);
        assert!(without.contains("script-src 'none'; style-src 'none';"), "{without}");
        // A policy cannot name an IPv6 address.
        assert!(policy(&origin("[::1]:8080", None), &NOTHING).contains("script-src 'self';"));
    }
}
