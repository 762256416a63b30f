//! The servers of a database, and the opening of connections to them.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use rand::seq::SliceRandom as _;
use telemetry::DatabaseServer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::Host;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::conninfo::Conninfo;
use crate::error::Error;
use crate::error::ServerError;
use crate::repair::Repair;
use crate::servers::{Server, ServerState, SessionAttrs, configure, servers};
use crate::settings::Settings;
use crate::{silence, tls};

/// Servers that a connection may be opened to.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) tls: rustls::ClientConfig,
    mode: tls::Mode,
    servers: Vec<Server>,
    is_shuffled: bool,
    session_attrs: SessionAttrs,
    connect_timeout: Duration,
    /// Makes a login work again whose password somebody has changed.
    pub(crate) repair: Option<Repair>,
    /// Whether the sessions are for replication.
    is_replication: bool,
}

/// The stream of bytes below a connection to Postgres.
pub enum Stream {
    /// A socket in the file system.
    Unix(UnixStream),
    /// A connection without encryption.
    Tcp(TcpStream),
    /// A connection with TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection that has logged in and waits for its first statement.
pub struct Session {
    /// The connection's bytes in both directions.
    pub stream: Stream,
    /// What has been read and not been taken yet.
    pub inbound: BytesMut,
    pub(crate) cancel: CancelKey,
    /// When the connection was begun. Changes of the catalog before that are visible in the session.
    pub(crate) opened: Instant,
}

/// The key that cancels a running statement. Source: PostgreSQL documentation, section 55.2.8.
#[derive(Clone, Copy, Default)]
pub(crate) struct CancelKey {
    /// The index of the server among the target's servers.
    server: usize,
    process_id: i32,
    secret_key: i32,
}

impl CancelKey {
    /// Returns the process ID of the server process.
    pub(crate) fn process_id(self) -> i32 {
        self.process_id
    }
}

impl Target {
    pub(crate) fn new(parameters: &Conninfo, settings: &Settings) -> Result<Self, Error> {
        let value = |name: &str| parameters.get(name);
        let mut config = tokio_postgres::Config::new();
        for (name, value) in parameters.iter() {
            configure(&mut config, name, value)?;
        }
        silence::configure(&mut config, parameters)?;
        let servers = servers(parameters)?;
        for server in &servers {
            server.add_to(&mut config)?;
        }
        let session_attrs = SessionAttrs::parse(value("target_session_attrs").unwrap_or("any"))?;
        let mode = value("sslmode").map_or(Ok(tls::Mode::Prefer), tls::Mode::parse)?;
        let connect_timeout = value("connect_timeout").and_then(|seconds| seconds.parse().ok());
        let connect_timeout = connect_timeout
            .filter(|seconds| *seconds > 0)
            .map_or(settings.connect_timeout, Duration::from_secs);
        let application = value("application_name").or_else(|| value("fallback_application_name"));
        config
            .user(value("user").unwrap_or("postgres"))
            .application_name(application.unwrap_or(&settings.application_name))
            .target_session_attrs(session_attrs.for_driver())
            .connect_timeout(connect_timeout)
            .ssl_mode(mode.negotiation());
        let tls = tls::client_config(mode, value("sslrootcert").map(Path::new))?;
        let is_shuffled = value("load_balance_hosts") == Some("random");
        let is_replication = false;
        let repair = settings.repair.clone();
        Ok(Self {
            config,
            tls,
            mode,
            servers,
            is_shuffled,
            session_attrs,
            connect_timeout,
            repair,
            is_replication,
        })
    }

    /// Returns the server for traces: the first of the servers.
    pub(crate) fn description(&self) -> DatabaseServer {
        let (address, port) = match self.servers.first() {
            Some(Server { host: Host::Tcp(name), port, .. }) => (name.clone(), *port),
            Some(Server { host: Host::Unix(folder), port, .. }) => {
                (folder.to_string_lossy().into_owned(), *port)
            }
            None => (String::new(), 0),
        };
        let name = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default().to_owned();
        DatabaseServer { address, port, name }
    }

