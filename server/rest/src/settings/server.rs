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
        /// The database, as a role that may become each role of a token, for example
        /// postgresql://authenticator@localhost:5432/postgres. libpq's variables say what it leaves out.
        #[setting(variables = ["PGRST_DB_URI"])]
        pub db_uri: Option<Secret> = None,
        /// What the log says of requests.
        #[setting(variables = ["PGRST_LOG_LEVEL"], check = log_level; reread)]
        pub log_level: String = "error".to_owned(),
        /// Whether the port may be shared with other processes.
        #[setting(variables = ["PGRST_SERVER_REUSEPORT"])]
        pub reuseport: bool = false,
        /// Whether a database that is gone is waited for; else the process ends.
        #[setting(variables = ["PGRST_DB_POOL_AUTOMATIC_RECOVERY"])]
        pub automatic_recovery: bool = true,
        /// A Unix socket to listen on instead of a port.
        #[setting(variables = ["PGRST_SERVER_UNIX_SOCKET"])]
        pub unix_socket: Option<PathBuf> = None,
        /// Who may use that socket, as an octal mode.
        #[setting(variables = ["PGRST_SERVER_UNIX_SOCKET_MODE"])]
        pub unix_socket_mode: Mode = Mode(0o660),
        /// The host that health, metrics and settings are answered on, if it is another than `server-host`.
        #[setting(variables = ["PGRST_ADMIN_SERVER_HOST"])]
        pub admin_host: Option<String> = None,
        /// The port that health, metrics and settings are answered on.
        #[setting(variables = ["PGRST_ADMIN_SERVER_PORT"])]
        pub admin_port: Option<u16> = None,
        /// A Unix socket for them instead of a port.
        #[setting(variables = ["PGRST_ADMIN_SERVER_UNIX_SOCKET"])]
        pub admin_unix_socket: Option<PathBuf> = None,
        /// Who may use that socket, as an octal mode.
        #[setting(variables = ["PGRST_ADMIN_SERVER_UNIX_SOCKET_MODE"])]
        pub admin_unix_socket_mode: Mode = Mode(0o660),
    }
}

impl Server {
    /// Returns names and values as a configuration file has them, with the database's password, if it is in the URI. Not
    /// for logs.
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
