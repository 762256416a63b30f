//! `basalt serve --only rest` on a database that is somebody else's: a stand-in for the `postgrest` binary.
//!
//! The service is at `/`, without API keys; nothing is written to disk, and nothing in the database is changed.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use database::Database;
use poem::listener::{AcceptorExt as _, BoxAcceptor, Listener as _, UnixListener};
use poem::{Endpoint, Server};
use rest::Rest;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::signals::Signals;
use super::{DRAIN, SILENCE};
use crate::console;
use crate::error::Error;
use crate::ports::Connections;
use crate::settings::{DropIn, Place};

/// How often it is looked whether the schema cache is loaded, and for how long before clients are let in.
const READY_PAUSE: Duration = Duration::from_millis(2);
const READY_LIMIT: Duration = Duration::from_secs(5);

/// Serves until SIGINT or SIGTERM. SIGUSR1 and SIGUSR2 read settings and schema cache again.
pub(in crate::commands) async fn run(settings: DropIn) -> Result<(), Error> {
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    if let Some(secret) = &settings.rest.jwt_secret {
        // What the service would only log is a reason not to start at all.
        tokens::Verifier::from_secret(secret.expose(), settings.rest.jwt_secret_is_base64)?;
    }
    let signals = Signals::listen()?;
    let database = Database::connect(settings.database.clone()).await?;
    let rest = rest::service(settings.rest.clone(), database.clone(), None);
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let (keeper, ending) = (rest.clone(), stop.clone());
    tasks.spawn(async move { keeper.keep_fresh(ending).await });
    let (reloaded, ending) = (rest.clone(), stop.clone());
    let reloading = reload_on_signals(reloaded)?;
    tasks.spawn(async move { ending.run_until_cancelled(reloading).await });
    let served = serve(&settings, &rest, &signals, &stop).await;
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    database.close().await;
    served
}

async fn serve(
    settings: &DropIn,
    rest: &Rest,
    signals: &Signals,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let admin = match &settings.admin {
        Some(place) => Some(listen("Admin server", place).await?),
        None => None,
    };
    let administered = async {
        match admin {
            Some(acceptor) => answer(acceptor, rest.admin(), stop.clone()).await,
            None => Ok(()),
        }
    };
    let served = async {
        wait_until_ready(rest).await;
        let acceptor = listen("API server", &settings.place).await.inspect_err(|_| stop.cancel())?;
        answer(acceptor, rest.standalone(), stop.clone()).await
    };
    let stopping = async {
        tokio::select! {
            () = signals.stop() => stop.cancel(),
            () = stop.cancelled() => {}
        }
    };
    let (administered, served, ()) = tokio::join!(administered, served, stopping);
    administered.and(served)
}

async fn answer(
    acceptor: BoxAcceptor,
    endpoint: impl Endpoint + 'static,
    stop: CancellationToken,
) -> Result<(), Error> {
    Server::new_with_acceptor(acceptor)
        .run_with_graceful_shutdown(endpoint, stop.cancelled_owned(), Some(DRAIN))
        .await
        .map_err(Error::io("accept connections"))
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

/// Listens at `place` and says so.
async fn listen(what: &str, place: &Place) -> Result<BoxAcceptor, Error> {
    match place {
        Place::Port(host, port) => {
            let listener = bind(host, *port).await.map_err(Error::io(format!("listen on {host}:{port}")))?;
            let connections = Connections::new(listener, SILENCE)?;
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
async fn bind(host: &str, port: u16) -> std::io::Result<TcpListener> {
    let (any4, any6) = ((Ipv4Addr::UNSPECIFIED, port), (Ipv6Addr::UNSPECIFIED, port));
    match host {
        "!4" | "*4" => TcpListener::bind(any4).await,
        "!6" => TcpListener::bind(any6).await,
        // On most systems a socket of IPv6 takes IPv4, too; some have no IPv6.
        "*" | "*6" => match TcpListener::bind(any6).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(any4).await,
        },
        host => TcpListener::bind((host, port)).await,
    }
}

/// Removes the socket that a process before this one has left, and nothing else.
fn remove_stale(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path),
        _ => Ok(()),
    }
}
