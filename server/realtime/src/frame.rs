//! Frames of a WebSocket (RFC 6455, section 5), as a server sends and reads them.
//!
//! A frame to clients is made once, whole, and shared by all who get it. What comes from clients is collected here, so
//! that a socket that is silent holds no buffer. The layout of a frame's head is tungstenite's.

use std::io::Cursor;

use bytes::{Buf as _, Bytes, BytesMut};
use fairness::HeldMemory;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

/// Bytes that a message may have: upstream's limit for frames.
pub(crate) const MAX_MESSAGE_SIZE: usize = 5_000_000;
/// Bytes that the payload of a control frame may have (RFC 6455, section 5.5).
const MAX_CONTROL_SIZE: u64 = 125;
/// The longest head of a frame that a server sends: two bytes and eight of length.
const LONGEST_HEAD: usize = 10;

/// A whole frame that a server sends, with its head.
pub(crate) type Frame = Bytes;

/// The reason of a closed socket: a status code (RFC 6455, section 7.4) and a reason for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Close {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
}

impl Close {
    /// The client closed the connection or has been silent for too long.
    pub(crate) const NORMAL: Self = Self::new(1000, "");
    /// The client has to connect elsewhere or later.
    pub(crate) const GOING_AWAY: Self = Self::new(1001, "");
    /// The client broke the protocol.
    pub(crate) const PROTOCOL_ERROR: Self = Self::new(1002, "");
    /// The client does not read what it is sent.
    pub(crate) const SLOW_READER: Self = Self::new(1008, "messages are not read fast enough");
    /// A message is too big.
    pub(crate) const TOO_BIG: Self = Self::new(1009, "");
    /// The server restarts, or asks all clients to connect again.
    pub(crate) const RESTART: Self = Self::new(1012, "");
    /// There is no memory for what the client sends.
    pub(crate) const NO_MEMORY: Self = Self::new(1013, "too many large messages at the same time");

    const fn new(code: u16, reason: &'static str) -> Self {
        Self { code, reason }
    }

    /// Returns the closing frame.
    pub(crate) fn to_frame(self) -> Frame {
        encode(OpCode::Control(Control::Close), &[&self.code.to_be_bytes(), self.reason.as_bytes()])
    }
}

/// Returns a text frame.
pub(crate) fn text(text: &str) -> Frame {
    encode(OpCode::Data(Data::Text), &[text.as_bytes()])
}

/// Returns a binary frame.
pub(crate) fn binary(bytes: &[u8]) -> Frame {
    encode(OpCode::Data(Data::Binary), &[bytes])
}

/// Returns a pong frame, the response to a ping.
pub(crate) fn pong(payload: &[u8]) -> Frame {
    encode(OpCode::Control(Control::Pong), &[payload])
}

/// A frame, and the memory that its bytes take.
struct HeldFrame {
    frame: Frame,
    _memory: HeldMemory,
}

impl AsRef<[u8]> for HeldFrame {
    fn as_ref(&self) -> &[u8] {
        &self.frame
    }
}

/// Returns `frame`, which holds `memory` until its last copy is dropped.
pub(crate) fn holding(frame: Frame, memory: HeldMemory) -> Frame {
    if memory.is_empty() { frame } else { Bytes::from_owner(HeldFrame { frame, _memory: memory }) }
}

fn encode(opcode: OpCode, parts: &[&[u8]]) -> Frame {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut frame = Vec::with_capacity(LONGEST_HEAD + length);
    let header = FrameHeader { opcode, ..FrameHeader::default() };
    // Writing to a vector does not fail.
    let _ = header.format(length as u64, &mut frame);
    for part in parts {
        frame.extend_from_slice(part);
    }
    frame.into()
}

/// A message or control frame of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// A text message; it may be invalid UTF-8.
    Text(Bytes),
    /// A binary message.
    Binary(Bytes),
    /// A ping with its payload.
    Ping(Bytes),
    /// A pong: some clients keep a connection alive with it.
    Pong,
    /// A closing frame.
    Close,
}

