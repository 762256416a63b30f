//! Carries a call to its function and the answer back, both as they come.

mod answer;

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_EXPOSE_HEADERS, CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use poem::Response;
use tokio::time::Instant;

use crate::Error;
use crate::error::SB_ERROR_CODE;
use crate::socket;
use crate::worker::{self, Call, End, Failure, Host, Outgoing, Upload};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Headers of one connection, not of the message (RFC 9110, section 7.6.1).
const OF_CONNECTION: [HeaderName; 9] = [
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

/// How long a process that closed a connection may take to end, if it does.
const END_LIMIT: Duration = Duration::from_secs(2);

/// Where a call comes from.
pub(crate) struct Origin<'a> {
    /// The caller's address.
    pub(crate) address: IpAddr,
    /// Names the request in logs.
    pub(crate) request_id: &'a HeaderValue,
}

/// Sends `request` to the process that `call` is in, and answers as soon as the head of its answer is there.
///
/// Errors: [`Error::Idle`] when none comes in time; [`Error::Worker`] or [`Error::Resources`] when the process ends.
pub(crate) async fn relay(
    request: poem::Request,
    origin: Origin<'_>,
    call: Call,
    host: &Host,
) -> Result<Response, Error> {
    let (begun, limits) = (Instant::now(), &host.settings.limits);
    let socket = socket::Asked::of(&request);
    let outgoing = outgoing(request, &origin, socket.is_some());
    let (mut head, connection) = match call.worker.connections.send(outgoing, begun + limits.request).await {
        Ok(answered) => answered,
        Err(Failure::Late) => return Err(Error::Idle(limits.request)),
        Err(Failure::Caller) => return Err(Error::Worker),
        Err(Failure::Broken | Failure::Unsent) => {
            return Err(match Box::pin(call.worker.end_within(END_LIMIT)).await {
                Some(End::Memory | End::Cpu | End::Stuck) => Error::Resources,
                Some(End::Crashed | End::Retired) | None => Error::Worker,
            });
        }
    };
    remove_connection_headers(&mut head.headers);
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        // One that nobody asked for is an answer to nothing.
        return Ok(socket.ok_or(Error::Worker)?.open(head.headers, connection, call, begun, host));
    }
    if head.status.is_server_error() {
        mark_failure(&mut head.headers);
    }
    let mut response = Response::builder().status(head.status).body(());
    response.set_body(answer::body(connection, call, begun + limits.wall_clock).await);
    *response.headers_mut() = head.headers;
    Ok(response)
}

/// The call as the function gets to see it: with the caller's address and the id of the request.
fn outgoing(mut request: poem::Request, origin: &Origin<'_>, asks_for_socket: bool) -> Outgoing {
    let body = request.take_body();
    let body: Option<worker::Body> =
        if body.is_empty() { None } else { Some(Box::pin(body.into_bytes_stream())) };
    let mut headers = std::mem::take(request.headers_mut());
    let upload = upload(&mut headers, body.is_some());
    remove_connection_headers(&mut headers);
    if asks_for_socket {
        socket::ask(&mut headers);
    }
    set_host(&mut headers, request.uri());
    if let Ok(address) = HeaderValue::from_maybe_shared(Bytes::from(origin.address.to_string())) {
        headers.insert(X_REAL_IP, address.clone());
        headers.insert(X_FORWARDED_FOR, address);
    }
    headers.insert(X_REQUEST_ID, origin.request_id.clone());
    let target = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    Outgoing::new(request.method().clone(), target, &headers, upload, body)
}

/// Sees to it that `headers` name one host, of which a URL can be made: HTTP/2 has it in the target, HTTP/1.0 may have
/// none, and from one like `a/b?` the function would read another path than the one that was called.
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

/// Takes out of `headers` what says how the body comes, and decides how it goes on.
fn upload(headers: &mut HeaderMap, has_body: bool) -> Upload {
    let length = headers.remove(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    match length {
        // Where both are named, the encoding counts (RFC 9112, section 6.3).
        _ if headers.contains_key(TRANSFER_ENCODING) && has_body => Upload::Chunks,
        Some(0) => Upload::Length(0),
        Some(length) if has_body => Upload::Length(length),
        _ if has_body => Upload::Chunks,
        _ => Upload::Nothing,
    }
}

/// Removes what belongs to a connection, and what its `Connection` header names besides.
pub(crate) fn remove_connection_headers(headers: &mut HeaderMap) {
    // Most messages have none, and to look at their few names is less than to look each of ours up.
    if !headers.keys().any(|name| OF_CONNECTION.contains(name)) {
        return;
    }
    let named: Vec<HeaderName> =
        worker::connection_options(headers).filter_map(|name| name.parse().ok()).collect();
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
}

/// The function's own failures carry a code, too.
fn mark_failure(headers: &mut HeaderMap) {
    headers.insert(SB_ERROR_CODE, HeaderValue::from_static("EDGE_FUNCTION_ERROR"));
    headers.append(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("sb-error-code"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_connection_stay_with_it() {
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
    fn bodies_go_on_as_they_come() {
        for (given, has_body, expected) in [
            (&[("content-length", "5")][..], true, Upload::Length(5)),
            (&[("content-length", "0")], false, Upload::Length(0)),
            (&[("transfer-encoding", "chunked")], true, Upload::Chunks),
            (&[("transfer-encoding", "chunked"), ("content-length", "5")], true, Upload::Chunks),
            (&[], true, Upload::Chunks),
            (&[], false, Upload::Nothing),
        ] {
            let header = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
            let mut headers: HeaderMap = given.iter().copied().map(header).collect();
            assert_eq!(upload(&mut headers, has_body), expected, "{given:?}");
            assert!(!headers.contains_key(CONTENT_LENGTH));
        }
    }
}
