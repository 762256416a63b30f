//! `basalt serve --only rest` on a database that is somebody else's: a stand-in for the `postgrest` binary.
//!
//! The service is at `/`, without API keys; nothing is written to disk, and nothing in the database is changed.

pub(in crate::commands) mod instead;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use database::Database;
use poem::listener::{AcceptorExt as _, BoxAcceptor, Listener as _, UnixListener};
use rest::Rest;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::LIMITS;
use super::signals::Signals;
use crate::error::Error;
use crate::ports::{self, Connections};
use crate::settings::{DropIn, Flags, Place};
use crate::{accept, console};

/// How often it is looked whether the schema cache is loaded, and for how long before clients are let in.
const READY_PAUSE: Duration = Duration::from_millis(2);
const READY_LIMIT: Duration = Duration::from_secs(5);
/// How often it is looked whether the database is there, where its loss is to end the process.
const LOSS_INTERVAL: Duration = Duration::from_secs(1);

/// Serves until SIGINT or SIGTERM, or until the database is gone if there is to be no recovery. SIGUSR1 and SIGUSR2
/// read settings and schema cache again.
pub(in crate::commands) async fn run(flags: Flags, settings: DropIn) -> Result<(), Error> {
    accept::open_more_files();
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    if let Some(secret) = &settings.rest.jwt_secret {
        // What the service would only log is a reason not to start at all.
        tokens::Verifier::from_secret(secret.expose(), settings.rest.jwt_secret_is_base64)?;
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
        error = lost(&database), if !settings.recovers => Err(error),
    };
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    database.close().await;
    served
}

/// Settings as variables and file have them at this moment; those of the last time while the file cannot be used.
fn reread(flags: Flags, first: rest::Settings) -> impl Fn() -> rest::Settings + Send + Sync {
    let last = Mutex::new(first);
    move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        match flags.file.as_ref().map(|_| DropIn::load(&flags)) {
            Some(Ok(Some(now))) => *last = now.rest,
            Some(Err(error)) => {
                tracing::error!(%error, "the file is not read again; its old settings still hold")
            }
            Some(Ok(None)) | None => {}
        }
        last.clone()
    }
}

/// Waits until the database is not there, which is the error that it returns.
async fn lost(database: &Database) -> Error {
    loop {
        tokio::time::sleep(LOSS_INTERVAL).await;
        match database.ping().await {
            Err(error) if error.is_unavailable() => {
                return Error::Advice(format!(
                    "the database is gone ({error}) and db-pool-automatic-recovery is off: start again once it is back"
                ));
            }
            _ => {}
        }
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
    let administered = async {
        if let Some(acceptor) = admin {
            accept::serve(acceptor, rest.admin(), accept::may_write, stop.clone(), LIMITS).await;
        }
    };
    let served = async {
        wait_until_ready(rest).await;
        let acceptor = listen("API server", &settings.place, settings.reuse_port)
            .await
            .inspect_err(|_| stop.cancel())?;
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

/// A client that comes right after the start should find the schema cache there.
async fn wait_until_ready(rest: &Rest) {
    let loaded = async {
        while !rest.is_ready() {
            tokio::time::sleep(READY_PAUSE).await;
        }
    };
    if tokio::time::timeout(READY_LIMIT, loaded).await.is_err() {
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

/// Listens at `place`, beside other processes if that is to be, and says so.
pub(super) async fn listen(what: &str, place: &Place, reuse_port: bool) -> Result<BoxAcceptor, Error> {
    match place {
        Place::Port(host, port) => {
            let listener = bind(host, *port, reuse_port).await;
            let listener = listener.map_err(Error::io(format!("listen on {host}:{port}")))?;
            let connections = Connections::new(listener)?;
            console::note(format_args!("{what} listening on {}", connections.address()));
            Ok(connections.boxed())
        }
        Place::Socket(path, mode) => {
            let doing = || format!("listen on {}", path.display());
            remove_stale(path).map_err(Error::io(doing()))?;
            let permissions = std::fs::Permissions::from_mode(*mode);
            let listener = UnixListener::bind(path.clone()).with_permissions(permissions);
            let acceptor = listener.into_acceptor().await.map_err(Error::io(doing()))?;
            console::note(format_args!("{what} listening on {}", path.display()));
            Ok(acceptor.boxed())
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
