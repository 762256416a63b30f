//! Settings of the service.

use std::sync::Arc;
use std::time::Duration;

use ::settings::{Bytes, KnownKeys, Secret, Value};
use fairness::Memory;
use parking_lot::RwLock;
use serde_json::Map;

/// What the service knows of names that no setting has.
pub const KNOWN_KEYS: KnownKeys = KnownKeys { silent: &["realtime.ip_version"], ..KnownKeys::NONE };

/// The unit of the memory for clients, in bytes: more than most messages and joins have.
const MEMORY_UNIT: usize = 4 << 10;

/// Claims that every token must have, with their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequiredClaims(pub Map<String, serde_json::Value>);

impl Value for RequiredClaims {
    const EXPECTED: &'static str = "a JSON object such as {\"iss\": \"https://example.com\"}";

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    fn show(&self) -> Option<String> {
        serde_json::to_string(&self.0).ok()
    }
}

::settings::settings! {
    /// Settings of the realtime service.
    ///
    /// Names of environment variables are upstream's; for the numbers among them, 0 means the default.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        /// The maximum size of a request header in bytes, including its name.
        #[setting(variables = ["MAX_HEADER_LENGTH"], key = "realtime.max_header_length")]
        pub max_header_length: usize = 4096,
        /// How many sockets may be in a channel at the same time.
        #[setting(variables = ["TENANT_MAX_CONCURRENT_USERS"], key = "basalt.realtime.max_concurrent_users")]
        pub max_concurrent_users: u32 = 200,
        /// How many channels a socket may join.
        #[setting(variables = ["TENANT_MAX_CHANNELS_PER_CLIENT"], key = "basalt.realtime.max_channels_per_client")]
        pub max_channels_per_client: u32 = 100,
        /// How many joins there may be in a second, on average over up to a minute.
        #[setting(variables = ["TENANT_MAX_JOINS_PER_SECOND"], key = "basalt.realtime.max_joins_per_second")]
        pub max_joins_per_second: u32 = 100,
        /// How many messages there may be in a second, on average over up to a minute. Each message from a client and
        /// each delivery to a client is counted.
        #[setting(variables = ["TENANT_MAX_EVENTS_PER_SECOND"], key = "basalt.realtime.max_events_per_second")]
        pub max_events_per_second: u32 = 100,
        /// How many presence messages there may be in a second, on average over up to a minute.
        #[setting(variables = [], key = "basalt.realtime.max_presence_events_per_second")]
        pub max_presence_events_per_second: u32 = 1000,
        /// How many presence messages a channel of a client may send within the time of the next setting.
        #[setting(variables = ["CLIENT_PRESENCE_MAX_CALLS"], key = "basalt.realtime.client_presence_max_calls")]
        pub client_presence_max_calls: u32 = 5,
        /// The time for the previous setting in milliseconds.
        #[setting(variables = ["CLIENT_PRESENCE_WINDOW_MS"], key = "basalt.realtime.client_presence_window_ms")]
        pub client_presence_window_ms: u64 = 30_000,
        /// The maximum size of the payload of a broadcast or a presence in kilobytes.
        #[setting(variables = [], key = "basalt.realtime.max_payload_size_kb")]
        pub max_payload_size_kb: u32 = 3000,
        /// How much memory all clients may take together: messages of which only a part has arrived, their joins and
        /// presences, and messages that they have not read. Less than 4 KiB is not counted. One network gets at most
        /// three quarters (`network_shares`).
        #[setting(variables = [], key = "basalt.realtime.memory")]
        pub memory: Bytes = Bytes(256 << 20),
        /// How many milliseconds the server waits before it refuses a join. This slows down clients that try again at
        /// once.
        #[setting(variables = ["CHANNEL_ERROR_BACKOFF_MS"])]
        pub channel_error_backoff_ms: u64 = 5000,
        /// How many milliseconds the server waits before it refuses a connection.
        #[setting(variables = ["CONNECT_ERROR_BACKOFF_MS"])]
        pub connect_error_backoff_ms: u64 = 2000,
        /// After how many milliseconds a socket is closed that has left all its channels.
        #[setting(variables = ["NO_CHANNEL_TIMEOUT_IN_MS"])]
        pub no_channel_timeout_ms: u64 = 600_000,
        /// Claims that the tokens of sockets and channels must have, as a JSON object.
        #[setting(variables = ["JWT_CLAIM_VALIDATORS"])]
        pub required_claims: RequiredClaims = RequiredClaims::default(),
        /// Whether all channels must be private.
        #[setting(variables = [], key = "basalt.realtime.private_only")]
        pub private_only: bool = false,
        /// Whether subscribers get the old content of changed rows although no policy can decide whether they may see
        /// it. This is about tables with row-level security and `replica identity full`. If it is `true`, as on hosted
        /// Supabase, filters of deletions compare all columns of the old row, and the old record of an update has all
        /// columns. Otherwise, for roles to which policies apply, both have only the primary key.
        #[setting(variables = [], key = "basalt.realtime.old_rows_bypass_rls")]
        pub old_rows_bypass_rls: bool = false,
        /// How many connections to the database the service uses at the same time.
        #[setting(variables = [], key = "basalt.realtime.pool_size")]
        pub pool_size: u32 = 5,
        /// The address of NATS, such as `nats://user:password@host:4222` or `tls://…`. Several servers of one project
        /// share broadcasts, presences and row changes through it. A project with only one server does not need it.
        #[setting(variables = ["NATS_URL"], key = "basalt.realtime.nats_url")]
        pub nats_url: Secret = Secret::default(),
        /// A connection string for the replication stream, if the service's other connections go through a pooler. It
        /// must lead to the database itself, because poolers such as PgBouncer do not relay this stream.
        #[setting(variables = ["REALTIME_REPLICATION_URL"], key = "basalt.realtime.replication_url")]
        pub replication_url: Secret = Secret::default(),
        /// How many megabytes of the write-ahead log the replication slot may keep. If it keeps more, the slot is
        /// created again, so that the database's disk does not fill up. Changes are then lost, and clients are told to
        /// subscribe again. This is checked every minute while the server runs. While it does not run, only Postgres'
        /// `max_slot_wal_keep_size` is a limit.
        #[setting(variables = [], key = "basalt.realtime.max_slot_lag_mb")]
        pub max_slot_lag_mb: u32 = 10_240,
        /// A suffix for the name of the replication slot, `basalt_realtime`. It is for several servers that read the
        /// changes of one database independently.
        #[setting(variables = ["SLOT_NAME_SUFFIX"])]
        pub slot_name_suffix: String = String::new(),
    }
}

