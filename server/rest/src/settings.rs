//! Settings of the service, named as PostgREST names them.

mod claim_path;
mod connections;
mod file;
mod in_database;
mod kinds;
mod server;
mod standalone;
mod text;

use ::settings::{Invalid, KnownKeys, Reader, Secret};

pub use claim_path::ClaimPath;
pub use connections::{Connections, Servers};
pub(crate) use in_database::{ReadError, read as read_in_database};
pub use kinds::{OpenApiMode, ProxyUri, TraceHeader, TxEnd, Verbosity};
pub use server::{LOG_LEVEL, Mode, Server};
pub use standalone::StandaloneSettings;
pub(crate) use text::quoted;

/// What the service knows of names that no setting has.
pub const KNOWN_KEYS: KnownKeys = KnownKeys {
    prefixes: &["PGRST_"],
    // Beside other services it is the level of the whole log, which starts before settings are read.
    read_elsewhere: &[LOG_LEVEL],
    ..KnownKeys::NONE
};

/// Schemas that belong to Postgres and are never exposed.
const SYSTEM_SCHEMAS: [&str; 2] = ["pg_catalog", "information_schema"];

/// Settings of functions that hold for the whole transaction unless others are named.
const HOISTED: [&str; 3] =
    ["statement_timeout", "plan_filter.statement_cost_limit", "default_transaction_isolation"];

