//! Binary messages of version 2.0.0: lengths of one byte each, then the strings, then the payload.

use super::{Inbound, Message, Reference};

/// A push from a client whose event says what its bytes are.
const PUSH: u8 = 0;
/// A broadcast of opaque bytes to clients.
const BROADCAST: u8 = 2;
/// A user's broadcast from a client.
const USER_BROADCAST_PUSH: u8 = 3;
/// A user's broadcast to clients.
const USER_BROADCAST: u8 = 4;

/// The encoding of a user's broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Bytes.
    Bytes,
    /// JSON text.
    Json,
}

impl Encoding {
    const fn byte(self) -> u8 {
        match self {
            Self::Bytes => 0,
            Self::Json => 1,
        }
    }
}

pub(super) fn parse(bytes: &[u8]) -> Option<Message<'_>> {
    let (&kind, rest) = bytes.split_first()?;
    match kind {
        PUSH => {
            let ([join_ref, reference, topic, event], payload) = strings(rest, 0)?;
            Some(message(join_ref, reference, topic, event, Inbound::Opaque(payload)))
        }
        USER_BROADCAST_PUSH => {
            let encoding = match rest.get(5)? {
                0 => Encoding::Bytes,
                _ => Encoding::Json,
            };
            let ([join_ref, reference, topic, event, metadata], payload) = strings(rest, 1)?;
            let payload = Inbound::Broadcast { event, metadata, encoding, payload };
            Some(message(join_ref, reference, topic, "broadcast", payload))
        }
        _ => None,
    }
}

fn message<'a>(
    join_ref: &str,
    reference: &str,
    topic: &'a str,
    event: &'a str,
    payload: Inbound<'a>,
) -> Message<'a> {
    Message {
        join_ref: Reference::of_text(join_ref),
        reference: Reference::of_text(reference),
        topic: topic.into(),
        event: event.into(),
        payload,
    }
}

/// Splits `bytes` into `N` strings and the rest. The lengths of the strings come first, followed by `gap` bytes.
fn strings<const N: usize>(bytes: &[u8], gap: usize) -> Option<([&str; N], &[u8])> {
    let (lengths, mut rest) = bytes.split_at_checked(N)?;
    rest = rest.get(gap..)?;
    let mut strings = [""; N];
    for (string, &length) in strings.iter_mut().zip(lengths) {
        let (text, after) = rest.split_at_checked(usize::from(length))?;
        *string = std::str::from_utf8(text).ok()?;
        rest = after;
    }
    Some((strings, rest))
}

/// Returns a user's broadcast to clients; `None` if a string is longer than 255 bytes. `metadata` is a JSON object, or
/// empty.
pub(crate) fn user_broadcast(
    topic: &str,
    event: &str,
    metadata: &str,
    encoding: Encoding,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let mut bytes = header(USER_BROADCAST, &[topic, event, metadata], payload.len() + 1)?;
    bytes.push(encoding.byte());
    append(&mut bytes, &[topic, event, metadata], payload);
    Some(bytes)
}

/// Returns a broadcast of opaque bytes to clients; `None` if a string is longer than 255 bytes.
pub(crate) fn opaque_broadcast(topic: &str, event: &str, payload: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = header(BROADCAST, &[topic, event], payload.len())?;
    append(&mut bytes, &[topic, event], payload);
    Some(bytes)
}

/// Returns a message up to the lengths of `strings`, with capacity for them and `more` bytes.
fn header(kind: u8, strings: &[&str], more: usize) -> Option<Vec<u8>> {
    let length: usize = strings.iter().map(|string| string.len() + 1).sum();
    let mut bytes = Vec::with_capacity(1 + length + more);
    bytes.push(kind);
    for string in strings {
        bytes.push(u8::try_from(string.len()).ok()?);
    }
    Some(bytes)
}

fn append(bytes: &mut Vec<u8>, strings: &[&str], payload: &[u8]) {
    for string in strings {
        bytes.extend_from_slice(string.as_bytes());
    }
    bytes.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_broadcast_is_read() {
        let mut bytes = vec![3, 1, 2, 10, 4, 2, 1];
        bytes.extend_from_slice(b"112realtime:xmove{}{\"a\":1}");
        let message = parse(&bytes).unwrap();
        assert_eq!((&*message.topic, &*message.event), ("realtime:x", "broadcast"));
        assert_eq!((message.join_ref.as_json(), message.reference.as_json()), ("\"1\"", "\"12\""));
        let Inbound::Broadcast { event, metadata, encoding, payload } = message.payload else { panic!() };
        assert_eq!((event, metadata), ("move", "{}"));
        assert_eq!((encoding, payload), (Encoding::Json, &b"{\"a\":1}"[..]));
    }

    #[test]
    fn what_is_too_short_or_unknown_is_none() {
        let whole = [3, 1, 1, 1, 1, 0, 1, b'1', b'2', b't', b'e'];
        assert!(parse(&whole).is_some());
        for length in 0..whole.len() {
            assert!(parse(&whole[..length]).is_none(), "{length}");
        }
        for kind in [1, 2, 4, 9, 255] {
            assert!(parse(&[kind, 0, 0, 0, 0, 0, 0]).is_none());
        }
        assert!(parse(&[0, 0, 0, 1, 0, 0xff]).is_none(), "a topic that is not UTF-8");
    }

    #[test]
    fn broadcasts_are_written() {
        let written = user_broadcast("t", "ev", "{}", Encoding::Json, b"[1]").unwrap();
        assert_eq!(written, b"\x04\x01\x02\x02\x01tev{}[1]");
        assert_eq!(opaque_broadcast("t", "ev", b"\0").unwrap(), b"\x02\x01\x02tev\0");
        assert!(opaque_broadcast(&"t".repeat(256), "e", b"").is_none());
    }
}
