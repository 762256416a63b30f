//! The S3 protocol at `/storage/v1/s3`, path style.
//!
//! The way through it: `sigv4` reads the signature of a request, `signer` verifies it and identifies the
//! caller; `payload` (with `chunked`) decodes the body and compares it with its hashes; `request` refuses what is not
//! supported and takes from the request what the crate `s3s` would read more strictly than buckets' and objects' rules
//! here. `s3s` then routes to an operation (`operations` and the files of its families) and writes its XML. `form` is
//! the upload of a browser's form, which needs none of that.

mod bucket_operations;
mod chunked;
mod copy_operations;
mod form;
mod lifecycle_operations;
mod list_operations;
mod multipart_operations;
mod object_operations;
mod operations;
mod payload;
mod request;
mod signer;
mod sigv4;
mod xml_errors;

use futures_util::{StreamExt as _, TryStreamExt as _};
use gateway::BodyMemory;
use poem::http::StatusCode;
use poem::http::header::CONTENT_TYPE;
use poem::{Body, Request, Response};
use s3s::S3Error;

use crate::context::Context;

pub(crate) use operations::service;
pub(crate) use s3s::service::S3Service;

use payload::Payload;
use request::Target;
use sigv4::Claim;
use xml_errors::XML;

/// Responds to everything below `s3`; `path` is what follows it, still encoded.
pub(crate) async fn route(context: &Context, service: &S3Service, request: Request, path: &str) -> Response {
    let target = match Target::of(path) {
        Ok(target) => target,
        Err(refused) => return xml_errors::respond(refused.into(), path),
    };
    let resource = target.resource();
    let response = Box::pin(respond(context, service, request, target)).await;
    response.unwrap_or_else(|refused| xml_errors::respond(refused, &resource))
}

async fn respond(
    context: &Context,
    service: &S3Service,
    mut request: Request,
    target: Target,
) -> Result<Response, S3Error> {
    let query = sigv4::parse_query(request.uri().query().unwrap_or_default());
    let Some(claim) = Claim::of(request.headers(), &query)? else {
        return match form::is_form(&request) {
            true => form::respond(context, request, &target).await,
            false => Err(sigv4::denied("Missing signature")),
        };
    };
    let (caller, key) = signer::authenticate(context, &request, &claim, &query)?;
    request::check(request.method(), request.headers(), &query, &target)?;
    let body = request.take_body().into_bytes_stream().boxed();
    let headers = request::headers(request.headers(), &query, &claim);
    let mut opened = payload::open(&claim, key, &headers, body)?;
    if let Some(memory) = request.extensions().get::<BodyMemory>()
        && request::has_document(&request, &target)
    {
        opened = opened.kept_in(memory.clone());
    }
    let Payload { chunks, length, verdict } = opened;
    let call = request::Call { caller, headers, length };
    let inner = request::for_s3s(&request, call, &query, &target, chunks)?;
    let response = call_s3s(service, inner, &target).await?;
    // An error of the body comes before the response that it led to.
    verdict.take().map_or(Ok(response), Err)
}

async fn call_s3s(
    service: &S3Service,
    request: s3s::HttpRequest,
    target: &Target,
) -> Result<Response, S3Error> {
    let response = service.call(request).await;
    let response = response.map_err(|failure| {
        let failure: Box<dyn std::error::Error + Send + Sync> = failure.into();
        crate::error::Error::Backend(failure.to_string())
    })?;
    let (parts, body) = response.into_parts();
    let is_document = parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == XML);
    let mut response = Response::default();
    response.set_status(parts.extensions.get::<StatusCode>().copied().unwrap_or(parts.status));
    *response.headers_mut() = parts.headers;
    match body.bytes() {
        // Bytes that are there at once are a document of `s3s`; those of an object are a stream.
        Some(document) if is_document => {
            xml_errors::complete(&mut response, &String::from_utf8_lossy(&document), &target.resource());
        }
        Some(bytes) => response.set_body(bytes),
        None => response.set_body(Body::from_bytes_stream(body.map_err(std::io::Error::other))),
    }
    Ok(response)
}
