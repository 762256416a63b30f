//! Requests to other people's servers: identity providers, hooks, text message services, captchas.
//!
//! One client for the whole service. Every request has a time limit, every response a bound on its size, redirects are
//! few and never leave TLS, and addresses that come from the API (custom providers) are kept out of private networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Method, RequestBuilder};
use serde::de::DeserializeOwned;
use telemetry::{Span, begin_call};
use url::{Host, Url};

/// Longest time for a request, its redirects and its response (upstream's `INTERNAL_HTTP_TIMEOUT`); a request may ask
/// for less.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest response in bytes.
pub(crate) const BODY_LIMIT: usize = 1 << 20;
/// Redirects followed.
const REDIRECTS: usize = 5;

/// Where a request may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Anywhere, for addresses that the operator has set.
    Anywhere,
    /// Only to `https` servers with public addresses, whatever name or redirect leads there, for addresses that come
    /// from the API: no way into the network that this server stands in (server-side request forgery).
    Public,
}

/// Why there is no response. Never holds the request's secrets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("refused to call {0}: {1}")]
    Forbidden(String, &'static str),
    #[error("no answer within the time limit")]
    Timeout,
    #[error("{0}")]
    Failed(String),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("expected a JSON document, found {0}")]
    NotJson(String),
}

impl HttpError {
    /// Returns one word for it.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Forbidden(..) => "forbidden",
            Self::Timeout => "timeout",
            Self::Failed(_) => "failed",
            Self::TooLarge(_) => "too_large",
            Self::NotJson(_) => "not_json",
        }
    }
}

/// Describes `request` without its path, which may contain a key. Source: OpenTelemetry's semantic conventions, "HTTP
/// spans".
fn describe(span: &mut Span, request: &reqwest::Request) {
    span.set("http.request.method", request.method().to_string());
    span.set("url.scheme", request.url().scheme().to_owned());
    span.set("server.address", request.url().host_str().unwrap_or_default().to_owned());
    if let Some(port) = request.url().port_or_known_default() {
        span.set("server.port", i64::from(port));
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() {
            return Self::Timeout;
        }
        // URLs may carry secrets in their query.
        let error = error.without_url();
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        Self::Failed(message)
    }
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpResponse {
    /// Returns the body as JSON, whatever its content type says.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| HttpError::NotJson(error.to_string()))
    }
}

/// The client; cheap to clone.
#[derive(Clone)]
pub(crate) struct HttpClient {
    anywhere: Client,
    public: Client,
}

impl HttpClient {
    /// Returns a client that trusts the machine's certificate authorities.
    ///
    /// Errors: a sentence when TLS cannot be set up.
    pub(crate) fn new() -> Result<Self, String> {
        let tls = tls::client_config()?;
        let build = |builder: reqwest::ClientBuilder| {
            builder
                .tls_backend_preconfigured(tls.clone())
                .timeout(TIMEOUT)
                .connect_timeout(CONNECT_TIMEOUT)
                .user_agent(concat!("basalt/", env!("CARGO_PKG_VERSION")))
                .build()
                .map_err(|error| format!("no HTTP client: {error}"))
        };
        Ok(Self {
            anywhere: build(Client::builder().redirect(Policy::custom(follow)))?,
            public: build(
                Client::builder()
                    .https_only(true)
                    .no_proxy()
                    .dns_resolver(Arc::new(PublicResolver))
                    .redirect(Policy::custom(follow_in_public)),
            )?,
        })
    }

    /// Returns the beginning of a request to `url`; headers, body and a shorter time limit may follow.
    ///
    /// Errors: [`HttpError::Forbidden`] for a URL that `reach` does not cover, [`HttpError::Failed`] for no URL.
    pub(crate) fn request(
        &self,
        method: Method,
        url: &str,
        reach: Reach,
    ) -> Result<RequestBuilder, HttpError> {
        let parsed = Url::parse(url).map_err(|error| HttpError::Failed(format!("not a URL: {error}")))?;
        let client = match reach {
            Reach::Anywhere => &self.anywhere,
            Reach::Public => {
                let origin = || parsed.origin().ascii_serialization();
                check_public(&parsed).map_err(|reason| HttpError::Forbidden(origin(), reason))?;
                &self.public
            }
        };
        Ok(client.request(method, parsed))
    }

