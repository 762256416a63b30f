//! The HTTP interface: the handshake of sockets, and broadcasts over HTTP.

mod broadcast;
mod handshake;

use std::sync::Arc;

use poem::error::{MethodNotAllowedError, NotFoundError};
use poem::{
    Endpoint, IntoResponse as _, PathPattern, Request, Response, Route, RouteMethod, endpoint, get, post,
};
use serde_json::json;

use crate::error::Error;
use crate::socket::SocketContext;
pub(crate) use broadcast::Broadcasts;

/// Returns the endpoint, its paths relative to where it is mounted (`/realtime/v1`).
pub(crate) fn endpoint(
    sockets: SocketContext,
    broadcasts: Broadcasts,
) -> impl Endpoint<Output = Response> + use<> {
    let max_header_length = sockets.settings.max_header_length;
    Api { max_header_length, routes: routes(&Arc::new(sockets), &Arc::new(broadcasts)) }
}

fn routes(sockets: &Arc<SocketContext>, broadcasts: &Arc<Broadcasts>) -> Route {
    Route::new()
        .at("/websocket", without_head(get(with(sockets, handshake::respond))))
        .at("/api/ping", without_head(get(endpoint::make(ping))))
        .at("/api/broadcast", post(with(broadcasts, broadcast::batch)))
        .at("/api/broadcast/:topic/events/:event", post(with(broadcasts, broadcast::single)))
        // A slash in a topic need not be escaped.
        .at("/api/broadcast/*topic_and_event", post(with(broadcasts, broadcast::single_with_slashes)))
}

/// Returns the endpoint that calls `respond` with `state`.
fn with<S, F>(
    state: &Arc<S>,
    respond: fn(Arc<S>, Request) -> F,
) -> impl Endpoint<Output = Response> + use<S, F>
where
    S: Send + Sync + 'static,
    F: Future<Output = Result<Response, Error>> + Send + 'static,
{
    let state = Arc::clone(state);
    endpoint::make(move |request| respond(Arc::clone(&state), request))
}

/// Returns `methods` without HEAD, which poem would respond to like GET.
fn without_head(methods: RouteMethod) -> RouteMethod {
    methods.head(endpoint::make(|_| async { Err::<Response, _>(Error::NotFound) }))
}

async fn ping(_request: Request) -> poem::Result<Response> {
    let body = json!({ "message": "Success" }).to_string();
    Ok(body.with_content_type("application/json; charset=utf-8").into_response())
}

/// The routes, behind the check of the headers' length.
struct Api {
    max_header_length: usize,
    routes: Route,
}

impl Endpoint for Api {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let longest = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).max();
        if longest.is_some_and(|length| length > self.max_header_length) {
            return Err(Error::HeaderTooLarge(self.max_header_length).into());
        }
        self.routes.call(request).await.map_err(in_own_form)
    }
}

/// Returns `error`, in this service's form if there is no route for the request.
fn in_own_form(error: poem::Error) -> poem::Error {
    if !error.is::<NotFoundError>() && !error.is::<MethodNotAllowedError>() {
        return error;
    }
    let mut own = poem::Error::from(Error::NotFound);
    if let Some(pattern) = error.data::<PathPattern>() {
        own.set_data(pattern.clone());
    }
    own
}
