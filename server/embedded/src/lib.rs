//! The embedded cluster: a Postgres server whose data is in the data folder and which Basalt finds, creates, starts,
//! supervises and stops.
//!
//! The steps of a start: lock the data folder → [`Binaries::find`] → create the cluster if it is missing → clean up
//! after an earlier run → start Postgres → supervise it until [`Cluster::stop`]. If the process ends without `stop`,
//! even by `kill -9`, Postgres ends within moments, too.

mod account;
mod archiver;
mod archiving;
mod binaries;
mod configuration;
mod data_dir;
mod environment;
mod error;
mod exchange;
mod extensions;
mod files;
mod initdb;
mod layout;
mod log;
mod log_gap;
mod memory;
mod orphan;
mod overrides;
mod package;
mod platform;
mod postmaster;
mod preload;
mod restore;
mod run_dir;
mod setup;
mod superuser;
mod supervisor;
mod upgrade;
mod version;
mod watchdog;

use std::fmt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use archiver::{Archiver, Engine, Recovery, RecoveryTarget};
pub use archiving::waiting_bytes;
pub use binaries::{Binaries, Search, find_client, find_psql};
pub use error::{Error, SearchReport};
pub use exchange::{Exchange, exchange_back, has_cluster};
pub use layout::cluster_in;
pub use memory::Memory;
pub use overrides::{OverrideError, Overrides};
pub use preload::{MissingLibrary, missing_libraries};
pub use restore::{check_restored, end_restore};
pub use setup::log_file;
pub use supervisor::State;
pub use upgrade::{GapNotice, Hardening, Upgrade};
pub use version::{MINIMUM_MAJOR, Version};

use account::Account;
use data_dir::DataDir;
use overrides::Restart;
use postgres::conninfo::Conninfo;
use setup::Credentials;
use superuser::Superuser;
pub use superuser::{AdministratorLogins, POSTGRES};

/// The password of the Supabase CLI's local database, which is publicly known.
pub const DEFAULT_PASSWORD: &str = "postgres";

/// Which password the role `postgres` has. What is random is kept in `pgpass`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Password {
    /// [`DEFAULT_PASSWORD`].
    Default,
    /// A random one.
    Random,
    /// The one that the cluster has; [`DEFAULT_PASSWORD`] in a new cluster.
    KeptOrDefault,
    /// The one that the cluster has; a random one in a new cluster.
    KeptOrRandom,
}

impl Password {
    /// Reports whether a cluster whose password is `stored` goes on with it.
    fn fits(self, stored: &str) -> bool {
        match self {
            Self::Default => stored == DEFAULT_PASSWORD,
            Self::Random => stored != DEFAULT_PASSWORD,
            Self::KeptOrDefault | Self::KeptOrRandom => true,
        }
    }

    /// Returns the password for a cluster without one that fits; `None` for a random one.
    const fn known(self) -> Option<&'static str> {
        match self {
            Self::Default | Self::KeptOrDefault => Some(DEFAULT_PASSWORD),
            Self::Random | Self::KeptOrRandom => None,
        }
    }
}

/// The database that Basalt uses, as hosted Supabase does. Every cluster has it.
const DATABASE: &str = "postgres";

/// Called before the steps that can take long. It is called inside the Tokio runtime, so it must not block.
pub type ProgressListener = Arc<dyn Fn(&Progress) + Send + Sync>;

/// A step of the start that can take long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The programs are copied into a folder that the user of Postgres has access to.
    CopyingBinaries {
        /// The folder of the copy.
        to: PathBuf,
    },
    /// A new cluster is created, which takes a second or two.
    CreatingCluster {
        /// The version of Postgres.
        version: Version,
    },
    /// A Postgres that an earlier Basalt has left running is shut down.
    StoppingOrphan {
        /// The process id.
        pid: u32,
    },
    /// Postgres is starting; after a crash it recovers first.
    Starting,
    /// A new cluster is created, into which the old one's data is copied.
    Upgrading {
        /// The version that made the old cluster.
        from: Version,
        /// The version of the new one.
        to: Version,
    },
    /// A new cluster with another superuser is created, into which the old one's data is copied.
    Hardening,
    /// The files of the cluster are brought back from a backup, and then its write-ahead log.
    Restoring,
    /// A database is copied to the new cluster, which takes as long as its dump and restoration.
    CopyingDatabase {
        /// The database's name.
        name: String,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CopyingBinaries { to } => write!(f, "copying Postgres to {}", to.display()),
            Self::CreatingCluster { version } => write!(f, "creating the Postgres {version} cluster"),
            Self::StoppingOrphan { pid } => {
                write!(f, "stopping the Postgres of an earlier run (process {pid})")
            }
            Self::Starting => f.write_str("starting Postgres"),
            Self::Upgrading { from, to } => write!(f, "upgrading from Postgres {from} to {to}"),
            Self::Hardening => {
                f.write_str("copying the data into a cluster whose superuser is supabase_admin")
            }
            Self::Restoring => f.write_str("bringing the database back from the backup"),
            Self::CopyingDatabase { name } => write!(f, "copying database {name}"),
        }
    }
}

