//! Redirects: which URLs are allowed, and the parameters that are added to them.

mod glob;

use std::net::IpAddr;

use url::{Host, Url, form_urlencoded};

use crate::{Error, Settings};

pub(crate) use glob::Glob;

/// Where users may be sent: back to the site, and to what the allow-list's patterns match.
pub(crate) struct Redirects {
    site_url: String,
    site: Option<Url>,
    allowed: Vec<Glob>,
}

impl Redirects {
    /// Reads the patterns that `settings` allow. Patterns that cannot be read are left out, with a warning: they would
    /// allow nothing.
    pub(crate) fn new(settings: &Settings) -> Self {
        let allowed = settings.uri_allow_list.iter().filter_map(|pattern| {
            let glob = Glob::parse(pattern);
            if glob.is_none() {
                tracing::warn!(pattern, "a pattern of the redirect allow-list cannot be read and is ignored");
            }
            glob
        });
        Self {
            site_url: settings.site_url.clone(),
            site: Url::parse(&settings.site_url).ok(),
            allowed: allowed.collect(),
        }
    }

    /// Returns the first of `candidates` that is allowed, else the site's URL.
    pub(crate) fn resolve<'a>(&self, candidates: impl IntoIterator<Item = &'a str>) -> String {
        let allowed = candidates.into_iter().find(|candidate| self.allows(candidate));
        allowed.unwrap_or(&self.site_url).to_owned()
    }

    /// Returns whether users may be sent to `url`.
    ///
    /// The URL is checked as a browser parses it (WHATWG URL), not only as it is written: text that a browser silently
    /// repairs (line breaks, backslashes) or that hides its host (user names, numeric addresses) is refused.
    pub(crate) fn allows(&self, url: &str) -> bool {
        let suspicious = |character: char| {
            character.is_control() || character.is_whitespace() || matches!(character, '\\' | '<' | '>' | '"')
        };
        if url.is_empty() || url.contains(suspicious) {
            return false;
        }
        let Ok(parsed) = Url::parse(url) else { return false };
        if matches!(parsed.scheme(), "javascript" | "data" | "vbscript" | "blob" | "file") {
            return false;
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return false;
        }
        if self.site.as_ref().is_some_and(|site| is_same_site(site, &parsed)) {
            return true;
        }
        // Native apps listen on whatever port is free, on the machine of the user who is sent there (RFC 8252, section
        // 7.3).
        is_loopback_address(written_host(url)) || host_is_plain(url, &parsed) && self.matches_allow_list(url)
    }

    fn matches_allow_list(&self, url: &str) -> bool {
        // A fragment never reaches a server, so it does not count.
        let without_fragment = url.split('#').next().unwrap_or_default();
        self.allowed.iter().any(|glob| glob.matches(without_fragment))
    }
}

/// Returns whether both have the same scheme, host and port; on this machine any port.
fn is_same_site(site: &Url, other: &Url) -> bool {
    site.scheme() == other.scheme()
        && site.host_str() == other.host_str()
        && (site.port_or_known_default() == other.port_or_known_default() || is_this_machine(other))
}

/// Returns whether `url` names this machine as developers do whose site is on it.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

