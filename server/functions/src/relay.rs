//! Carries a call to its function and the answer back, both as they come.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::header::{
    ACCESS_CONTROL_EXPOSE_HEADERS, CONNECTION, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri};
use hyper::body::{Body as _, Incoming};
use poem::{Body, Response};
use tokio::time::{Instant, Sleep, timeout};

use crate::Error;
use crate::error::SB_ERROR_CODE;
use crate::socket;
use crate::worker::{Call, Connection, End, Host, Outgoing};

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
    let request = outgoing(request, &origin, socket.is_some());
    let has_body = !request.body().is_end_stream();
    let Ok(sent) = timeout(limits.request, call.worker.connections.send(request)).await else {
        return Err(Error::Idle(limits.request));
    };
    let Ok((answer, connection)) = sent else {
        return Err(match Box::pin(call.worker.end_within(END_LIMIT)).await {
            Some(End::Memory | End::Cpu) => Error::Resources,
            Some(End::Crashed | End::Retired) | None => Error::Worker,
        });
    };
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        // One that nobody asked for is an answer to nothing.
        return Ok(socket.ok_or(Error::Worker)?.open(answer, call, begun, host));
    }
    let (mut head, incoming) = answer.into_parts();
    remove_connection_headers(&mut head.headers);
    if head.status.is_server_error() {
        mark_failure(&mut head.headers);
    }
    let answer = Answer { incoming, deadline: None, connection: Some(connection), call };
    let mut response = Response::builder().status(head.status).body(());
    response.set_body(answer.into_body(has_body, begun + limits.wall_clock).await);
    *response.headers_mut() = head.headers;
    Ok(response)
}

/// The call as the function gets to see it: with the caller's address and the id of the request.
fn outgoing(mut request: poem::Request, origin: &Origin<'_>, asks_for_socket: bool) -> Request<Outgoing> {
    let body = request.take_body();
    let body = match body.is_empty() {
        true => Outgoing::Empty,
        false => Outgoing::Stream(Box::pin(body.into_bytes_stream())),
    };
    let mut outgoing = Request::new(body);
    *outgoing.method_mut() = request.method().clone();
    let target = request.uri().path_and_query().cloned();
    *outgoing.uri_mut() = Uri::from(target.unwrap_or(PathAndQuery::from_static("/")));
    let headers = outgoing.headers_mut();
    *headers = std::mem::take(request.headers_mut());
    remove_connection_headers(headers);
    if asks_for_socket {
        socket::ask(headers);
    }
    // HTTP/2 has it in the target, HTTP/1.0 may have none, and a URL needs one.
    let authority = request.uri().authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    match authority {
        Some(Ok(authority)) => drop(headers.insert(HOST, authority)),
        _ if !headers.contains_key(HOST) => drop(headers.insert(HOST, HeaderValue::from_static("localhost"))),
        _ => {}
    }
    if let Ok(address) = HeaderValue::from_maybe_shared(Bytes::from(origin.address.to_string())) {
        headers.insert(X_FORWARDED_FOR, address);
    }
    headers.insert(X_REQUEST_ID, origin.request_id.clone());
    outgoing
}

/// Removes what belongs to a connection, and what its `Connection` header names besides.
pub(crate) fn remove_connection_headers(headers: &mut HeaderMap) {
    // Most messages have none, and to look at their few names is less than to look each of ours up.
    if !headers.keys().any(|name| OF_CONNECTION.contains(name)) {
        return;
    }
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
    /// The body for the caller: what has come with the head as it is, anything else as it comes, until `deadline`.
    /// `has_body` is whether the call has one that may still be on its way to the function.
    async fn into_body(mut self, has_body: bool, deadline: Instant) -> Body {
        let first = std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut self).poll_next(context))).await;
        let first = match first {
            Poll::Ready(None) => return Body::empty(),
            Poll::Ready(Some(Ok(whole))) if self.connection.is_none() => return Body::from(whole),
            Poll::Ready(Some(part)) => Some(part),
            Poll::Pending => None,
        };
        if let Some(connection) = &mut self.connection
            && has_body
        {
            connection.detach();
        }
        self.deadline = Some(Box::pin(tokio::time::sleep_until(deadline)));
        Body::from_bytes_stream(stream::iter(first).chain(self))
    }

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
        let this = &mut *self;
        while let Some(connection) = &mut this.connection {
            match connection.poll_body(&mut this.incoming, context) {
                // Trailers are left out: no function of Deno's can send any.
                Poll::Ready(Some(Ok(frame))) => {
                    // Who knows the length does not ask for the end.
                    if this.incoming.is_end_stream() {
                        this.finish();
                    }
                    if let Ok(bytes) = frame.into_data() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    this.connection = None;
                    return Poll::Ready(Some(Err(io::Error::other(error))));
                }
                Poll::Ready(None) => this.finish(),
                Poll::Pending => return this.poll_deadline(context),
            }
        }
        Poll::Ready(None)
    }
}

impl Answer {
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
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
