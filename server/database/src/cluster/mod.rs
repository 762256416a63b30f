//! The embedded cluster: a real Postgres in the data folder, found, made, started, watched and stopped by Basalt.
//!
//! The way through it: [`Binaries::find`] → data folder locked → cluster made where it is missing → what an earlier
//! run left is cleared away → Postgres started → supervised until [`Cluster::stop`]. A process that ends without
//! `stop`, even by `kill -9`, takes Postgres with it within moments.

mod account;
mod binaries;
mod configuration;
mod data_dir;
mod error;
mod extensions;
mod initdb;
mod log;
mod orphan;
mod package;
mod postmaster;
mod run_dir;
mod setup;
mod supervisor;
mod upgrade;
mod watchdog;

use std::fmt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use binaries::{Binaries, MINIMUM_MAJOR, Search, Version, find_psql};
pub use error::{Error, Looked};
pub use supervisor::State;
pub use upgrade::Upgrade;

use crate::conninfo::Conninfo;
use data_dir::{DataDir, SUPERUSER};

/// The password that the Supabase CLI gives to its local database, known to everybody.
pub const DEFAULT_PASSWORD: &str = "postgres";

/// The database that every cluster has and that Basalt uses, as hosted Supabase does.
const DATABASE: &str = "postgres";

/// Hears of the steps that can take long. Called from within the runtime, so it must not block.
pub type ProgressListener = Arc<dyn Fn(&Progress) + Send + Sync>;

/// A step of the start that can take long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The programs are copied to where the user that runs Postgres can reach them.
    CopyingBinaries {
        /// The folder of the copy.
        to: PathBuf,
    },
    /// A new cluster is made, which takes a second or two.
    CreatingCluster {
        /// The version of Postgres.
        version: Version,
    },
    /// A Postgres that outlived its Basalt is shut down.
    StoppingOrphan {
        /// Its process id.
        pid: u32,
    },
    /// Postgres is starting; after a crash it recovers first.
    Starting,
    /// A new cluster is made, to which the old one's data go.
    Upgrading {
        /// The version that made the old cluster.
        from: Version,
        /// The version of the new one.
        to: Version,
    },
    /// A database is copied to the new cluster, which takes as long as its dump and restoration.
    CopyingDatabase {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::CopyingBinaries { to } => write!(f, "copying Postgres to {}", to.display()),
            Progress::CreatingCluster { version } => write!(f, "creating the Postgres {version} cluster"),
            Progress::StoppingOrphan { pid } => {
                write!(f, "stopping the Postgres of an earlier run (process {pid})")
            }
            Progress::Starting => f.write_str("starting Postgres"),
            Progress::Upgrading { from, to } => write!(f, "upgrading from Postgres {from} to {to}"),
            Progress::CopyingDatabase { name } => write!(f, "copying database {name}"),
        }
    }
}

/// How to start a cluster.
#[derive(Clone)]
pub struct Options {
    /// The folder that holds the cluster (`postgres/`), its password (`pgpass`), log (`logs/`) and lock.
    pub data_dir: PathBuf,
    /// The port on 127.0.0.1 that is wanted for `psql`; the next free one is taken if it is not free. 0 takes any
    /// free one, `None` opens none. Default: 54322, as the Supabase CLI has it.
    pub port: Option<u16>,
    /// The superuser's password, which must need no escaping in libpq's password file. Default: a random one, kept in
    /// `pgpass`.
    pub password: Option<&'static str>,
    /// Where to look for Postgres.
    pub search: Search,
    /// Hears of the steps that can take long.
    pub progress: Option<ProgressListener>,
}

impl Options {
    /// The cluster of `data_dir`, with all else as by default.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        let search = Search::new(None);
        Self { data_dir: data_dir.into(), port: Some(54322), password: None, search, progress: None }
    }
}

/// How long the parts of a start took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timings {
    /// Finding (and where needed copying) the programs.
    pub find: Duration,
    /// Making a new cluster; zero where there was one.
    pub create: Duration,
    /// From starting Postgres to the first connection.
    pub start: Duration,
    /// All of it.
    pub total: Duration,
}