    /// Returns this target for logical replication, for which `options` override those of the connection string. Slots
    /// belong to the primary, so only the primary is used unless the connection string requires a standby.
    pub(crate) fn for_replication(&self, options: &str) -> Self {
        let mut target = self.clone();
        let all =
            target.config.get_options().map_or_else(|| options.to_owned(), |own| format!("{own} {options}"));
        target.config.options(all);
        target.is_replication = true;
        if matches!(target.session_attrs, SessionAttrs::Any | SessionAttrs::PreferStandby) {
            target.session_attrs = SessionAttrs::Primary;
        }
        target
    }

    /// Connects to the first server that responds and has the required `target_session_attrs`, and logs in.
    ///
    /// Errors: [`Error::Unavailable`] if there is none in time; [`Error::Postgres`] if the login is refused.
    pub(crate) async fn open(&self) -> Result<Session, Error> {
        match self.open_required().await {
            Err(error) if Repair::of(self.repair.as_ref(), &error).await => self.open_required().await,
            opened => opened,
        }
    }

    async fn open_required(&self) -> Result<Session, Error> {
        match self.session_attrs {
            SessionAttrs::PreferStandby => match self.open_with(SessionAttrs::Standby).await {
                Ok(session) => Ok(session),
                Err(_) => self.open_with(SessionAttrs::Any).await,
            },
            required => self.open_with(required).await,
        }
    }

    async fn open_with(&self, required: SessionAttrs) -> Result<Session, Error> {
        let mut order: Vec<usize> = (0..self.servers.len()).collect();
        if self.is_shuffled {
            order.shuffle(&mut rand::rng());
        }
        let mut last = Error::Unavailable("no host to connect to".to_owned());
        for index in order {
            let error = match tokio::time::timeout(self.connect_timeout, self.log_in_to(index)).await {
                Ok(Ok((session, state))) if required.is_met_by(state) => return Ok(session),
                Ok(Ok(_)) => Error::Unavailable(format!("no server is {required:?}")),
                // 57P03: the server is still starting. Any other refusal would be repeated by the next server.
                Ok(Err(Error::Postgres(refusal))) if refusal.code != "57P03" => {
                    return Err(Error::Postgres(refusal));
                }
                Ok(Err(error)) => error,
                Err(_) => Error::Unavailable(format!("no connection within {:?}", self.connect_timeout)),
            };
            // A server that is full may be the one that is required.
            if !matches!(last, Error::TooManyConnections(_)) {
                last = error;
            }
        }
        Err(last)
    }

    /// Tells the server to cancel the statement that the connection with `key` runs.
    ///
    /// The server sends no reply, but closes the connection once the signal is sent. This function waits for that,
    /// since otherwise the signal (before Postgres 18 there are two) could hit the connection's next statement.
    pub(crate) async fn cancel(&self, key: CancelKey) -> Result<(), Error> {
        let request = async {
            let mut stream = self.open_stream(key.server).await?;
            let mut message = BytesMut::new();
            frontend::cancel_request(key.process_id, key.secret_key, &mut message);
            stream.write_all(&message).await?;
            stream.flush().await?;
            // It may close the connection without TLS' close_notify. That is an error here, but means the same.
            while matches!(stream.read(&mut [0]).await, Ok(1..)) {}
            Ok(())
        };
        tokio::time::timeout(self.connect_timeout, request)
            .await
            .unwrap_or(Err(Error::Timeout(self.connect_timeout)))
    }

    async fn open_stream(&self, index: usize) -> Result<Stream, Error> {
        match self.servers.get(index) {
            Some(server) => self.open_server(server).await,
            None => Err(Error::Unavailable("no host to connect to".to_owned())),
        }
    }

