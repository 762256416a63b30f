//! Where the body of a message ends (RFC 9112, sections 6 and 7).

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};

use super::head::invalid;

/// Bytes that the line with the size of a chunk may have, or one of the trailers.
const LONGEST_LINE: usize = 16 * 1024;

/// The end of a chunk, and the last chunk without trailers.
const LAST: &[u8] = b"\r\n0\r\n\r\n";

/// How the body of a call is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upload {
    /// There is none.
    Nothing,
    /// As it is: so many bytes, all told.
    Length(u64),
    /// In chunks, since nobody knows its length.
    Chunks,
}

impl Upload {
    /// Writes `part` of the body at the end of `into`.
    ///
    /// Errors: when more comes than was announced.
    pub(super) fn write(&mut self, part: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        match self {
            // An empty chunk would be the last.
            _ if part.is_empty() => {}
            Self::Chunks => {
                into.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                into.extend_from_slice(part);
                into.extend_from_slice(b"\r\n");
            }
            Self::Length(left) if *left >= part.len() as u64 => {
                *left -= part.len() as u64;
                into.extend_from_slice(part);
            }
            Self::Length(_) | Self::Nothing => return Err(invalid("a body is longer than was said")),
        }
        Ok(())
    }

    /// Writes the end of the body.
    ///
    /// Errors: when less came than was announced.
    pub(super) fn finish(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        match std::mem::replace(self, Self::Nothing) {
            Self::Chunks => into.extend_from_slice(b"0\r\n\r\n"),
            Self::Length(0) | Self::Nothing => {}
            Self::Length(_) => return Err(invalid("a body is shorter than was said")),
        }
        Ok(())
    }
}

/// How much of the body of an answer is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes.
    Length(u64),
    /// What comes until the other end closes the connection.
    UntilClose,
    /// Chunks, of which this is the next part.
    Chunks(Chunk),
}

/// A part of a body in chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// The line with a chunk's size.
    Size,
    /// So many bytes of a chunk.
    Data(u64),
    /// The line end behind them.
    End,
    /// What may follow the last chunk, of which nothing is kept.
    Trailers,
}

/// What there is of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its next bytes.
    Data(Bytes),
    /// Nothing until more comes.
    More,
    /// Nothing any more.
    Over,
}

impl Framing {
    pub(super) const CHUNKS: Self = Self::Chunks(Chunk::Size);

    /// Takes the next part of the body from the beginning of `input`.
    ///
    /// Errors: what are no chunks.
    pub(super) fn take(&mut self, input: &mut BytesMut) -> io::Result<Part> {
        loop {
            match self {
                Self::Length(0) => return Ok(Part::Over),
                Self::UntilClose if input.is_empty() => return Ok(Part::More),
                Self::UntilClose => return Ok(Part::Data(input.split().freeze())),
                Self::Length(left) => return Ok(up_to(left, input)),
                Self::Chunks(Chunk::Data(0)) => *self = Self::Chunks(Chunk::End),
                Self::Chunks(Chunk::Data(left)) => return Ok(up_to(left, input)),
                Self::Chunks(chunk) => {
                    let Some(line) = line(input)? else { return Ok(Part::More) };
                    *self = match chunk {
                        Chunk::Size => match size(&line)? {
                            0 => Self::Chunks(Chunk::Trailers),
                            size => Self::Chunks(Chunk::Data(size)),
                        },
                        Chunk::Trailers if line.is_empty() => Self::Length(0),
                        Chunk::Trailers => Self::Chunks(Chunk::Trailers),
                        _ if line.is_empty() => Self::CHUNKS,
                        _ => return Err(invalid("a chunk does not end where it should")),
                    };
                }
            }
        }
    }

    /// Passes over the end of a body in chunks, if it is the next that has come: so a short body is known to be whole
    /// when its bytes are taken.
    pub(super) fn pass_end(&mut self, input: &mut BytesMut) {
        if *self == Self::Chunks(Chunk::Data(0)) && input.starts_with(LAST) {
            input.advance(LAST.len());
            *self = Self::Length(0);
        }
    }

    /// The other end has closed the connection: whether that is the end of the body.
    pub(super) fn may_end(self) -> bool {
        matches!(self, Self::UntilClose | Self::Length(0))
    }
}

fn up_to(left: &mut u64, input: &mut BytesMut) -> Part {
    if input.is_empty() {
        return Part::More;
    }
    let length = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left -= length as u64;
    Part::Data(input.split_to(length).freeze())
}

