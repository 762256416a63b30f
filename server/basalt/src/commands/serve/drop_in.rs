//! `basalt serve --only rest` on a database that is somebody else's: a stand-in for the `postgrest` binary.
//!
//! The service is at `/`, without API keys; nothing is written to disk, and nothing in the database is changed.

pub(in crate::commands) mod instead;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use database::Database;
use poem::listener::{AcceptorExt as _, BoxAcceptor, Listener as _, UnixListener};
use rest::Rest;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::LIMITS;
use super::signals::Signals;
use crate::error::Error;
use crate::ports::{self, Connections};
use crate::settings::{DropIn, Flags, Place};
use crate::{accept, console, logging};

/// How long clients are not let in while the schema cache is loaded.
const READY_LIMIT: Duration = Duration::from_secs(5);
/// The SQLSTATE of a password that is refused.
const WRONG_PASSWORD: &str = "28P01";
/// How long the service's own socket may take to let the admin server in.
const PROBE_LIMIT: Duration = Duration::from_secs(1);
/// How often it is looked whether the database is there, until it is or as long as its loss is to end the process.
const LOSS_INTERVAL: Duration = Duration::from_secs(1);

/// Serves until SIGINT or SIGTERM, or until the database is gone if there is to be no recovery. SIGUSR1 and SIGUSR2
/// read settings and schema cache again.
pub(in crate::commands) async fn run(flags: Flags, settings: DropIn) -> Result<(), Error> {
    accept::open_more_files();
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let signals = Signals::listen()?;
    let database = Database::connect(settings.database.clone()).await?;
    let rest = rest::service_from(reread(flags, settings.rest.clone()), database.clone(), None);
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let (keeper, ending) = (rest.clone(), stop.clone());
    tasks.spawn(async move { keeper.keep_fresh(ending).await });
    let (reloaded, ending) = (rest.clone(), stop.clone());
    let reloading = reload_on_signals(reloaded)?;
    tasks.spawn(async move { ending.run_until_cancelled(reloading).await });
    let served = tokio::select! {
        served = serve(&settings, &rest, &signals, &stop) => served,
        error = unusable(&database, settings.server.automatic_recovery) => Err(error),
    };
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    database.close().await;
    served
}

/// Settings as variables, the files that they name and the configuration file have them at this moment, and the level
/// of the log with them; those of the last time while they cannot be used.
fn reread(flags: Flags, first: rest::Settings) -> impl Fn() -> rest::Settings + Send + Sync {
    let last = Mutex::new(first);
    move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        match DropIn::load(&flags) {
            Ok(Some(now)) => {
                logging::say(&now.server.log_level);
                *last = now.rest;
            }
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "the settings are not read again; the old ones still hold"),
        }
        last.clone()
    }
}

/// Waits until the database cannot be used for good: at the start it refuses the password, or at any time it is not there
/// and, unless the service `recovers`, is not waited for. That is the error that it returns.
async fn unusable(database: &Database, recovers: bool) -> Error {
    loop {
        match database.ping().await {
            Err(database::Error::Postgres(error)) if error.code == WRONG_PASSWORD => {
                return Error::Advice(format!("the database refuses the login: {}", error.message));
            }
            Err(error) if error.is_unavailable() && !recovers => {
                return Error::Advice(format!(
                    "the database is gone ({error}) and db-pool-automatic-recovery is off: start again once it is back"
                ));
            }
            Ok(()) if recovers => return std::future::pending().await,
            _ => {}
        }
        tokio::time::sleep(LOSS_INTERVAL).await;
    }
}

async fn serve(
    settings: &DropIn,
    rest: &Rest,
    signals: &Signals,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let admin = match &settings.admin {
        Some(place) => Some(listen("Admin server", place, false).await?),
        None => None,
    };
    let main: Arc<OnceLock<Door>> = Arc::default();
    let administered = async {
        if let Some(Listening { acceptor, door: _door }) = admin {
            accept::serve(acceptor, rest.admin(probe(&main)), accept::may_write, stop.clone(), LIMITS).await;
        }
    };
    let served = async {
        wait_until_tried(rest).await;
        let Listening { acceptor, door } = listen("API server", &settings.place, settings.server.reuseport)
            .await
            .inspect_err(|_| stop.cancel())?;
        let _ = main.set(door);
        accept::serve(acceptor, rest.standalone(), accept::may_write, stop.clone(), LIMITS).await;
        Ok(())
    };
    let stopping = async {
        tokio::select! {
            () = signals.stop() => stop.cancel(),
            () = stop.cancelled() => {}
        }
    };
    let ((), served, ()) = tokio::join!(administered, served, stopping);
    served
}

