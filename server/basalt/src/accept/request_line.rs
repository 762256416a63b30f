//! Request targets as people type them: `curl` sends `?select=data->>name&name=in.("a")` as it stands, which no URI may
//! (RFC 3986, section 3.4), and which `hyper` refuses before anybody could give a better answer. PostgREST takes it, and
//! its documentation is full of it.
//!
//! This module can be deleted once upstream does one of two things:
//!
//! - `http` accepts `"`, `<` and `>` in the query of a `PathAndQuery`. Up to 1.5.0 the table of bytes that queries may have
//!   leaves these three out (and that of paths `<` and `>`), although it has `{`, `}` and `|`, which no URI may either.
//!   Nothing else would have to change: `httparse` takes every byte from `!` to `~`.
//! - hyper lets a server see a request target before it becomes an `http::Uri`, or percent-encodes in it what that refuses.
//!   Up to 1.12.0 it answers such a request with 400 by itself and has no option about it.
//!
//! `accept::tests` has the request by which that can be tried.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much of a line of a head is looked at: a length and the name of a header take less.
const LOOKED_AT: usize = 64;

/// A connection on which `"`, `<` and `>` in request lines of HTTP/1 arrive percent-encoded.
pub(super) struct Mended<Io> {
    io: Io,
    place: Place,
    /// The beginning of the header's line, or the end of the request line, that has come so far.
    begun: Vec<u8>,
    /// What did not fit into the reader's buffer, and how much of it was read since.
    rest: (Vec<u8>, usize),
}

/// Where in the stream of requests the next byte is.
enum Place {
    /// In a request line.
    RequestLine,
    /// In another line of a head that has named this length of the body.
    Header { body: Option<u64> },
    /// In a body with so many bytes to come.
    Body(u64),
    /// Somewhere that is not followed: in a body in chunks, in another protocol, or in what is no HTTP.
    Lost,
}

impl<Io> Mended<Io> {
    pub(super) fn new(io: Io) -> Self {
        Self { io, place: Place::RequestLine, begun: Vec::new(), rest: (Vec::new(), 0) }
    }

    /// `bytes` as they should have come, if that is not as they came.
    fn mend(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut mended: Option<Vec<u8>> = None;
        let mut at = 0;
        while at < bytes.len() {
            let length = self.pass(&bytes[at..]);
            let passed = &bytes[at..at + length.0];
            let encoded = if length.1 { encoded(passed) } else { None };
            match (&mut mended, encoded) {
                (_, Some(encoded)) => mended.get_or_insert_with(|| bytes[..at].to_vec()).extend(encoded),
                (Some(mended), None) => mended.extend(passed),
                (None, None) => {}
            }
            at += passed.len();
        }
        mended
    }

    /// Goes on by the part of `bytes` that is of one kind. Answers how long it is, and whether it is of a request line.
    fn pass(&mut self, bytes: &[u8]) -> (usize, bool) {
        match &mut self.place {
            Place::Lost => (bytes.len(), false),
            Place::Body(left) => {
                let length = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *left -= length as u64;
                if *left == 0 {
                    self.place = Place::RequestLine;
                }
                (length, false)
            }
            Place::RequestLine => {
                let (line, ended) = line(bytes);
                if ended && self.begun.is_empty() {
                    self.end_request_line(line);
                } else {
                    self.begun.extend(&line[line.len().saturating_sub(LOOKED_AT)..]);
                    self.begun.drain(..self.begun.len().saturating_sub(LOOKED_AT));
                    self.end_begun(ended, Self::end_request_line);
                }
                (line.len(), true)
            }
            Place::Header { .. } => {
                let (line, ended) = line(bytes);
                if ended && self.begun.is_empty() {
                    // Most headers are none of those that matter, and this is done for each of every request.
                    if says_what_follows(line) {
                        self.end_header(&line[..line.len().min(LOOKED_AT)]);
                    }
                } else {
                    let looked_at = line.len().min(LOOKED_AT - self.begun.len());
                    self.begun.extend(&line[..looked_at]);
                    self.end_begun(ended, Self::end_header);
                }
                (line.len(), false)
            }
        }
    }