    /// Sends `request` and reads the response, whatever its status. The header `traceparent` names the current trace,
    /// if tracing is on.
    ///
    /// Errors: [`HttpError::Timeout`], [`HttpError::TooLarge`] beyond [`BODY_LIMIT`], [`HttpError::Failed`].
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<HttpResponse, HttpError> {
        let (client, request) = request.build_split();
        let mut request = request?;
        let mut span = begin_call(request.method().to_string(), request.headers_mut());
        if let Some(span) = &mut span {
            describe(span, &request);
        }
        let response = Self::exchange(&client, request).await;
        if let Some(mut span) = span {
            match &response {
                Ok(response) => span.set("http.response.status_code", i64::from(response.status.as_u16())),
                Err(error) => span.fail(error.kind()),
            }
        }
        response
    }

    async fn exchange(client: &Client, request: reqwest::Request) -> Result<HttpResponse, HttpError> {
        let mut response = client.execute(request).await?;
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > BODY_LIMIT {
                return Err(HttpError::TooLarge(BODY_LIMIT));
            }
            body.extend_from_slice(&chunk);
        }
        let headers = std::mem::take(response.headers_mut());
        Ok(HttpResponse { status: response.status(), headers, body: body.freeze() })
    }
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpClient")
    }
}

fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let leaves_tls = attempt.previous().last().is_some_and(|url| url.scheme() == "https")
        && attempt.url().scheme() != "https";
    if leaves_tls {
        return attempt.error("a redirect from https to http");
    }
    if attempt.previous().len() > REDIRECTS {
        return attempt.error("too many redirects");
    }
    attempt.follow()
}

fn follow_in_public(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    match check_public(attempt.url()) {
        Ok(()) => follow(attempt),
        Err(reason) => attempt.error(reason),
    }
}

/// Says why `url` cannot be one of a public `https` server, as far as one sees without asking the DNS; the texts are
/// upstream's.
pub(crate) fn check_public(url: &Url) -> Result<(), &'static str> {
    if url.scheme() != "https" {
        return Err("URL must use HTTPS");
    }
    match url.host() {
        None => Err("URL must have a valid hostname"),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            if name.is_empty() {
                return Err("URL must have a valid hostname");
            }
            if name == "localhost" || name.ends_with(".localhost") {
                return Err("URL cannot point to localhost or loopback addresses");
            }
            Ok(())
        }
        Some(Host::Ipv4(address)) => check_address(address.into()),
        Some(Host::Ipv6(address)) => check_address(address.into()),
    }
}

/// Says why `address` is not one of the public internet.
fn check_address(address: IpAddr) -> Result<(), &'static str> {
    match address {
        IpAddr::V4(address) => check_v4(address),
        IpAddr::V6(address) => check_v6(address),
    }
}

fn check_v4(address: Ipv4Addr) -> Result<(), &'static str> {
    let [a, b, c, _] = address.octets();
    if address.is_loopback() {
        return Err("URL cannot resolve to loopback addresses");
    }
    // Shared address space (RFC 6598) is a provider's private network.
    if address.is_private() || (a == 100 && (64..128).contains(&b)) {
        return Err("URL cannot resolve to private network addresses");
    }
    if address.is_link_local() {
        return Err("URL cannot resolve to link-local addresses");
    }
    if address.is_multicast() || address.is_broadcast() {
        return Err("URL cannot resolve to multicast addresses");
    }
    if a == 0 {
        return Err("URL cannot resolve to unspecified addresses");
    }
    // IETF protocol assignments, benchmarking, documentation, reserved (RFC 6890).
    let special =
        (a, b, c) == (192, 0, 0) || (a == 198 && (b == 18 || b == 19)) || address.is_documentation();
    if special || a >= 240 {
        return Err("URL cannot resolve to reserved addresses");
    }
    Ok(())
}