impl Settings {
    /// Returns the memory for what clients make the service keep.
    pub(crate) fn client_memory(&self) -> Memory {
        Memory::new(usize::try_from(self.memory.0).unwrap_or(usize::MAX), MEMORY_UNIT)
    }

    /// Returns how long a refused join waits for its reply.
    pub(crate) fn channel_error_backoff(&self) -> Duration {
        Duration::from_millis(self.channel_error_backoff_ms)
    }

    /// Returns how many bytes the payload of a broadcast may have: upstream compares the size in thousands, rounded.
    pub(crate) fn max_payload_size(&self) -> usize {
        self.max_payload_size_kb as usize * 1000 + 500
    }

    /// Returns the settings with their defaults in place of zeros.
    pub(crate) fn with_defaults(mut self) -> Self {
        let default = Self::default();
        for (value, default) in [
            (&mut self.max_concurrent_users, default.max_concurrent_users),
            (&mut self.max_channels_per_client, default.max_channels_per_client),
            (&mut self.max_joins_per_second, default.max_joins_per_second),
            (&mut self.max_events_per_second, default.max_events_per_second),
            (&mut self.max_presence_events_per_second, default.max_presence_events_per_second),
            (&mut self.client_presence_max_calls, default.client_presence_max_calls),
            (&mut self.max_payload_size_kb, default.max_payload_size_kb),
            (&mut self.pool_size, default.pool_size),
            (&mut self.max_slot_lag_mb, default.max_slot_lag_mb),
        ] {
            if *value == 0 {
                *value = default;
            }
        }
        self
    }
}

/// Returns the names of the settings that differ between `old` and `new` and that a running service cannot change: as
/// in `config.toml`, or the variable of one that only a variable sets.
pub fn settings_that_need_a_restart(old: &Settings, new: &Settings) -> Vec<&'static str> {
    let (old, new) = (old.clone().with_defaults(), new.clone().with_defaults());
    ::settings::changed_names([
        ("basalt.realtime.max_concurrent_users", old.max_concurrent_users != new.max_concurrent_users),
        ("basalt.realtime.memory", old.memory != new.memory),
        ("basalt.realtime.pool_size", old.pool_size != new.pool_size),
        ("basalt.realtime.nats_url", old.nats_url != new.nats_url),
        ("basalt.realtime.replication_url", old.replication_url != new.replication_url),
        ("SLOT_NAME_SUFFIX", old.slot_name_suffix != new.slot_name_suffix),
    ])
}

/// The settings of the newest service, for what outlives a service: tasks in the background, and subscriptions. Cheap
/// to clone: clones share them.
#[derive(Clone)]
pub(crate) struct CurrentSettings(Arc<RwLock<Arc<Settings>>>);

impl CurrentSettings {
    pub(crate) fn new(settings: Settings) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(settings))))
    }

    /// Returns the settings as they are now.
    pub(crate) fn get(&self) -> Arc<Settings> {
        Arc::clone(&self.0.read())
    }

    /// Replaces the settings.
    pub(crate) fn set(&self, settings: Arc<Settings>) {
        *self.0.write() = settings;
    }
}

#[cfg(test)]
mod tests {
    use ::settings::Table as _;

    use super::*;

    #[test]
    fn some_settings_need_a_restart() {
        let old = Settings::default();
        let same = Settings { pool_size: 0, private_only: true, max_slot_lag_mb: 1, ..Settings::default() };
        assert!(settings_that_need_a_restart(&old, &same).is_empty(), "zero stands for the default");
        let other = Settings {
            max_concurrent_users: 1,
            memory: Bytes(1),
            pool_size: 1,
            nats_url: "nats://host".into(),
            replication_url: "postgresql://host/name".into(),
            slot_name_suffix: "other".to_owned(),
            ..Settings::default()
        };
        let names = settings_that_need_a_restart(&old, &other);
        assert_eq!(names.len(), 6);
        for name in names {
            let is_known = Settings::settings().any(|known| known.key == name || known.variables == [name]);
            assert!(is_known, "{name}");
        }
    }
}