/// A client that comes right after the start should find the schema cache there, or hear that it cannot be loaded.
async fn wait_until_tried(rest: &Rest) {
    if tokio::time::timeout(READY_LIMIT, rest.tried()).await.is_err() || !rest.is_ready() {
        tracing::warn!("the schema cache is not loaded yet; every request is answered with 503 until it is");
    }
}

fn reload_on_signals(rest: Rest) -> Result<impl Future<Output = ()>, Error> {
    let open = |kind| signal(kind).map_err(Error::io("listen for signals"));
    let (mut first, mut second) = (open(SignalKind::user_defined1())?, open(SignalKind::user_defined2())?);
    Ok(async move {
        loop {
            tokio::select! {
                _ = first.recv() => {}
                _ = second.recv() => {}
            }
            rest.reload();
        }
    })
}

/// Tells whether `main` is open.
fn probe(main: &Arc<OnceLock<Door>>) -> rest::Probe {
    let main = Arc::clone(main);
    Arc::new(move || {
        let main = Arc::clone(&main);
        Box::pin(async move {
            match main.get() {
                Some(door) => tokio::time::timeout(PROBE_LIMIT, door.is_open()).await.unwrap_or(false),
                None => false,
            }
        })
    })
}

/// Where connections come in.
pub(super) enum Door {
    Port(SocketAddr),
    /// A socket that is removed when nobody listens any more.
    Socket(PathBuf),
}

impl Door {
    async fn is_open(&self) -> bool {
        match self {
            Self::Port(address) if address.ip().is_unspecified() => {
                let own: IpAddr = match address {
                    SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                    SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
                };
                TcpStream::connect((own, address.port())).await.is_ok()
            }
            Self::Port(address) => TcpStream::connect(address).await.is_ok(),
            Self::Socket(path) => UnixStream::connect(path).await.is_ok(),
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Self::Socket(path) = self {
            // Nobody can do anything about one that cannot be removed.
            let _ = remove_stale(path);
        }
    }
}

/// A door, and what comes in through it.
pub(super) struct Listening {
    pub(super) acceptor: BoxAcceptor,
    /// Shut when it is dropped.
    pub(super) door: Door,
}

/// Listens at `place`, beside other processes if that is to be, and says so.
pub(super) async fn listen(what: &str, place: &Place, reuse_port: bool) -> Result<Listening, Error> {
    match place {
        Place::Port(host, port) => {
            let listener = bind(host, *port, reuse_port).await;
            let listener = listener.map_err(Error::io(format!("listen on {host}:{port}")))?;
            let connections = Connections::new(listener)?;
            console::note(format_args!("{what} listening on {}", connections.address()));
            let door = Door::Port(connections.address());
            Ok(Listening { acceptor: connections.boxed(), door })
        }
        Place::Socket(path, mode) => {
            let doing = || format!("listen on {}", path.display());
            remove_stale(path).map_err(Error::io(doing()))?;
            let permissions = std::fs::Permissions::from_mode(*mode);
            let listener = UnixListener::bind(path.clone()).with_permissions(permissions);
            let acceptor = listener.into_acceptor().await.map_err(Error::io(doing()))?;
            console::note(format_args!("{what} listening on {}", path.display()));
            Ok(Listening { acceptor: acceptor.boxed(), door: Door::Socket(path.clone()) })
        }
    }
}

/// Upstream's names of all addresses of a family, else a host's name or address.
async fn bind(host: &str, port: u16, reuse_port: bool) -> std::io::Result<TcpListener> {
    let (any4, any6) = ((Ipv4Addr::UNSPECIFIED, port).into(), (Ipv6Addr::UNSPECIFIED, port).into());
    let bind = |address| ports::bind(address, reuse_port);
    match host {
        "!4" | "*4" => bind(any4),
        "!6" => bind(any6),
        // On most systems a socket of IPv6 takes IPv4, too; some have no IPv6.
        "*" | "*6" => bind(any6).or_else(|_| bind(any4)),
        host => {
            let mut refused = std::io::ErrorKind::AddrNotAvailable.into();
            for address in tokio::net::lookup_host((host, port)).await? {
                match bind(address) {
                    Ok(listener) => return Ok(listener),
                    Err(error) => refused = error,
                }
            }
            Err(refused)
        }
    }
}

/// Removes the socket that a process before this one has left, and nothing else.
fn remove_stale(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path),
        _ => Ok(()),
    }
}