::settings::settings! {
    /// The settings of the service.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        /// The schemas whose tables, views and functions are exposed; the first is the default.
        #[setting(variables = ["PGRST_DB_SCHEMAS", "PGRST_DB_SCHEMA"], key = "api.schemas", check = schemas; reread)]
        pub db_schemas: Vec<String> = vec!["public".to_owned()],
        /// The schemas in which unqualified names inside SQL are looked up, after the request's schema.
        #[setting(variables = ["PGRST_DB_EXTRA_SEARCH_PATH"], key = "api.extra_search_path"; reread, may_be_empty)]
        pub db_extra_search_path: Vec<String> = vec!["public".to_owned()],
        /// The role of requests without a token; `None` refuses them with `PGRST302`.
        #[setting(variables = ["PGRST_DB_ANON_ROLE"]; reread)]
        pub db_anon_role: Option<String> = None,
        /// The maximum number of rows that a read or a call returns, also for each embed. `None`: no limit.
        #[setting(variables = ["PGRST_DB_MAX_ROWS", "PGRST_MAX_ROWS"], key = "api.max_rows"; reread)]
        pub db_max_rows: Option<i64> = None,
        /// Whether `select` may use aggregates. Aggregates of large tables are expensive.
        #[setting(variables = ["PGRST_DB_AGGREGATES_ENABLED"]; reread)]
        pub db_aggregates_enabled: bool = false,
        /// A function (`name` or `schema.name`) that is called before every request's statement.
        #[setting(variables = ["PGRST_DB_PRE_REQUEST", "PGRST_PRE_REQUEST"]; reread)]
        pub db_pre_request: Option<String> = None,
        /// Whether clients may see Postgres' plan of a request. It reveals much about the database.
        #[setting(variables = ["PGRST_DB_PLAN_ENABLED"]; reread)]
        pub db_plan_enabled: bool = false,
        /// Settings of functions (`create function … set …`) that are applied to the whole transaction.
        #[setting(variables = ["PGRST_DB_HOISTED_TX_SETTINGS"]; reread)]
        pub db_hoisted_tx_settings: Vec<String> = HOISTED.map(str::to_owned).to_vec(),
        /// Whether updates and deletions without a filter are refused, as the extension `safeupdate` does on hosted
        /// Supabase. Those inside functions are not refused. Upstream has no such setting.
        #[setting(variables = ["PGRST_DB_SAFE_UPDATE"], key = "basalt.safe_update"; reread)]
        pub db_safe_update: bool = false,
        /// Whether transactions end with a commit or a rollback, and whether a request may choose.
        #[setting(variables = ["PGRST_DB_TX_END"]; reread)]
        pub db_tx_end: TxEnd = TxEnd::Commit,
        /// Whether an embed that has an alias can still be addressed by the name of its relation, too.
        #[setting(variables = ["PGRST_URL_USE_LEGACY_TARGET_NAMES"]; reread)]
        pub url_use_legacy_target_names: bool = true,
        /// A function of the request's schema whose result the root path returns instead of the OpenAPI document.
        #[setting(variables = ["PGRST_DB_ROOT_SPEC", "PGRST_ROOT_SPEC"], check = root_spec; reread)]
        pub db_root_spec: Option<String> = None,
        /// What the OpenAPI document lists.
        #[setting(variables = ["PGRST_OPENAPI_MODE"]; reread)]
        pub openapi_mode: OpenApiMode = OpenApiMode::FollowPrivileges,
        /// Whether the OpenAPI document describes the authentication with a token.
        #[setting(variables = ["PGRST_OPENAPI_SECURITY_ACTIVE"]; reread)]
        pub openapi_security_active: bool = false,
        /// The URL at which clients reach the service, for the OpenAPI document.
        #[setting(variables = ["PGRST_OPENAPI_SERVER_PROXY_URI"]; reread)]
        pub openapi_server_proxy_uri: Option<ProxyUri> = None,
        /// The host that the service listens on, as the OpenAPI document names it.
        #[setting(variables = ["PGRST_SERVER_HOST"]; standalone)]
        pub server_host: String = "!4".to_owned(),
        /// The port that the service listens on, as the OpenAPI document names it.
        #[setting(variables = ["PGRST_SERVER_PORT"]; standalone)]
        pub server_port: u16 = 3000,
        /// Whether settings are also read from the database.
        #[setting(variables = ["PGRST_DB_CONFIG"])]
        pub db_config: bool = true,
        /// A function (`name` or `schema.name`) that is called before settings are read from the database, and can set
        /// them.
        #[setting(variables = ["PGRST_DB_PRE_CONFIG"]; reread)]
        pub db_pre_config: Option<String> = None,
        /// Keys that verify tokens: a plain secret, a JWK or a JWKS.
        #[setting(variables = ["PGRST_JWT_SECRET"]; reread, standalone)]
        pub jwt_secret: Option<Secret<Vec<u8>>> = None,
        /// Whether the secret is the base64 form of the real secret.
        #[setting(variables = ["PGRST_JWT_SECRET_IS_BASE64", "PGRST_SECRET_IS_BASE64"]; reread, standalone)]
        pub jwt_secret_is_base64: bool = false,
        /// The audience that a token must name if it names one.
        #[setting(variables = ["PGRST_JWT_AUD"], check = audience; reread)]
        pub jwt_aud: Option<String> = None,
        /// The path of the role in a token's claims.
        #[setting(variables = ["PGRST_JWT_ROLE_CLAIM_KEY", "PGRST_ROLE_CLAIM_KEY"]; reread)]
        pub jwt_role_claim_key: ClaimPath = ClaimPath::default(),
        /// How many verified tokens are cached. The default is 1000 if `jwt_secret` is set, else the size of the
        /// verifier's cache.
        #[setting(variables = ["PGRST_JWT_CACHE_MAX_ENTRIES"]; reread)]
        pub jwt_cache_max_entries: Option<usize> = None,
        /// Whether responses say how long each step took (`Server-Timing`).
        #[setting(variables = ["PGRST_SERVER_TIMING_ENABLED"]; reread)]
        pub server_timing_enabled: bool = false,
        /// A header of requests that is repeated in the response.
        #[setting(variables = ["PGRST_SERVER_TRACE_HEADER"]; reread)]
        pub server_trace_header: Option<TraceHeader> = None,
        /// The origins whose scripts may read responses. Empty: all.
        #[setting(variables = ["PGRST_SERVER_CORS_ALLOWED_ORIGINS"]; reread, standalone)]
        pub server_cors_allowed_origins: Vec<String> = Vec::new(),
        /// Settings of Postgres for every transaction: `app.settings.*`.
        pub app_settings: Vec<(String, Secret)> = Vec::new(),
        /// How much detail errors have.
        #[setting(variables = ["PGRST_CLIENT_ERROR_VERBOSITY"]; reread)]
        pub client_error_verbosity: Verbosity = Verbosity::Verbose,
        /// Whether the SQL of each request is logged, without values: of failed requests at the level `warn` or
        /// `error`, of others at `info`.
        #[setting(variables = ["PGRST_LOG_QUERY"])]
        pub log_query: bool = false,
        /// The maximum size of a request's body in bytes; larger ones get 413. Upstream has no such setting.
        #[setting(variables = ["PGRST_SERVER_MAX_BODY_SIZE"])]
        pub max_body_size: usize = 50 * 1024 * 1024,
    }
}

