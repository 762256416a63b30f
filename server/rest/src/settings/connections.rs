//! How many connections the service uses, and how.

use std::time::Duration;

use ::settings::{Secret, Value};
use postgres::conninfo::Conninfo;

::settings::settings! {
    /// Connections to the database.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Connections {
        /// The maximum number of connections.
        #[setting(variables = ["PGRST_DB_POOL"])]
        pub pool: usize = 10,
        /// How many seconds a request waits for a connection.
        #[setting(variables = ["PGRST_DB_POOL_ACQUISITION_TIMEOUT"])]
        pub acquisition_timeout: Duration = Duration::from_secs(10),
        /// After how many seconds an idle connection is closed.
        #[setting(variables = ["PGRST_DB_POOL_MAX_IDLETIME", "PGRST_DB_POOL_TIMEOUT"])]
        pub max_idletime: Duration = Duration::from_secs(30),
        /// After how many seconds a connection is replaced by a new one.
        #[setting(variables = ["PGRST_DB_POOL_MAX_LIFETIME"])]
        pub max_lifetime: Duration = Duration::from_secs(30 * 60),
        /// Whether statements are prepared under a name. Some poolers in transaction mode do not support this.
        #[setting(variables = ["PGRST_DB_PREPARED_STATEMENTS"])]
        pub prepared_statements: bool = true,
        /// The channel on which notifications say that the schema or the settings have changed.
        #[setting(variables = ["PGRST_DB_CHANNEL"])]
        pub channel: String = "pgrst".to_owned(),
        /// Whether the server listens to that channel. Poolers in transaction mode do not support this.
        #[setting(variables = ["PGRST_DB_CHANNEL_ENABLED"])]
        pub channel_enabled: bool = true,
        /// Standbys to which reads go. If a URI names no user, the login of the primary is used.
        #[setting(variables = ["PGRST_DB_READ_URIS"])]
        pub read_uris: Servers = Servers::default(),
    }
}

impl Connections {
    /// Returns `settings` with these connections.
    pub fn apply_to(&self, settings: postgres::Settings) -> postgres::Settings {
        postgres::Settings {
            pool_size: self.pool,
            acquisition_timeout: self.acquisition_timeout,
            max_idle_time: self.max_idletime,
            max_lifetime: self.max_lifetime,
            prepared_statements: self.prepared_statements,
            channel: self.channel_enabled.then(|| self.channel.clone()),
            replicas: self.read_uris.servers.clone(),
            ..settings
        }
    }

    /// Returns names and values as a configuration file has them, with the passwords of URIs. Not for logs.
    pub fn dumped(&self) -> Vec<(String, String)> {
        let mut dumped = super::text::named(self);
        for (name, value) in &mut dumped {
            if name == "db-read-uris" {
                *value = super::quoted(self.read_uris.text.expose());
            }
        }
        dumped
    }
}

/// Servers, and the text that named them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Servers {
    /// How they are reached.
    pub servers: Vec<Conninfo>,
    text: Secret,
}

impl Value for Servers {
    const EXPECTED: &'static str =
        "URIs, separated by commas, such as postgresql://user:password@host:5432/database";

    /// Parses a list of URIs. An item without a scheme is a further host of the URI before it.
    fn from_text(text: &str) -> Option<Self> {
        let mut uris: Vec<String> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match uris.last_mut() {
                Some(uri) if !part.contains("://") => uri.extend([",", part]),
                _ => uris.push(part.to_owned()),
            }
        }
        let servers = uris.iter().map(|uri| uri.parse().ok()).collect::<Option<_>>()?;
        Some(Self { servers, text: Secret::from(text) })
    }

    fn show(&self) -> Option<String> {
        (!self.servers.is_empty()).then(|| "…".to_owned())
    }
}
