//! The handlers of routes, by family. A handler finds its target, calls the rules and writes the response, and does
//! nothing else. `routes` has the table that leads to them.

mod body;
pub(crate) mod bucket;
mod credentials;
pub(crate) mod object;
pub(crate) mod origin;
pub(crate) mod pictures;
pub(crate) mod read;
pub(crate) mod s3_vectors;
pub(crate) mod sign;
pub(crate) mod tus;
pub(crate) mod write;

use std::sync::Arc;

use poem::http::{Method, StatusCode, Uri};
use poem::{PathPattern, Request, Response};

use crate::context::Context;
use crate::error::Error;

/// The release of Supabase Storage whose interface this is: tools read it to know what they may ask for.
const EQUALS: &str = "1.69.2";

/// Responds to `status`.
pub(crate) async fn status(_: Arc<Context>, _: Request) -> Result<Response, Error> {
    Ok(StatusCode::OK.into())
}

/// Responds to `version`.
pub(crate) async fn version(_: Arc<Context>, _: Request) -> Result<Response, Error> {
    let version = Response::builder().content_type("text/plain; charset=utf-8");
    Ok(version.header("x-basalt-version", env!("CARGO_PKG_VERSION")).body(EQUALS))
}

/// Responds to `cdn`, `cdn/:bucket` and `cdn/:bucket/*`, which purge objects from caches. There is no cache between
/// this service and its callers, and the service's own caches are always current.
pub(crate) async fn purge(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    body::Fields::of(&body::query(&request), "querystring")?.boolean("transformations")?;
    if !credentials::required(&context.verifier, &request)?.is_service() {
        return Err(Error::InvalidRole);
    }
    Ok(json_response("{\"message\":\"success\",\"statusCode\":\"200\"}".to_owned()))
}

/// The address of a request as it was received, while routes are matched with another one.
#[derive(Debug, Clone)]
pub(crate) struct Received(pub(crate) Uri);

/// The address that the route was matched with, if it is not the one that was received.
#[derive(Debug, Clone)]
struct Matched(Uri);

/// Returns `request` with the address that was received.
pub(crate) fn as_received(mut request: Request) -> Request {
    if let Some(Received(address)) = request.extensions_mut().remove::<Received>() {
        let matched = std::mem::replace(request.uri_mut(), address);
        request.set_data(Matched(matched));
    }
    request
}

/// Returns what `*path` of the route stands for, still encoded.
pub(crate) fn rest(request: &Request) -> &str {
    parameter(request, "*path")
}

/// Returns what a parameter of the route stands for, such as `:id` or `*path`. Poem gives it decoded, so that encoded
/// slashes were lost.
fn parameter<'a>(request: &'a Request, name: &str) -> &'a str {
    let Some(PathPattern(pattern)) = request.data::<PathPattern>() else { return "" };
    let mut path = request.data::<Matched>().map_or(request.uri(), |matched| &matched.0).path();
    for part in pattern.split('/') {
        let (segment, after) = path.split_once('/').unwrap_or((path, ""));
        match part {
            part if part != name => path = after,
            part if part.starts_with('*') => return path,
            _ => return segment,
        }
    }
    ""
}

/// Returns the refusal of a route that does not exist, in upstream's words.
pub(crate) fn unknown(method: &Method, address: &Uri) -> Error {
    let address = address.path_and_query().map_or("/", |address| address.as_str());
    Error::NoSuchRoute(format!("{method}:{address}"))
}

/// Returns a response of status 200 with the JSON document `text`.
fn json_response(text: String) -> Response {
    Response::builder().content_type("application/json; charset=utf-8").body(text)
}

/// Returns a response of status 200 that says `text`.
fn message(text: &str) -> Response {
    json_response(serde_json::json!({ "message": text }).to_string())
}