/// A running embedded Postgres. Dropped without [`Cluster::stop`], it shuts down in the background.
#[derive(Debug)]
pub struct Cluster {
    data: DataDir,
    binaries: Binaries,
    run_dir: PathBuf,
    port: u16,
    wanted_port: Option<u16>,
    password: String,
    timings: Timings,
    throwaway: bool,
    state: watch::Receiver<State>,
    stop: CancellationToken,
    supervisor: Mutex<Option<JoinHandle<()>>>,
}

impl Cluster {
    /// Starts the cluster of `options.data_dir`, making it first where there is none, and returns once it takes
    /// connections. Must be called inside a Tokio runtime, which must live until [`Cluster::stop`].
    ///
    /// Errors: see [`Error`]; each says what to do.
    pub async fn start(options: Options) -> Result<Self, Error> {
        setup::start(options, false).await
    }

    /// Brings the cluster of `options.data_dir`, made by an older major version, over to the one that a start would find.
    /// The programs of the older one are in `old`, else wherever they are on this machine. Until that is done the old
    /// cluster is in its place; afterwards it is kept beside the new one. Must be called inside a Tokio runtime.
    ///
    /// Errors: see [`Error`]; each says what to do. The data is as it was.
    pub async fn upgrade(options: Options, old: Option<&Path>) -> Result<Upgrade, Error> {
        upgrade::run(options, old).await
    }

    /// Starts a new cluster that nothing is kept of: for tests. Its folder is removed by [`Cluster::stop`] or once
    /// this process has ended, it trades durability for speed, and it listens on TCP only where `port` says so.
    pub async fn ephemeral(search: Search, port: Option<u16>) -> Result<Self, Error> {
        let name = format!("basalt-ephemeral-{:016x}", rand::random::<u64>());
        let data_dir = std::env::temp_dir().join(name);
        // Open for passing through, so that the socket can be inside and goes when the folder does.
        let made = std::fs::DirBuilder::new().mode(0o711).create(&data_dir);
        made.map_err(Error::io("create", &data_dir))?;
        setup::start(Options { port, search, ..Options::new(data_dir) }, true).await
    }

    /// Returns how the superuser logs in over the private Unix socket.
    pub fn login(&self) -> Conninfo {
        self.login_as(SUPERUSER, &self.password)
    }

    /// Returns how `role` logs in over the private Unix socket. It stays valid when Postgres is started again.
    pub fn login_as(&self, role: &str, password: &str) -> Conninfo {
        Conninfo::login(&self.run_dir.to_string_lossy(), self.port, role, password, DATABASE)
    }

    /// Returns how `role` logs in over TCP, for programs outside; `None` without a port.
    pub fn tcp_login(&self, role: &str, password: &str) -> Option<Conninfo> {
        self.tcp_port().map(|port| Conninfo::login("127.0.0.1", port, role, password, DATABASE))
    }

    /// The port on 127.0.0.1, which is not the wanted one if that was taken; `None` without one.
    pub fn tcp_port(&self) -> Option<u16> {
        self.wanted_port.map(|_| self.port)
    }

    /// The superuser's name.
    pub fn superuser(&self) -> &'static str {
        SUPERUSER
    }

    /// The superuser's password. Not for logs.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The file with the superuser's password, for libpq's `PGPASSFILE`.
    pub fn password_file(&self) -> PathBuf {
        self.data.password_file()
    }

    /// The folder of the private unix socket.
    pub fn socket_dir(&self) -> &Path {
        &self.run_dir
    }

    /// The file that Postgres logs to.
    pub fn log_file(&self) -> PathBuf {
        setup::log_file(&self.data)
    }

    /// The programs that run.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// The version that runs.
    pub fn version(&self) -> &Version {
        self.binaries.version()
    }

    /// How long the start took.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// What the cluster is doing now, and a way to wait for a change of it.
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Shuts Postgres down: sessions are cut off, everything is written. Returns when all that was started has ended,
    /// after at most 30 seconds, with whether all was written. A second call returns at once with the same.
    pub async fn stop(&self) -> bool {
        self.stop.cancel();
        if let Some(supervisor) = self.supervisor.lock().await.take() {
            // It fails only if the supervisor panicked; then its Postgres ends by the watchdog.
            let _ = supervisor.await;
            // What cannot be removed now is removed or taken over by the next start.
            let _ = std::fs::remove_dir_all(&self.run_dir);
            if self.throwaway {
                let _ = std::fs::remove_dir_all(self.data.path());
            }
            self.data.release();
        }
        matches!(*self.state.borrow(), State::Stopped { clean: true })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
