//! Settings of the service, named as PostgREST names them.

mod claim_path;
mod dump;
mod in_database;
mod named;

use std::time::Duration;

pub use claim_path::ClaimPath;
pub use dump::quoted;
pub(crate) use in_database::{ReadError, read as read_in_database};
pub use named::InvalidSetting;

/// What the service may be told. Upstream's environment variable is `PGRST_` and the field's name in capitals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Schemas whose relations and functions are exposed; the first is the default. Default: `public`.
    pub db_schemas: Vec<String>,
    /// Schemas that are searched for unqualified names inside SQL, after the request's own. Default: `public`.
    pub db_extra_search_path: Vec<String>,
    /// The role of requests without a token; `None` refuses them with `PGRST302`. Default: none.
    pub db_anon_role: Option<String>,
    /// The most rows that a read or call gives, per embed too; `None` is no limit. Default: none.
    pub db_max_rows: Option<i64>,
    /// Whether `select` may aggregate. Default: false, since an aggregate of a large table is dear.
    pub db_aggregates_enabled: bool,
    /// A function (`name` or `schema.name`) that is called before every request's statement. Default: none.
    pub db_pre_request: Option<String>,
    /// Whether clients may see Postgres' plan of a request; it tells much of the database. Default: false.
    pub db_plan_enabled: bool,
    /// Functions' own settings that are applied to the whole transaction.
    /// Default: `statement_timeout`, `plan_filter.statement_cost_limit`, `default_transaction_isolation`.
    pub db_hoisted_tx_settings: Vec<String>,
    /// Whether changes and deletions without any filter are refused, as the extension `safeupdate` of hosted Supabase
    /// refuses them; not those that functions make. Default: false. Upstream has no such setting.
    pub db_safe_update: bool,
    /// How transactions end. Default: `commit`.
    pub db_tx_end: TxEnd,
    /// Whether embeds may still be addressed by their relation's name though they have an alias. Default: true.
    pub url_use_legacy_target_names: bool,
    /// A function of the request's schema that answers for the root in place of the OpenAPI document. Default: none.
    pub db_root_spec: Option<String>,
    /// What the OpenAPI document lists. Default: `follow-privileges`.
    pub openapi_mode: OpenApiMode,
    /// Whether the OpenAPI document says that a token is sent. Default: false.
    pub openapi_security_active: bool,
    /// Where clients reach the service, for the OpenAPI document. Default: none, for the host and port that it
    /// listens on.
    pub openapi_server_proxy_uri: Option<ProxyUri>,
    /// The host that the service listens on, as the OpenAPI document names it. Default: `!4`, any IPv4 address.
    pub server_host: String,
    /// The port that the service listens on, as the OpenAPI document names it. Default: 3000.
    pub server_port: u16,
    /// Whether settings are read from the database, too. Default: true.
    pub db_config: bool,
    /// A function (`name` or `schema.name`) that sets settings when they are read from the database. Default: none.
    pub db_pre_config: Option<String>,
    /// Keys that verify tokens, in place of those that the service was given. Default: none.
    pub jwt_secret: Option<Secret>,
    /// Whether `jwt_secret` is base64 of the real one. Default: false.
    pub jwt_secret_is_base64: bool,
    /// What tokens that name an audience must name. Default: none, for any.
    pub jwt_aud: Option<String>,
    /// Where in a token's claims the role is. Default: `$.role`.
    pub jwt_role_claim_key: ClaimPath,
    /// For how many verified tokens there is room in the cache; see [`Settings::jwt_cache_entries`] for `None`, the
    /// default.
    pub jwt_cache_max_entries: Option<usize>,
    /// Whether answers tell how long each step took. Default: false.
    pub server_timing_enabled: bool,
    /// A request's header that its answer repeats. Default: none.
    pub server_trace_header: Option<http::HeaderName>,
    /// Origins whose scripts may read answers; empty for all. Default: empty.
    pub server_cors_allowed_origins: Vec<String>,
    /// Settings of Postgres for every transaction: `app.settings.*`. Default: none.
    pub app_settings: Vec<(String, String)>,
    /// How much an error tells. Default: `verbose`.
    pub client_error_verbosity: Verbosity,
    /// Whether the log shows the SQL of each request: of failed ones at the level `warn` or `error`, of others at
    /// `info`. Values are never part of it. Default: false.
    pub log_query: bool,
    /// How long a caller who has written is answered by the primary alone, so that replicas that lag behind show it
    /// what it wrote. It should be longer than a replica may lag. In seconds, 0 for never. Default: 10 s. Upstream has
    /// no such setting.
    pub db_read_sticky_interval: Duration,
    /// The largest body that is read, in bytes; larger ones answer 413. `server-max-body-size`. Default: 50 MiB. Upstream
    /// has no such setting.
    pub max_body_size: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            db_schemas: vec!["public".to_owned()],
            db_extra_search_path: vec!["public".to_owned()],
            db_anon_role: None,
            db_max_rows: None,
            db_aggregates_enabled: false,
            db_pre_request: None,
            db_plan_enabled: false,
            db_hoisted_tx_settings: ["statement_timeout", "plan_filter.statement_cost_limit"]
                .into_iter()
                .chain(["default_transaction_isolation"])
                .map(str::to_owned)
                .collect(),
            db_safe_update: false,
            db_tx_end: TxEnd::Commit,
            url_use_legacy_target_names: true,
            db_root_spec: None,
            openapi_mode: OpenApiMode::FollowPrivileges,
            openapi_security_active: false,
            openapi_server_proxy_uri: None,
            server_host: "!4".to_owned(),
            server_port: 3000,
            db_config: true,
            db_pre_config: None,
            jwt_secret: None,
            jwt_secret_is_base64: false,
            jwt_aud: None,
            jwt_role_claim_key: ClaimPath::default(),
            jwt_cache_max_entries: None,
            server_timing_enabled: false,
            server_trace_header: None,
            server_cors_allowed_origins: Vec::new(),
            app_settings: Vec::new(),
            client_error_verbosity: Verbosity::Verbose,
            log_query: false,
            db_read_sticky_interval: Duration::from_secs(10),
            max_body_size: 50 * 1024 * 1024,
        }
    }
}

