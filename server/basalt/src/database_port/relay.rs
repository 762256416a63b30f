//! Passes on what a client and Postgres send each other, and notices whether the login fails.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy, split};
use tokio::net::TcpStream;

use super::startup::Client;
use super::statements;

/// The kinds of messages of Postgres that end a login.
const AUTHENTICATION: u8 = b'R';
const ERROR: u8 = b'E';
/// The longest message during a login.
const LONGEST: usize = 1 << 20;
/// The SQLSTATEs of a login that fails: a wrong password, and a role that may not log in.
const REFUSED: [&[u8]; 2] = [b"C28P01\0", b"C28000\0"];

/// Sends `first` to `server`, and passes on everything until one of them closes the connection. `logged_in` is called
/// at the end of the login, before the client knows of it, with whether Postgres refuses it.
pub(super) async fn relay(
    client: Client,
    mut server: TcpStream,
    first: &[u8],
    logged_in: impl FnOnce(bool),
) -> io::Result<()> {
    server.write_all(first).await?;
    let (mut from_client, mut to_client) = split(client);
    let (mut from_server, mut to_server) = server.into_split();
    let forth = async {
        statements::pass_on(&mut from_client, &mut to_server).await?;
        to_server.shutdown().await
    };
    let back = async {
        login(&mut from_server, &mut to_client, logged_in).await?;
        copy(&mut from_server, &mut to_client).await?;
        to_client.shutdown().await
    };
    // If Postgres ends, nothing that the client sends reaches anybody.
    tokio::select! {
        ended = back => ended,
        Err(error) = forth => Err(error),
    }
}

/// Passes on the messages of Postgres until the login is done.
async fn login(
    server: &mut (impl tokio::io::AsyncRead + Unpin),
    client: &mut (impl AsyncWrite + Unpin),
    logged_in: impl FnOnce(bool),
) -> io::Result<()> {
    loop {
        let mut head = [0; 5];
        if let Err(error) = server.read_exact(&mut head).await {
            // A request to cancel gets no response.
            return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(()) } else { Err(error) };
        }
        let [kind, a, b, c, d] = head;
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if !(4..=LONGEST).contains(&length) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no message of Postgres' protocol"));
        }
        let mut message = head.to_vec();
        message.resize(length + 1, 0);
        let body = &mut message[head.len()..];
        server.read_exact(body).await?;
        let outcome = match kind {
            AUTHENTICATION if body.starts_with(&[0, 0, 0, 0]) => Some(false),
            ERROR => {
                let has = |code: &&[u8]| body.windows(code.len()).any(|part| part == *code);
                Some(REFUSED.iter().any(has))
            }
            _ => None,
        };
        // Whoever is told that a login has failed may try again at once.
        if let Some(is_refused) = outcome {
            logged_in(is_refused);
            return pass_on(client, &message).await;
        }
        pass_on(client, &message).await?;
    }
}

async fn pass_on(client: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    client.write_all(message).await?;
    client.flush().await
}
