//! The caller of a request: address, API key and token.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::sync::Arc;

use fairness::Network;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use poem::web::RemoteAddr;
use poem::{Addr, FromRequest, Request, RequestBody};
use tokens::ApiKeyKind;

use crate::RequestId;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The sender of a request, as far as the gateway knows. It is in the extensions of every request behind a
/// [`crate::Face`].
#[derive(Debug, Clone)]
pub struct Caller {
    /// Identifies the request in logs and answers.
    pub request_id: RequestId,
    /// The client's address (see `Settings::trusted_proxies`); 0.0.0.0 over a unix socket.
    pub address: IpAddr,
    /// The network that has a share of what callers hold; `None` if the caller is on this machine, or networks have no
    /// shares.
    pub network: Option<Network>,
    /// The kind of its API key. `None` on open paths without a key or with one that is unknown.
    pub api_key: Option<ApiKeyKind>,
    /// The token for the service, not yet verified: the one in `Authorization`, unless that header is absent or
    /// contains an opaque key; then the token that the API key is or stands for. `None` if there is neither, or if
    /// `Authorization` uses another scheme than Bearer; then the service reads that header itself.
    pub bearer: Option<Bearer>,
    /// The source of `bearer`. An API key gives access to the project, but is not a user's token.
    pub bearer_source: BearerSource,
}

/// The source of a [`Caller::bearer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BearerSource {
    /// `Authorization`.
    Authorization,
    /// The API key of a request without `Authorization`: a token with the role that the key is for.
    LegacyKey,
    /// An opaque API key (`sb_…`), for which the token of its role stands.
    OpaqueKey,
}

impl<'a> FromRequest<'a> for Caller {
    async fn from_request(request: &'a Request, _body: &mut RequestBody) -> poem::Result<Self> {
        let missing = || poem::Error::from_string("no gateway in front", StatusCode::INTERNAL_SERVER_ERROR);
        request.extensions().get::<Self>().cloned().ok_or_else(missing)
    }
}

/// A token as text.
#[derive(Clone)]
pub struct Bearer(Arc<str>);

impl Bearer {
    /// Returns the part of `header` from byte `start` on, if the header is text.
    pub(crate) fn new(header: &HeaderValue, start: usize) -> Option<Self> {
        std::str::from_utf8(header.as_bytes()).ok()?.get(start..).map(|token| Self(token.into()))
    }

    /// Returns the token of `Authorization: Bearer …` in `headers`; the scheme may be in upper or lower case (RFC 9110,
    /// section 11.1). `None` without that header and for other schemes. A token that is not text is read as an empty
    /// one, which no service accepts.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let header = headers.get(AUTHORIZATION)?;
        let start = token_start(header)?;
        Some(Self::new(header, start).unwrap_or_else(|| Self("".into())))
    }

    /// Returns a bearer of `token`; `None` if a header cannot hold that text.
    pub fn from_token(token: &str) -> Option<Self> {
        Self::new(&HeaderValue::from_str(token).ok()?, 0)
    }

    /// Returns the token, which may be empty.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Bearer {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(…)")
    }
}

/// Returns where the token begins in an `Authorization: Bearer …` header; `None` for other schemes.
fn token_start(header: &HeaderValue) -> Option<usize> {
    let text = header.as_bytes();
    let scheme = text.get(..6)?;
    if !scheme.eq_ignore_ascii_case(b"bearer") || text.get(6).is_some_and(|&byte| byte != b' ') {
        return None;
    }
    let blanks = text[6..].iter().take_while(|&&byte| byte == b' ').count();
    Some(6 + blanks)
}

/// Returns the address of the client: that of the peer, or the one that the outermost of `trusted_proxies` proxies
/// added.
pub(crate) fn address(request: &Request, trusted_proxies: usize) -> IpAddr {
    let forwarded = || {
        let values = request.headers().get_all(X_FORWARDED_FOR);
        let entries =
            values.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        let entries: Vec<&str> = entries.collect();
        // Entries further left existed before the first trusted proxy received the request, so any client may have
        // written them.
        entries.iter().rev().nth(trusted_proxies - 1).and_then(|entry| parse_address(entry.trim()))
    };
    let forwarded = if trusted_proxies == 0 { None } else { forwarded() };
    forwarded.unwrap_or(match request.remote_addr() {
        RemoteAddr(Addr::SocketAddr(peer)) => peer.ip().to_canonical(),
        _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    })
}

fn parse_address(entry: &str) -> Option<IpAddr> {
    let with_port = || entry.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bare = entry.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(forwarded: &[&str], trusted_proxies: usize) -> String {
        let mut request = Request::builder();
        for value in forwarded {
            request = request.header(X_FORWARDED_FOR, *value);
        }
        address(&request.finish(), trusted_proxies).to_string()
    }

    #[test]
    fn bearers_are_read_from_the_header() {
        let header = |value: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
            Bearer::of(&headers).map(|bearer| bearer.as_str().to_owned())
        };
        assert_eq!(header(b"Bearer abc").as_deref(), Some("abc"));
        assert_eq!(header(b"bearer  abc").as_deref(), Some("abc"));
        assert_eq!(header(b"Bearer").as_deref(), Some(""));
        assert_eq!(header(b"Bearer \xff").as_deref(), Some(""));
        assert_eq!(header(b"Basic abc"), None);
        assert_eq!(header(b"Bearerabc"), None);
        assert!(Bearer::of(&HeaderMap::new()).is_none());
    }

    #[test]
    fn forwarded_addresses_count_only_as_far_as_proxies_are_trusted() {
        let headers = ["6.6.6.6, 203.0.113.7", "10.0.0.2"];
        assert_eq!(seen(&headers, 0), "0.0.0.0");
        assert_eq!(seen(&headers, 1), "10.0.0.2");
        assert_eq!(seen(&headers, 2), "203.0.113.7");
        assert_eq!(seen(&["[2001:db8::1]:443"], 1), "2001:db8::1");
        assert_eq!(seen(&["203.0.113.7:8080"], 1), "203.0.113.7");
        assert_eq!(seen(&["unknown"], 1), "0.0.0.0");
    }
}
