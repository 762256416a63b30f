//! A socket: only the part of RFC 6455 that a client needs if it trusts its server.

use std::io::{self, Cursor};
use std::str::FromStr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

/// A `ws://` URL.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    authority: String,
    target: String,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("ws://").ok_or("expected ws://…")?;
        let (authority, target) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self { authority: authority.to_owned(), target: format!("/{target}") })
    }
}

/// The receiving half of a socket.
pub(crate) struct Reader {
    stream: OwnedReadHalf,
    bytes: Vec<u8>,
}

/// The sending half of a socket.
pub(crate) struct Writer(OwnedWriteHalf);

/// Opens a socket. If there is a `join`, sends it and waits for one frame.
pub(crate) async fn open(address: &Address, join: Option<&str>) -> io::Result<(Reader, Writer)> {
    let mut stream = TcpStream::connect(&address.authority).await?;
    stream.set_nodelay(true)?;
    let Address { authority, target } = address;
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    if !head.starts_with(b"HTTP/1.1 101") {
        return Err(io::Error::other(String::from_utf8_lossy(&head).into_owned()));
    }
    let (read, write) = stream.into_split();
    let (mut reader, mut writer) = (Reader { stream: read, bytes: Vec::new() }, Writer(write));
    if let Some(join) = join {
        writer.send(join.as_bytes()).await?;
        while reader.take(&mut |_| {}) == 0 {
            reader.fill().await?;
        }
    }
    Ok((reader, writer))
}

impl Reader {
    /// Calls `receive` with each message until the connection ends.
    pub(crate) async fn count(mut self, mut receive: impl FnMut(&[u8])) -> io::Result<()> {
        loop {
            self.take(&mut receive);
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        let mut bytes = [0; 16 << 10];
        let read = self.stream.read(&mut bytes).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.bytes.extend_from_slice(&bytes[..read]);
        Ok(())
    }

    /// Calls `receive` with each complete message, and returns their number.
    fn take(&mut self, receive: &mut impl FnMut(&[u8])) -> usize {
        let (mut position, mut count) = (0, 0);
        loop {
            let mut cursor = Cursor::new(&self.bytes[position..]);
            let Ok(Some((_, length))) = FrameHeader::parse(&mut cursor) else { break };
            let (head, length) = (cursor.position() as usize, length as usize);
            let Some(payload) = self.bytes.get(position + head..position + head + length) else { break };
            receive(payload);
            position += head + length;
            count += 1;
        }
        self.bytes.drain(..position);
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
        count
    }
}

impl Writer {
    /// Sends a text frame.
    pub(crate) async fn send(&mut self, text: &[u8]) -> io::Result<()> {
        self.send_frame(OpCode::Data(Data::Text), text).await
    }

    /// Sends a pong, to which there is no reply: a sign of life.
    pub(crate) async fn pong(&mut self) -> io::Result<()> {
        self.send_frame(OpCode::Control(Control::Pong), b"").await
    }

    /// Sends a frame with the mask zero, which changes nothing.
    async fn send_frame(&mut self, opcode: OpCode, text: &[u8]) -> io::Result<()> {
        let header = FrameHeader { opcode, mask: Some([0; 4]), ..FrameHeader::default() };
        let mut frame = Vec::with_capacity(text.len() + 14);
        header.format(text.len() as u64, &mut frame).map_err(io::Error::other)?;
        frame.extend_from_slice(text);
        self.0.write_all(&frame).await
    }
}
