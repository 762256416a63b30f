//! A port on which other machines reach the embedded Postgres, which itself listens on this machine only.
//!
//! Connections are encrypted here, and those of addresses that are not allowed, or that have failed to log in too often,
//! are refused before Postgres sees them. The logins of the server's own services are not for others. The statements for
//! which `postgres` has too few rights are done for it, as in migrations.
//!
//! Source: PostgreSQL documentation, sections 55.2 and 55.7.

mod certificate;
mod relay;
mod rules;
mod startup;
mod statements;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use acme::Certificates;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::Error;
use crate::ports;
use crate::settings::Settings;
use rules::Place;

pub(crate) use certificate::OwnCertificate;
pub(crate) use rules::Gate;

/// How many connections may be open. Postgres takes 140, of which the services need most.
const CONNECTIONS: usize = 50;
/// How long a client may take until it has said who it is.
const GREETING_LIMIT: Duration = Duration::from_secs(15);
/// How long connections may take to end when the server stops.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// The port, which is open.
pub(crate) struct DatabasePort {
    listener: TcpListener,
    tls: TlsAcceptor,
    certificate: Option<OwnCertificate>,
    gate: Arc<Gate>,
    /// The embedded Postgres.
    postgres: SocketAddr,
    slots: Semaphore,
}

impl DatabasePort {
    /// Listens where `settings` say; `None` if they name no address. `postgres` is the embedded Postgres on this machine.
    /// Without a certificate of its own, the port shows that of `https`.
    ///
    /// Errors: if the port is taken, the certificate cannot be read, or the password of `postgres` is the one that
    /// everybody knows.
    pub(crate) async fn listen(
        settings: &Settings,
        postgres: Option<u16>,
        https: Option<Arc<Certificates>>,
    ) -> Result<Option<Self>, Error> {
        let (Some(address), Some(port)) = (settings.database.listen, postgres) else { return Ok(None) };
        let is_local = address.ip().is_loopback();
        if !is_local && settings.has_default_password() {
            return Err(Error::Advice(
                "basalt.database.listen: other machines would log in with the password \"postgres\", which everybody \
                 knows: set basalt.default_database_password = false"
                    .to_owned(),
            ));
        }
        let certificate = OwnCertificate::read(settings)?;
        let tls = certificate::acceptor(settings, certificate.as_ref(), https)?;
        let listener = ports::bind(address, false)
            .map_err(Error::io(format!("listen on {address} for the database")))?;
        Ok(Some(Self {
            listener,
            tls,
            certificate,
            gate: Arc::new(Gate::new(!is_local)),
            postgres: SocketAddr::from(([127, 0, 0, 1], port)),
            slots: Semaphore::new(CONNECTIONS),
        }))
    }

    /// Returns what decides who may connect.
    pub(crate) fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.gate)
    }

    /// Returns the operator's certificate for this port, if there is one.
    pub(crate) fn certificate(&self) -> Option<OwnCertificate> {
        self.certificate.clone()
    }

    /// Accepts connections until `stop` is cancelled, and follows the files of the operator's certificate.
    pub(crate) async fn serve(self, stop: &CancellationToken) {
        let certificate = self.certificate();
        let following = async {
            if let Some(certificate) = certificate {
                stop.run_until_cancelled(certificate.keep()).await;
            }
        };
        tokio::join!(self.accept(stop), following);
    }

    async fn accept(self, stop: &CancellationToken) {
        let tasks = TaskTracker::new();
        let port = Arc::new(self);
        loop {
            let accepted = tokio::select! {
                accepted = port.listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            let Ok((stream, peer)) = accepted else {
                // The usual reason is a lack of file descriptors.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Some(place) = port.gate.enter(peer.ip()) else { continue };
            let (port, stop) = (Arc::clone(&port), stop.clone());
            tasks.spawn(async move {
                let served = port.serve_one(stream, place);
                if let Some(Err(error)) = stop.run_until_cancelled(served).await {
                    tracing::debug!(%error, address = %peer.ip(), "a connection to the database ended");
                }
            });
        }
        tasks.close();
        let _ = timeout(STOP_LIMIT, tasks.wait()).await;
    }

    /// Serves one client.
    async fn serve_one(&self, stream: TcpStream, place: Place) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let greeted = timeout(GREETING_LIMIT, startup::greet(stream, &self.tls, self.gate.needs_tls())).await;
        let Some((mut client, greeting)) = greeted.map_err(std::io::Error::other)?? else { return Ok(()) };
        let message = match greeting.checked() {
            Ok(message) => message,
            Err(refusal) => return startup::refuse(&mut client, &refusal).await,
        };
        let Ok(_slot) = self.slots.try_acquire() else {
            tracing::warn!("a connection to the database is refused: there are too many");
            return startup::refuse(&mut client, &("53300", "sorry, too many clients already".to_owned()))
                .await;
        };
        let server = TcpStream::connect(self.postgres).await?;
        server.set_nodelay(true)?;
        relay::relay(client, server, &message, |is_refused| place.leave(is_refused)).await
    }
}
