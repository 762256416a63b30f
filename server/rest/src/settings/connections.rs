//! How many connections the service uses, and how.

use std::time::Duration;

use ::settings::{Secret, Value};
use database::conninfo::Conninfo;

::settings::settings! {
    /// Connections to the database.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Connections {
        /// Connections, at most.
        #[setting(variables = ["PGRST_DB_POOL"])]
        pub pool: usize = 10,
        /// How long a request waits for one, in seconds.
        #[setting(variables = ["PGRST_DB_POOL_ACQUISITION_TIMEOUT"])]
        pub acquisition_timeout: Duration = Duration::from_secs(10),
        /// After how many seconds an idle one is closed.
        #[setting(variables = ["PGRST_DB_POOL_MAX_IDLETIME", "PGRST_DB_POOL_TIMEOUT"])]
        pub max_idletime: Duration = Duration::from_secs(30),
        /// After how many seconds one is replaced.
        #[setting(variables = ["PGRST_DB_POOL_MAX_LIFETIME"])]
        pub max_lifetime: Duration = Duration::from_secs(30 * 60),
        /// Whether statements keep a name. Poolers in transaction mode may not know prepared statements.
        #[setting(variables = ["PGRST_DB_PREPARED_STATEMENTS"])]
        pub prepared_statements: bool = true,
        /// The channel whose notices say that schema or settings have changed.
        #[setting(variables = ["PGRST_DB_CHANNEL"])]
        pub channel: String = "pgrst".to_owned(),
        /// Whether that channel is listened to, which poolers in transaction mode do not allow.
        #[setting(variables = ["PGRST_DB_CHANNEL_ENABLED"])]
        pub channel_enabled: bool = true,
        /// Standbys that reads go to. Where one names no user, its login is that of the primary.
        #[setting(variables = ["PGRST_DB_READ_URIS"])]
        pub read_uris: Servers = Servers::default(),
    }
}

impl Connections {
    /// Returns `settings` with these connections.
    pub fn apply_to(&self, settings: database::Settings) -> database::Settings {
        database::Settings {
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
