//! Settings of a [`crate::database::Database`]: servers, sizes of pools, time limits.

use std::time::Duration;

use telemetry::SlowStatements;

use crate::conninfo::Conninfo;
use crate::renewal::Renewal;
use crate::repair::Repair;

/// The connections of [`run_reserved`] and [`ping`]: for a ping, a load of the catalog and a probe of
/// the write position at the same time, and one that is being cancelled. They are opened on demand.
///
/// [`run_reserved`]: crate::database::Database::run_reserved
/// [`ping`]: crate::database::Database::ping
const RESERVED: usize = 4;

/// How long transactions wait for one of these connections.
const RESERVED_WAIT: Duration = Duration::from_secs(2);

/// Settings of one [`crate::database::Database`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// The parameters of libpq that name the server and the login: `host` (a folder for Unix sockets), `port`, `user`,
    /// `password`, `dbname`, `sslmode` (`disable`, `prefer`, `require`, `verify-ca`, `verify-full`), `sslrootcert`, …
    pub server: Conninfo,
    /// Standbys that may run read-only transactions of the hot path. PostgREST's `db-read-uris`.
    pub replicas: Vec<Conninfo>,
    /// A standby that lags behind the primary by more than this is not used.
    pub replica_max_lag: Duration,
    /// How often the standbys' health and lag are checked.
    pub replica_probe_interval: Duration,
    /// The maximum number of connections of the hot path to each server. They are opened on demand.
    pub pool_size: usize,
    /// The maximum number of connections lent by [`crate::database::Database::client`] at the same time.
    pub client_pool_size: usize,
    /// How long a caller waits for a free connection. PostgREST's `db-pool-acquisition-timeout`, 10 s.
    pub acquisition_timeout: Duration,
    /// How long opening a connection may take, including handshakes.
    pub connect_timeout: Duration,
    /// How long a connection may be idle before it is closed. PostgREST's `db-pool-max-idletime`, 30 s.
    pub max_idle_time: Duration,
    /// The age at which a connection is replaced. PostgREST's `db-pool-max-lifetime`, 30 min.
    pub max_lifetime: Duration,
    /// Whether prepared statements are named and reused. `false` is for connection poolers in transaction mode that do
    /// not support prepared statements. PostgREST's `db-prepared-statements`.
    pub prepared_statements: bool,
    /// The maximum number of prepared statements that one connection keeps.
    pub statement_cache_size: usize,
    /// The channel whose notifications are counted; without one there is no listener. For the schema cache, PostgREST's
    /// `db-channel`, `pgrst`.
    pub channel: Option<String>,
    /// The name shown in `pg_stat_activity`.
    pub application_name: String,
    /// How long a transaction may take without a [`crate::transaction::Transaction::timeout`] of its own.
    pub transaction_timeout: Duration,
    /// The time of the last renewal of the connections; databases that are renewed together share it.
    pub renewal: Renewal,
    /// Records statements that take too long; databases that share a table of them share this.
    pub slow: SlowStatements,
    /// Makes the login work again if somebody has changed the password of its role; `None` if nothing does.
    pub repair: Option<Repair>,
}

impl Settings {
    /// Returns settings for `server` with the documented defaults and without a channel.
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
            slow: SlowStatements::default(),
            repair: None,
        }
    }
}

impl Settings {
    /// Returns the settings of the reserved connections to a server with these settings. An idle one is kept: to open
    /// another one may not be possible when it is needed.
    pub(crate) fn reserved(&self) -> Self {
        Self {
            pool_size: RESERVED,
            acquisition_timeout: RESERVED_WAIT,
            max_idle_time: self.max_lifetime,
            ..self.clone()
        }
    }
}