/// Takes a line, without its end.
fn line(input: &mut BytesMut) -> io::Result<Option<BytesMut>> {
    let Some(end) = memchr::memchr(b'\n', input) else {
        return if input.len() < LONGEST_LINE {
            Ok(None)
        } else {
            Err(invalid("a line of a chunk is too long"))
        };
    };
    let mut line = input.split_to(end);
    input.advance(1);
    match line.last() {
        Some(b'\r') => line.truncate(end - 1),
        _ => return Err(invalid("a line of a chunk does not end as it should")),
    }
    Ok(Some(line))
}

/// The size of a chunk; extensions may follow it.
fn size(line: &[u8]) -> io::Result<u64> {
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii_end();
    let is_hex = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let size = std::str::from_utf8(digits).ok().filter(|_| is_hex);
    size.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(|| invalid("a chunk has no size"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken of `parts`, which come one after the other.
    fn taken(mut framing: Framing, parts: &[&str]) -> io::Result<(String, bool)> {
        let (mut input, mut seen) = (BytesMut::new(), Vec::new());
        for part in parts {
            input.extend_from_slice(part.as_bytes());
            loop {
                match framing.take(&mut input)? {
                    Part::Data(bytes) => seen.extend_from_slice(&bytes),
                    Part::More => break,
                    Part::Over => return Ok((String::from_utf8(seen).unwrap(), true)),
                }
            }
        }
        Ok((String::from_utf8(seen).unwrap(), false))
    }

    #[test]
    fn chunks_may_be_cut_anywhere() {
        let whole = "5\r\nhello\r\nA;name=\"value\"\r\n, chunks!\n\r\n0\r\nTrailer: 1\r\n\r\n";
        let expected = ("hello, chunks!\n".to_owned(), true);
        assert_eq!(taken(Framing::CHUNKS, &[whole]).unwrap(), expected);
        for cut in 0..=whole.len() {
            let (first, second) = whole.split_at(cut);
            assert_eq!(taken(Framing::CHUNKS, &[first, second]).unwrap(), expected, "{cut}");
        }
        let bytes: Vec<String> = whole.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        assert_eq!(taken(Framing::CHUNKS, &bytes).unwrap(), expected);
    }

    #[test]
    fn a_body_that_came_whole_is_known_to_be() {
        let mut input = BytesMut::from("2\r\nok\r\n0\r\n\r\n");
        let mut framing = Framing::CHUNKS;
        assert_eq!(framing.take(&mut input).unwrap(), Part::Data(Bytes::from_static(b"ok")));
        framing.pass_end(&mut input);
        assert_eq!((framing, input.len()), (Framing::Length(0), 0));
    }

    #[test]
    fn what_are_no_chunks_is_refused() {
        for wrong in ["hello\r\n", "\r\n", "+5\r\nhello\r\n", "5\nhello\r\n", "5\r\nhello!!\r\n", "-1\r\n"] {
            assert!(taken(Framing::CHUNKS, &[wrong]).is_err(), "{wrong}");
        }
        assert!(taken(Framing::CHUNKS, &[&"1".repeat(LONGEST_LINE)]).is_err());
        assert!(taken(Framing::CHUNKS, &["fffffffffffffffff\r\n"]).is_err());
    }

    #[test]
    fn lengths_end_bodies_and_what_follows_is_left() {
        assert_eq!(taken(Framing::Length(3), &["a", "bcd"]).unwrap(), ("abc".to_owned(), true));
        assert_eq!(taken(Framing::Length(3), &["ab"]).unwrap(), ("ab".to_owned(), false));
        assert_eq!(taken(Framing::UntilClose, &["a", "b"]).unwrap(), ("ab".to_owned(), false));
        assert!(Framing::UntilClose.may_end() && !Framing::Length(1).may_end() && !Framing::CHUNKS.may_end());
    }

    #[test]
    fn bodies_of_calls_are_as_long_as_was_said() {
        let mut written = Vec::new();
        let mut chunks = Upload::Chunks;
        for part in ["hello", "", "0123456789abcdef"] {
            chunks.write(part.as_bytes(), &mut written).unwrap();
        }
        chunks.finish(&mut written).unwrap();
        assert_eq!(written, b"5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
        let mut short = Upload::Length(3);
        short.write(b"ab", &mut written).unwrap();
        assert!(short.finish(&mut written).is_err());
        assert!(Upload::Length(1).write(b"ab", &mut written).is_err());
    }
}
