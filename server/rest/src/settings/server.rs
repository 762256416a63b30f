//! Settings of a server that runs this service alone, in the place of the `postgrest` binary.

use std::path::PathBuf;

use ::settings::{Secret, Value};

/// The variable of `log-level`.
pub const LOG_LEVEL: &str = "PGRST_LOG_LEVEL";

/// The values of `log-level`.
const LOG_LEVELS: [&str; 5] = ["crit", "error", "warn", "info", "debug"];

::settings::settings! {
    /// Where a server that runs this service alone listens, and where its database is.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Server {
        /// The database, with a user that may switch to the roles of all tokens, for example
        /// postgresql://authenticator@localhost:5432/postgres. Parts that are missing are taken from libpq's variables.
        #[setting(variables = ["PGRST_DB_URI"])]
        pub db_uri: Option<Secret> = None,
        /// The log level for requests.
        #[setting(variables = ["PGRST_LOG_LEVEL"], check = log_level; reread)]
        pub log_level: String = "error".to_owned(),
        /// Whether the port may be shared with other processes.
        #[setting(variables = ["PGRST_SERVER_REUSEPORT"])]
        pub reuseport: bool = false,
        /// Whether the server waits if the database is not reachable. Otherwise the process ends.
        #[setting(variables = ["PGRST_DB_POOL_AUTOMATIC_RECOVERY"])]
        pub automatic_recovery: bool = true,
        /// A Unix socket to listen on instead of a port.
        #[setting(variables = ["PGRST_SERVER_UNIX_SOCKET"])]
        pub unix_socket: Option<PathBuf> = None,
        /// The octal mode of that socket: who may use it.
        #[setting(variables = ["PGRST_SERVER_UNIX_SOCKET_MODE"])]
        pub unix_socket_mode: Mode = Mode(0o660),
        /// The host of health, metrics and settings, if it is not `server-host`.
        #[setting(variables = ["PGRST_ADMIN_SERVER_HOST"])]
        pub admin_host: Option<String> = None,
        /// The port of health, metrics and settings.
        #[setting(variables = ["PGRST_ADMIN_SERVER_PORT"])]
        pub admin_port: Option<u16> = None,
        /// A Unix socket for health, metrics and settings instead of a port.
        #[setting(variables = ["PGRST_ADMIN_SERVER_UNIX_SOCKET"])]
        pub admin_unix_socket: Option<PathBuf> = None,
        /// The octal mode of that socket: who may use it.
        #[setting(variables = ["PGRST_ADMIN_SERVER_UNIX_SOCKET_MODE"])]
        pub admin_unix_socket_mode: Mode = Mode(0o660),
    }
}

impl Server {
    /// Returns names and values as a configuration file has them, with the database's password, if it is in the URI.
    /// Not for logs.
    pub fn dumped(&self) -> Vec<(String, String)> {
        let mut dumped = super::text::named(self);
        for (name, value) in &mut dumped {
            if name == "db-uri" {
                *value = super::quoted(self.db_uri.as_ref().map(Secret::expose).unwrap_or_default());
            }
        }
        dumped
    }
}

fn log_level(level: String) -> Result<String, &'static str> {
    match LOG_LEVELS.contains(&level.as_str()) {
        true => Ok(level),
        false => Err("crit, error, warn, info or debug"),
    }
}

/// Who may use a Unix socket: the permissions of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode(pub u32);

impl Value for Mode {
    const EXPECTED: &'static str = "an octal mode from 600 to 777";

    fn from_text(text: &str) -> Option<Self> {
        u32::from_str_radix(text, 8).ok().filter(|mode| (0o600..=0o777).contains(mode)).map(Self)
    }

    fn show(&self) -> Option<String> {
        Some(format!("{:o}", self.0))
    }
}
