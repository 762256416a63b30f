//! What `postgrest` does instead of serving: `--dump-config`, `--dump-schema` and `--ready`.
//!
//! Source: PostgREST's documentation, "CLI".

use std::io;
use std::time::Duration;

use database::Database;
use rest::Rest;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use crate::console;
use crate::error::Error;
use crate::settings::{DropIn, Place};

/// What to do instead of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Instead {
    /// Print the settings in force, those of the database included.
    Config,
    /// Print the schema cache.
    Schema,
    /// Ask the server that runs with these settings whether it is ready.
    Ready,
}

/// How long a server may take to say whether it is ready; it asks Postgres itself for two seconds at most.
const READY_LIMIT: Duration = Duration::from_secs(5);
/// A status line and some headers.
const LONGEST_ANSWER: u64 = 4096;

/// Does that and ends.
pub(in crate::commands) async fn run(settings: DropIn, instead: Instead) -> Result<(), Error> {
    if instead == Instead::Ready {
        return ready(&settings).await;
    }
    let database = database::Settings { channel: None, ..settings.database.clone() };
    let database = Database::connect(database).await?;
    let rest = rest::service(settings.rest.clone(), database.clone(), None);
    let printed = match instead {
        Instead::Schema => schema(&rest).await,
        _ => {
            console::print(configuration(settings, &rest).await.trim_end());
            Ok(())
        }
    };
    database.close().await;
    printed
}

async fn schema(rest: &Rest) -> Result<(), Error> {
    let failed =
        |reason: &dyn std::fmt::Display| Error::Service { service: "REST", reason: reason.to_string() };
    rest.load().await.map_err(|error| failed(&error))?;
    console::print(rest.schema_cache().map_err(|error| failed(&error))?);
    Ok(())
}

/// The settings in force. A database that cannot be asked for its own has none.
async fn configuration(mut settings: DropIn, rest: &Rest) -> String {
    if let Err(error) = rest.read_settings().await {
        tracing::warn!(%error, "the settings in the database are not among these");
    }
    settings.rest = rest.settings();
    settings.text()
}

async fn ready(settings: &DropIn) -> Result<(), Error> {
    let Some(place) = &settings.admin else {
        return Err(Error::Advice(
            "--ready asks the admin server: set admin-server-port to have one".to_owned(),
        ));
    };
    let (name, asked) = match place {
        Place::Socket(path, _) => {
            let asked = async { ask(UnixStream::connect(path).await?).await };
            (path.display().to_string(), tokio::time::timeout(READY_LIMIT, asked).await)
        }
        Place::Port(host, port) => {
            // A server that listens on all addresses listens on the loopback interface, too.
            let host =
                if matches!(host.as_str(), "*" | "*4" | "!4" | "*6" | "!6") { "localhost" } else { host };
            let asked = async { ask(TcpStream::connect((host, *port)).await?).await };
            (format!("http://{host}:{port}/ready"), tokio::time::timeout(READY_LIMIT, asked).await)
        }
    };
    match asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(200) => {
            console::print(format_args!("OK: {name}"));
            Ok(())
        }
        Ok(status) => Err(Error::Advice(format!("not ready: {name} answered with status {status}"))),
        Err(error) => Err(Error::Advice(format!("not ready: {name}: {error}"))),
    }
}

/// The status that `/ready` is answered with.
async fn ask(mut server: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<u16> {
    server.write_all(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
    let mut answer = Vec::new();
    server.take(LONGEST_ANSWER).read_to_end(&mut answer).await?;
    let line = String::from_utf8_lossy(&answer);
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is no HTTP server"))
}
