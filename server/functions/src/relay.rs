//! Sends a call to its function and returns the response, both without waiting for the complete bodies.

mod response_body;

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_EXPOSE_HEADERS, CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use hyper::body::Body as _;
use poem::Response;
use tokio::time::Instant;

use crate::Error;
use crate::error::SB_ERROR_CODE;
use crate::socket::{self, UpgradeRequest};
use crate::worker::{self, Call, END_LIMIT, End, Failure, LONGEST_SHORT, Slot};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Headers of one connection, not of the message (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// How many processes a call is sent to at most, if they end before they read any of it.
const MOST_PROCESSES: usize = 3;

/// The bytes of headers for which a [`CallCopy`] has room from the start; most calls have less.
const MANY_HEADERS: usize = 1024;

/// The caller of a function and the id of the call.
pub(crate) struct Origin<'a> {
    /// The caller's address.
    pub(crate) address: IpAddr,
    /// Identifies the request in logs.
    pub(crate) request_id: &'a HeaderValue,
}

/// A call of which at least the first part has arrived. Until then it costs its function nothing, however slowly its
/// caller sends.
pub(crate) struct IncomingCall {
    /// Without the body.
    request: Box<poem::Request>,
    body: worker::Body,
    upload: Upload,
    upgrade: Option<UpgradeRequest>,
}

impl IncomingCall {
    /// Waits for the first part of the body of `request`, or its end. The gateway limits the time.
    pub(crate) async fn receive(mut request: Box<poem::Request>) -> Self {
        let mut body = worker::Body::from(request.take_body());
        body.begin().await;
        let upload = Upload::of(request.headers(), request.method(), !body.is_end_stream());
        match upload {
            Upload::Nothing => {}
            Upload::Length(length) => body.announce(length),
            Upload::Chunks => body.gather().await,
        }
        let upgrade = UpgradeRequest::of(&request);
        Self { request, body, upload, upgrade }
    }

    /// Returns the request, without its body.
    pub(crate) const fn request(&self) -> &poem::Request {
        &self.request
    }

    /// Reports whether the caller asks for a WebSocket.
    pub(crate) const fn is_socket(&self) -> bool {
        self.upgrade.is_some()
    }

    /// Returns the size of its body in bytes; `None` if that is not announced and the body has not arrived completely.
    pub(crate) fn size(&self) -> Option<u64> {
        match self.upload {
            Upload::Nothing => Some(0),
            Upload::Length(length) => Some(length),
            Upload::Chunks => self.body.whole().map(|body| body.len() as u64),
        }
    }
}

/// Sends `incoming` to the process of `call`, and returns the response as soon as its head has arrived. If the process
/// ends without having begun it, the next one gets it.
///
/// Errors: [`Error::Body`] when the caller's body breaks off; [`Error::Idle`] when no response arrives in time;
/// [`Error::Worker`] or [`Error::Resources`] when the process ends.
pub(crate) async fn relay(
    incoming: IncomingCall,
    origin: Origin<'_>,
    mut call: Call,
    slot: &Arc<Slot>,
) -> Result<Response, Error> {
    let limits = &slot.configuration.settings.limits;
    let begun = Instant::now();
    let IncomingCall { request, mut body, upload, upgrade } = incoming;
    let room = call.room().cloned();
    body.fill(room.clone());
    let mut outgoing = outgoing(request, body, upload, &origin, upgrade.is_some());
    let mut processes = 1;
    let sent = loop {
        let copy = CallCopy::of(&outgoing);
        let sent = call.worker.connections.send(outgoing, begun + limits.request).await;
        let is_failing = sent.as_ref().is_ok_and(|(head, _)| call.worker.has_not_begun(head));
        let again = match sent {
            Err(Failure::Unsent(unsent)) if processes < MOST_PROCESSES => Some(unsent),
            Ok(_) if is_failing && processes < MOST_PROCESSES => copy.map(CallCopy::into_request),
            Ok(_) if is_failing => None,
            sent => break sent,
        };
        let Some(again) = again else { break Err(Failure::Broken) };
        processes += 1;
        outgoing = again;
        call = Box::pin(slot.pass_on(call, is_failing)).await?;
    };
    let (mut head, connection) = match sent {
        Ok(outcome) => outcome,
        Err(Failure::Late) => return Err(Error::Idle(limits.request)),
        Err(Failure::Caller) if room.is_some_and(|room| room.is_full()) => return Err(Error::Busy),
        Err(Failure::Caller) => return Err(Error::Body),
        Err(Failure::Broken | Failure::Unreachable | Failure::Unsent(_)) => {
            return Err(match Box::pin(call.worker.end_within(END_LIMIT)).await {
                Some(End::Memory | End::Cpu | End::Stuck) => Error::Resources,
                Some(End::Crashed | End::Retired) | None => Error::Worker,
            });
        }
    };
    call.worker.record_response();
    remove_connection_headers(&mut head.headers);
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        // An upgrade that the caller has not requested cannot be passed on.
        return Ok(upgrade.ok_or(Error::Worker)?.open(head.headers, connection, call, begun, slot));
    }
    if head.status.is_server_error() {
        mark_failure(&mut head.headers);
    }
    let mut response = Response::builder().status(head.status).body(());
    response.set_body(response_body::body(connection, call, begun + limits.wall_clock).await);
    *response.headers_mut() = head.headers;
    Ok(response)
}

