//! The flags of `postgrest` that run an action and exit: `--dump-config`, `--dump-schema` and `--ready`.
//!
//! Source: PostgREST's documentation, "CLI".

use std::io;
use std::time::Duration;

use postgres::Database;
use rest::{Rest, StandaloneSettings};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use crate::console;
use crate::error::Error;
use crate::settings::{ListenAddress, PostgrestSettings};

/// An action instead of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Prints the effective settings, including those in the database.
    DumpConfig,
    /// Prints the schema cache.
    DumpSchema,
    /// Asks the server that runs with these settings whether it is ready.
    Ready,
}

/// How long a server may take to respond whether it is ready; it waits two seconds at most for Postgres.
const READY_LIMIT: Duration = Duration::from_secs(5);
/// The longest response that is read: a status line and some headers.
const MAX_RESPONSE: u64 = 4096;

/// Runs `action`.
pub(super) async fn run(settings: PostgrestSettings, action: Action) -> Result<(), Error> {
    if action == Action::Ready {
        return ready(&settings).await;
    }
    let database = postgres::Settings { channel: None, ..settings.database.clone() };
    let database = Database::connect(database).await?;
    let rest = rest::service(settings.standalone.service.clone(), database.clone(), None);
    let printed = match action {
        Action::DumpSchema => dump_schema(&rest).await,
        _ => {
            console::print(configuration(settings.standalone, &rest).await.trim_end());
            Ok(())
        }
    };
    database.close().await;
    printed
}

async fn dump_schema(rest: &Rest) -> Result<(), Error> {
    rest.load().await.map_err(Error::service("REST"))?;
    console::print(rest.schema_cache().map_err(Error::service("REST"))?);
    Ok(())
}

/// Returns the effective settings; without those in the database if it cannot be reached.
async fn configuration(mut settings: StandaloneSettings, rest: &Rest) -> String {
    if let Err(error) = rest.read_settings().await {
        tracing::warn!(%error, "the settings in the database could not be read");
    }
    settings.service = rest.settings();
    settings.text()
}

async fn ready(settings: &PostgrestSettings) -> Result<(), Error> {
    let Some(address) = &settings.admin else {
        return Err(Error::Advice(
            "--ready asks the admin server: set admin-server-port to have one".to_owned(),
        ));
    };
    let (name, result) = match address {
        ListenAddress::Socket(path, _) => {
            let request = async { request_readiness(UnixStream::connect(path).await?).await };
            (path.display().to_string(), tokio::time::timeout(READY_LIMIT, request).await)
        }
        ListenAddress::Port(host, port) => {
            // A server that listens on all addresses listens on the loopback interface, too.
            let host =
                if matches!(host.as_str(), "*" | "*4" | "!4" | "*6" | "!6") { "localhost" } else { host };
            let request = async { request_readiness(TcpStream::connect((host, *port)).await?).await };
            (format!("http://{host}:{port}/ready"), tokio::time::timeout(READY_LIMIT, request).await)
        }
    };
    match result.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(200) => {
            console::print(format_args!("OK: {name}"));
            Ok(())
        }
        Ok(status) => Err(Error::Advice(format!("not ready: {name} answered with status {status}"))),
        Err(error) => Err(Error::Advice(format!("not ready: {name}: {error}"))),
    }
}

/// Requests `/ready` and returns the status of the response.
async fn request_readiness(mut server: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<u16> {
    server.write_all(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
    let mut response = Vec::new();
    server.take(MAX_RESPONSE).read_to_end(&mut response).await?;
    let line = String::from_utf8_lossy(&response);
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is not an HTTP server"))
}
