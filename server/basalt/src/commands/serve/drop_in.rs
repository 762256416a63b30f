//! `basalt serve --only rest` on a database that Basalt does not manage: a replacement for the `postgrest` binary.
//!
//! The service is at `/`, without API keys; nothing is written to disk, and nothing in the database is changed.

pub(in crate::commands) mod action;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use poem::listener::{AcceptorExt as _, BoxAcceptor, Listener as _, UnixListener};
use postgres::Database;
use rest::Rest;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::LIMITS;
use super::signals;
use crate::error::Error;
use crate::ports::{self, Connections};
use crate::settings::{DropIn, Invocation, ListenAddress};
use crate::{accept, console, logging};

/// How long the API port stays closed while the schema cache is loaded.
const READY_LIMIT: Duration = Duration::from_secs(5);
/// The SQLSTATE of a refused password.
const WRONG_PASSWORD: &str = "28P01";
/// How long a connection to the API's own port may take. The admin server connects to it to check that it is open.
const PROBE_LIMIT: Duration = Duration::from_secs(1);
/// How often the database is checked: until it first answers, or always if the process ends when it loses the database.
const PING_INTERVAL: Duration = Duration::from_secs(1);

/// Serves until SIGINT or SIGTERM or, without automatic recovery, until the database cannot be reached. On SIGUSR1 and
/// SIGUSR2 settings and schema cache are read again.
pub(in crate::commands) async fn run(invocation: Invocation, settings: DropIn) -> Result<(), Error> {
    accept::raise_file_limit();
    logging::log_warnings(&settings.settings.warnings);
    let signals = signals::listen()?;
    let database = Database::connect(settings.database.clone()).await?;
    let reader = settings_reader(invocation, settings.settings.service.clone());
    let rest = rest::service_from(reader, database.clone(), None);
    let (stop, tasks) = (signals.child_token(), TaskTracker::new());
    let (keeper, ending) = (rest.clone(), stop.clone());
    tasks.spawn(async move { keeper.keep_fresh(ending).await });
    let (reloaded, ending) = (rest.clone(), stop.clone());
    let reloading = reload_on_signals(reloaded)?;
    tasks.spawn(async move { ending.run_until_cancelled(reloading).await });
    let served = tokio::select! {
        served = serve(&settings, &rest, &stop) => served,
        error = unusable(&database, settings.settings.server.automatic_recovery) => Err(error),
    };
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    database.close().await;
    served
}

/// Returns a function that reads the settings again, from variables and files, and sets the level of the log. While
/// they are invalid, it returns the last valid ones.
fn settings_reader(
    invocation: Invocation,
    first: rest::Settings,
) -> impl Fn() -> rest::Settings + Send + Sync {
    let last = Mutex::new(first);
    move || {
        let mut last = last.lock();
        match DropIn::read(&invocation) {
            Ok(Some(now)) => {
                logging::set_request_level(&now.settings.server.log_level);
                *last = now.settings.service;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%error, "the settings are invalid; the previous ones stay in force")
            }
        }
        last.clone()
    }
}

/// Waits until the database is permanently unusable, and returns the reason: it refuses the password at the start, or,
/// if `recovers` is false, it cannot be reached at any time.
async fn unusable(database: &Database, recovers: bool) -> Error {
    loop {
        match database.ping().await {
            Err(postgres::Error::Postgres(error)) if error.code == WRONG_PASSWORD => {
                return Error::Advice(format!("the database refuses the login: {}", error.message));
            }
            Err(error) if error.is_unavailable() && !recovers => {
                return Error::Advice(format!(
                    "the database is not available ({error}) and db-pool-automatic-recovery is off: start again once it is"
                ));
            }
            Ok(()) if recovers => return std::future::pending().await,
            _ => {}
        }
        tokio::time::sleep(PING_INTERVAL).await;
    }
}

