//! Types of single settings.

use ::settings::Value;

::settings::words! {
    /// How transactions end (`db-tx-end`).
    pub enum TxEnd: "commit, commit-allow-override, rollback or rollback-allow-override" {
        /// With a commit.
        Commit = "commit",
        /// With a commit, unless the client prefers `tx=rollback`.
        CommitAllowOverride = "commit-allow-override",
        /// With a rollback.
        Rollback = "rollback",
        /// With a rollback, unless the client prefers `tx=commit`.
        RollbackAllowOverride = "rollback-allow-override",
    }
}

impl TxEnd {
    /// Reports whether the client may choose.
    pub(crate) const fn may_override(self) -> bool {
        matches!(self, Self::CommitAllowOverride | Self::RollbackAllowOverride)
    }

    /// Reports whether a transaction is rolled back when the client did not choose.
    pub(crate) const fn is_rollback(self) -> bool {
        matches!(self, Self::Rollback | Self::RollbackAllowOverride)
    }
}

::settings::words! {
    /// How much an error says (`client-error-verbosity`).
    pub enum Verbosity: "verbose or minimal" {
        /// Code, message, details and hint.
        Verbose = "verbose",
        /// Code and message.
        Minimal = "minimal",
    }
}

::settings::words! {
    /// What the document at the root lists (`openapi-mode`).
    pub enum OpenApiMode: "follow-privileges, ignore-privileges or disabled" {
        /// What the caller's role may use.
        FollowPrivileges = "follow-privileges",
        /// Everything in the schema.
        IgnorePrivileges = "ignore-privileges",
        /// There is no document, and no `db-root-spec` either.
        Disabled = "disabled",
    }
}

/// Where clients reach the service (`openapi-server-proxy-uri`): `http` or `https`, a host, a port, a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyUri {
    /// `http` or `https`.
    pub scheme: String,
    /// The host.
    pub host: String,
    /// The port; the scheme's default if none was given.
    pub port: u16,
    /// The path that the service's paths continue.
    pub path: String,
}

impl std::str::FromStr for ProxyUri {
    type Err = &'static str;

    /// Parses the value.
    ///
    /// Errors: what was expected.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || <Self as Value>::EXPECTED;
        let uri: http::Uri = text.parse().map_err(|_| refused())?;
        let authority = uri.authority().ok_or_else(refused)?;
        let (scheme, own_port) = match uri.scheme_str() {
            Some("http") => ("http", 80),
            Some("https") => ("https", 443),
            _ => return Err(refused()),
        };
        let has_port = authority.as_str().rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let port = if has_port { authority.port_u16().filter(|port| *port > 0) } else { Some(own_port) };
        if authority.as_str().contains('@') || authority.host().is_empty() || uri.query().is_some() {
            return Err(refused());
        }
        let host = authority.host().to_owned();
        let port = port.ok_or_else(refused)?;
        Ok(Self { scheme: scheme.to_owned(), host, port, path: uri.path().to_owned() })
    }
}

impl std::fmt::Display for ProxyUri {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}:{}{}", self.scheme, self.host, self.port, self.path)
    }
}

impl Value for ProxyUri {
    const EXPECTED: &'static str = "a URI like https://example.com:8443/basePath";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// The name of a request's header that its response repeats (`server-trace-header`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceHeader(pub http::HeaderName);

impl Value for TraceHeader {
    const EXPECTED: &'static str = "a header's name";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    fn show(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_uris_have_a_scheme_and_a_host() {
        let parsed: ProxyUri = "https://api.example.com/rest/v1".parse().unwrap();
        assert_eq!(
            (parsed.host.as_str(), parsed.port, parsed.path.as_str()),
            ("api.example.com", 443, "/rest/v1")
        );
        assert_eq!("http://[::1]:8000".parse::<ProxyUri>().unwrap().port, 8000);
        assert_eq!("http://[::1]".parse::<ProxyUri>().unwrap().port, 80);
        for bad in
            ["", "example.com", "ftp://x", "http://a@b", "http://x?y", "http://x:0", "http://x:99999", "/x"]
        {
            assert!(bad.parse::<ProxyUri>().is_err(), "{bad}");
        }
    }
}
