//! Mails to an SMTP server (RFC 5321), encrypted where the server can (RFC 3207, RFC 8314).

use std::time::{Duration, Instant};

use fairness::{FairSemaphore, Refusal};
use lettre::Message;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use parking_lot::Mutex;

use super::MailError;
use super::message::host;
use crate::SmtpSettings;

/// The port on which TLS comes first.
const IMPLICIT_TLS_PORT: u16 = 465;
/// Longest time for one mail, waiting for a connection included: less than a request may take.
const TIMEOUT: Duration = Duration::from_secs(9);
/// Mails that are sent at the same time, each over a connection of its own.
const CONNECTIONS: usize = 4;
/// Mails that may wait for one of those.
const QUEUE_LENGTH: usize = 96;
/// How long an unused connection is kept; servers close theirs after a few minutes.
const IDLE: Duration = Duration::from_secs(30);

/// A mail server and the connections to it.
pub(super) struct Smtp {
    host: String,
    port: u16,
    /// Whether TLS starts before the first command.
    pub(super) implicit_tls: bool,
    credentials: Option<Credentials>,
    tls: TlsParameters,
    hello: ClientId,
    queue: MailQueue,
    idle: Mutex<Vec<(AsyncSmtpConnection, Instant)>>,
}

/// The mails that are being sent to a mail server or wait for it. Cheap to clone: clones are one queue.
///
/// It has a permit for each connection; networks of callers get them in turn.
#[derive(Clone)]
pub(crate) struct MailQueue(FairSemaphore);

impl Default for MailQueue {
    fn default() -> Self {
        Self(FairSemaphore::new(CONNECTIONS, QUEUE_LENGTH))
    }
}

impl MailQueue {
    /// Returns how many mails are being sent, or wait for it.
    pub(crate) fn pending(&self) -> usize {
        self.0.held() + self.0.waiting()
    }

    /// Returns how many mails may be.
    pub(crate) const fn most_pending() -> usize {
        CONNECTIONS + QUEUE_LENGTH
    }
}

impl Smtp {
    /// Creates the client for the server of `settings`. Does not connect yet.
    ///
    /// Errors: a sentence for certificates that cannot be read.
    pub(super) fn new(settings: &SmtpSettings, external_url: &str, queue: MailQueue) -> Result<Self, String> {
        let mut tls = TlsParameters::builder(settings.host.clone());
        if let Some(file) = &settings.root_certificate {
            let refuse =
                |error: String| format!("the mail server's root certificate {}: {error}", file.display());
            let pem = std::fs::read(file).map_err(|error| refuse(error.to_string()))?;
            let certificate = Certificate::from_pem(&pem).map_err(|error| refuse(error.to_string()))?;
            tls = tls.add_root_certificate(certificate);
        }
        let credentials = || Credentials::new(settings.user.clone(), settings.password.expose().to_owned());
        Ok(Self {
            host: settings.host.clone(),
            port: settings.port,
            implicit_tls: settings.port == IMPLICIT_TLS_PORT,
            credentials: (!settings.user.is_empty()).then(credentials),
            tls: tls.build().map_err(|error| format!("no TLS for the mail server: {error}"))?,
            hello: ClientId::Domain(host(external_url)),
            queue,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// Hands `message` over; the server has accepted it when this returns.
    pub(super) async fn send(&self, message: &Message) -> Result<(), MailError> {
        let late = || format!("no answer within {} s", TIMEOUT.as_secs());
        let attempt = async {
            let _permit = match self.queue.0.acquire(fairness::caller(), TIMEOUT).await {
                Ok(permit) => permit,
                Err(Refusal::Full) => return Err(MailError::Busy(self.queue.0.waiting())),
                Err(Refusal::Late | Refusal::Closed) => return Err(self.failure(late())),
            };
            self.deliver(message).await.map_err(|error| self.failure(error))
        };
        let attempt = tokio::time::timeout(TIMEOUT, attempt).await;
        attempt.unwrap_or_else(|_| Err(self.failure(late())))
    }

    fn failure(&self, error: String) -> MailError {
        MailError::Server(format!("{}:{}", self.host, self.port), error)
    }

    async fn deliver(&self, message: &Message) -> Result<(), String> {
        let mut connection = match self.idle_connection().await {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let sent = connection.send(message.envelope(), &message.formatted()).await;
        match sent {
            Ok(_) => {
                self.keep(connection);
                Ok(())
            }
            // The connection has been closed already, as after every error.
            Err(error) => Err(with_cause(&error)),
        }
    }

    /// Returns a connection that is still alive.
    async fn idle_connection(&self) -> Option<AsyncSmtpConnection> {
        loop {
            let (mut connection, since) = self.idle.lock().pop()?;
            if since.elapsed() < IDLE && connection.test_connected().await {
                return Some(connection);
            }
        }
    }

    fn keep(&self, connection: AsyncSmtpConnection) {
        let mut idle = self.idle.lock();
        idle.retain(|(_, since)| since.elapsed() < IDLE);
        idle.push((connection, Instant::now()));
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, String> {
        let tls = self.implicit_tls.then(|| self.tls.clone());
        let server = (self.host.as_str(), self.port);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, Some(TIMEOUT), &self.hello, tls, None)
                .await
                .map_err(|error| with_cause(&error))?;
        if connection.can_starttls() {
            let upgraded = connection.starttls(self.tls.clone(), &self.hello).await;
            upgraded.map_err(|error| with_cause(&error))?;
        }
        self.log_in(&mut connection).await?;
        Ok(connection)
    }

    /// Logs in where a user is set and the server asks for one: relays in a private network often do not.
    async fn log_in(&self, connection: &mut AsyncSmtpConnection) -> Result<(), String> {
        let mechanism = connection.server_info().get_auth_mechanism(DEFAULT_MECHANISMS);
        let (Some(credentials), Some(_)) = (&self.credentials, mechanism) else { return Ok(()) };
        if !connection.is_encrypted() && !self.is_local() {
            connection.abort().await;
            return Err(
                "it offers no encryption (STARTTLS), and a password is not sent in the clear".to_owned()
            );
        }
        let reply = connection.auth(DEFAULT_MECHANISMS, credentials).await;
        reply.map(drop).map_err(|error| with_cause(&error))
    }

    fn is_local(&self) -> bool {
        matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1")
    }
}

/// Returns the error with what lies beneath it.
fn with_cause(error: &lettre::transport::smtp::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) if !error.to_string().contains(&cause.to_string()) => format!("{error}: {cause}"),
        _ => error.to_string(),
    }
}
