//! Settings of a server that runs only this service, as a replacement for upstream's binary.
//!
//! Source: Supabase Auth, `internal/conf`.

use std::time::Duration;

use ::settings::{Environment, Invalid, Reader};
use postgres::conninfo::Conninfo;

/// The only schema that the service's SQL knows.
const NAMESPACE: &str = "auth";
/// The variables that no project of the Supabase CLI has: the database's URL, and its kind.
const DATABASE: &str = "GOTRUE_DB_DATABASE_URL";
const DRIVER: &str = "GOTRUE_DB_DRIVER";
/// What the URL of the service has to be.
const EXTERNAL_URL: &str =
    "the URL under which clients reach the service, such as https://example.org/auth/v1";

::settings::settings! {
    /// Where a server that runs this service alone listens, and where its database is.
    #[derive(Debug, Clone)]
    pub struct ServerSettings {
        /// The URL at which clients reach the service. It must be set.
        #[setting(
            variables = ["GOTRUE_API_API_EXTERNAL_URL", "API_EXTERNAL_URL", "GOTRUE_API_EXTERNAL_URL"],
            check = external_url
        )]
        pub external_url: String = String::new(),
        /// The database, with a user that owns the schema `auth`. It must be set.
        #[setting(variables = ["GOTRUE_DB_DATABASE_URL", "DATABASE_URL"])]
        pub database: Option<Conninfo> = None,
        /// The kind of the database.
        #[setting(variables = ["GOTRUE_DB_DRIVER"], check = driver)]
        pub driver: String = "postgres".to_owned(),
        /// The schema of the service's tables; only `auth` is possible. Upstream's variables that have a name without
        /// `GOTRUE_` can be written with it, too.
        #[setting(variables = ["GOTRUE_DB_DB_NAMESPACE", "GOTRUE_DB_NAMESPACE", "DB_NAMESPACE"], check = namespace)]
        pub namespace: String = NAMESPACE.to_owned(),
        /// The maximum number of connections to the database. 0: Basalt's default.
        #[setting(variables = ["GOTRUE_DB_MAX_POOL_SIZE"])]
        pub pool_size: usize = 0,
        /// How long a connection may be open.
        #[setting(variables = ["GOTRUE_DB_CONN_MAX_LIFETIME"])]
        pub max_lifetime: Option<Duration> = None,
        /// How long a connection may be idle.
        #[setting(variables = ["GOTRUE_DB_CONN_MAX_IDLE_TIME"])]
        pub max_idle_time: Option<Duration> = None,
        /// The address to listen on; `*` means all addresses of this machine.
        #[setting(variables = ["GOTRUE_API_HOST"])]
        pub host: String = "*".to_owned(),
        /// The port to listen on.
        #[setting(variables = ["GOTRUE_API_PORT", "PORT"])]
        pub port: u16 = 8081,
        /// The log level.
        #[setting(variables = ["GOTRUE_LOG_LEVEL"])]
        pub log_level: Option<String> = None,
    }
}

impl ServerSettings {
    /// Returns the variable of `environment` that only upstream has: `GOTRUE_DB_DATABASE_URL`, or `GOTRUE_DB_DRIVER`
    /// beside `DATABASE_URL`, without which upstream does not start.
    pub fn variable_in(environment: &Environment) -> Option<&'static str> {
        if environment.is_set(DATABASE) {
            return Some(DATABASE);
        }
        let is_upstreams = environment.is_set("DATABASE_URL") && environment.is_set(DRIVER);
        is_upstreams.then_some(DRIVER)
    }

    /// Reads the settings.
    ///
    /// Errors: [`Invalid`] for the first that cannot be used, or that upstream requires and that is missing.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let settings: Self = reader.read()?;
        if settings.database.is_none() {
            return Err(Invalid::new(
                DATABASE,
                "the URL of the database, as the owner of schema auth",
                &"none",
            ));
        }
        if settings.external_url.is_empty() {
            return Err(Invalid::new("API_EXTERNAL_URL", EXTERNAL_URL, &"none"));
        }
        for (name, expected) in [
            ("GOTRUE_SITE_URL", "the URL of the site that users come from"),
            ("GOTRUE_JWT_SECRET", "the secret that tokens are signed with"),
        ] {
            if !reader.is_in_environment(name) {
                return Err(Invalid::new(name, expected, &"none"));
            }
        }
        Ok(settings)
    }
}

fn external_url(url: String) -> Result<String, &'static str> {
    match url.starts_with("https://") || url.starts_with("http://") {
        true => Ok(url.trim_end_matches('/').to_owned()),
        false => Err(EXTERNAL_URL),
    }
}

fn driver(name: String) -> Result<String, &'static str> {
    match name.as_str() {
        "postgres" | "postgresql" | "pgx" => Ok(name),
        _ => Err("postgres"),
    }
}

fn namespace(name: String) -> Result<String, &'static str> {
    if name == NAMESPACE { Ok(name) } else { Err("auth, the schema of all of the service's tables") }
}
