//! The addresses to which clients are called back.

use url::{Host, Url};

/// The longest address.
const LONGEST: usize = 2_000;
/// Schemes that a browser would run or read, in place of calling a client.
const DANGEROUS: [&str; 7] = ["about", "blob", "data", "file", "javascript", "vbscript", "view-source"];

/// Reports whether a client may register `uri`: it is encrypted, or on the client's own machine, or has a scheme of the
/// client's own (RFC 8252, section 7).
pub(super) fn is_valid(uri: &str) -> bool {
    let Some(url) = Url::parse(uri).ok().filter(|_| uri.len() <= LONGEST) else { return false };
    match url.scheme() {
        _ if url.fragment().is_some() => false,
        // What is before the host may look like another one.
        _ if !url.username().is_empty() || url.password().is_some() => false,
        "https" => url.has_host(),
        "http" => is_loopback(&url),
        other => !DANGEROUS.contains(&other),
    }
}

/// Reports whether `uri` is the one that a client has registered as `known`. On the client's own machine, any port is
/// right: it takes the one that is free (RFC 8252, section 7.3).
pub(super) fn matches(known: &str, uri: &str) -> bool {
    if known == uri {
        return true;
    }
    match (Url::parse(known), Url::parse(uri)) {
        (Ok(mut known), Ok(mut uri)) if known.scheme() == "http" && is_loopback(&known) => {
            let is_set = known.set_port(None).is_ok() && uri.set_port(None).is_ok();
            is_set && known == uri
        }
        _ => false,
    }
}

/// Returns what to show of an address to the person who agrees: its host, or its scheme.
pub(super) fn host(uri: &str) -> String {
    match Url::parse(uri) {
        Ok(url) => url.host_str().map_or_else(|| format!("{}:", url.scheme()), str::to_owned),
        Err(_) => String::new(),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_clients_are_valid() {
        for (uri, expected) in [
            ("https://claude.ai/api/mcp/auth_callback", true),
            ("http://127.0.0.1:6276/callback", true),
            ("http://localhost/callback", true),
            ("cursor://anysphere.cursor-retrieval/oauth", true),
            ("http://example.org/callback", false),
            ("https://example.org/#x", false),
            ("https://claude.ai@example.org/", false),
            ("https://:secret@example.org/", false),
            ("cursor://user:secret@oauth", false),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_valid(uri), expected, "{uri}");
        }
    }

    #[test]
    fn a_client_on_its_own_machine_may_take_any_port() {
        assert!(matches("http://127.0.0.1/callback", "http://127.0.0.1:1234/callback"));
        assert!(!matches("http://127.0.0.1/callback", "http://127.0.0.1:1234/other"));
        assert!(!matches("https://example.org/callback", "https://example.org:444/callback"));
        assert!(!matches("http://127.0.0.1/callback", "http://example.org/callback"));
    }
}
