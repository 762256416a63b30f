//! Settings of the service.

use std::time::Duration;

use ::settings::{Bytes, KnownKeys, Secret, Value};
use fairness::Memory;
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
        /// Bytes that one request header may have, its name included.
        #[setting(variables = ["MAX_HEADER_LENGTH"], key = "realtime.max_header_length")]
        pub max_header_length: usize = 4096,
        /// Sockets with a channel that there may be at the same time.
        #[setting(variables = ["TENANT_MAX_CONCURRENT_USERS"], key = "basalt.realtime.max_concurrent_users")]
        pub max_concurrent_users: u32 = 200,
        /// Channels that one socket may join.
        #[setting(variables = ["TENANT_MAX_CHANNELS_PER_CLIENT"], key = "basalt.realtime.max_channels_per_client")]
        pub max_channels_per_client: u32 = 100,
        /// Joins per second, as an average over up to a minute.
        #[setting(variables = ["TENANT_MAX_JOINS_PER_SECOND"], key = "basalt.realtime.max_joins_per_second")]
        pub max_joins_per_second: u32 = 100,
        /// Messages per second, as an average over up to a minute: each one from a client and each delivery to one counts.
        #[setting(variables = ["TENANT_MAX_EVENTS_PER_SECOND"], key = "basalt.realtime.max_events_per_second")]
        pub max_events_per_second: u32 = 100,
        /// Presence messages per second, as an average over up to a minute.
        #[setting(variables = [], key = "basalt.realtime.max_presence_events_per_second")]
        pub max_presence_events_per_second: u32 = 1000,
        /// Presence messages that one channel of a client may send in a window of time.
        #[setting(variables = ["CLIENT_PRESENCE_MAX_CALLS"], key = "basalt.realtime.client_presence_max_calls")]
        pub client_presence_max_calls: u32 = 5,
        /// Milliseconds of that window.
        #[setting(variables = ["CLIENT_PRESENCE_WINDOW_MS"], key = "basalt.realtime.client_presence_window_ms")]
        pub client_presence_window_ms: u64 = 30_000,
        /// Kilobytes that the payload of a broadcast or of a presence may have.
        #[setting(variables = [], key = "basalt.realtime.max_payload_size_kb")]
        pub max_payload_size_kb: u32 = 3000,
        /// How much memory clients may take together, apart from what has fewer than 4 KiB: messages that have not arrived
        /// whole, what they join and are present with, and messages that they have not read. A network gets three quarters
        /// (`network_shares`).
        #[setting(variables = [], key = "basalt.realtime.memory")]
        pub memory: Bytes = Bytes(256 << 20),
        /// Milliseconds before a refused join is answered, which slow down clients that try again at once.
        #[setting(variables = ["CHANNEL_ERROR_BACKOFF_MS"])]
        pub channel_error_backoff_ms: u64 = 5000,
        /// Milliseconds before a refused connection is answered.
        #[setting(variables = ["CONNECT_ERROR_BACKOFF_MS"])]
        pub connect_error_backoff_ms: u64 = 2000,
        /// Milliseconds after which a socket is closed that had channels and has none any more.
        #[setting(variables = ["NO_CHANNEL_TIMEOUT_IN_MS"])]
        pub no_channel_timeout_ms: u64 = 600_000,
        /// Claims that the tokens of sockets and channels must have, as a JSON object.
        #[setting(variables = ["JWT_CLAIM_VALIDATORS"])]
        pub required_claims: RequiredClaims = RequiredClaims::default(),
        /// Whether channels have to be private.
        #[setting(variables = [], key = "basalt.realtime.private_only")]
        pub private_only: bool = false,
        /// Whether subscribers learn of the content that a row had before a change, though no policy was asked whether they
        /// might see it then. If so, filters of deletions are answered from the whole old row, and the old record of an
        /// update is whole, as on hosted Supabase, for tables with row-level security and `replica identity full`.
        /// Otherwise both are limited to the primary key for roles that policies apply to.
        #[setting(variables = [], key = "basalt.realtime.old_rows_bypass_rls")]
        pub old_rows_bypass_rls: bool = false,
        /// Connections to the database that the service uses at the same time.
        #[setting(variables = [], key = "basalt.realtime.pool_size")]
        pub pool_size: u32 = 5,
        /// Address of NATS, through which several servers of one project share broadcasts, presences and row changes:
        /// `nats://user:password@host:4222`, or `tls://…`. Without it there is one server.
        #[setting(variables = ["NATS_URL"], key = "basalt.realtime.nats_url")]
        pub nats_url: Secret = Secret::default(),
        /// Where to read the replication stream, if not where the service's other connections go: a connection pooler such
        /// as PgBouncer does not relay it. A connection string of the database itself.
        #[setting(variables = ["REALTIME_REPLICATION_URL"], key = "basalt.realtime.replication_url")]
        pub replication_url: Secret = Secret::default(),
        /// Megabytes of the write-ahead log that the replication slot may keep. Beyond it the slot is made anew: changes are
        /// lost, and clients are told to subscribe again, but the database's disk does not fill up. Looked at every minute
        /// while the server runs; otherwise Postgres' own `max_slot_wal_keep_size` is the limit.
        #[setting(variables = [], key = "basalt.realtime.max_slot_lag_mb")]
        pub max_slot_lag_mb: u32 = 10_240,
        /// What is appended to the name of the replication slot, `basalt_realtime`: for several servers that are to read
        /// the changes of one database independently.
        #[setting(variables = ["SLOT_NAME_SUFFIX"])]
        pub slot_name_suffix: String = String::new(),
    }
}

impl Settings {
    /// Returns the memory for what clients make the service keep.
    pub(crate) fn client_memory(&self) -> Memory {
        Memory::new(usize::try_from(self.memory.0).unwrap_or(usize::MAX), MEMORY_UNIT)
    }

    /// Returns how long a refused join waits for its answer.
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
