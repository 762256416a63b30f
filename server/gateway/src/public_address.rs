//! The address by which a client has reached this server.
//!
//! Signatures and links depend on it, so there is exactly one for each request. It depends on the request's host, which
//! clients may choose, and on the settings. The headers of proxies are read only if proxies are trusted: otherwise the
//! [layers](crate::Layered) have removed them.

use std::borrow::Cow;

use http::header::HOST;
use poem::Request;
use poem::http::uri::{Authority, Scheme};

use crate::forwarded::{X_FORWARDED_HOST, X_FORWARDED_PORT, X_FORWARDED_PROTO};
use crate::{Caller, ExternalUrl};

/// The address by which a client has reached this server.
#[derive(Debug, PartialEq, Eq)]
pub struct PublicAddress<'r> {
    /// `https` or `http`.
    pub scheme: &'static str,
    /// The host, and its port if the client named one; empty if the client named no host.
    pub host: Cow<'r, str>,
    /// The part of the path that a proxy has removed: that of the external URL, if the request is for its host.
    pub prefix: &'r str,
}

impl<'r> PublicAddress<'r> {
    /// Returns the address that `request` was sent to, whose host is the one that a trusted proxy notes, if one does.
    pub fn of(request: &'r Request) -> Self {
        Self::with_host(request, host_with_port(request))
    }

    /// Returns the address that `request` was sent to, whose host is the one that was received. It is for responses
    /// that others may keep and show to other clients: they tell responses apart by `Host`, and not by what proxies
    /// note.
    pub fn received(request: &'r Request) -> Self {
        Self::with_host(request, received_host(request).unwrap_or_default().into())
    }

    fn with_host(request: &'r Request, host: Cow<'r, str>) -> Self {
        let external = request.extensions().get::<Caller>().and_then(|caller| caller.external_url.as_deref());
        let external = external.filter(|external| external.has_host(&host));
        let forwarded = first(request, X_FORWARDED_PROTO);
        let is_secure = match (forwarded, external) {
            (Some(scheme), _) => scheme.eq_ignore_ascii_case("https"),
            (None, Some(external)) => external.is_secure(),
            (None, None) => *request.scheme() == Scheme::HTTPS,
        };
        let scheme = if is_secure { "https" } else { "http" };
        Self { scheme, host, prefix: external.map_or("", ExternalUrl::prefix) }
    }
}

/// Returns the host and port of a [`PublicAddress`].
fn host_with_port(request: &Request) -> Cow<'_, str> {
    let Some(host) = forwarded_host(request) else {
        return received_host(request).unwrap_or_default().into();
    };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    // Some proxies note the port apart, also if clients leave it out, because it is the scheme's own.
    let port = first(request, X_FORWARDED_PORT).filter(|port| !has_port && !matches!(*port, "80" | "443"));
    match port.and_then(|port| port.parse::<u16>().ok()) {
        Some(port) => format!("{host}:{port}").into(),
        None => host.into(),
    }
}

/// Returns the host that a client has sent `request` to: the one that a trusted proxy notes, which may lack its port,
/// else the one that was received.
pub fn requested_host(request: &Request) -> Option<&str> {
    forwarded_host(request).or_else(|| received_host(request))
}

fn forwarded_host(request: &Request) -> Option<&str> {
    first(request, X_FORWARDED_HOST)
}

/// Returns the host, with its port, in the request as it was received: that of the target (HTTP/2 has it there; RFC
/// 9112, section 3.2.2), else the header `Host`.
pub(crate) fn received_host(request: &Request) -> Option<&str> {
    let target = request.original_uri().authority().or_else(|| request.uri().authority());
    target.map(Authority::as_str).or_else(|| request.headers().get(HOST)?.to_str().ok())
}

/// Returns the first item of a header that proxies set: what the outermost of them has noted.
fn first(request: &Request, name: http::HeaderName) -> Option<&str> {
    let value = request.headers().get(name)?.to_str().ok()?;
    value.split(',').next().map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use super::*;
    use crate::{BearerSource, RequestId};

    /// Returns the URL that a request with `headers` was sent to, if the settings name `external`.
    fn url(external: Option<&str>, headers: &[(&str, &str)]) -> String {
        let mut request = Request::builder().uri_str("/a");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.finish();
        let caller = Caller {
            request_id: RequestId::of(&request),
            address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            api_key: None,
            bearer: None,
            bearer_source: BearerSource::Authorization,
            network: None,
            external_url: external.map(|url| Arc::new(ExternalUrl::parse(url).unwrap())),
        };
        request.extensions_mut().insert(caller);
        let PublicAddress { scheme, host, prefix } = PublicAddress::of(&request);
        format!("{scheme}://{host}{prefix}/a")
    }

    #[test]
    fn the_host_decides_about_the_rest() {
        let external = Some("https://a.example/api");
        assert_eq!(url(external, &[("host", "a.example")]), "https://a.example/api/a");
        assert_eq!(url(external, &[("host", "127.0.0.1:54321")]), "http://127.0.0.1:54321/a");
        assert_eq!(url(external, &[("host", "a.example:1")]), "http://a.example:1/a");
        assert_eq!(url(None, &[("host", "a.example")]), "http://a.example/a");
        assert_eq!(
            url(external, &[("host", "a.example"), ("x-forwarded-proto", "http")]),
            "http://a.example/api/a"
        );
    }

    #[test]
    fn a_proxys_notes_replace_host_port_and_scheme_and_add_no_path() {
        let noted = |port: &str, host: &str| {
            let headers = [
                ("host", "inner:5000"),
                ("x-forwarded-proto", "https, http"),
                ("x-forwarded-host", host),
                ("x-forwarded-port", port),
                ("x-forwarded-prefix", "/b"),
            ];
            url(Some("https://a.example/api"), &headers)
        };
        assert_eq!(noted("443", "a.example, c.example"), "https://a.example/api/a");
        assert_eq!(noted("8443", "b.example"), "https://b.example:8443/a");
        assert_eq!(noted("8443", "b.example:9443"), "https://b.example:9443/a");
        assert_eq!(noted("8443", "[::1]"), "https://[::1]:8443/a");
        assert_eq!(noted("x", "b.example"), "https://b.example/a");
        assert_eq!(noted("443", ""), "https://inner:5000/a");
    }

    #[test]
    fn responses_that_others_may_keep_depend_on_the_received_host_alone() {
        let request =
            Request::builder().header("host", "a.example").header("x-forwarded-host", "b.example").finish();
        assert_eq!(PublicAddress::received(&request).host, "a.example");
        assert_eq!(PublicAddress::of(&request).host, "b.example");
    }
}