/// Options of a start.
#[derive(Clone)]
pub struct Options {
    /// The folder of the cluster (`postgres/`), its passwords (`pgpass`), log (`logs/`) and lock.
    pub data_dir: PathBuf,
    /// The port on 127.0.0.1 for `psql`. If it is not free, the next free one is used. 0 uses any free port; with
    /// `None` Postgres does not listen on TCP. Default: 54322, as in the Supabase CLI.
    pub port: Option<u16>,
    /// The password of the role `postgres`. Default: [`Password::Random`].
    pub password: Password,
    /// Whether the role `postgres` is a superuser in a cluster that has another one, too. Default: no.
    pub postgres_superuser: bool,
    /// What Postgres' memory and number of processes are set for. Default: [`Memory::Normal`].
    pub memory: Memory,
    /// Where to look for Postgres.
    pub search: Search,
    /// Where the write-ahead log is archived. Default: nowhere.
    pub archiver: Option<Archiver>,
    /// What the cluster is brought back from the archiver's repository as, which needs a folder without a cluster. Its
    /// own log is then not archived. Default: it is not.
    pub recovery: Option<Recovery>,
    /// Called before the steps that can take long.
    pub progress: Option<ProgressListener>,
}

impl Options {
    /// Returns the default options for the cluster in `data_dir`.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            port: Some(54322),
            password: Password::Random,
            postgres_superuser: false,
            memory: Memory::default(),
            search: Search::new(None),
            archiver: None,
            recovery: None,
            progress: None,
        }
    }

    /// Calls the listener, if there is one.
    fn report(&self, step: &Progress) {
        if let Some(listener) = &self.progress {
            listener(step);
        }
    }
}

/// A running embedded Postgres. If it is dropped without [`Cluster::stop`], it shuts down in the background.
#[derive(Debug)]
pub struct Cluster {
    data: DataDir,
    binaries: Binaries,
    run_dir: PathBuf,
    port: u16,
    wanted_port: Option<u16>,
    credentials: Credentials,
    throwaway: bool,
    is_restored: bool,
    missing_log: Option<String>,
    /// Whom Postgres runs as.
    account: Option<Account>,
    /// Has Postgres restarted.
    restarts: mpsc::Sender<Restart>,
    state: watch::Receiver<State>,
    stop: CancellationToken,
    supervisor: Mutex<Option<JoinHandle<()>>>,
}

impl Cluster {
    /// Starts the cluster of `options.data_dir`, which is created first if there is none, and returns once it accepts
    /// connections. Must be called inside a Tokio runtime, which must live until [`Cluster::stop`].
    ///
    /// Errors: see [`Error`]; each message says what to do.
    pub async fn start(options: Options) -> Result<Self, Error> {
        setup::start(options, false).await
    }

    /// Upgrades the cluster of `options.data_dir`, made by an older major version, to the version that a start would
    /// use. The programs of the older version are in `old`; without it they are searched on this machine. The old
    /// cluster stays in place until the new one is complete; after that it is kept next to the new one. Must be called
    /// inside a Tokio runtime.
    ///
    /// For a cluster whose log is archived, `gap` is called before it is copied: what its Postgres writes then is not
    /// archived.
    ///
    /// Errors: see [`Error`]; each message says what to do. With `gap`, [`Error::NotArchived`] while the archive does not
    /// have all of the old cluster. After an error, the data is unchanged.
    pub async fn upgrade(
        options: Options,
        old: Option<&Path>,
        gap: Option<GapNotice<'_>>,
    ) -> Result<Upgrade, Error> {
        upgrade::run(options, old, gap).await
    }

    /// Copies the cluster of `options.data_dir`, whose superuser is `postgres`, into a new one of the same version
    /// whose superuser is `supabase_admin`, so that `postgres` has the rights that hosted Supabase gives it. The old
    /// cluster is kept next to the new one. Must be called inside a Tokio runtime.
    ///
    /// Errors: as for [`Self::upgrade`].
    pub async fn harden(options: Options, gap: Option<GapNotice<'_>>) -> Result<Hardening, Error> {
        upgrade::harden(options, gap).await
    }