    async fn open_server(&self, server: &Server) -> Result<Stream, Error> {
        match &server.host {
            Host::Unix(folder) => {
                let socket: PathBuf = folder.join(format!(".s.PGSQL.{}", server.port));
                Ok(Stream::Unix(UnixStream::connect(socket).await?))
            }
            Host::Tcp(address) => {
                let stream = TcpStream::connect((address.as_str(), server.port)).await?;
                stream.set_nodelay(true)?;
                silence::apply(&self.config, &stream)?;
                self.encrypt(stream, server.name.as_ref().unwrap_or(address)).await
            }
        }
    }

    /// Negotiates TLS according to `sslmode`. Source: PostgreSQL documentation, section 55.2.10.
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
            _ => Err(Error::Unavailable(format!("{host} does not offer TLS, which sslmode requires"))),
        }
    }

    /// Connects and logs in to the server with this index.
    async fn log_in_to(&self, index: usize) -> Result<(Session, ServerState), Error> {
        let opened = Instant::now();
        let stream = self.open_stream(index).await?;
        let user = self.config.get_user().unwrap_or("postgres");
        let mut parameters = vec![("user", user), ("client_encoding", "UTF8")];
        parameters.extend(self.config.get_dbname().map(|name| ("database", name)));
        parameters.extend(self.config.get_options().map(|options| ("options", options)));
        parameters.extend(self.config.get_application_name().map(|name| ("application_name", name)));
        parameters.extend(self.is_replication.then_some(("replication", "database")));
        let mut login = Login {
            session: Session {
                stream,
                inbound: BytesMut::with_capacity(8 * 1024),
                cancel: CancelKey { server: index, ..CancelKey::default() },
                opened,
            },
            state: ServerState::default(),
            outbound: BytesMut::new(),
            user,
            password: self.config.get_password().unwrap_or_default(),
        };
        frontend::startup_message(parameters, &mut login.outbound)?;
        login.send().await?;
        login.finish().await
    }
}

/// A login in progress. Source: PostgreSQL documentation, section 55.2.1.
struct Login<'a> {
    session: Session,
    state: ServerState,
    outbound: BytesMut,
    user: &'a str,
    password: &'a [u8],
}

impl Login<'_> {
    async fn finish(mut self) -> Result<(Session, ServerState), Error> {
        loop {
            match self.session.receive().await? {
                Message::AuthenticationOk | Message::NoticeResponse(_) => {}
                Message::ParameterStatus(body) => self.state.update(body.name()?, body.value()?),
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
                    self.session.cancel.process_id = body.process_id();
                    self.session.cancel.secret_key = body.secret_key();
                }
                Message::ReadyForQuery(_) => return Ok((self.session, self.state)),
                Message::ErrorResponse(body) => return Err(ServerError::from_body(&body).into()),
                _ => return Err(Error::protocol("an unsupported authentication method")),
            }
        }
    }

    async fn scram(&mut self, body: &AuthenticationSaslBody) -> Result<(), Error> {
        if !body.mechanisms().any(|mechanism| Ok(mechanism == sasl::SCRAM_SHA_256))? {
            return Err(Error::protocol("SASL authentication without the mechanism SCRAM-SHA-256"));
        }
        let mut scram = sasl::ScramSha256::new(self.password, sasl::ChannelBinding::unsupported());
        frontend::sasl_initial_response(sasl::SCRAM_SHA_256, scram.message(), &mut self.outbound)?;
        self.send().await?;
        match self.session.receive().await? {
            Message::AuthenticationSaslContinue(body) => scram.update(body.data())?,
            Message::ErrorResponse(body) => return Err(ServerError::from_body(&body).into()),
            _ => return Err(Error::protocol("the SCRAM exchange was broken off")),
        }
        frontend::sasl_response(scram.message(), &mut self.outbound)?;
        self.send().await?;
        match self.session.receive().await? {
            Message::AuthenticationSaslFinal(body) => Ok(scram.finish(body.data())?),
            Message::ErrorResponse(body) => Err(ServerError::from_body(&body).into()),
            _ => Err(Error::protocol("the SCRAM exchange was broken off")),
        }
    }

    async fn send(&mut self) -> Result<(), Error> {
        self.session.send(&self.outbound).await?;
        self.outbound.clear();
        Ok(())
    }
}

