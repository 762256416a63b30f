//! How a [`crate::Database`] reaches Postgres and how much of it it may use.

use std::time::Duration;

use crate::Renewal;
use crate::conninfo::Conninfo;

/// Settings of one [`crate::Database`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// The parameters of libpq that name the server and the login: `host` (a folder for Unix sockets), `port`, `user`,
    /// `password`, `dbname`, `sslmode` (`disable`, `prefer`, `require`, `verify-ca`, `verify-full`), `sslrootcert`, …
    pub server: Conninfo,
    /// Standbys that may answer read-only transactions of the hot path. PostgREST's `db-read-uris`.
    pub replicas: Vec<Conninfo>,
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
    /// Returns settings for `server` with the documented defaults, listening to nothing.
    pub fn new(server: Conninfo) -> Self {
        Self {
            server,
            replicas: Vec::new(),
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
