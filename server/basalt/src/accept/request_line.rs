//! Percent-encodes the bytes of request targets that `http` refuses ([`REFUSED`]), and no others. `curl` sends
//! `?select=data->>name&name=in.("a")` unchanged, which is not a valid URI (RFC 3986, section 3.4) and which `hyper`
//! responds with 400. PostgREST accepts it, and its documentation uses such targets.
//!
//! This module can be deleted once upstream does one of two things:
//!
//! - `http` accepts these bytes in a `PathAndQuery`, as it accepts `{`, `}` and `|`, which are not allowed in URIs
//!   either. Nothing else would have to change: `httparse` accepts every byte from `!` to `~`. A test here fails when
//!   `http` accepts more or fewer bytes.
//! - hyper lets a server see a request target before it becomes an `http::Uri`, or percent-encodes the bytes that
//!   `http` refuses. Up to 1.12.0 it has no option for this.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The visible ASCII characters that `http` refuses: `"` in queries, the grave accent in paths, `<` and `>` in both.
const REFUSED: &[u8; 4] = b"\"<>`";

/// The maximum number of bytes that are inspected of a line of a head: the names and values of the relevant headers are
/// shorter.
const MAX_INSPECTED: usize = 64;

/// A connection that percent-encodes the [`REFUSED`] bytes in the request lines of HTTP/1 while they are read.
pub(super) struct RequestLineEncoder<Io> {
    io: Io,
    position: ParserPosition,
    /// The inspected part of an incomplete line: the beginning of a header's line, or the end of a request line.
    partial_line: Vec<u8>,
    /// Bytes that did not fit into the reader's buffer, and how many of them have been read since.
    rest: (Vec<u8>, usize),
}

/// The position of the next byte in the stream of requests.
enum ParserPosition {
    /// In a request line.
    RequestLine,
    /// In another line of a head. `body` is the length of the body, if a header has named it.
    Header { body: Option<u64> },
    /// In a body, with the number of bytes to come.
    Body(u64),
    /// In a part that is not parsed: a chunked body, another protocol, or invalid HTTP. Nothing is encoded any more.
    Unknown,
}

impl<Io> RequestLineEncoder<Io> {
    pub(super) fn new(io: Io) -> Self {
        Self { io, position: ParserPosition::RequestLine, partial_line: Vec::new(), rest: (Vec::new(), 0) }
    }

    /// Returns `bytes` with the request lines percent-encoded; `None` if nothing had to be encoded.
    fn encode(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut output: Option<Vec<u8>> = None;
        let mut at = 0;
        while at < bytes.len() {
            let (length, is_request_line) = self.advance(&bytes[at..]);
            let part = &bytes[at..at + length];
            let encoded = if is_request_line { percent_encode(part) } else { None };
            match (&mut output, encoded) {
                (_, Some(encoded)) => output.get_or_insert_with(|| bytes[..at].to_vec()).extend(encoded),
                (Some(output), None) => output.extend(part),
                (None, None) => {}
            }
            at += length;
        }
        output
    }

    /// Advances over the first line or body in `bytes`. Returns its length and whether it is part of a request line.
    fn advance(&mut self, bytes: &[u8]) -> (usize, bool) {
        match &mut self.position {
            ParserPosition::Unknown => (bytes.len(), false),
            ParserPosition::Body(left) => {
                let length = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *left -= length as u64;
                if *left == 0 {
                    self.position = ParserPosition::RequestLine;
                }
                (length, false)
            }
            ParserPosition::RequestLine => {
                let (line, ended) = line(bytes);
                if ended && self.partial_line.is_empty() {
                    self.end_request_line(line);
                } else {
                    self.partial_line.extend(&line[line.len().saturating_sub(MAX_INSPECTED)..]);
                    self.partial_line.drain(..self.partial_line.len().saturating_sub(MAX_INSPECTED));
                    self.end_partial_line(ended, Self::end_request_line);
                }
                (line.len(), true)
            }
            ParserPosition::Header { .. } => {
                let (line, ended) = line(bytes);
                if ended && self.partial_line.is_empty() {
                    // This is done for each header of every request, and most headers are not relevant.
                    if may_be_relevant(line) {
                        self.end_header(&line[..line.len().min(MAX_INSPECTED)]);
                    }
                } else {
                    let inspected = line.len().min(MAX_INSPECTED - self.partial_line.len());
                    self.partial_line.extend(&line[..inspected]);
                    self.end_partial_line(ended, Self::end_header);
                }
                (line.len(), false)
            }
        }
    }

    /// Calls `end` with a line that arrived in parts, if it has ended.
    fn end_partial_line(&mut self, ended: bool, end: impl FnOnce(&mut Self, &[u8])) {
        if ended {
            let line = std::mem::take(&mut self.partial_line);
            end(self, &line);
        }
    }