/// The decoder of a client's bytes.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    bytes: BytesMut,
    /// The beginning of a message in several frames, and its kind.
    message: Option<(Data, BytesMut)>,
}

impl Decoder {
    /// Appends bytes that were read.
    pub(crate) fn extend(&mut self, read: &[u8]) {
        self.bytes.extend_from_slice(read);
    }

    /// Returns the number of bytes that wait for the rest of their message.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len() + self.message.as_ref().map_or(0, |(_, message)| message.len())
    }

    /// Returns the next complete message or control frame, if any.
    ///
    /// Errors: the reason why the socket has to be closed.
    pub(crate) fn next(&mut self) -> Result<Option<Incoming>, Close> {
        loop {
            let mut cursor = Cursor::new(&*self.bytes);
            let header = FrameHeader::parse(&mut cursor).map_err(|_| Close::PROTOCOL_ERROR)?;
            let Some((header, length)) = header else { return Ok(None) };
            let head = cursor.position() as usize;
            self.check(&header, length)?;
            let length = length as usize;
            if self.bytes.len() < head + length {
                self.bytes.reserve(head + length - self.bytes.len());
                return Ok(None);
            }
            self.bytes.advance(head);
            let mut payload = self.bytes.split_to(length);
            if self.bytes.is_empty() {
                self.bytes = BytesMut::new();
            }
            // A client masks what it sends (RFC 6455, section 5.1).
            unmask(&mut payload, header.mask.ok_or(Close::PROTOCOL_ERROR)?);
            if let Some(incoming) = self.take(&header, payload)? {
                return Ok(Some(incoming));
            }
        }
    }

    /// Checks the head of a frame before its payload has arrived.
    fn check(&self, header: &FrameHeader, length: u64) -> Result<(), Close> {
        let is_wrong = match header.opcode {
            OpCode::Control(_) => length > MAX_CONTROL_SIZE || !header.is_final,
            OpCode::Data(Data::Continue) => self.message.is_none(),
            OpCode::Data(_) => self.message.is_some(),
        };
        if is_wrong || header.rsv1 || header.rsv2 || header.rsv3 || header.mask.is_none() {
            return Err(Close::PROTOCOL_ERROR);
        }
        let collected = self.message.as_ref().map_or(0, |(_, bytes)| bytes.len() as u64);
        if collected + length.min(u64::MAX / 2) > MAX_MESSAGE_SIZE as u64 {
            return Err(Close::TOO_BIG);
        }
        Ok(())
    }

    /// Returns what a frame is or completes; `None` for the beginning of a message.
    fn take(&mut self, header: &FrameHeader, payload: BytesMut) -> Result<Option<Incoming>, Close> {
        let (kind, payload) = match header.opcode {
            OpCode::Control(Control::Close) => return Ok(Some(Incoming::Close)),
            OpCode::Control(Control::Ping) => return Ok(Some(Incoming::Ping(payload.freeze()))),
            OpCode::Control(Control::Pong) => return Ok(Some(Incoming::Pong)),
            OpCode::Control(Control::Reserved(_)) => return Err(Close::PROTOCOL_ERROR),
            OpCode::Data(Data::Continue) => {
                let (kind, mut message) = self.message.take().ok_or(Close::PROTOCOL_ERROR)?;
                message.extend_from_slice(&payload);
                (kind, message)
            }
            OpCode::Data(kind) => (kind, payload),
        };
        if !header.is_final {
            // In memory of its own: the payload may be a small part of what was read.
            self.message = Some((kind, BytesMut::from(&*payload)));
            return Ok(None);
        }
        match kind {
            Data::Text => Ok(Some(Incoming::Text(payload.freeze()))),
            Data::Binary => Ok(Some(Incoming::Binary(payload.freeze()))),
            Data::Continue | Data::Reserved(_) => Err(Close::PROTOCOL_ERROR),
        }
    }
}

fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    // Eight bytes at once, which the compiler makes into wider steps still.
    let wide = u64::from_ne_bytes([mask[0], mask[1], mask[2], mask[3], mask[0], mask[1], mask[2], mask[3]]);
    let mut chunks = payload.chunks_exact_mut(8);
    for chunk in &mut chunks {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        chunk.copy_from_slice(&(u64::from_ne_bytes(eight) ^ wide).to_ne_bytes());
    }
    for (byte, mask) in chunks.into_remainder().iter_mut().zip(mask.into_iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: [u8; 4] = [1, 2, 3, 4];

    fn sent(is_final: bool, opcode: OpCode, payload: &[u8]) -> Vec<u8> {
        let header = FrameHeader { is_final, opcode, mask: Some(MASK), ..FrameHeader::default() };
        let mut frame = Vec::new();
        header.format(payload.len() as u64, &mut frame).unwrap();
        frame.extend(payload.iter().enumerate().map(|(index, byte)| byte ^ MASK[index % 4]));
        frame
    }

    fn read(bytes: &[u8]) -> Result<Vec<Incoming>, Close> {
        let mut decoder = Decoder::default();
        let mut found = Vec::new();
        for byte in bytes {
            decoder.extend(&[*byte]);
            while let Some(incoming) = decoder.next()? {
                found.push(incoming);
            }
        }
        Ok(found)
    }

    #[test]
    fn messages_come_whole_whatever_their_frames_are() {
        let long = b"0123456789".repeat(50);
        for length in 0..40 {
            let frame = sent(true, OpCode::Data(Data::Binary), &long[..length]);
            assert_eq!(read(&frame).unwrap(), [Incoming::Binary(Bytes::copy_from_slice(&long[..length]))]);
        }
        let mut bytes = sent(true, OpCode::Data(Data::Text), &long);
        bytes.extend(sent(false, OpCode::Data(Data::Text), b"one, "));
        bytes.extend(sent(true, OpCode::Control(Control::Ping), b"p"));
        bytes.extend(sent(false, OpCode::Data(Data::Continue), b""));
        bytes.extend(sent(true, OpCode::Data(Data::Continue), b"two"));
        let expected = [
            Incoming::Text(long.into()),
            Incoming::Ping(Bytes::from_static(b"p")),
            Incoming::Text(Bytes::from_static(b"one, two")),
        ];
        assert_eq!(read(&bytes).unwrap(), expected);
    }

    #[test]
    fn what_breaks_the_protocol_closes_the_socket() {
        let text = OpCode::Data(Data::Text);
        let unmasked = encode(text, &[b"x"]);
        let two_beginnings = [sent(false, text, b"a"), sent(false, text, b"b")].concat();
        for bytes in [
            unmasked.to_vec(),
            two_beginnings,
            sent(true, OpCode::Data(Data::Continue), b"x"),
            sent(true, OpCode::Data(Data::Reserved(3)), b"x"),
            sent(false, OpCode::Control(Control::Ping), b"x"),
            sent(true, OpCode::Control(Control::Ping), &[0; 126]),
        ] {
            assert_eq!(read(&bytes), Err(Close::PROTOCOL_ERROR));
        }
    }

    #[test]
    fn what_is_too_big_is_refused_before_it_is_read() {
        let header =
            FrameHeader { mask: Some(MASK), opcode: OpCode::Data(Data::Text), ..FrameHeader::default() };
        for length in [5_000_001, u64::MAX] {
            let mut bytes = Vec::new();
            header.format(length, &mut bytes).unwrap();
            assert_eq!(read(&bytes), Err(Close::TOO_BIG));
        }
        let mut bytes = sent(false, OpCode::Data(Data::Text), &[b'x'; 100]);
        let header = FrameHeader { opcode: OpCode::Data(Data::Continue), ..header };
        header.format(4_999_901, &mut bytes).unwrap();
        assert_eq!(read(&bytes), Err(Close::TOO_BIG));
    }

    #[test]
    fn frames_have_the_shortest_head() {
        assert_eq!(&text("hi")[..], b"\x81\x02hi");
        assert_eq!(&binary(&[0; 126])[..4], &[0x82, 126, 0, 126]);
        assert_eq!(&Close::RESTART.to_frame()[..], &[0x88, 2, 0x03, 0xf4]);
    }
}
