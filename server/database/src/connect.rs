//! Where Postgres is, and how a connection to it is made.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::Host;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::ServerError;
use crate::{Error, Settings, tls};

/// A server to connect to.
pub(crate) struct Target {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) tls: rustls::ClientConfig,
    pub(crate) mode: tls::Mode,
    connect_timeout: Duration,
}

/// What a connection to Postgres runs over.
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection that has logged in and waits for its first statement.
pub(crate) struct Session {
    pub(crate) stream: Stream,
    pub(crate) inbound: BytesMut,
    pub(crate) cancel: CancelKey,
    /// When it was begun to be made: what changed after that may have been seen.
    pub(crate) opened: Instant,
}

/// What a running statement is cancelled with. Source: PostgreSQL documentation, section 55.2.8.
#[derive(Clone, Copy, Default)]
pub(crate) struct CancelKey {
    process_id: i32,
    secret_key: i32,
}

impl Target {
    pub(crate) fn from_uri(uri: &str, settings: &Settings) -> Result<Self, Error> {
        let (uri, options) = split_options(uri);
        let mode = options.mode.as_deref().map_or(Ok(tls::Mode::Prefer), tls::Mode::parse)?;
        // The parser's message names the parameter, never its value, so no password can show.
        let mut config: tokio_postgres::Config = uri.parse().map_err(|error| {
            Error::Configuration(format!("the database URI is not valid: {}", cause(&error)))
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(Error::Configuration("the database URI names no host".to_owned()));
        }
        if config.get_user().is_none() {
            config.user("postgres");
        }
        if config.get_application_name().is_none() {
            config.application_name(&settings.application_name);
        }
        config.connect_timeout(settings.connect_timeout).ssl_mode(mode.negotiation());
        let tls = tls::client_config(mode, options.root_certificate.as_deref())?;
        Ok(Self { config, tls, mode, connect_timeout: settings.connect_timeout })
    }

    /// Connects to the first host that answers and logs in.
    ///
    /// Errors: [`Error::Unavailable`] when none does in time; [`Error::Postgres`] when the login is refused.
    pub(crate) async fn open(&self) -> Result<Session, Error> {
        let login = async {
            let opened = Instant::now();
            let stream = self.open_stream().await?;
            self.log_in(stream, opened).await
        };
        match tokio::time::timeout(self.connect_timeout, login).await {
            Ok(session) => session,
            Err(_) => Err(Error::Unavailable(format!("no connection within {:?}", self.connect_timeout))),
        }
    }

    /// Asks the server to cancel what the connection with `key` is running. The server answers nothing.
    pub(crate) async fn cancel(&self, key: CancelKey) -> Result<(), Error> {
        let request = async {
            let mut stream = self.open_stream().await?;
            let mut message = BytesMut::new();
            frontend::cancel_request(key.process_id, key.secret_key, &mut message);
            stream.write_all(&message).await?;
            stream.shutdown().await.map_err(Error::from)
        };
        tokio::time::timeout(self.connect_timeout, request)
            .await
            .unwrap_or(Err(Error::Timeout(self.connect_timeout)))
    }

    async fn open_stream(&self) -> Result<Stream, Error> {
        let hosts = self.config.get_hosts();
        let ports = self.config.get_ports();
        let mut last = Error::Unavailable("no host to connect to".to_owned());
        for (index, host) in hosts.iter().enumerate() {
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
            match self.open_host(host, port).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn open_host(&self, host: &Host, port: u16) -> Result<Stream, Error> {
        match host {
            Host::Unix(folder) => {
                let socket: PathBuf = folder.join(format!(".s.PGSQL.{port}"));
                Ok(Stream::Unix(UnixStream::connect(socket).await?))
            }
            Host::Tcp(name) => {
                let stream = TcpStream::connect((name.as_str(), port)).await?;
                stream.set_nodelay(true)?;
                self.encrypt(stream, name).await
            }
        }
    }

    /// Asks for TLS as `sslmode` says. Source: PostgreSQL documentation, section 55.2.10.
    async fn encrypt(&self, mut stream: TcpStream, host: &str) -> Result<Stream, Error> {
        if self.mode == tls::Mode::Disable {
            return Ok(Stream::Tcp(stream));
        }
        let mut request = BytesMut::new();
        frontend::ssl_request(&mut request);
        stream.write_all(&request).await?;
        match stream.read_u8().await? {
            b'S' => {
                let name = rustls::pki_types::ServerName::try_from(host.to_owned())
                    .map_err(|error| Error::Configuration(format!("host {host:?}: {error}")))?;
                let connector = TlsConnector::from(Arc::new(self.tls.clone()));
                Ok(Stream::Tls(Box::new(
                    connector
                        .connect(name, stream)
                        .await
                        .map_err(|error| Error::Unavailable(format!("TLS handshake with {host}: {error}")))?,
                )))
            }
            _ if self.mode == tls::Mode::Prefer => Ok(Stream::Tcp(stream)),
            _ => Err(Error::Unavailable(format!("{host} does not offer TLS, which sslmode demands"))),
        }
    }

    async fn log_in(&self, stream: Stream, opened: Instant) -> Result<Session, Error> {
        let user = self.config.get_user().unwrap_or("postgres");
        let mut parameters = vec![("user", user), ("client_encoding", "UTF8")];
        parameters.extend(self.config.get_dbname().map(|name| ("database", name)));
        parameters.extend(self.config.get_options().map(|options| ("options", options)));
        parameters.extend(self.config.get_application_name().map(|name| ("application_name", name)));
        let mut login = Login {
            session: Session {
                stream,
                inbound: BytesMut::with_capacity(8 * 1024),
                cancel: CancelKey::default(),
                opened,
            },
            outbound: BytesMut::new(),
            user,
            password: self.config.get_password().unwrap_or_default(),
        };
        frontend::startup_message(parameters, &mut login.outbound)?;
        login.send().await?;
        login.finish().await
    }
}

/// A login under way. Source: PostgreSQL documentation, section 55.2.1.
struct Login<'a> {
    session: Session,
    outbound: BytesMut,
    user: &'a str,
    password: &'a [u8],
}

impl Login<'_> {
    async fn finish(mut self) -> Result<Session, Error> {
        loop {
            match self.session.receive().await? {
                Message::AuthenticationOk | Message::ParameterStatus(_) | Message::NoticeResponse(_) => {}
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(self.password, &mut self.outbound)?;
                    self.send().await?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(self.user.as_bytes(), self.password, body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.outbound)?;
                    self.send().await?;
                }
                Message::AuthenticationSasl(body) => self.scram(&body).await?,
                Message::BackendKeyData(body) => {
                    self.session.cancel =
                        CancelKey { process_id: body.process_id(), secret_key: body.secret_key() };
                }
                Message::ReadyForQuery(_) => return Ok(self.session),
                Message::ErrorResponse(body) => return Err(ServerError::from_body(&body).into()),
                _ => return Err(Error::protocol("an unsupported way of logging in")),
            }
        }
    }