impl Settings {
    /// Returns the defaults of a project: those of the Supabase CLI's template where it has the key.
    pub fn of_project() -> Self {
        Self {
            db_extra_search_path: vec!["public".to_owned(), "extensions".to_owned()],
            db_anon_role: Some("anon".to_owned()),
            db_max_rows: Some(1000),
            db_safe_update: true,
            ..Self::default()
        }
    }

    /// Reads the settings of a project.
    ///
    /// Errors: [`Invalid`] for the first that cannot be used.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let mut settings = Self::of_project();
        // Together with other services, the port, keys and CORS are shared by all.
        reader.apply_where(&[], &mut settings, |setting| !setting.is_standalone)?;
        settings.db_max_rows.take_if(|rows| *rows <= 0);
        for (name, value) in reader.prefixed("PGRST_APP_SETTINGS_") {
            settings.set(&format!("app_settings_{name}"), value)?;
        }
        Ok(settings)
    }

    /// Has the OpenAPI document say that clients reach the service below the API at `api_url`, unless a setting says
    /// where. [`Self::read`] leaves this open, since the port of the API is known later.
    pub fn set_api_url(&mut self, api_url: &str) {
        if self.openapi_server_proxy_uri.is_none() {
            self.openapi_server_proxy_uri = format!("{api_url}/rest/v1").parse().ok();
        }
    }

    /// Sets what upstream calls `name`, with dashes or underscores (`db-schemas`, `db_schemas`). An empty text is no
    /// value and changes nothing, but for `db-extra-search-path` and `app.settings.*`. Returns whether there is such a
    /// setting here.
    ///
    /// Errors: [`Invalid`] for a value that the setting does not take; nothing is changed then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, Invalid> {
        let name = name.to_ascii_lowercase();
        if let Some(own) = name.strip_prefix("app_settings_").or_else(|| name.strip_prefix("app.settings.")) {
            let name = format!("app.settings.{own}");
            self.app_settings.retain(|(known, _)| *known != name);
            self.app_settings.push((name, Secret::from(value)));
            return Ok(true);
        }
        ::settings::set(self, &variable(&name), value)
    }

    /// Returns for how many verified tokens there is room in the cache: what was set, else upstream's default for keys
    /// of `jwt_secret`, else `None`, which leaves it to the verifier that the service was given.
    pub(crate) fn jwt_cache_entries(&self) -> Option<usize> {
        const UPSTREAM: usize = 1000;
        self.jwt_cache_max_entries.or(self.jwt_secret.as_ref().map(|_| UPSTREAM))
    }
}

/// Returns the environment variable of the setting that a configuration file calls `name`.
fn variable(name: &str) -> String {
    format!("PGRST_{}", name.to_ascii_uppercase().replace('-', "_"))
}