impl Session {
    /// Returns the process ID of the server process.
    pub fn process_id(&self) -> i32 {
        self.cancel.process_id()
    }

    /// Returns the next message. Errors: [`Error::Unavailable`] at the end of the stream.
    pub async fn receive(&mut self) -> Result<Message, Error> {
        loop {
            if let Some(message) = Message::parse(&mut self.inbound)? {
                return Ok(message);
            }
            self.fill().await?;
        }
    }

    /// Sends whole messages. Errors: [`Error::Unavailable`] if the connection is lost.
    pub async fn send(&mut self, messages: &[u8]) -> Result<(), Error> {
        self.stream.write_all(messages).await?;
        Ok(self.stream.flush().await?)
    }

    /// Reads at least one byte from the server. Errors: [`Error::Unavailable`] at the end of the stream.
    pub async fn fill(&mut self) -> Result<(), Error> {
        if self.stream.read_buf(&mut self.inbound).await? == 0 {
            return Err(Error::Unavailable("the connection was closed".to_owned()));
        }
        Ok(())
    }
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

    fn try_target(text: &str) -> Result<Target, Error> {
        let server: Conninfo = text.parse()?;
        Target::new(&server, &Settings::new(server.clone()))
    }

    fn target(text: &str) -> Target {
        try_target(text).unwrap()
    }

    #[test]
    fn parameters_of_libpq_are_used_or_accepted() {
        let target = target(
            "postgres://u:p@h/d?gssencmode=prefer&client_encoding=UTF8&fallback_application_name=mine&passfile=%2Fp\
             &connect_timeout=3&sslmode=disable&pgbouncer=true&channel_binding=require",
        );
        assert_eq!(target.config.get_application_name(), Some("mine"));
        assert_eq!((target.connect_timeout, target.mode), (Duration::from_secs(3), tls::Mode::Disable));
        for bad in ["gssencmode=require", "sslcert=/c", "s3cret=x", "target_session_attrs=best", "port=1,2"] {
            let refused = try_target(&format!("host=h password=s3cretly {bad}"));
            let error = refused.err().unwrap().to_string();
            assert!(!error.contains("s3cretly"), "{error}");
        }
    }

    #[test]
    fn replication_is_for_the_primary_and_its_options_come_last() {
        let replication = |text: &str| target(text).for_replication("-c b=2");
        let changed = replication("postgres://h/d?options=-c%20a%3D1");
        assert!(changed.is_replication && changed.session_attrs == SessionAttrs::Primary);
        assert_eq!(changed.config.get_options(), Some("-c a=1 -c b=2"));
        assert_eq!(replication("postgres://h/d").config.get_options(), Some("-c b=2"));
        let standby = replication("postgres://h/d?target_session_attrs=standby");
        assert_eq!(standby.session_attrs, SessionAttrs::Standby);
    }

    #[test]
    fn several_servers_have_their_ports() {
        let hosts = |uri: &str| -> Vec<(Host, u16)> {
            target(uri).servers.into_iter().map(|server| (server.host, server.port)).collect()
        };
        let tcp = |name: &str, port| (Host::Tcp(name.to_owned()), port);
        assert_eq!(hosts("postgres://a,b:6432,[::1]/d"), [tcp("a", 5432), tcp("b", 6432), tcp("::1", 5432)]);
        let unix = |folder: &str, port| (Host::Unix(PathBuf::from(folder)), port);
        assert_eq!(hosts("host=/run/a,/run/b port=5433"), [unix("/run/a", 5433), unix("/run/b", 5433)]);
        assert_eq!(hosts("hostaddr=127.0.0.1 host=db.example"), [tcp("127.0.0.1", 5432)]);
    }

    #[test]
    fn a_refused_uri_never_shows_its_password() {
        let error = try_target("postgres://u:s3cret@h:notaport/d").err().unwrap();
        assert!(!error.to_string().contains("s3cret"), "{error}");
        assert!(try_target("postgres://u@h/d?sslmode=always").is_err());
    }
}