async fn serve(settings: &DropIn, rest: &Rest, stop: &CancellationToken) -> Result<(), Error> {
    let admin = match &settings.admin {
        Some(address) => Some(listen("Admin server", address, false).await?),
        None => None,
    };
    let main: Arc<OnceLock<BoundEndpoint>> = Arc::default();
    let administered = async {
        if let Some(BoundListener { acceptor, endpoint: _endpoint }) = admin {
            accept::serve(acceptor, rest.admin(probe(&main)), accept::may_write, stop.clone(), LIMITS).await;
        }
    };
    let served = async {
        wait_until_tried(rest).await;
        let BoundListener { acceptor, endpoint } =
            listen("API server", &settings.address, settings.settings.server.reuseport)
                .await
                .inspect_err(|_| stop.cancel())?;
        let _ = main.set(endpoint);
        accept::serve(acceptor, rest.standalone(), accept::may_write, stop.clone(), LIMITS).await;
        Ok(())
    };
    let ((), served) = tokio::join!(administered, served);
    served
}

/// Waits until the schema cache has been loaded or a load has failed, so that the first client gets a definite answer.
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

/// Returns a function that reports whether `main` accepts connections.
fn probe(main: &Arc<OnceLock<BoundEndpoint>>) -> rest::Probe {
    let main = Arc::clone(main);
    Arc::new(move || {
        let main = Arc::clone(&main);
        Box::pin(async move {
            match main.get() {
                Some(endpoint) => {
                    tokio::time::timeout(PROBE_LIMIT, endpoint.is_open()).await.unwrap_or(false)
                }
                None => false,
            }
        })
    })
}

/// The address or socket on which a server listens.
pub(super) enum BoundEndpoint {
    Port(SocketAddr),
    /// A Unix socket, which is removed when this is dropped.
    Socket(PathBuf),
}

impl BoundEndpoint {
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

impl Drop for BoundEndpoint {
    fn drop(&mut self) {
        if let Self::Socket(path) = self {
            // A socket that cannot be removed is removed by the next start.
            let _ = remove_stale(path);
        }
    }
}

/// A listener.
pub(super) struct BoundListener {
    pub(super) acceptor: BoxAcceptor,
    /// Must be kept while the acceptor is used.
    pub(super) endpoint: BoundEndpoint,
}

/// Listens on `address` and prints it. With `reuse_port` other processes may listen on the same port.
pub(super) async fn listen(
    what: &str,
    address: &ListenAddress,
    reuse_port: bool,
) -> Result<BoundListener, Error> {
    match address {
        ListenAddress::Port(host, port) => {
            let listener = bind(host, *port, reuse_port).await;
            let listener = listener.map_err(Error::io(format!("listen on {host}:{port}")))?;
            let connections = Connections::new(listener)?;
            console::note(format_args!("{what} listening on {}", connections.address()));
            let endpoint = BoundEndpoint::Port(connections.address());
            Ok(BoundListener { acceptor: connections.boxed(), endpoint })
        }
        ListenAddress::Socket(path, mode) => {
            let doing = || format!("listen on {}", path.display());
            remove_stale(path).map_err(Error::io(doing()))?;
            let permissions = std::fs::Permissions::from_mode(*mode);
            let listener = UnixListener::bind(path.clone()).with_permissions(permissions);
            let acceptor = listener.into_acceptor().await.map_err(Error::io(doing()))?;
            console::note(format_args!("{what} listening on {}", path.display()));
            Ok(BoundListener { acceptor: acceptor.boxed(), endpoint: BoundEndpoint::Socket(path.clone()) })
        }
    }
}

/// Binds `host`, which is one of upstream's names for all addresses of a family, or a host's name or address.
async fn bind(host: &str, port: u16, reuse_port: bool) -> std::io::Result<TcpListener> {
    let (any4, any6) = ((Ipv4Addr::UNSPECIFIED, port).into(), (Ipv6Addr::UNSPECIFIED, port).into());
    let bind = |address| ports::bind(address, reuse_port);
    match host {
        "!4" | "*4" => bind(any4),
        "!6" => bind(any6),
        // On most systems an IPv6 socket accepts IPv4, too; some systems have no IPv6.
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

/// Removes a socket that an earlier process has left; other files stay.
fn remove_stale(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path),
        _ => Ok(()),
    }
}