    /// Handles a request line. Empty lines before one are skipped (RFC 9112, section 2.2); one that does not name
    /// version 1 begins another protocol.
    fn end_request_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        if !line.is_empty() {
            let is_http1 = line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0");
            self.position =
                if is_http1 { ParserPosition::Header { body: None } } else { ParserPosition::Unknown };
        }
    }

    /// Handles a line of the head, of which `line` is the inspected part: finds out what follows the head.
    fn end_header(&mut self, line: &[u8]) {
        let ParserPosition::Header { body } = &mut self.position else { return };
        let line = line.trim_ascii_end();
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], line[colon + 1..].trim_ascii_start()),
            None => (line, &b""[..]),
        };
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if line.is_empty() {
            self.position = match body {
                Some(length) if *length > 0 => ParserPosition::Body(*length),
                _ => ParserPosition::RequestLine,
            };
        } else if is("content-length") {
            let length = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            match (length, *body) {
                (Some(length), None) if line.len() < MAX_INSPECTED => *body = Some(length),
                // Two lengths, or an invalid one: hyper handles the request.
                _ => self.position = ParserPosition::Unknown,
            }
        } else if is("transfer-encoding")
            || is("upgrade")
            || line.starts_with(b" ")
            || line.starts_with(b"\t")
        {
            self.position = ParserPosition::Unknown;
        }
    }
}

/// Reports whether [`RequestLineEncoder::end_header`] has to inspect a line of a head, judging by its first byte.
fn may_be_relevant(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'c' | b'C' | b't' | b'T' | b'u' | b'U' | b' ' | b'\t' | b'\r' | b'\n'))
}

/// Returns the first line of `bytes` with its line end, or all of them, and whether there is a line end.
fn line(bytes: &[u8]) -> (&[u8], bool) {
    match memchr::memchr(b'\n', bytes) {
        Some(end) => (&bytes[..=end], true),
        None => (bytes, false),
    }
}

/// Returns `line` with the [`REFUSED`] bytes percent-encoded; `None` if it has none.
fn percent_encode(line: &[u8]) -> Option<Vec<u8>> {
    let [quote, less, greater, accent] = *REFUSED;
    memchr::memchr3(quote, less, greater, line).or_else(|| memchr::memchr(accent, line))?;
    let mut text = Vec::with_capacity(line.len() * 2);
    for byte in line {
        if REFUSED.contains(byte) {
            text.extend(format!("%{byte:02X}").into_bytes());
        } else {
            text.push(*byte);
        }
    }
    Some(text)
}

impl<Io: AsyncRead + Unpin> AsyncRead for RequestLineEncoder<Io> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.rest.1 == this.rest.0.len() {
            let before = into.filled().len();
            std::task::ready!(Pin::new(&mut this.io).poll_read(context, into))?;
            let Some(encoded) = this.encode(&into.filled()[before..]) else { return Poll::Ready(Ok(())) };
            into.set_filled(before);
            this.rest = (encoded, 0);
        }
        let (bytes, read) = &mut this.rest;
        let length = into.remaining().min(bytes.len() - *read);
        into.put_slice(&bytes[*read..*read + length]);
        *read += length;
        if *read == bytes.len() {
            this.rest = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for RequestLineEncoder<Io> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use poem::http::Uri;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[test]
    fn what_http_refuses_is_encoded_and_nothing_else() {
        let refused = |target: String| target.parse::<Uri>().is_err();
        let refused: Vec<u8> = (b'!'..=b'~')
            .filter(|byte| {
                let character = char::from(*byte);
                refused(format!("/a{character}b")) || refused(format!("/a?b{character}c"))
            })
            .collect();
        assert_eq!(refused, REFUSED);
    }

    /// Returns the output for `bytes` that arrive in pieces of `piece` bytes and are read into buffers of `buffer`
    /// bytes.
    async fn encode(bytes: &[u8], piece: usize, buffer: usize) -> String {
        let mut encoder = RequestLineEncoder::new(Pieces { bytes: bytes.to_vec(), piece });
        let mut all = Vec::new();
        let mut part = vec![0; buffer];
        loop {
            match encoder.read(&mut part).await.unwrap() {
                0 => return String::from_utf8(all).unwrap(),
                length => all.extend(&part[..length]),
            }
        }
    }

    /// A reader that returns `piece` bytes at a time.
    struct Pieces {
        bytes: Vec<u8>,
        piece: usize,
    }

    impl AsyncRead for Pieces {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let this = self.get_mut();
            let length = this.piece.min(this.bytes.len()).min(into.remaining());
            into.put_slice(&this.bytes.drain(..length).collect::<Vec<_>>());
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn only_targets_are_encoded() {
        for (sent, expected) in [
            (
                "GET /a?select=b->>c HTTP/1.1\r\nX: \"<>\"\r\n\r\nGET /b?c=in.(\"d\") HTTP/1.1\r\n\r\n",
                "GET /a?select=b-%3E%3Ec HTTP/1.1\r\nX: \"<>\"\r\n\r\nGET /b?c=in.(%22d%22) HTTP/1.1\r\n\r\n",
            ),
            (
                "POST /a HTTP/1.1\r\nCONTENT-length: 12\r\n\r\nGET /> HTTP/\r\nGET /> HTTP/1.1\r\n\r\n",
                "POST /a HTTP/1.1\r\nCONTENT-length: 12\r\n\r\nGET /> HTTP/\r\nGET /%3E HTTP/1.1\r\n\r\n",
            ),
            (
                "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n>\r\n0\r\n\r\nGET /> HTTP/1.1\r\n\r\n",
                "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n>\r\n0\r\n\r\nGET /> HTTP/1.1\r\n\r\n",
            ),
            (
                "POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n>>\r\n>",
                "POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n>>\r\n>",
            ),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n>>", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n>>"),
        ] {
            for (piece, buffer) in [(1, 1), (1, 1000), (7, 3), (1000, 1000), (1000, 5)] {
                assert_eq!(encode(sent.as_bytes(), piece, buffer).await, expected, "{piece} {buffer}");
            }
        }
    }
}
