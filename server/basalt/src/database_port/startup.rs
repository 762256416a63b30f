//! The first messages of a connection to Postgres: a request for encryption, and who wants to log in.

use std::io;

use bytes::{BufMut as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// The codes of the first message.
const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
const CANCEL: u32 = 80_877_102;
/// The longest first message that Postgres accepts (`MAX_STARTUP_PACKET_LENGTH`).
const LONGEST: usize = 10_000;
/// How many requests for encryption a client may send.
const MOST_REQUESTS: usize = 2;

/// The logins of the server's own services, which nobody else has a use for.
const SERVICES: [&str; 6] = [
    "supabase_admin",
    crate::backend::AUTHENTICATOR,
    crate::backend::AUTH_ADMIN,
    crate::backend::STORAGE_ADMIN,
    platform::READER,
    platform::LOGS_READER,
];

/// The stream of a client, encrypted or not.
pub(super) type Client = Box<dyn Stream>;

/// A stream in both directions.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// The first message after encryption has begun.
pub(super) struct Greeting {
    code: u32,
    /// What follows the code.
    content: Vec<u8>,
    /// Whether the connection is not encrypted although it has to be.
    lacks_tls: bool,
}

/// Why a client is refused: the SQLSTATE and the message.
pub(super) type Refusal = (&'static str, String);

/// Reads the first message of a client, and begins to encrypt if it asks for that; `None` if it goes away.
pub(super) async fn greet(
    mut stream: TcpStream,
    tls: &TlsAcceptor,
    needs_tls: bool,
) -> io::Result<Option<(Client, Greeting)>> {
    for _ in 0..=MOST_REQUESTS {
        let Some((code, content)) = read(&mut stream).await? else { return Ok(None) };
        match code {
            SSL => {
                stream.write_all(b"S").await?;
                let mut stream = tls.accept(stream).await?;
                let Some((code, content)) = read(&mut stream).await? else { return Ok(None) };
                return Ok(Some((Box::new(stream), Greeting { code, content, lacks_tls: false })));
            }
            GSS => stream.write_all(b"N").await?,
            _ => return Ok(Some((Box::new(stream), Greeting { code, content, lacks_tls: needs_tls }))),
        }
    }
    Ok(None)
}

/// Reads a message without a kind: its code, and what follows. `None` at the end of the stream.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<(u32, Vec<u8>)>> {
    let length = match stream.read_u32().await {
        Ok(length) => usize::try_from(length).unwrap_or(usize::MAX),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    if !(8..=LONGEST).contains(&length) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no message of Postgres' protocol"));
    }
    let code = stream.read_u32().await?;
    let mut content = vec![0; length - 8];
    stream.read_exact(&mut content).await?;
    Ok(Some((code, content)))
}

impl Greeting {
    /// Returns the message for Postgres. Names that hosted Supabase's pooler understands (`postgres.<ref>`) become the
    /// role's.
    ///
    /// Errors: the refusal.
    pub(super) fn checked(self) -> Result<Vec<u8>, Refusal> {
        if self.code == CANCEL {
            return Ok(message(self.code, &self.content));
        }
        if self.lacks_tls {
            return Err((
                "28000",
                "connections to this database have to be encrypted (sslmode=require)".to_owned(),
            ));
        }
        let mut content = BytesMut::new();
        let mut parts = self.content.split(|byte| *byte == 0);
        while let (Some(name), Some(value)) = (parts.next().filter(|name| !name.is_empty()), parts.next()) {
            let value = match name {
                b"user" => user(value)?,
                b"options" => options(value),
                _ => value.to_vec(),
            };
            content.put_slice(name);
            content.put_u8(0);
            content.put_slice(&value);
            content.put_u8(0);
        }
        content.put_u8(0);
        Ok(message(self.code, &content))
    }
}

/// Returns the role of the name `value`. Errors: it is a service's.
fn user(value: &[u8]) -> Result<Vec<u8>, Refusal> {
    let name = String::from_utf8_lossy(value);
    let role = match name.rsplit_once('.') {
        Some((role, reference)) if reference.len() == 20 => role,
        _ => &name,
    };
    match SERVICES.contains(&role) {
        true => Err(("28000", format!("role \"{role}\" cannot log in from other machines"))),
        false => Ok(role.as_bytes().to_vec()),
    }
}

/// Returns the options of a session without the reference of the project, which only hosted Supabase's pooler reads.
fn options(value: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(value);
    let kept: Vec<&str> = text.split(' ').filter(|part| !part.contains("reference=")).collect();
    kept.join(" ").into_bytes()
}

fn message(code: u32, content: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(content.len() + 8);
    message.put_u32(u32::try_from(content.len() + 8).unwrap_or(u32::MAX));
    message.put_u32(code);
    message.put_slice(content);
    message
}

/// Tells `client` why it is refused.
pub(super) async fn refuse(client: &mut Client, (code, text): &Refusal) -> io::Result<()> {
    let mut fields = Vec::new();
    for (kind, value) in [(b'S', "FATAL"), (b'V', "FATAL"), (b'C', code), (b'M', text)] {
        fields.put_u8(kind);
        fields.put_slice(value.as_bytes());
        fields.put_u8(0);
    }
    fields.put_u8(0);
    let mut message = vec![b'E'];
    message.put_u32(u32::try_from(fields.len() + 4).unwrap_or(u32::MAX));
    message.extend(fields);
    client.write_all(&message).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(user: &str, lacks_tls: bool) -> Greeting {
        let content = format!("user\0{user}\0database\0postgres\0options\0reference=abc -c a=1\0\0");
        Greeting { code: 196_608, content: content.into_bytes(), lacks_tls }
    }

    #[test]
    fn names_of_the_pooler_become_roles_and_those_of_services_are_refused() {
        let sent = greeting("postgres.abcdefghijklmnopqrst", false).checked().unwrap();
        let text = String::from_utf8_lossy(&sent[8..]).into_owned();
        assert_eq!(text, "user\0postgres\0database\0postgres\0options\0-c a=1\0\0");
        assert_eq!(usize::from(sent[3]), sent.len());
        assert!(greeting("supabase_admin", false).checked().is_err());
        assert!(greeting("postgres", true).checked().is_err());
        let with_dot = greeting("some.body", false).checked().unwrap();
        assert!(String::from_utf8_lossy(&with_dot).contains("user\0some.body\0"));
    }
}
