//! The framing of messages on a replication connection.

use bytes::{Buf as _, Bytes, BytesMut};
use postgres_protocol::message::backend::Message;

use postgres::Error;

/// The longest message: Postgres sends none of a gigabyte or more.
const MAX_MESSAGE: usize = 1 << 30;

/// The maximum number of bytes that are read at once.
const READ_SIZE: usize = 64 * 1024;

/// If less than this is free, more room is made.
const MIN_SPARE: usize = 4 * 1024;

/// A buffer that has grown beyond this is freed after the message that it was for.
const MAX_KEPT_BUFFER: usize = 1024 * 1024;

/// The length of a message's header: its kind and its length.
const HEADER: usize = 5;

/// A message of the server.
pub(super) enum Frame {
    /// Streamed data.
    Data(Bytes),
    /// The stream begins.
    CopyBoth,
    /// Anything else.
    Other(Message),
}

/// Takes the next message from `inbound`; `None` if it has not arrived completely, in which case there is room for the
/// rest. A message that arrives in many parts is copied once at most, however long it is.
///
/// Errors: [`Error::Protocol`] for a message that is too long or malformed.
pub(super) fn take(inbound: &mut BytesMut) -> Result<Option<Frame>, Error> {
    let [kind, a, b, c, d, ..] = **inbound else {
        make_room(inbound, MIN_SPARE);
        return Ok(None);
    };
    // The length counts itself, but not the kind.
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if !(HEADER - 1..=MAX_MESSAGE).contains(&length) {
        return Err(Error::protocol(format!("a message of {length} bytes in the replication stream")));
    }
    let missing = (length + 1).saturating_sub(inbound.len());
    if missing > 0 {
        make_room(inbound, missing);
        return Ok(None);
    }
    let frame = match kind {
        b'd' | b'W' => {
            let mut message = inbound.split_to(length + 1);
            message.advance(HEADER);
            if kind == b'W' { Frame::CopyBoth } else { Frame::Data(message.freeze()) }
        }
        _ => match Message::parse(inbound)? {
            Some(message) => Frame::Other(message),
            None => return Ok(None),
        },
    };
    if length > MAX_KEPT_BUFFER {
        let rest = inbound.split();
        *inbound = BytesMut::with_capacity(READ_SIZE);
        inbound.extend_from_slice(&rest);
    }
    Ok(Some(frame))
}

/// Makes room for `needed` bytes, and for more after them, so that the end of the message needs no further allocation.
fn make_room(inbound: &mut BytesMut, needed: usize) {
    let spare = inbound.capacity() - inbound.len();
    if spare < needed || spare < MIN_SPARE {
        inbound.reserve(needed + READ_SIZE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(length: usize) -> Vec<u8> {
        let mut message = vec![b'd'];
        message.extend(u32::try_from(length + 4).unwrap().to_be_bytes());
        message.extend((0..length).map(|index| index.to_le_bytes()[0]));
        message
    }

    #[test]
    fn messages_are_found_however_they_arrive() {
        let lengths = [0, 1, 100, 70_000, 3_000_000, 5];
        let bytes: Vec<u8> = lengths.iter().flat_map(|length| data(*length)).collect();
        for step in [1_usize << 10, 4097, 65_536, bytes.len()] {
            let mut inbound = BytesMut::new();
            let mut found = Vec::new();
            for part in bytes.chunks(step) {
                inbound.extend_from_slice(part);
                while let Some(frame) = take(&mut inbound).unwrap() {
                    let Frame::Data(data) = frame else { panic!("data") };
                    assert!(data.iter().enumerate().all(|(index, byte)| index.to_le_bytes()[0] == *byte));
                    found.push(data.len());
                }
            }
            assert_eq!(found, lengths);
            assert!(inbound.capacity() < MAX_KEPT_BUFFER, "{}", inbound.capacity());
        }
    }

    #[test]
    fn a_long_message_is_copied_only_once() {
        let bytes = data(5_000_000);
        let mut inbound = BytesMut::new();
        let mut buffers = 0;
        let mut place = inbound.as_ptr();
        for part in bytes.chunks(1000) {
            inbound.extend_from_slice(part);
            buffers += usize::from(inbound.as_ptr() != place);
            place = inbound.as_ptr();
            if take(&mut inbound).unwrap().is_some() {
                assert!(buffers <= 2, "{buffers}");
                return;
            }
            buffers += usize::from(inbound.as_ptr() != place);
            place = inbound.as_ptr();
        }
        panic!("the message did not arrive");
    }

    #[test]
    fn impossible_messages_are_errors() {
        for bad in [*b"d\0\0\0\x03", *b"d\0\0\0\0", *b"d\x40\0\0\x01", *b"d\xff\xff\xff\xff", *b"?\0\0\0\x04"]
        {
            assert!(take(&mut BytesMut::from(&bad[..])).is_err(), "{bad:?}");
        }
        let mut longest = BytesMut::from(&b"d\x40\0\0\0"[..]);
        assert!(take(&mut longest).is_ok_and(|frame| frame.is_none()));
    }
}