    /// Reports whether `postgres` is the superuser of the cluster in `data_dir`: in clusters of older releases and of
    /// Postgres 15. `None` if there is no cluster.
    ///
    /// Errors: if the cluster's folder cannot be read.
    pub fn is_postgres_superuser(data_dir: &Path) -> Result<Option<bool>, Error> {
        let cluster = layout::cluster_in(data_dir);
        if !cluster.exists() {
            return Ok(None);
        }
        Ok(Some(Superuser::of(&cluster)? == Superuser::Postgres))
    }

    /// Reports whether the role `postgres` of the cluster in `data_dir` has [`DEFAULT_PASSWORD`]. `None` if there is no
    /// cluster yet.
    pub fn has_default_password(data_dir: &Path) -> Option<bool> {
        superuser::stored_password(data_dir, POSTGRES).map(|stored| stored == DEFAULT_PASSWORD)
    }

    /// Starts a new, temporary cluster, for tests. Its folder is removed by [`Cluster::stop`] or after the end of this
    /// process. It trades durability for speed, and it listens on TCP only if there is a `port`.
    pub async fn ephemeral(search: Search, port: Option<u16>) -> Result<Self, Error> {
        let name = format!("basalt-ephemeral-{:016x}", rand::random::<u64>());
        let data_dir = std::env::temp_dir().join(name);
        // Other users may enter it, so that the socket's folder can be inside and is removed together with it.
        let created = std::fs::DirBuilder::new().mode(0o711).create(&data_dir);
        created.map_err(Error::io("create", &data_dir))?;
        setup::start(Options { port, search, ..Options::new(data_dir) }, true).await
    }

    /// Returns the file of the log that the repository lacks, if the cluster was to be brought back up to a later position:
    /// it is as it was at the end of the file before that.
    pub fn missing_log(&self) -> Option<&str> {
        self.missing_log.as_deref()
    }

    /// Returns the parameters with which the superuser logs in over the private Unix socket.
    pub fn login(&self) -> Conninfo {
        self.login_as(self.superuser(), self.password())
    }

    /// Returns the parameters with which the role `postgres` logs in over the private Unix socket. In clusters of older
    /// releases it is the superuser.
    pub fn postgres_login(&self) -> Conninfo {
        self.login_as(POSTGRES, self.credentials.postgres_password.expose())
    }

    /// Returns the parameters with which `role` logs in over the private Unix socket. They stay valid when Postgres is
    /// restarted.
    pub fn login_as(&self, role: &str, password: &str) -> Conninfo {
        Conninfo::login(&self.run_dir.to_string_lossy(), self.port, role, password, DATABASE)
    }

    /// Returns the parameters with which `role` logs in over TCP, for other programs; `None` without a port.
    pub fn tcp_login(&self, role: &str, password: &str) -> Option<Conninfo> {
        self.tcp_port().map(|port| Conninfo::login("127.0.0.1", port, role, password, DATABASE))
    }

    /// Returns the port on 127.0.0.1, which may differ from the configured one; `None` without one.
    pub fn tcp_port(&self) -> Option<u16> {
        self.wanted_port.map(|_| self.port)
    }

    /// Returns the parameters with which the role `postgres` logs in over TCP, for other programs; `None` without a
    /// port.
    pub fn postgres_tcp_login(&self) -> Option<Conninfo> {
        self.tcp_login(POSTGRES, self.credentials.postgres_password.expose())
    }

    /// Returns the superuser's name: `supabase_admin`, or `postgres` in clusters of older releases.
    pub fn superuser(&self) -> &'static str {
        self.credentials.superuser.name()
    }

    /// Returns the superuser's password, which must not be logged.
    pub fn password(&self) -> &str {
        self.credentials.superuser_password.expose()
    }

    /// Returns the file with the passwords of the superuser and of `postgres`, for libpq's `PGPASSFILE`.
    pub fn password_file(&self) -> PathBuf {
        self.data.password_file()
    }

    /// Returns the folder of the private Unix socket.
    pub fn socket_dir(&self) -> &Path {
        &self.run_dir
    }

    /// Returns the programs of this Postgres.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Returns a receiver of the cluster's state.
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Returns what reads and changes the settings of this Postgres while it runs.
    pub fn overrides(&self) -> Overrides {
        let (superuser, folder) = (self.credentials.superuser, self.data.cluster());
        Overrides::new(self.login(), superuser, folder, self.account.clone(), self.restarts.clone())
    }

    /// Shuts Postgres down: ends all sessions and writes everything to disk. Returns when all processes that were
    /// started have ended, after at most 30 seconds, and reports whether everything was written. A second call returns
    /// the same result at once.
    pub async fn stop(&self) -> bool {
        self.stop.cancel();
        if let Some(supervisor) = self.supervisor.lock().await.take() {
            // It fails only if the supervisor panicked; the watchdog then ends Postgres.
            let _ = supervisor.await;
            // What cannot be removed now is removed or reused by the next start.
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