/// What is needed to send a call again. Every call is copied and nearly none is sent again, so it is cheap to make.
struct CallCopy {
    method: Method,
    target: Uri,
    /// Its headers as lines: a copy of the map takes more than twice as long.
    headers: Vec<u8>,
    body: Bytes,
}

impl CallCopy {
    /// Returns the copy of `call`; `None` if its body has not arrived completely, or is long.
    fn of(call: &Request<worker::Body>) -> Option<Self> {
        let body = call.body().whole().filter(|body| body.len() <= LONGEST_SHORT)?;
        let mut headers = Vec::with_capacity(MANY_HEADERS);
        for (name, value) in call.headers() {
            for part in [name.as_str().as_bytes(), b":", value.as_bytes(), b"\n"] {
                headers.extend_from_slice(part);
            }
        }
        Some(Self { method: call.method().clone(), target: call.uri().clone(), headers, body })
    }

    fn into_request(self) -> Box<Request<worker::Body>> {
        let mut call = Box::new(Request::new(self.body.into()));
        *call.method_mut() = self.method;
        *call.uri_mut() = self.target;
        // No name has a colon, and no value a line feed.
        for line in self.headers.split(|&byte| byte == b'\n') {
            let mut parts = line.splitn(2, |&byte| byte == b':');
            let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
                call.headers_mut().append(name, value);
            }
        }
        call
    }
}

/// Returns the request for the function: with the caller's address and the id of the request.
fn outgoing(
    mut request: Box<poem::Request>,
    body: worker::Body,
    upload: Upload,
    origin: &Origin<'_>,
    is_upgrade: bool,
) -> Box<Request<worker::Body>> {
    let mut headers = std::mem::take(request.headers_mut());
    remove_connection_headers(&mut headers);
    upload.announce(&mut headers);
    if is_upgrade {
        socket::insert_upgrade(&mut headers);
    }
    set_host(&mut headers, request.uri());
    if let Ok(address) = HeaderValue::from_maybe_shared(Bytes::from(origin.address.to_string())) {
        headers.insert(X_REAL_IP, address.clone());
        headers.insert(X_FORWARDED_FOR, address);
    }
    headers.insert(X_REQUEST_ID, origin.request_id.clone());
    let mut outgoing = Box::new(Request::new(body));
    *outgoing.method_mut() = request.method().clone();
    let target = request.uri().path_and_query().cloned();
    *outgoing.uri_mut() = Uri::from(target.unwrap_or(PathAndQuery::from_static("/")));
    *outgoing.headers_mut() = headers;
    outgoing
}

/// Makes `headers` contain exactly one host that is valid in a URL. HTTP/2 has it in the target, HTTP/1.0 may have
/// none, and a host such as `a/b?` would change the path that the function reads from its URL.
fn set_host(headers: &mut HeaderMap, target: &Uri) {
    let mut hosts = headers.get_all(HOST).iter();
    let is_usable = hosts.next().is_some_and(|host| Authority::try_from(host.as_bytes()).is_ok());
    let is_only = hosts.next().is_none();
    let host = match target.authority().map(|authority| HeaderValue::from_str(authority.as_str())) {
        Some(Ok(host)) => host,
        _ if is_usable && is_only => return,
        _ => HeaderValue::from_static("localhost"),
    };
    headers.insert(HOST, host);
}

/// How the body of a call is sent to the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upload {
    /// Without a body.
    Nothing,
    /// With its length in bytes.
    Length(u64),
    /// In chunks, because its length is not known.
    Chunks,
}

impl Upload {
    /// Chooses it according to the headers of the call.
    fn of(headers: &HeaderMap, method: &Method, has_body: bool) -> Self {
        let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        match length {
            // If both headers are present, the encoding counts (RFC 9112, section 6.3).
            _ if headers.contains_key(TRANSFER_ENCODING) && has_body => Self::Chunks,
            Some(0) => Self::Length(0),
            Some(length) if has_body => Self::Length(length),
            _ if has_body => Self::Chunks,
            // These methods usually have a body, so an empty one is announced (RFC 9110, section 8.6).
            _ if matches!(*method, Method::POST | Method::PUT | Method::PATCH) => Self::Length(0),
            _ => Self::Nothing,
        }
    }

