//! Carries a call to its function and the answer back, both as they come.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http::header::{
    ACCESS_CONTROL_EXPOSE_HEADERS, CONNECTION, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use hyper::body::{Body as _, Incoming};
use poem::{Body, Response};
use tokio::time::{Instant, Sleep, timeout};

use crate::Error;
use crate::error::SB_ERROR_CODE;
use crate::settings::Limits;
use crate::worker::{Call, Connection, End, ORDER, Outgoing};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
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
    pub(crate) request_id: &'a str,
}

/// Sends `request` to the process that `call` is in, and answers as soon as the head of its answer is there.
///
/// Errors: [`Error::Idle`] when none comes in time; [`Error::Worker`] or [`Error::Resources`] when the process ends.
pub(crate) async fn relay(
    request: poem::Request,
    origin: Origin<'_>,
    call: Call,
    limits: &Limits,
) -> Result<Response, Error> {
    let begun = Instant::now();
    let request = outgoing(request, &origin);
    let Ok(sent) = timeout(limits.request, call.worker.connections.send(request)).await else {
        return Err(Error::Idle(limits.request));
    };
    let Ok((answer, connection)) = sent else {
        return Err(match call.worker.end_within(END_LIMIT).await {
            Some(End::Memory | End::Cpu) => Error::Resources,
            Some(End::Crashed | End::Retired) | None => Error::Worker,
        });
    };
    let (mut head, incoming) = answer.into_parts();
    remove_connection_headers(&mut head.headers);
    if head.status.is_server_error() {
        mark_failure(&mut head.headers);
    }
    let mut body = Answer { incoming, deadline: None, connection: Some(connection), call };
    let body = if body.incoming.is_end_stream() {
        body.finish();
        Body::empty()
    } else {
        body.deadline = Some(Box::pin(tokio::time::sleep_until(begun + limits.wall_clock)));
        Body::from_bytes_stream(body)
    };
    let mut response = Response::builder().status(head.status).body(body);
    *response.headers_mut() = head.headers;
    Ok(response)
}

/// The call as the function gets to see it: with the caller's address and the id of the request.
fn outgoing(mut request: poem::Request, origin: &Origin<'_>) -> Request<Outgoing> {
    let body = request.take_body();
    let body = match body.is_empty() {
        true => Outgoing::Empty,
        false => Outgoing::Stream(Box::pin(body.into_bytes_stream())),
    };
    let mut outgoing = Request::new(body);
    *outgoing.method_mut() = request.method().clone();
    let target = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    // A path that was valid is valid.
    *outgoing.uri_mut() = target.parse().unwrap_or(Uri::from_static("/"));
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let headers = outgoing.headers_mut();
    *headers = std::mem::take(request.headers_mut());
    remove_connection_headers(headers);
    headers.remove(ORDER);
    let has_host = headers.contains_key(HOST);
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    // HTTP/2 has it in the target, HTTP/1.0 may have none, and a URL needs one.
    match authority {
        Some(authority) => set(HOST, &authority),
        None if !has_host => set(HOST, "localhost"),
        None => {}
    }
    set(X_FORWARDED_FOR, &origin.address.to_string());
    set(X_REQUEST_ID, origin.request_id);
    outgoing
}

/// Removes what belongs to a connection, and what its `Connection` header names besides.
fn remove_connection_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
}

/// The function's own failures carry a code, too.
fn mark_failure(headers: &mut HeaderMap) {
    headers.insert(SB_ERROR_CODE, HeaderValue::from_static("EDGE_FUNCTION_ERROR"));
    headers.append(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("sb-error-code"));
}

/// The body of an answer on its way to the caller. Dropped before its end it closes the connection, from which the
/// function learns that its caller has gone.
struct Answer {
    incoming: Incoming,
    deadline: Option<Pin<Box<Sleep>>>,
    connection: Option<Connection>,
    call: Call,
}

impl Answer {
    /// Everything has come: the connection is good for another call.
    fn finish(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.call.worker.connections.give_back(connection);
        }
    }
}

impl Stream for Answer {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            match Pin::new(&mut self.incoming).poll_frame(context) {
                // Trailers are left out: no function of Deno's can send any.
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(io::Error::other(error)))),
                Poll::Ready(None) => {
                    self.finish();
                    return Poll::Ready(None);
                }
                Poll::Pending => break,
            }
        }
        let is_over =
            self.deadline.as_mut().is_some_and(|deadline| deadline.as_mut().poll(context).is_ready());
        if is_over {
            let error = io::Error::new(io::ErrorKind::TimedOut, "the function's answer took too long");
            return Poll::Ready(Some(Err(error)));
        }
        Poll::Pending
    }
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
}
