//! The end of an HTTP/1.1 response. Source: RFC 9112, sections 6 and 7.1.

use std::io;

/// A response that arrives in pieces. Parses only as much HTTP as is needed to find its end.
#[derive(Debug)]
pub(crate) struct Response {
    /// The bytes that have arrived; the reader appends to it.
    pub(crate) bytes: Vec<u8>,
    state: State,
    status: u16,
    is_head: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// The end of the head is not before this offset.
    Head { searched: usize },
    /// The response ends at this offset.
    Length { end: usize },
    /// A chunk's size line begins at this offset.
    Chunk { start: usize },
}

impl Response {
    /// Returns an empty response with room for `capacity` bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let state = State::Head { searched: 0 };
        Self { bytes: Vec::with_capacity(capacity), state, status: 0, is_head: false }
    }

    /// Clears the response for the next one on the same connection. Responses to HEAD have no body.
    pub(crate) fn restart(&mut self, is_head: bool) {
        self.bytes.clear();
        self.state = State::Head { searched: 0 };
        self.is_head = is_head;
    }

    /// Returns the status of a complete response; `None` if more has to be read.
    ///
    /// Errors: if the bytes are not a response whose end can be found on a connection that stays open.
    pub(crate) fn complete(&mut self) -> io::Result<Option<u16>> {
        loop {
            match self.state {
                State::Head { searched } => match find(&self.bytes, b"\r\n\r\n", searched) {
                    Some(at) => self.read_head(at + 4)?,
                    None => {
                        self.state = State::Head { searched: self.bytes.len().saturating_sub(3) };
                        return Ok(None);
                    }
                },
                State::Length { end } => return Ok((self.bytes.len() >= end).then_some(self.status)),
                State::Chunk { start } => match self.read_chunk(start)? {
                    Some(next) => self.state = next,
                    None => return Ok(None),
                },
            }
        }
    }

    fn read_head(&mut self, end: usize) -> io::Result<()> {
        let head = &self.bytes[..end];
        self.status = head
            .get(9..12)
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
            .ok_or_else(|| invalid("a status line", head))?;
        self.state = if self.is_head || matches!(self.status, 204 | 304) {
            State::Length { end }
        } else if let Some(length) = header(head, b"content-length:") {
            let length: usize = length.parse().map_err(|_| invalid("a length", length.as_bytes()))?;
            State::Length { end: end.saturating_add(length) }
        } else if header(head, b"transfer-encoding:")
            .is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
        {
            State::Chunk { start: end }
        } else {
            return Err(invalid("Content-Length or Transfer-Encoding: chunked", head));
        };
        Ok(())
    }

    /// Returns the state after the chunk whose size line begins at `start`; `None` if that line has not arrived.
    fn read_chunk(&self, start: usize) -> io::Result<Option<State>> {
        let Some(line_end) = find(&self.bytes, b"\r\n", start) else { return Ok(None) };
        let line = &self.bytes[start..line_end];
        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let size = std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| usize::from_str_radix(digits, 16).ok())
            .ok_or_else(|| invalid("a chunk's size", line))?;
        if size > 0 {
            return Ok(Some(State::Chunk { start: size.saturating_add(line_end + 4) }));
        }
        // The last chunk: an empty line ends the response, after trailer fields if there are any.
        Ok(find(&self.bytes, b"\r\n\r\n", line_end).map(|at| State::Length { end: at + 4 }))
    }
}

/// Returns the value of a header. `name` is in lower case and includes the colon.
fn header<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a str> {
    head.split(|byte| *byte == b'\n')
        .find(|line| line.len() >= name.len() && line[..name.len()].eq_ignore_ascii_case(name))
        .and_then(|line| std::str::from_utf8(&line[name.len()..]).ok())
        .map(str::trim)
}

/// Returns the position of `needle` in `haystack`, from `from` on.
fn find(haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let rest = haystack.get(from..)?;
    rest.windows(needle.len()).position(|window| window == needle).map(|at| from + at)
}

fn invalid(expected: &str, found: &[u8]) -> io::Error {
    let found = String::from_utf8_lossy(found);
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("expected {expected} in the response, found {found:?}"),
    )
}

#[cfg(test)]
mod tests {
    use super::Response;

    /// Returns the number of bytes after which the response is complete if it arrives byte by byte, and its status.
    fn completes(text: &str, is_head: bool) -> Option<(usize, u16)> {
        let mut response = Response::with_capacity(16);
        response.restart(is_head);
        text.bytes().enumerate().find_map(|(index, byte)| {
            response.bytes.push(byte);
            response.complete().unwrap().map(|status| (index + 1, status))
        })
    }

    #[test]
    fn a_response_ends_with_its_length() {
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";
        assert_eq!(completes(text, false), Some((text.len(), 200)));
        assert_eq!(completes(&text[..text.len() - 1], false), None);
    }

    #[test]
    fn a_chunked_response_ends_with_an_empty_chunk() {
        let text = "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n0\r\n\r\n0\r\n\r\n1;x=y\r\na\r\n0\r\n\r\n";
        assert_eq!(completes(text, false), Some((text.len(), 404)));
    }

    #[test]
    fn trailer_fields_belong_to_the_response() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nExpires: 0\r\n\r\n";
        assert_eq!(completes(text, false), Some((text.len(), 200)));
    }

    #[test]
    fn a_response_without_a_body_ends_with_its_head() {
        let text = "HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(completes(text, false), Some((text.len(), 204)));
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
        assert_eq!(completes(text, true), Some((text.len(), 200)));
    }

    #[test]
    fn a_response_without_an_end_is_refused() {
        let mut response = Response::with_capacity(64);
        response.bytes.extend_from_slice(b"HTTP/1.1 200 OK\r\n\r\n");
        assert!(response.complete().is_err());
    }
}
