//! The caller of a request: address, API key and token.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Deref;
use std::sync::Arc;

use fairness::Network;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use poem::web::RemoteAddr;
use poem::{Addr, FromRequest, Request, RequestBody};
use tokens::ApiKeyKind;

use crate::forwarded::X_FORWARDED_FOR;
use crate::{ExternalUrl, RequestId};

/// The sender of a request, as far as the gateway knows. It is in the extensions of every request to a
/// [`crate::Layered`] service.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Identifies the request in logs and responses.
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
    /// The URL under which clients reach the API, if the settings name one.
    pub external_url: Option<Arc<ExternalUrl>>,
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
    pub(crate) fn from_token(token: &str) -> Option<Self> {
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
    forwarded_address(request.headers(), trusted_proxies).unwrap_or(match request.remote_addr() {
        RemoteAddr(Addr::SocketAddr(peer)) => peer.ip().to_canonical(),
        _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    })
}

/// Returns the entry of `X-Forwarded-For` that the outermost of `trusted_proxies` proxies added. If it is missing, or
/// is no address, the request has not passed all of the proxies, or one of them hides addresses; then the next entry
/// counts, whose writer is nearer. So it does if the entry is an address of this machine, whose programs have no
/// limits: only the connection itself says that. `None` without any.
fn forwarded_address(headers: &HeaderMap, trusted_proxies: usize) -> Option<IpAddr> {
    // Entries further left existed before the first trusted proxy received the request, so any client may have written
    // them. They may have any bytes, and share a line with those of proxies.
    let entries = headers.get_all(X_FORWARDED_FOR).iter().rev();
    let entries = entries.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
    let addresses = entries.take(trusted_proxies).filter_map(parse_address);
    addresses.filter(|address| !address.is_loopback() && !address.is_unspecified()).last()
}

/// Reads an address as proxies write it: with or without brackets, port and zone (RFC 7239, section 6; RFC 6874).
fn parse_address(entry: &[u8]) -> Option<IpAddr> {
    let entry = std::str::from_utf8(entry).ok()?.trim();
    let address = match entry.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        // An IPv4 address has one colon at most, before its port.
        None => match entry.split_once(':') {
            Some((address, port)) if !port.contains(':') => address,
            _ => entry,
        },
    };
    let without_zone = address.split_once('%').map_or(address, |(address, _)| address);
    let address = match without_zone.contains(':') {
        true => without_zone.parse::<Ipv6Addr>().ok()?.into(),
        false => without_zone.parse::<Ipv4Addr>().ok()?.into(),
    };
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    use poem::http::uri::Scheme;
    use poem::web::LocalAddr;

    use super::*;

    fn seen(forwarded: &[&str], trusted_proxies: usize) -> String {
        let mut request = Request::builder();
        for value in forwarded {
            request = request.header(X_FORWARDED_FOR, HeaderValue::from_bytes(value.as_bytes()).unwrap());
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
        assert_eq!(seen(&["unknown"], 1), "0.0.0.0");
        for own in ["127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1", "127.9.9.9"] {
            assert_eq!(seen(&[&format!("{own}, 203.0.113.7")], 2), "203.0.113.7", "{own}");
        }
    }

    #[test]
    fn forwarded_addresses_are_read_as_proxies_write_them() {
        for (written, address) in [
            ("203.0.113.7", "203.0.113.7"),
            ("203.0.113.7:8080", "203.0.113.7"),
            ("[203.0.113.7]:8080", "203.0.113.7"),
            ("2001:db8::1", "2001:db8::1"),
            ("2001:DB8:0:0::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
            ("[fe80::1%25eth0]:443", "fe80::1"),
            // One client has one name, whichever family its proxy listens on.
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("[::ffff:203.0.113.7]:8080", "203.0.113.7"),
            ("::ffff:203.0.113.8", "203.0.113.8"),
        ] {
            assert_eq!(seen(&[written], 1), address, "{written}");
            assert_eq!(seen(&[&format!("6.6.6.6,\t{written} "), "10.0.0.2"], 2), address, "{written}");
        }
        for none in ["", "unknown", "_hidden", "unix:", "203.0.113", "[2001:db8::1", "a:b", "203.0.113.7.9:1"]
        {
            assert_eq!(seen(&[none], 1), "0.0.0.0", "{none}");
        }
    }

    #[test]
    fn a_caller_cannot_hide_the_entries_of_proxies() {
        for own in ["6.6.6.6, \u{e9}", "\"6.6.6.6", ",,,", "unknown", "[", "6.6.6.6,,"] {
            // On the same line, as nginx writes them, and on lines of their own, as HAProxy does.
            assert_eq!(seen(&[&format!("{own}, 203.0.113.7")], 1), "203.0.113.7", "{own}");
            assert_eq!(seen(&[own, "203.0.113.7"], 1), "203.0.113.7", "{own}");
            assert_eq!(seen(&[own, "203.0.113.7", "10.0.0.2"], 2), "203.0.113.7", "{own}");
        }
        // Whoever leaves out the outer of two proxies is known by the entry of the inner one, not by the peer's
        // address.
        assert_eq!(seen(&["203.0.113.7"], 2), "203.0.113.7");
        assert_eq!(seen(&["unknown, 203.0.113.7"], 2), "203.0.113.7");
    }

    #[test]
    fn the_peers_address_has_one_form() {
        for (peer, address) in [
            ("[::ffff:203.0.113.7]:1", "203.0.113.7"),
            ("[2001:db8::1]:1", "2001:db8::1"),
            ("127.0.0.1:1", "127.0.0.1"),
        ] {
            let peer = RemoteAddr(Addr::SocketAddr(peer.parse().unwrap()));
            let (head, ()) = http::Request::new(()).into_parts();
            let parts = poem::RequestParts::from((head, LocalAddr::default(), peer, Scheme::HTTP));
            assert_eq!(
                super::address(&Request::from_parts(parts, poem::Body::empty()), 0).to_string(),
                address
            );
        }
    }
}