/// Returns whether a host is an address of this machine, written as usual.
fn is_loopback_address(host: &str) -> bool {
    host.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

/// Returns whether the host is a name of letters, digits, dots and hyphens, at least where names are looked up (other
/// schemes are an app's own). Addresses are not.
fn host_is_plain(text: &str, parsed: &Url) -> bool {
    let written = written_host(text);
    if !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    if matches!(parsed.host(), Some(Host::Ipv4(_) | Host::Ipv6(_))) || written.parse::<IpAddr>().is_ok() {
        return false;
    }
    let regular = |name: &str| {
        let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        ends(name.bytes().next())
            && ends(name.bytes().last())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
    };
    !matches!(parsed.scheme(), "http" | "https") || regular(written)
}

/// Returns the host as the text has it, before anything is made of it.
fn written_host(text: &str) -> &str {
    let Some((_, rest)) = text.split_once("://") else { return "" };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Returns `url` with `members` in its query, where they replace those of the same name, and `fragment` as its
/// fragment.
///
/// Errors: a defect if `url` cannot be parsed, which [`Redirects`] never lets through.
pub(crate) fn extend(
    url: &str,
    members: &[(&str, String)],
    fragment: &[(&str, String)],
) -> Result<String, Error> {
    let parsed =
        Url::parse(url).map_err(|error| Error::Internal(format!("a redirect leads to no URL: {error}")))?;
    // Headers are ASCII; the rest of the text stays as it was allowed.
    let url = if url.is_ascii() { url } else { parsed.as_str() };
    let (base, own_fragment) = url.split_once('#').map_or((url, None), |(base, own)| (base, Some(own)));
    let mut target = base.to_owned();
    if !members.is_empty() {
        let (path, query) = base.split_once('?').unwrap_or((base, ""));
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            // A second `code` would let whoever made the link choose which one the site sees.
            if !members.iter().any(|(member, _)| *member == name) {
                pairs.append_pair(&name, &value);
            }
        }
        pairs.extend_pairs(members);
        target = format!("{path}?{}", pairs.finish());
    }
    if !fragment.is_empty() {
        let mut sorted = fragment.to_vec();
        sorted.sort_unstable();
        let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(sorted).finish();
        return Ok(format!("{target}#{encoded}"));
    }
    Ok(match own_fragment {
        Some(own) => format!("{target}#{own}"),
        None => target,
    })
}

/// Returns the parameters of a redirect that describe an error: `error` (RFC 6749, section 4.2.2.1), `error_code`,
/// `error_description`.
pub(crate) fn error_members(error: &Error) -> Vec<(&'static str, String)> {
    let kind = match error.status().as_u16() {
        400 => Some("invalid_request"),
        401 => Some("unauthorized_client"),
        403 => Some("access_denied"),
        500 => Some("server_error"),
        503 => Some("temporarily_unavailable"),
        _ => None,
    };
    let mut members: Vec<_> = kind.map(|kind| ("error", kind.to_owned())).into_iter().collect();
    members.push(("error_code", error.code().map(crate::Code::name).unwrap_or_default().to_owned()));
    members.push(("error_description", error.to_string()));
    members
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redirects(site: &str, patterns: &[&str]) -> Redirects {
        Redirects::new(&Settings {
            site_url: site.to_owned(),
            uri_allow_list: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
            ..Settings::default()
        })
    }

    #[test]
    fn the_site_itself_is_allowed_and_any_port_of_this_machine() {
        let site = redirects("https://example.com", &[]);
        for url in ["https://example.com", "https://example.com/welcome?a=b#c", "https://example.com:443/"] {
            assert!(site.allows(url), "{url}");
        }
        for url in
            ["http://example.com", "https://example.com:8443", "https://www.example.com", "/welcome", ""]
        {
            assert!(!site.allows(url), "{url}");
        }
        for site in
            ["http://localhost:3000", "http://shop.localhost:3000", "http://0.0.0.0:3000", "http://[::]:1"]
        {
            let (host, _) = site.rsplit_once(':').unwrap();
            let local = redirects(site, &[]);
            assert!(
                local.allows(&format!("{host}:5173/x")) && !local.allows(&format!("{host}.example:5173/"))
            );
        }
        assert!(!redirects("http://localhost:3000", &[]).allows("https://localhost:3000/"));
    }

    #[test]
    fn any_port_of_a_loopback_address_is_allowed_whatever_the_site_is() {
        let site = redirects("https://example.com", &[]);
        for url in [
            "http://127.0.0.1:49152/callback",
            "http://127.0.0.1",
            "https://127.8.9.1:1/",
            "http://[::1]:8976/a?b#c",
        ] {
            assert!(site.allows(url), "{url}");
        }
        for url in [
            "http://localhost:49152/callback",
            "http://0.0.0.0:80/",
            "http://[::]:80/",
            "http://127.1:80/",
            "http://0x7f.0.0.1:80/",
            "http://2130706433:80/",
            "http://127.0.0.1.example:80/",
            "http://me@127.0.0.1:80/",
            "http://127.0.0.1:80@evil.com/",
            "javascript://127.0.0.1/%0aalert(1)",
        ] {
            assert!(!site.allows(url), "{url}");
        }
    }

    #[test]
    fn patterns_allow_more() {
        let list = redirects(
            "https://example.com",
            &["https://*.example.org/**", "myapp://**", "http://127.0.0.1:*"],
        );
        for url in ["https://app.example.org/deep/link", "myapp://callback", "http://127.0.0.1:8080"] {
            assert!(list.allows(url), "{url}");
        }
        assert!(!list.allows("https://example.org.evil.com/"));
        assert_eq!(list.resolve(["https://evil.com", "myapp://a", "myapp://b"]), "myapp://a");
        assert_eq!(list.resolve(["https://evil.com"]), "https://example.com");
    }

    #[test]
    fn nothing_that_a_browser_would_read_differently_gets_through_even_the_widest_pattern() {
        let open = redirects("https://example.com", &["**"]);
        assert!(open.allows("https://anything.test/"));
        let bad = [
            "https://example.com\r\nSet-Cookie: a=b",
            "https://example.com\\@evil.com",
            "https://example.com@evil.com/",
            "https://example.com:password@evil.com/",
            "https:\\\\evil.com",
            "//evil.com",
            "/\\evil.com",
            "javascript:alert(1)",
            "data:text/html,x",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://10.0.0.1/",
            "http://[::ffff:10.0.0.1]/",
            "https://exa_mple.com/",
            " https://example.com",
            "https://exam\tple.com",
        ];
        for url in bad {
            assert!(!open.allows(url), "{url}");
        }
    }

    proptest! {
        #[test]
        fn what_is_allowed_stays_on_the_site_and_fits_into_a_header(text in "https?:[/\\\\]{0,3}[a-z.@:/?#\\[\\]%\\r\\n\\t -]{0,40}") {
            let site = redirects("https://example.com", &[]);
            if site.allows(&text) {
                let parsed = Url::parse(&text).unwrap();
                let host = parsed.host_str().unwrap_or_default();
                prop_assert!(host == "example.com" || is_loopback_address(host), "{}", text);
                prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }

        #[test]
        fn globs_take_any_pattern_and_any_text(pattern in "[a-c.*?/{},!\\[\\]\\\\-]{0,24}", text in "[a-c./]{0,24}") {
            if let Some(glob) = Glob::parse(&pattern) {
                let _ = glob.matches(&text);
            }
        }
    }

    #[test]
    fn members_replace_their_namesakes_and_keep_the_rest() {
        let code = [("code", "1 2".to_owned())];
        let target = extend("https://example.com/?a=b&code=evil&code=worse#frag", &code, &[]).unwrap();
        assert_eq!(target, "https://example.com/?a=b&code=1+2#frag");
        let session = [("type", "signup".to_owned()), ("access_token", "x=&".to_owned())];
        let target = extend("https://example.com/für?a=ü", &code, &[]).unwrap();
        assert_eq!(target, "https://example.com/f%C3%BCr?a=%C3%BC&code=1+2");
        let target = extend("myapp://callback", &[], &session).unwrap();
        assert_eq!(target, "myapp://callback#access_token=x%3D%26&type=signup");
    }
}
