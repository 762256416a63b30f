//! Passes on what a client sends, with the statements replaced that `postgres` may not run itself.
//!
//! Source: PostgreSQL documentation, sections 53.2 and 53.7.

use std::io;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The kinds of messages that have SQL.
const PARSE: u8 = b'P';
const QUERY: u8 = b'Q';
/// The length of a message's head: its kind, and the length of the rest with these four bytes.
const HEAD: usize = 5;
/// The longest message in which statements are looked for. Longer ones are passed on while they come.
const LONGEST: usize = 1 << 20;
/// How much is read at once.
const READ: usize = 16 << 10;

/// Passes on messages until the client closes the connection.
pub(super) async fn pass_on(
    client: &mut (impl AsyncRead + Unpin),
    server: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut received = BytesMut::new();
    let mut messages = Messages::default();
    loop {
        received.reserve(READ);
        if client.read_buf(&mut received).await? == 0 {
            // Postgres itself says that a message ends too early.
            return server.write_all(&received).await;
        }
        for part in messages.take(&mut received).into_iter().flatten() {
            server.write_all(&part).await?;
        }
    }
}

/// The messages of a client.
#[derive(Debug, Default)]
struct Messages {
    /// How many bytes of the current message are passed on without a look at them.
    rest: usize,
}

impl Messages {
    /// Removes from `received` what can be passed on, and returns it: what has been replaced and precedes it, and what
    /// follows that. The beginning of a message with SQL stays until all of it is there.
    fn take(&mut self, received: &mut BytesMut) -> [Option<Bytes>; 2] {
        let mut replaced = BytesMut::new();
        let mut at = 0;
        loop {
            let passed = self.rest.min(received.len() - at);
            self.rest -= passed;
            at += passed;
            let Some(&[kind, a, b, c, d]) = received.get(at..).and_then(<[u8]>::first_chunk::<HEAD>) else {
                break;
            };
            let length =
                usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX).saturating_add(1);
            if !matches!(kind, PARSE | QUERY) || !(HEAD..=LONGEST).contains(&length) {
                // What is no message is Postgres' to refuse.
                self.rest = length.max(HEAD);
                continue;
            }
            let Some(message) = received.get(at..at + length) else { break };
            match with_privileges(kind, &message[HEAD..]) {
                Some(message) => {
                    replaced.unsplit(received.split_to(at));
                    replaced.extend_from_slice(&message);
                    received.advance(length);
                    at = 0;
                }
                None => at += length,
            }
        }
        [replaced, received.split_to(at)].map(|part| Some(part.freeze()).filter(|part| !part.is_empty()))
    }
}

/// Returns the message in the place of one of `kind`, which has `content`; `None` if it stays as it is.
fn with_privileges(kind: u8, content: &[u8]) -> Option<Vec<u8>> {
    // A prepared statement has a name.
    let begin = if kind == PARSE { end_of_text(content)? + 1 } else { 0 };
    let end = begin + end_of_text(&content[begin..])?;
    let sql = migrations::with_privileges_or_as_it_is(str::from_utf8(&content[begin..end]).ok()?)?;
    let length = 4 + begin + sql.len() + content.len() - end;
    let mut message = Vec::with_capacity(1 + length);
    message.put_u8(kind);
    message.put_u32(u32::try_from(length).ok()?);
    message.put_slice(&content[..begin]);
    message.put_slice(sql.as_bytes());
    message.put_slice(&content[end..]);
    Some(message)
}

/// Returns the length of the text at the beginning of `content`; `None` if it does not end.
fn end_of_text(content: &[u8]) -> Option<usize> {
    memchr::memchr(0, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATEMENT: &str = "drop event trigger watch";

    fn message(kind: u8, content: &[u8]) -> Vec<u8> {
        let mut message = vec![kind];
        message.put_u32(u32::try_from(4 + content.len()).unwrap());
        message.put_slice(content);
        message
    }

    fn query(sql: &str) -> Vec<u8> {
        message(QUERY, format!("{sql}\0").as_bytes())
    }

    /// Returns what is passed on if `sent` arrives in pieces of `size` bytes, and what stays.
    fn passed(sent: &[u8], size: usize) -> (Vec<u8>, BytesMut) {
        let (mut messages, mut received, mut passed) = (Messages::default(), BytesMut::new(), Vec::new());
        for piece in sent.chunks(size) {
            received.extend_from_slice(piece);
            passed.extend(messages.take(&mut received).into_iter().flatten().flatten());
        }
        (passed, received)
    }

    #[test]
    fn statements_are_replaced_in_whatever_pieces_they_come() {
        let block = migrations::with_privileges_or_as_it_is(STATEMENT).unwrap();
        let parse = |sql: &str| message(PARSE, format!("name\0{sql}\0\0\x01\0\0\0\x19").as_bytes());
        let around = [message(b'p', b"password\0"), query("select 1"), message(b'd', &[b'Q'; 40])].concat();
        let sent = [&around[..], &query(STATEMENT), &around, &parse(STATEMENT), &message(b'S', b"")].concat();
        let expected = [&around[..], &query(&block), &around, &parse(&block), &message(b'S', b"")].concat();
        for size in [1, 3, 7, 64, sent.len()] {
            let (passed, kept) = passed(&sent, size);
            assert!(passed == expected && kept.is_empty(), "in pieces of {size} bytes");
        }
    }

    #[test]
    fn what_is_too_long_or_no_message_is_passed_on_as_it_comes() {
        let long = query(&format!("{STATEMENT}; select '{}'", "x".repeat(LONGEST)));
        let (first, _) = passed(&long[..100], 10);
        assert_eq!(first, long[..100]);
        assert_eq!(passed(&long, 10_000).0, long);
        for rest in [&b"Q\0\0\0\x03drop event trigger watch\0"[..], b"P\0\0\0\0", b"Q\xff\xff\xff\xffdrop"] {
            assert_eq!(passed(rest, 2).0, rest);
        }
        let without_end = message(PARSE, b"drop event trigger watch");
        assert_eq!(passed(&without_end, 5).0, without_end);
        let no_text = message(QUERY, b"drop event trigger \xff\0");
        assert_eq!(passed(&no_text, 5).0, no_text);
    }

    #[test]
    fn a_message_with_sql_waits_until_all_of_it_is_there() {
        let sent = query("select 1");
        let (passed, kept) = passed(&sent[..sent.len() - 1], 4);
        assert!(passed.is_empty());
        assert_eq!(kept, sent[..sent.len() - 1]);
    }
}