fn check_v6(address: Ipv6Addr) -> Result<(), &'static str> {
    if let Some(address) = embedded_v4(address) {
        return check_v4(address);
    }
    let first = address.segments()[0];
    if address.is_loopback() {
        return Err("URL cannot resolve to loopback addresses");
    }
    if address.is_unspecified() {
        return Err("URL cannot resolve to unspecified addresses");
    }
    if address.is_multicast() {
        return Err("URL cannot resolve to multicast addresses");
    }
    if address.is_unicast_link_local() {
        return Err("URL cannot resolve to link-local addresses");
    }
    if address.is_unique_local() {
        return Err("URL cannot resolve to private network addresses");
    }
    // All that is routed lies in 2000::/3 (RFC 4291, section 2.4).
    if first & 0xe000 != 0x2000 {
        return Err("URL cannot resolve to reserved addresses");
    }
    Ok(())
}

/// Returns the IPv4 address that an IPv6 address stands for: mapped (RFC 4291), NAT64 (RFC 6052) or 6to4 (RFC 3056).
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match segments {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => Some(join(high, low)),
        _ => address.to_ipv4_mapped(),
    }
}

/// Checks that the name in `url` leads to public addresses only, at this moment; [`Reach::Public`] checks again when it
/// connects.
///
/// Errors: a sentence for the administrator who sent the URL.
pub(crate) async fn resolve_public(url: &Url) -> Result<(), &'static str> {
    check_public(url)?;
    let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
    let addresses = lookup(name).await.map_err(|_| "Unable to resolve hostname")?;
    addresses.iter().try_for_each(|address| check_address(address.ip()))
}

async fn lookup(name: &str) -> std::io::Result<Vec<SocketAddr>> {
    let found = tokio::time::timeout(CONNECT_TIMEOUT, tokio::net::lookup_host((name, 0))).await;
    let addresses: Vec<SocketAddr> = found.map_err(std::io::Error::from)??.collect();
    if addresses.is_empty() {
        return Err(std::io::Error::other("the name has no address"));
    }
    Ok(addresses)
}

/// Looks names up as the system does, and refuses those with an address that is not public: the checked addresses are
/// the ones that are connected to, so a name cannot change its address in between.
struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses = lookup(name.as_str()).await?;
            addresses.iter().try_for_each(|address| check_address(address.ip()))?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> Option<&'static str> {
        check_public(&Url::parse(url).unwrap()).err()
    }

    #[test]
    fn public_servers_may_be_called() {
        for url in ["https://example.com/x", "https://93.184.215.14/", "https://[2606:2800:21f:cb07::1]/"] {
            assert_eq!(refusal(url), None, "{url}");
        }
    }

    #[test]
    fn no_way_into_a_private_network() {
        for host in [
            "localhost",
            "LOCALHOST",
            "foo.localhost",
            "localhost.",
            "127.0.0.1",
            "127.1",
            "0x7f000001",
            "2130706433",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.0.1",
            "240.0.0.1",
            "[::1]",
            "[::]",
            "[fe80::1]",
            "[fd00::1]",
            "[ff02::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:a00:1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[fec0::1]",
        ] {
            let url = format!("https://{host}/");
            assert!(refusal(&url).is_some(), "{url}");
        }
    }

    #[test]
    fn no_way_without_tls() {
        assert_eq!(refusal("http://example.com/"), Some("URL must use HTTPS"));
        assert_eq!(refusal("file:///etc/passwd"), Some("URL must use HTTPS"));
    }

    #[tokio::test]
    async fn a_name_that_leads_home_is_not_followed() {
        let client = HttpClient::new().unwrap();
        let refused = client.request(Method::GET, "https://localhost/", Reach::Public);
        assert!(matches!(refused, Err(HttpError::Forbidden(..))));
        let name: Name = "localhost".parse().unwrap();
        assert!(PublicResolver.resolve(name).await.is_err());
    }
}
