//! Heads of HTTP/1.1 messages: that of a call as it is written, that of an answer as it is read (RFC 9112).

use std::io;
use std::mem::MaybeUninit;

use bytes::BytesMut;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::framing::{Framing, Upload};

/// Bytes that the head of an answer may have.
const LONGEST: usize = 256 * 1024;
/// Headers that it may have.
const MOST_HEADERS: usize = 128;
/// Headers that are put to those of an answer on its way: room for them is made at once.
const ADDED: usize = 4;
const END: &[u8] = b"\r\n\r\n";

/// Writes the head of a call at the end of `into`. `headers` are all but those that say how the body is sent.
pub(super) fn write(into: &mut Vec<u8>, method: &Method, target: &str, headers: &HeaderMap, upload: Upload) {
    for part in [method.as_str(), " ", target, " HTTP/1.1\r\n"] {
        into.extend_from_slice(part.as_bytes());
    }
    for (name, value) in headers {
        write_header(into, name, value.as_bytes());
    }
    match upload {
        // Without a length, these would be said to lack what they are for (RFC 9110, section 8.6).
        Upload::Nothing if matches!(*method, Method::POST | Method::PUT | Method::PATCH) => {
            write_header(into, &CONTENT_LENGTH, b"0");
        }
        Upload::Nothing => {}
        Upload::Length(length) => write_header(into, &CONTENT_LENGTH, length.to_string().as_bytes()),
        Upload::Chunks => write_header(into, &TRANSFER_ENCODING, b"chunked"),
    }
    into.extend_from_slice(b"\r\n");
}

fn write_header(into: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    for part in [name.as_str().as_bytes(), b": ", value, b"\r\n"] {
        into.extend_from_slice(part);
    }
}

/// The head of an answer.
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Where its body ends.
    pub(super) framing: Framing,
    /// Whether no other call may follow on the connection.
    pub(super) is_last: bool,
}

/// Takes the head of the answer to a call of `method` from the beginning of `input`; `None` while it is not all there.
/// Interim answers (1xx) are passed over, but for the one that changes the protocol.
///
/// Errors: what is no head, or is too long.
pub(super) fn take(input: &mut BytesMut, method: &Method) -> io::Result<Option<Head>> {
    loop {
        let Some(end) = memchr::memmem::find(input, END) else {
            return if input.len() < LONGEST { Ok(None) } else { Err(invalid("its head is too long")) };
        };
        // The values of its headers stay where they are.
        let bytes = input.split_to(end + END.len()).freeze();
        let mut slots = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        httparse::ParserConfig::default()
            .parse_response_with_uninit_headers(&mut response, &bytes, &mut slots)
            .map_err(io::Error::other)?;
        let status = StatusCode::from_u16(response.code.unwrap_or_default()).map_err(io::Error::other)?;
        if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
            continue;
        }
        let mut headers = HeaderMap::with_capacity(response.headers.len() + ADDED);
        for header in response.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(io::Error::other)?;
            let value = HeaderValue::from_maybe_shared(bytes.slice_ref(header.value));
            headers.append(name, value.map_err(io::Error::other)?);
        }
        let framing = framing(method, status, &headers)?;
        if framing == Framing::CHUNKS {
            // A length beside them means nothing, and must not go on.
            headers.remove(CONTENT_LENGTH);
        }
        let is_last = response.version != Some(1) || framing == Framing::UntilClose || says_close(&headers);
        return Ok(Some(Head { status, headers, framing, is_last }));
    }
}

/// RFC 9112, section 6.3.
fn framing(method: &Method, status: StatusCode, headers: &HeaderMap) -> io::Result<Framing> {
    let has_none = status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        || *method == Method::HEAD;
    if has_none {
        return Ok(Framing::Length(0));
    }
    if headers.contains_key(TRANSFER_ENCODING) {
        return Ok(Framing::CHUNKS);
    }
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(length) = lengths.next() else { return Ok(Framing::UntilClose) };
    if lengths.any(|other| other != length) {
        return Err(invalid("it has two lengths"));
    }
    // A sign, which numbers may have elsewhere, is none of its digits.
    let digits = length.to_str().ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let length = digits.and_then(|digits| digits.parse().ok());
    length.map(Framing::Length).ok_or_else(|| invalid("its length is no number"))
}

fn says_close(headers: &HeaderMap) -> bool {
    connection_options(headers).any(|option| option.eq_ignore_ascii_case("close"))
}

/// What the `Connection` headers name (RFC 9110, section 7.6.1).
pub(crate) fn connection_options(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

pub(super) fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bytes: &str, method: &Method) -> io::Result<Option<(u16, Framing, bool, String)>> {
        let mut input = BytesMut::from(bytes);
        let head = take(&mut input, method)?;
        let rest = String::from_utf8(input.to_vec()).unwrap();
        Ok(head.map(|head| (head.status.as_u16(), head.framing, head.is_last, rest)))
    }

    #[test]
    fn calls_are_written_with_how_their_body_is_sent() {
        let headers: HeaderMap =
            [(http::header::HOST, HeaderValue::from_static("a.example"))].into_iter().collect();
        for (method, upload, last) in [
            (Method::GET, Upload::Nothing, ""),
            (Method::POST, Upload::Nothing, "content-length: 0\r\n"),
            (Method::POST, Upload::Length(17), "content-length: 17\r\n"),
            (Method::PUT, Upload::Chunks, "transfer-encoding: chunked\r\n"),
        ] {
            let mut written = Vec::new();
            write(&mut written, &method, "/a?b=%2F", &headers, upload);
            let expected = format!("{method} /a?b=%2F HTTP/1.1\r\nhost: a.example\r\n{last}\r\n");
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }

    #[test]
    fn answers_say_where_their_body_ends() {
        let get = Method::GET;
        let long = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(taken(long, &get).unwrap(), Some((200, Framing::Length(5), false, "hello".to_owned())));
        let none = taken(long, &Method::HEAD).unwrap().unwrap();
        assert_eq!(none.1, Framing::Length(0));
        let chunked =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n";
        assert_eq!(taken(chunked, &get).unwrap(), Some((201, Framing::CHUNKS, false, String::new())));
        let closed = taken("HTTP/1.1 200 OK\r\n\r\nall", &get).unwrap();
        assert_eq!(closed, Some((200, Framing::UntilClose, true, "all".to_owned())));
        for options in ["Close", "keep-alive, close", "keep-alive\r\nConnection: close"] {
            let last = format!("HTTP/1.1 204 No Content\r\nConnection: {options}\r\n\r\n");
            assert_eq!(taken(&last, &get).unwrap(), Some((204, Framing::Length(0), true, String::new())));
        }
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok";
        assert_eq!(taken(twice, &get).unwrap(), Some((200, Framing::Length(2), false, "ok".to_owned())));
    }

    #[test]
    fn chunks_have_no_length_beside_them() {
        let both = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n";
        let head = take(&mut BytesMut::from(both), &Method::GET).unwrap().unwrap();
        assert_eq!((head.framing, head.headers.get(CONTENT_LENGTH)), (Framing::CHUNKS, None));
    }

    #[test]
    fn half_a_head_is_waited_for_and_what_is_none_is_refused() {
        assert_eq!(taken("HTTP/1.1 200 OK\r\nA: b\r\n", &Method::GET).unwrap(), None);
        for wrong in [
            "SMTP ready\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n".to_owned(),
            format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(LONGEST / 6)),
            format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(MOST_HEADERS + 1)),
        ] {
            assert!(taken(&wrong, &Method::GET).is_err());
        }
    }
}