    /// What a line means that came in parts, once it has ended.
    fn end_begun(&mut self, ended: bool, end: impl FnOnce(&mut Self, &[u8])) {
        if ended {
            let line = std::mem::take(&mut self.begun);
            end(self, &line);
        }
    }

    /// Empty lines before a request line are passed over (RFC 9112, section 2.2); one of another version than 1 begins
    /// another protocol.
    fn end_request_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        if !line.is_empty() {
            let is_http1 = line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0");
            self.place = if is_http1 { Place::Header { body: None } } else { Place::Lost };
        }
    }

    /// What follows the header, of which `line` is all that is looked at?
    fn end_header(&mut self, line: &[u8]) {
        let Place::Header { body } = &mut self.place else { return };
        let line = line.trim_ascii_end();
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], line[colon + 1..].trim_ascii_start()),
            None => (line, &b""[..]),
        };
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if line.is_empty() {
            self.place = match body {
                Some(length) if *length > 0 => Place::Body(*length),
                _ => Place::RequestLine,
            };
        } else if is("content-length") {
            let length = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            match (length, *body) {
                (Some(length), None) if line.len() < LOOKED_AT => *body = Some(length),
                // Two lengths, or one that is none, are not for us to judge.
                _ => self.place = Place::Lost,
            }
        } else if is("transfer-encoding")
            || is("upgrade")
            || line.starts_with(b" ")
            || line.starts_with(b"\t")
        {
            self.place = Place::Lost;
        }
    }
}

/// Whether a line of a head may be one that [`Mended::end_header`] has something to say about, by how it begins.
fn says_what_follows(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'c' | b'C' | b't' | b'T' | b'u' | b'U' | b' ' | b'\t' | b'\r' | b'\n'))
}

/// The first line of `bytes` with its end, or all of them; and whether it has an end.
fn line(bytes: &[u8]) -> (&[u8], bool) {
    match memchr::memchr(b'\n', bytes) {
        Some(end) => (&bytes[..=end], true),
        None => (bytes, false),
    }
}

/// `line` with what no URI may have percent-encoded, if there is any.
fn encoded(line: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr3(b'"', b'<', b'>', line)?;
    let mut text = Vec::with_capacity(line.len() * 2);
    for byte in line {
        match byte {
            b'"' => text.extend(b"%22"),
            b'<' => text.extend(b"%3C"),
            b'>' => text.extend(b"%3E"),
            other => text.push(*other),
        }
    }
    Some(text)
}

impl<Io: AsyncRead + Unpin> AsyncRead for Mended<Io> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.rest.1 == this.rest.0.len() {
            let before = into.filled().len();
            std::task::ready!(Pin::new(&mut this.io).poll_read(context, into))?;
            let Some(mended) = this.mend(&into.filled()[before..]) else { return Poll::Ready(Ok(())) };
            into.set_filled(before);
            this.rest = (mended, 0);
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

impl<Io: AsyncWrite + Unpin> AsyncWrite for Mended<Io> {
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
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// What comes out when `bytes` come in in pieces of this size and are read into buffers of that size.
    async fn through(bytes: &[u8], piece: usize, buffer: usize) -> String {
        let mut mended = Mended::new(Pieces { bytes: bytes.to_vec(), piece });
        let mut all = Vec::new();
        let mut part = vec![0; buffer];
        loop {
            match mended.read(&mut part).await.unwrap() {
                0 => return String::from_utf8(all).unwrap(),
                length => all.extend(&part[..length]),
            }
        }
    }

    /// Gives `piece` bytes at a time.
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
    async fn targets_are_mended_and_nothing_else_is() {
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
                assert_eq!(through(sent.as_bytes(), piece, buffer).await, expected, "{piece} {buffer}");
            }
        }
    }
}