    async fn scram(&mut self, body: &AuthenticationSaslBody) -> Result<(), Error> {
        if !body.mechanisms().any(|mechanism| Ok(mechanism == sasl::SCRAM_SHA_256))? {
            return Err(Error::protocol("no SCRAM-SHA-256 among the ways of logging in"));
        }
        let mut scram = sasl::ScramSha256::new(self.password, sasl::ChannelBinding::unsupported());
        frontend::sasl_initial_response(sasl::SCRAM_SHA_256, scram.message(), &mut self.outbound)?;
        self.send().await?;
        match self.session.receive().await? {
            Message::AuthenticationSaslContinue(body) => scram.update(body.data())?,
            Message::ErrorResponse(body) => return Err(ServerError::from_body(&body).into()),
            _ => return Err(Error::protocol("the SCRAM exchange broke off")),
        }
        frontend::sasl_response(scram.message(), &mut self.outbound)?;
        self.send().await?;
        match self.session.receive().await? {
            Message::AuthenticationSaslFinal(body) => Ok(scram.finish(body.data())?),
            Message::ErrorResponse(body) => Err(ServerError::from_body(&body).into()),
            _ => Err(Error::protocol("the SCRAM exchange broke off")),
        }
    }

    async fn send(&mut self) -> Result<(), Error> {
        self.session.stream.write_all(&self.outbound).await?;
        self.session.stream.flush().await?;
        self.outbound.clear();
        Ok(())
    }
}