fn schemas(schemas: Vec<String>) -> Result<Vec<String>, &'static str> {
    let is_system = |schema: &String| SYSTEM_SCHEMAS.contains(&schema.as_str());
    match schemas.is_empty() || schemas.iter().any(is_system) {
        true => Err("one or more schemas of your own"),
        false => Ok(schemas),
    }
}

/// Takes the schema from the name: the function is looked up in the schema of the request.
fn root_spec(function: Option<String>) -> Result<Option<String>, &'static str> {
    Ok(function.map(|name| name.rsplit_once('.').map(|(_, name)| name.to_owned()).unwrap_or(name)))
}

/// Checks that a text with a colon in it is a URI (RFC 7519, section 2, StringOrURI).
fn audience(audience: Option<String>) -> Result<Option<String>, &'static str> {
    let is_uri = |text: &str| {
        text.split_once(':').is_none_or(|(scheme, _)| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
                && !text.contains(char::is_whitespace)
        })
    };
    match audience.as_deref().is_none_or(is_uri) {
        true => Ok(audience),
        false => Err("a text or a URI"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pairs: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in pairs {
            assert!(settings.set(name, value).unwrap(), "{name}");
        }
        settings
    }

    #[test]
    fn names_are_upstreams() {
        let settings = set(&[
            ("DB_SCHEMAS", "api, other"),
            ("db-extra-search-path", ""),
            ("db_anon_role", "web"),
            ("max-rows", "10"),
            ("db-tx-end", "rollback"),
            ("root-spec", "api.root"),
            ("openapi-mode", "disabled"),
            ("client-error-verbosity", "minimal"),
            ("server-timing-enabled", "1"),
            ("log-query", "true"),
            ("server-max-body-size", "1048576"),
            ("server-trace-header", "X-Request-Id"),
            ("app_settings_key", "v"),
            ("jwt-secret-is-base64", "TRUE"),
        ]);
        assert_eq!(settings.db_schemas, ["api", "other"]);
        assert!(settings.db_extra_search_path.is_empty());
        assert_eq!(settings.db_anon_role.as_deref(), Some("web"));
        assert_eq!(settings.db_max_rows, Some(10));
        assert_eq!(settings.db_tx_end, TxEnd::Rollback);
        assert_eq!(settings.db_root_spec.as_deref(), Some("root"));
        assert_eq!(settings.openapi_mode, OpenApiMode::Disabled);
        assert_eq!(settings.client_error_verbosity, Verbosity::Minimal);
        assert!(settings.server_timing_enabled && settings.jwt_secret_is_base64 && settings.log_query);
        assert_eq!(settings.max_body_size, 1 << 20);
        assert_eq!(settings.server_trace_header.unwrap().0, "x-request-id");
        assert_eq!(settings.app_settings, [("app.settings.key".to_owned(), Secret::from("v".to_owned()))]);
    }

    #[test]
    fn empty_values_change_nothing() {
        assert_eq!(set(&[("db-schemas", ""), ("jwt-aud", ""), ("db-max-rows", "")]), Settings::default());
    }

    #[test]
    fn mistakes_are_named() {
        for (name, value) in [
            ("db-schemas", "api, pg_catalog"),
            ("db-schemas", ","),
            ("db-max-rows", "many"),
            ("db-config", "perhaps"),
            ("jwt-aud", "not a: uri"),
            ("server-trace-header", "a b"),
            ("server-max-body-size", "50MiB"),
            ("openapi-mode", "on"),
            ("openapi-server-proxy-uri", "example.com"),
            ("jwt-role-claim-key", "role"),
        ] {
            let error = Settings::default().set(name, value).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{}: expected", variable(name))), "{error}");
        }
        assert_eq!(Settings::default().set("db-channel", "x"), Ok(false));
    }

    #[test]
    fn secrets_are_not_shown() {
        let settings = set(&[("jwt-secret", "hunter2hunter2hunter2hunter2hunter2")]);
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
