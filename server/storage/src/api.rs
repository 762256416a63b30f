//! The routes, by family. A route finds its target, calls the rules and writes the answer, and does nothing else.
//!
//! Paths are matched before they are decoded, since decoding would mix slashes of an object's name with those between
//! parts of the path. As upstream, each method has its own routes: `GET object/list/x` reads object `x` of bucket
//! `list`.

mod body;
mod bucket;
mod credentials;
mod object;
pub(crate) mod origin;
mod pictures;
pub(crate) mod range;
mod read;
pub(crate) mod response;
mod s3_vectors;
mod sign;
mod tus;
pub(crate) mod write;

use std::sync::Arc;

use poem::http::{Method, StatusCode};
use poem::{Endpoint, EndpointExt, Request, Response, endpoint};

use crate::Error;
use crate::context::Context;
use crate::s3::{self, S3Service};

/// The release of Supabase Storage whose interface this is: tools read it to know what they may ask for.
const EQUALS: &str = "1.69.2";

/// Returns the endpoint with all routes of the service.
pub(crate) fn routes(context: Arc<Context>) -> impl Endpoint<Output = Response> {
    let s3 = s3::service(Arc::clone(&context));
    endpoint::make(move |request: Request| {
        let (context, s3) = (Arc::clone(&context), s3.clone());
        async move {
            let is_head = *request.method() == Method::HEAD;
            // An origin of their own answers objects; this one only those that need a token.
            let elsewhere = context.settings.origin.as_deref();
            let elsewhere = elsewhere.filter(|origin| !origin::is_addressed(&request, origin));
            let mut response = match elsewhere.and_then(|origin| origin::redirect(&request, origin)) {
                Some(redirect) => redirect,
                // The future is large: boxed here, it is not copied from one layer to the next.
                None => Box::pin(route(&context, &s3, request)).await.unwrap_or_else(Error::into_response),
            };
            response::confine(response.headers_mut(), elsewhere.is_some());
            if is_head {
                // The header of its length stays, as an answer to HEAD has it.
                response.set_body(());
            }
            response
        }
    })
    .map_to_response()
}

async fn route(context: &Context, s3: &S3Service, request: Request) -> Result<Response, Error> {
    let path = request.uri().path().to_owned();
    let (family, rest) = path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_matches('/'), ""));
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match family {
        "object" => object::route(context, request, rest).await,
        "bucket" => bucket::route(context, request, rest).await,
        "render" => pictures::route(context, request, rest).await,
        "upload" if is_below(rest, "resumable") => {
            Ok(tus::route(context, request, rest["resumable".len()..].trim_start_matches('/')).await)
        }
        "s3" if context.settings.s3_enabled => Ok(s3::route(context, s3, request, rest).await),
        "vector" if context.settings.vectors_enabled => Ok(s3_vectors::route(context, request, rest).await),
        "cdn" if *request.method() == Method::DELETE => purge(context, &request),
        "status" if is_read && rest.is_empty() => Ok(StatusCode::OK.into()),
        "version" if is_read && rest.is_empty() => {
            let version = Response::builder().content_type("text/plain; charset=utf-8");
            Ok(version.header("x-basalt-version", env!("CARGO_PKG_VERSION")).body(EQUALS))
        }
        _ => Err(unknown(&request)),
    }
}

/// Reports whether `path` is `name` or below it.
fn is_below(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Answers `cdn`, `cdn/:bucket` and `cdn/:bucket/*`, which purge objects from caches. There is no cache between this
/// service and its callers, and the service's own caches are always current.
fn purge(context: &Context, request: &Request) -> Result<Response, Error> {
    body::Fields::of(&body::query(request), "querystring")?.boolean("transformations")?;
    if !credentials::required(&context.verifier, request)?.is_service() {
        return Err(Error::InvalidRole);
    }
    Ok(answer("{\"message\":\"success\",\"statusCode\":\"200\"}".to_owned()))
}

/// Returns the refusal of a route that does not exist, in upstream's words.
fn unknown(request: &Request) -> Error {
    let address = request.uri().path_and_query().map_or("/", |address| address.as_str());
    Error::NoSuchRoute(format!("{}:{address}", request.method()))
}

/// Returns an answer of status 200 with the JSON document `text`.
fn answer(text: String) -> Response {
    Response::builder().content_type("application/json; charset=utf-8").body(text)
}

/// Returns an answer of status 200 that says `text`.
fn message(text: &str) -> Response {
    answer(serde_json::json!({ "message": text }).to_string())
}
