//! An SMTP server for tests that records the mails it receives.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What the server can and does.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traits {
    pub(super) starttls: bool,
    /// TLS comes first.
    pub(super) implicit_tls: bool,
    pub(super) auth: bool,
    pub(super) refuses_first: bool,
}

/// A mail that it received.
#[derive(Debug, Clone, Default)]
pub(super) struct ReceivedMail {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) data: Vec<u8>,
    pub(super) encrypted: bool,
    /// Decoded argument of AUTH PLAIN.
    pub(super) login: Option<String>,
}

pub(super) struct MailServer {
    pub(super) port: u16,
    /// The server's certificate, as PEM.
    pub(super) certificate: tempfile::NamedTempFile,
    state: Arc<State>,
}

struct State {
    traits: Traits,
    tls: TlsAcceptor,
    mails: Mutex<Vec<ReceivedMail>>,
    refused: AtomicUsize,
    connections: AtomicUsize,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl MailServer {
    pub(super) async fn start(traits: Traits) -> Self {
        let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let mut certificate = tempfile::NamedTempFile::new().unwrap();
        certificate.write_all(key.cert.pem().as_bytes()).unwrap();
        let private = PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![key.cert.der().clone()], private)
            .unwrap();
        let state = Arc::new(State {
            traits,
            tls: TlsAcceptor::from(Arc::new(config)),
            mails: Mutex::new(Vec::new()),
            refused: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let shared = Arc::clone(&shared);
                // A client that goes away in the middle is the client's affair.
                tokio::spawn(async move { drop(shared.serve(Box::new(stream)).await) });
            }
        });
        Self { port, certificate, state }
    }

    pub(super) fn mails(&self) -> Vec<ReceivedMail> {
        self.state.mails.lock().unwrap().clone()
    }

    pub(super) fn only(&self) -> ReceivedMail {
        let mails = self.mails();
        assert_eq!(mails.len(), 1);
        mails[0].clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl State {
    async fn serve(&self, stream: Box<dyn Stream>) -> std::io::Result<()> {
        let mut got = ReceivedMail { encrypted: self.traits.implicit_tls, ..ReceivedMail::default() };
        let mut stream = BufReader::new(stream);
        if got.encrypted {
            let encrypted: Box<dyn Stream> = Box::new(self.tls.accept(stream.into_inner()).await?);
            stream = BufReader::new(encrypted);
        }
        stream.write_all(b"220 localhost ready\r\n").await?;
        loop {
            stream.flush().await?;
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            let reply = match verb {
                "EHLO" => self.greeting(got.encrypted),
                "STARTTLS" => {
                    stream.write_all(b"220 go ahead\r\n").await?;
                    stream.flush().await?;
                    let encrypted: Box<dyn Stream> = Box::new(self.tls.accept(stream.into_inner()).await?);
                    stream = BufReader::new(encrypted);
                    got.encrypted = true;
                    continue;
                }
                "AUTH" => {
                    let plain = rest.strip_prefix("PLAIN ").and_then(|text| STANDARD.decode(text).ok());
                    got.login = plain.map(|plain| String::from_utf8(plain).unwrap());
                    "235 welcome\r\n".to_owned()
                }
                "MAIL" => {
                    got.from = address(rest);
                    "250 ok\r\n".to_owned()
                }
                "RCPT" if self.traits.refuses_first && self.refused.fetch_add(1, Ordering::SeqCst) == 0 => {
                    "452 mailbox full\r\n".to_owned()
                }
                "RCPT" => {
                    got.to = address(rest);
                    "250 ok\r\n".to_owned()
                }
                "DATA" => {
                    stream.write_all(b"354 go on\r\n").await?;
                    stream.flush().await?;
                    got.data = data(&mut stream).await?;
                    self.mails.lock().unwrap().push(got.clone());
                    "250 taken\r\n".to_owned()
                }
                "QUIT" => return stream.write_all(b"221 bye\r\n").await,
                _ => "250 ok\r\n".to_owned(),
            };
            stream.write_all(reply.as_bytes()).await?;
        }
    }

    fn greeting(&self, encrypted: bool) -> String {
        let mut lines = vec!["localhost"];
        if self.traits.starttls && !encrypted {
            lines.push("STARTTLS");
        }
        if self.traits.auth {
            lines.push("AUTH PLAIN LOGIN");
        }
        let last = lines.len() - 1;
        let line =
            |(index, line): (usize, &&str)| format!("250{}{line}\r\n", if index == last { ' ' } else { '-' });
        lines.iter().enumerate().map(line).collect()
    }
}

fn address(argument: &str) -> String {
    argument.split(['<', '>']).nth(1).unwrap_or_default().to_owned()
}

async fn data(stream: &mut BufReader<Box<dyn Stream>>) -> std::io::Result<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let start = data.len();
        stream.read_until(b'\n', &mut data).await?;
        if &data[start..] == b".\r\n" {
            data.truncate(start);
            return Ok(data);
        }
    }
}