    /// Sets the corresponding header. hyper needs one: with GET it does not send a body of unknown length otherwise.
    fn announce(self, headers: &mut HeaderMap) {
        headers.remove(CONTENT_LENGTH);
        match self {
            Self::Nothing => None,
            Self::Length(length) => headers.insert(CONTENT_LENGTH, HeaderValue::from(length)),
            Self::Chunks => headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked")),
        };
    }
}

/// Returns the names in the `Connection` headers (RFC 9110, section 7.6.1).
pub(crate) fn connection_options(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// Removes the headers of the connection, and those that its `Connection` header lists. Also removes a length that
/// accompanies a transfer encoding: it has to be ignored (RFC 9112, section 6.3), but would count once the encoding is
/// removed.
pub(crate) fn remove_connection_headers(headers: &mut HeaderMap) {
    // Most messages have none of them, and comparing their few names is cheaper than looking up each of ours.
    if !headers.keys().any(|name| HOP_BY_HOP.contains(name)) {
        return;
    }
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> = connection_options(headers).filter_map(|name| name.parse().ok()).collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Marks a response as a failure of the function itself, with a code like those of the platform's failures.
fn mark_failure(headers: &mut HeaderMap) {
    headers.insert(SB_ERROR_CODE, HeaderValue::from_static("EDGE_FUNCTION_ERROR"));
    headers.append(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("sb-error-code"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_sent_again_is_the_same() {
        let mut call = Request::new(worker::Body::from(Bytes::from("hello")));
        *call.method_mut() = Method::PUT;
        *call.uri_mut() = Uri::from_static("/hello?x=1");
        for (name, value) in [("x-a", &b"one: two:"[..]), ("host", b"a:1"), ("x-a", b"\xe9\t"), ("x-b", b"")]
        {
            call.headers_mut().append(name, HeaderValue::from_bytes(value).unwrap());
        }
        let copy = CallCopy::of(&call).unwrap().into_request();
        assert_eq!((copy.method(), copy.uri()), (call.method(), call.uri()));
        assert_eq!(copy.headers(), call.headers());
        assert_eq!(copy.body().whole().unwrap(), "hello");
        let long = Request::new(worker::Body::from(Bytes::from(vec![0; LONGEST_SHORT + 1])));
        assert!(CallCopy::of(&long).is_none());
    }

    #[test]
    fn headers_of_the_connection_are_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("connection", "close, X-Hop"), ("x-hop", "1"), ("te", "trailers"), ("x-kept", "1")]
        {
            headers.insert(name, HeaderValue::from_static(value));
        }
        remove_connection_headers(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-kept"]);
    }

    #[test]
    fn a_length_is_removed_if_there_are_chunks() {
        for (encoding, kept) in [(None, true), (Some("chunked"), false)] {
            let mut headers = HeaderMap::from_iter([(CONTENT_LENGTH, HeaderValue::from_static("5"))]);
            headers.extend(encoding.map(|encoding| (TRANSFER_ENCODING, HeaderValue::from_static(encoding))));
            remove_connection_headers(&mut headers);
            assert_eq!(headers.contains_key(CONTENT_LENGTH), kept);
        }
    }

    #[test]
    fn bodies_are_passed_on_as_they_arrive() {
        let (get, post) = (Method::GET, Method::POST);
        for (method, given, has_body, expected) in [
            (&post, &[("content-length", "5")][..], true, Upload::Length(5)),
            (&post, &[("content-length", "0")], false, Upload::Length(0)),
            (&post, &[("transfer-encoding", "chunked")], true, Upload::Chunks),
            (&post, &[("transfer-encoding", "chunked"), ("content-length", "5")], true, Upload::Chunks),
            (&get, &[], true, Upload::Chunks),
            (&get, &[], false, Upload::Nothing),
            (&post, &[], false, Upload::Length(0)),
        ] {
            let header = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
            let mut headers: HeaderMap = given.iter().copied().map(header).collect();
            let upload = Upload::of(&headers, method, has_body);
            assert_eq!(upload, expected, "{given:?}");
            remove_connection_headers(&mut headers);
            upload.announce(&mut headers);
            let length = headers.get(CONTENT_LENGTH).map(|length| length.to_str().unwrap().parse().unwrap());
            assert_eq!(
                length.map(Upload::Length),
                Some(upload).filter(|upload| matches!(upload, Upload::Length(_)))
            );
            assert_eq!(headers.contains_key(TRANSFER_ENCODING), upload == Upload::Chunks);
        }
    }
}