impl Session {
    /// The next message; an end of the stream is [`Error::Unavailable`].
    pub(crate) async fn receive(&mut self) -> Result<Message, Error> {
        loop {
            if let Some(message) = Message::parse(&mut self.inbound)? {
                return Ok(message);
            }
            self.fill().await?;
        }
    }

    /// Reads what the server has sent, at least a byte; an end of the stream is [`Error::Unavailable`].
    pub(crate) async fn fill(&mut self) -> Result<(), Error> {
        if self.stream.read_buf(&mut self.inbound).await? == 0 {
            return Err(Error::Unavailable("the connection was closed".to_owned()));
        }
        Ok(())
    }
}

#[derive(Default)]
struct UriOptions {
    mode: Option<String>,
    root_certificate: Option<PathBuf>,
}

/// Takes the options out of `uri` that `tokio-postgres` does not know: `sslmode`'s stricter values, `sslrootcert`
/// and the hint `pgbouncer`, which some frameworks write into their URIs.
fn split_options(uri: &str) -> (String, UriOptions) {
    let mut options = UriOptions::default();
    let mut take = |pair: &str| -> bool {
        let Some((name, value)) = pair.split_once('=') else { return false };
        let value = percent_encoding::percent_decode_str(value.trim_matches('\'')).decode_utf8_lossy();
        match name {
            "sslmode" => options.mode = Some(value.into_owned()),
            "sslrootcert" => options.root_certificate = Some(PathBuf::from(value.into_owned())),
            "pgbouncer" => {}
            _ => return false,
        }
        true
    };
    let uri = if uri.starts_with("postgres://") || uri.starts_with("postgresql://") {
        match uri.split_once('?') {
            Some((base, query)) => {
                let rest: Vec<&str> = query.split('&').filter(|pair| !take(pair)).collect();
                if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) }
            }
            None => uri.to_owned(),
        }
    } else {
        uri.split_whitespace().filter(|pair| !take(pair)).collect::<Vec<_>>().join(" ")
    };
    (uri, options)
}

fn cause(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_the_parser_does_not_know_are_taken_out() {
        let (uri, options) =
            split_options("postgres://u:p@h/d?sslmode=verify-full&connect_timeout=3&sslrootcert=%2Fca.pem");
        assert_eq!(uri, "postgres://u:p@h/d?connect_timeout=3");
        assert_eq!(options.mode.as_deref(), Some("verify-full"));
        assert_eq!(options.root_certificate.as_deref(), Some(std::path::Path::new("/ca.pem")));
        let (uri, options) = split_options("host=/run user=u sslmode=disable");
        assert_eq!(uri, "host=/run user=u");
        assert_eq!(options.mode.as_deref(), Some("disable"));
    }

    #[test]
    fn a_refused_uri_never_shows_its_password() {
        let error = Target::from_uri("postgres://u:s3cret@h:notaport/d", &Settings::new("")).err().unwrap();
        assert!(!error.to_string().contains("s3cret"), "{error}");
        assert!(Target::from_uri("postgres://u@h/d?sslmode=always", &Settings::new("")).is_err());
    }
}
