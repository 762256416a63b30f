//! Finds the end of an HTTP/1.1 answer. Source: RFC 9112, section 6.

/// The status of the answer in `buffer` once it is there to its end; `None` while more has to be read.
pub(crate) fn complete(buffer: &[u8]) -> Option<u16> {
    let head_end = find(buffer, b"\r\n\r\n")? + 4;
    let (head, body) = buffer.split_at(head_end);
    let status: u16 = std::str::from_utf8(head.get(9..12)?).ok()?.parse().ok()?;
    let done = match header(head, b"content-length:") {
        Some(length) => body.len() >= length.parse().ok()?,
        None if header(head, b"transfer-encoding:").is_some() => body.ends_with(b"0\r\n\r\n"),
        None => true,
    };
    done.then_some(status)
}

/// The value of the header whose lower-case name, colon included, is `name`.
fn header<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a str> {
    head.split(|byte| *byte == b'\n')
        .find(|line| line.len() >= name.len() && line[..name.len()].eq_ignore_ascii_case(name))
        .and_then(|line| std::str::from_utf8(&line[name.len()..]).ok())
        .map(str::trim)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn an_answer_ends_with_its_length() {
        assert_eq!(complete(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), None);
        assert_eq!(complete(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"), Some(200));
    }

    #[test]
    fn a_chunked_answer_ends_with_an_empty_chunk() {
        let head = "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(complete(format!("{head}2\r\nab\r\n").as_bytes()), None);
        assert_eq!(complete(format!("{head}2\r\nab\r\n0\r\n\r\n").as_bytes()), Some(404));
    }

    #[test]
    fn an_answer_without_a_body_ends_with_its_head() {
        assert_eq!(complete(b"HTTP/1.1 204 No Content\r\n\r\n"), Some(204));
        assert_eq!(complete(b"HTTP/1.1 204 No Content\r\n"), None);
    }
}
