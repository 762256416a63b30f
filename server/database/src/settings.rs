//! How a [`crate::Database`] reaches Postgres and how much of it it may use.

use std::fmt;
use std::time::Duration;

use crate::Renewal;

/// Settings of one [`crate::Database`].
#[derive(Clone)]
pub struct Settings {
    /// `postgres://user:password@host:port/database?…` or `key=value` form, as libpq takes them, with `sslmode`
    /// (`disable`, `prefer`, `require`, `verify-ca`, `verify-full`), `sslrootcert` and, for unix sockets, `host`
    /// being a folder.
    pub uri: String,
    /// Standbys that may answer read-only transactions of the hot path, in the form of `uri`. `PGRST_DB_READ_URIS`.
    pub replica_uris: Vec<String>,
    /// A standby that lags behind the primary by more than this answers nothing.
    pub replica_max_lag: Duration,
    /// How often the standbys' health and lag are looked at.
    pub replica_probe_interval: Duration,
    /// Connections of the hot path to each server, at most. Connections are made on demand.
    pub pool_size: usize,
    /// Connections lent by [`crate::Database::client`], at most.
    pub client_pool_size: usize,
    /// How long a caller waits for a free connection. PostgREST's `db-pool-acquisition-timeout`, 10 s.
    pub acquisition_timeout: Duration,
    /// How long a connection may take to be made, handshakes included.
    pub connect_timeout: Duration,
    /// An idle connection is closed after this. PostgREST's `db-pool-max-idletime`, 30 s.
    pub max_idle_time: Duration,
    /// A connection is replaced at this age. PostgREST's `db-pool-max-lifetime`, 30 min.
    pub max_lifetime: Duration,
    /// Whether statements keep a name on the server. `false` suits connection poolers in transaction mode that do
    /// not know prepared statements. PostgREST's `db-prepared-statements`.
    pub prepared_statements: bool,
    /// Prepared statements that one connection keeps, at most.
    pub statement_cache_size: usize,
    /// Channel whose notifications mean that the catalog changed; `None` listens to nothing. PostgREST's
    /// `db-channel`, `pgrst`.
    pub channel: Option<String>,
    /// Shown in `pg_stat_activity`.
    pub application_name: String,
    /// How long a transaction may take when [`crate::Transaction::timeout`] says nothing.
    pub transaction_timeout: Duration,
    /// What renews the connections; databases that are to be renewed together share it.
    pub renewal: Renewal,
}

impl Settings {
    /// Settings for `uri` with the documented defaults, listening to nothing.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            replica_uris: Vec::new(),
            replica_max_lag: Duration::from_secs(5),
            replica_probe_interval: Duration::from_secs(1),
            pool_size: 10,
            client_pool_size: 10,
            acquisition_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            max_idle_time: Duration::from_secs(30),
            max_lifetime: Duration::from_secs(30 * 60),
            prepared_statements: true,
            statement_cache_size: 512,
            channel: None,
            application_name: "basalt".to_owned(),
            transaction_timeout: Duration::from_secs(60),
            renewal: Renewal::default(),
        }
    }
}

/// Leaves out the URIs, which may hold passwords.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("replicas", &self.replica_uris.len())
            .field("pool_size", &self.pool_size)
            .field("channel", &self.channel)
            .field("application_name", &self.application_name)
            .finish_non_exhaustive()
    }
}
