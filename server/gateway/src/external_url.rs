//! The URL under which clients reach the API.

use crate::is_host;

/// What is expected of one.
const EXPECTED: &str =
    "an origin such as https://example.org, or one with a path such as https://example.org/api";

/// The URL under which clients reach the API: an origin and, if the proxy in front removes one, a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalUrl {
    text: String,
    /// The number of bytes before the path.
    origin_length: usize,
    /// As clients send it in `Host`: in lower case, without the scheme's own port.
    host: String,
}

impl ExternalUrl {
    /// Reads `http(s)://host[:port][/path]`, of which slashes at the end are removed.
    ///
    /// Errors: the expected form.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        let text = url.trim_end_matches('/').to_owned();
        let (scheme, rest) = text.split_once("://").ok_or(EXPECTED)?;
        let own_port = match scheme {
            "https" => ":443",
            "http" => ":80",
            _ => return Err(EXPECTED),
        };
        let (host, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        if !is_host(host) || !is_prefix(path) {
            return Err(EXPECTED);
        }
        let origin_length = text.len() - path.len();
        let host = host.strip_suffix(own_port).unwrap_or(host).to_ascii_lowercase();
        Ok(Self { text, origin_length, host })
    }

    /// Returns the whole URL, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns its scheme, host and port.
    pub fn origin(&self) -> &str {
        self.text.get(..self.origin_length).unwrap_or_default()
    }

    /// Returns its path, which is empty or begins with a slash and does not end with one.
    pub fn prefix(&self) -> &str {
        self.text.get(self.origin_length..).unwrap_or_default()
    }

    /// Returns its host and port as clients send them in `Host`: in lower case, without the scheme's own port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Reports whether its scheme is `https`.
    pub(crate) fn is_secure(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// Reports whether `host`, as in the header `Host`, is its host and port.
    pub(crate) fn has_host(&self, host: &str) -> bool {
        self.host.eq_ignore_ascii_case(host)
    }
}

/// Reports whether `path` is empty, or has segments of characters that no encoding changes, and that lead nowhere else.
fn is_prefix(path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let is_segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain);
    path.is_empty() || path.split('/').skip(1).all(is_segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_may_be_followed_by_a_path() {
        for (url, origin, prefix) in [
            ("https://a.example/", "https://a.example", ""),
            ("http://127.0.0.1:54321", "http://127.0.0.1:54321", ""),
            ("https://a.example:8443/team/api//", "https://a.example:8443", "/team/api"),
        ] {
            let parsed = ExternalUrl::parse(url).unwrap();
            assert_eq!((parsed.origin(), parsed.prefix()), (origin, prefix));
            assert_eq!(parsed.as_str(), format!("{origin}{prefix}"));
        }
        for url in [
            "a.example",
            "ftp://a.example",
            "https://",
            "https:///a",
            "https://a@b",
            "https://a.example/a/../b",
            "https://a.example/a//b",
            "https://a.example/%61",
            "https://a.example/a?b",
            "https://a.example/\"b",
        ] {
            assert_eq!(ExternalUrl::parse(url), Err(EXPECTED), "{url}");
        }
    }

    #[test]
    fn the_schemes_own_port_is_no_part_of_the_host() {
        let has = |url: &str, host: &str| ExternalUrl::parse(url).unwrap().has_host(host);
        assert!(has("https://A.example:443", "a.Example") && has("http://a.example:80", "a.example"));
        assert!(has("https://a.example:80", "a.example:80") && !has("https://a.example:80", "a.example"));
        assert!(!has("https://a.example", "a.example:443"));
    }
}
