//! The routes, family by family, thin: find the target, ask the rules, answer.

mod object;
mod range;
mod response;

use poem::http::StatusCode;
use poem::{Endpoint, EndpointExt, Request, Response, Route, endpoint};

use crate::{Error, Storage};

/// All routes of the service.
pub(crate) fn routes(storage: Storage) -> impl Endpoint {
    Route::new()
        .at("/status", endpoint::make(status))
        .at("/version", endpoint::make(version))
        .at("/object/public/*path", endpoint::make(object::public))
        .at("/object/authenticated/*path", endpoint::make(object::authenticated))
        .at("/object/*path", endpoint::make(object::optional))
        .at("/*path", endpoint::make(unknown))
        .data(storage)
}

/// Answers that the service runs.
async fn status(request: Request) -> poem::Result<Response> {
    if !object::is_read(&request) {
        return unknown(request).await;
    }
    Ok(StatusCode::OK.into())
}

/// Answers this release's version.
async fn version(request: Request) -> poem::Result<Response> {
    if !object::is_read(&request) {
        return unknown(request).await;
    }
    Ok(Response::builder().content_type("text/plain; charset=utf-8").body(env!("CARGO_PKG_VERSION")))
}

/// Answers a route that does not exist, as upstream does.
async fn unknown(request: Request) -> poem::Result<Response> {
    let route = format!("{}:{}", request.method(), request.uri().path());
    Ok(Error::NoSuchRoute(route).into_response())
}