impl Settings {
    /// For how many verified tokens there is room in the cache: what was set, else upstream's default for keys of
    /// `jwt_secret`, else `None`, which leaves it to the verifier that the service was given.
    pub(crate) fn jwt_cache_entries(&self) -> Option<usize> {
        const UPSTREAM: usize = 1000;
        self.jwt_cache_max_entries.or(self.jwt_secret.as_ref().map(|_| UPSTREAM))
    }
}

/// Bytes that must not be shown, mostly a text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// The bytes. Not for logs.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Secret {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// How transactions end (`db-tx-end`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxEnd {
    /// `commit`.
    Commit,
    /// `commit-allow-override`: unless the client prefers `tx=rollback`.
    CommitAllowOverride,
    /// `rollback`.
    Rollback,
    /// `rollback-allow-override`: unless the client prefers `tx=commit`.
    RollbackAllowOverride,
}

impl TxEnd {
    /// Whether the client may choose.
    pub const fn may_override(self) -> bool {
        matches!(self, Self::CommitAllowOverride | Self::RollbackAllowOverride)
    }

    /// Whether a transaction is rolled back when the client did not choose.
    pub const fn is_rollback(self) -> bool {
        matches!(self, Self::Rollback | Self::RollbackAllowOverride)
    }
}

impl std::str::FromStr for TxEnd {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "commit" => Ok(Self::Commit),
            "commit-allow-override" => Ok(Self::CommitAllowOverride),
            "rollback" => Ok(Self::Rollback),
            "rollback-allow-override" => Ok(Self::RollbackAllowOverride),
            other => Err(format!(
                "expected commit, commit-allow-override, rollback or rollback-allow-override, found `{other}`"
            )),
        }
    }
}

impl std::str::FromStr for Verbosity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "verbose" => Ok(Self::Verbose),
            "minimal" => Ok(Self::Minimal),
            other => Err(format!("expected verbose or minimal, found `{other}`")),
        }
    }
}

/// How much an error tells (`client-error-verbosity`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// `verbose`: code, message, details and hint.
    Verbose,
    /// `minimal`: code and message.
    Minimal,
}

/// What the document at the root lists (`openapi-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenApiMode {
    /// `follow-privileges`: what the caller's role may use.
    FollowPrivileges,
    /// `ignore-privileges`: everything in the schema.
    IgnorePrivileges,
    /// `disabled`: there is no document, and no `db-root-spec` either.
    Disabled,
}

impl std::str::FromStr for OpenApiMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "follow-privileges" => Ok(Self::FollowPrivileges),
            "ignore-privileges" => Ok(Self::IgnorePrivileges),
            "disabled" => Ok(Self::Disabled),
            other => {
                Err(format!("expected follow-privileges, ignore-privileges or disabled, found `{other}`"))
            }
        }
    }
}

/// Where clients reach the service (`openapi-server-proxy-uri`): `http` or `https`, a host, a port, a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyUri {
    /// `http` or `https`.
    pub scheme: String,
    /// The host.
    pub host: String,
    /// The port; the scheme's own where none was given.
    pub port: u16,
    /// The path that the service's paths continue.
    pub path: String,
}

impl std::str::FromStr for ProxyUri {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("expected a URI like https://example.com:8443/basePath, found `{text}`");
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
