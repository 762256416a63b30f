//! `upload/resumable`: the tus protocol, version 1.0.0 (tus.io), with creation, creation-with-upload,
//! creation-defer-length, termination and expiration.
//!
//! Refusals of the protocol are sent as plain text with the true status; callers without a valid token get the same
//! response as everywhere in the service.

use std::sync::Arc;
use std::time::Duration;

use gateway::PublicAddress;
use poem::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use poem::http::{HeaderName, HeaderValue, Method, StatusCode};
use poem::{Endpoint, Request, Response, RouteMethod, endpoint};
use time::OffsetDateTime;
use uuid::Uuid;

use super::write::replaces;
use super::{as_received, credentials, origin, rest};
use crate::caller::Caller;
use crate::context::Context;
use crate::error::Error;
use crate::resumable::{self, Refusal, Resumable, metadata_value};
use crate::signature::{self, Scope};
use crate::{bucket_rules, key, range, response};

const TUS_RESUMABLE: HeaderName = HeaderName::from_static("tus-resumable");
const TUS_VERSION: HeaderName = HeaderName::from_static("tus-version");
const TUS_EXTENSION: HeaderName = HeaderName::from_static("tus-extension");
const TUS_MAX_SIZE: HeaderName = HeaderName::from_static("tus-max-size");
const TUS_COMPLETE: HeaderName = HeaderName::from_static("tus-complete");
const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const UPLOAD_LENGTH: HeaderName = HeaderName::from_static("upload-length");
const UPLOAD_DEFER_LENGTH: HeaderName = HeaderName::from_static("upload-defer-length");
const UPLOAD_METADATA: HeaderName = HeaderName::from_static("upload-metadata");
const UPLOAD_EXPIRES: HeaderName = HeaderName::from_static("upload-expires");
const UPLOAD_CONCAT: HeaderName = HeaderName::from_static("upload-concat");

const VERSION: HeaderValue = HeaderValue::from_static("1.0.0");
const EXTENSIONS: HeaderValue =
    HeaderValue::from_static("creation,creation-with-upload,creation-defer-length,termination,expiration");
const BYTES: &str = "application/offset+octet-stream";

/// The response to a request that the protocol does not allow: the status, and upstream's words.
enum Failure {
    /// The caller's token is not acceptable.
    Credentials(Error),
    Refused(Refusal),
    Protocol(StatusCode, &'static str),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error.into())
    }
}

const fn invalid(words: &'static str) -> Failure {
    Failure::Protocol(StatusCode::BAD_REQUEST, words)
}

impl Failure {
    fn into_response(self) -> Response {
        let (status, words) = match self {
            Self::Credentials(error) => return error.into_response(),
            Self::Protocol(status, words) => (status, words.to_owned()),
            Self::Refused(Refusal::Storage(error)) => error.status_and_words(),
            Self::Refused(refusal) => {
                let status = match refusal {
                    Refusal::NotFound | Refusal::Storage(_) => StatusCode::NOT_FOUND,
                    Refusal::Expired => StatusCode::GONE,
                    Refusal::Conflict => StatusCode::CONFLICT,
                    Refusal::TooLarge | Refusal::LengthExceeded => StatusCode::PAYLOAD_TOO_LARGE,
                    Refusal::Complete => StatusCode::BAD_REQUEST,
                };
                (status, refusal.to_string())
            }
        };
        Response::builder().status(status).content_type("text/plain; charset=utf-8").body(words)
    }
}

/// Responds to `upload/resumable`, and with `is_signed` `upload/resumable/sign`, where uploads are created.
pub(crate) fn uploads(context: &Arc<Context>, is_signed: bool) -> impl Endpoint<Output = Response> + use<> {
    let to = Call { context: Arc::clone(context), is_signed };
    Protocol { methods: methods(&to).post(to.method(Call::create)) }
}

/// Responds to `upload/resumable/:id`, and with `is_signed` `upload/resumable/sign/:id`.
pub(crate) fn upload(context: &Arc<Context>, is_signed: bool) -> impl Endpoint<Output = Response> + use<> {
    Protocol { methods: methods(&Call { context: Arc::clone(context), is_signed }) }
}

fn methods(to: &Call) -> RouteMethod {
    RouteMethod::new()
        .options(to.method(Call::options))
        .head(to.method(Call::describe))
        .get(to.method(Call::describe))
        .patch(to.method(Call::append))
        .delete(to.method(Call::terminate))
}

/// What all requests of the protocol have in common: they name its version, and so do the responses.
struct Protocol {
    methods: RouteMethod,
}

impl Endpoint for Protocol {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let is_versioned =
            request.header(TUS_RESUMABLE).map(|version| Some(version) == VERSION.to_str().ok());
        let refused = match (request.method(), is_versioned) {
            (&Method::OPTIONS, _) | (_, Some(true)) => None,
            (_, None) => Some(Failure::Protocol(StatusCode::PRECONDITION_FAILED, "Tus-Resumable Required")),
            (_, Some(false)) => Some(invalid("Invalid tus-resumable")),
        };
        let mut response = match refused {
            Some(refused) => refused.into_response(),
            None => self.methods.call(request).await.unwrap_or_else(|_| NO_METHOD.into_response()),
        };
        response.headers_mut().insert(TUS_RESUMABLE, VERSION);
        Ok(response)
    }
}

/// The refusal of a method that a path does not have.
const NO_METHOD: Failure = Failure::Protocol(StatusCode::NOT_FOUND, "Not found");

/// A request for resumable uploads.
#[derive(Clone)]
struct Call {
    context: Arc<Context>,
    /// Whether the request has the token of a signed URL instead of one of the caller's.
    is_signed: bool,
}

/// Who uploads, and who will own the object.
struct Uploader {
    caller: Caller,
    owner: Option<String>,
    replaces: bool,
}

impl Call {
    /// Returns the endpoint of a method.
    fn method<F, A>(&self, respond: F) -> impl Endpoint<Output = Response> + use<F, A>
    where
        F: Fn(Self, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response, Failure>> + Send + 'static,
    {
        let call = self.clone();
        endpoint::make(move |request| {
            let response = respond(call.clone(), as_received(request));
            async move { response.await.unwrap_or_else(Failure::into_response) }
        })
    }

    async fn options(self, _request: Request) -> Result<Response, Failure> {
        let mut response: Response = StatusCode::NO_CONTENT.into();
        let headers = response.headers_mut();
        headers.insert(TUS_VERSION, VERSION);
        headers.insert(TUS_EXTENSION, EXTENSIONS);
        headers.insert(TUS_MAX_SIZE, self.context.settings.file_size_limit.0.into());
        Ok(response)
    }

    /// Returns who makes the request: the holder of its token, or of the signed URL for object `name`.
    fn uploader(&self, request: &Request, name: (&str, &str)) -> Result<Uploader, Failure> {
        if !self.is_signed {
            let caller =
                credentials::required(&self.context.verifier, request).map_err(Failure::Credentials)?;
            let owner = caller.subject().map(str::to_owned);
            return Ok(Uploader { owner, caller, replaces: replaces(request) });
        }
        let token = request.header("x-signature").ok_or(invalid("Missing x-signature header"))?;
        let object = format!("{}/{}", name.0, name.1);
        let verified = signature::verify(&self.context.keys, token, &object, Scope::Upload)?;
        let owner = verified.claims.get("owner").and_then(serde_json::Value::as_str).map(str::to_owned);
        let replaces = verified.claims.get("upsert") == Some(&serde_json::Value::Bool(true));
        Ok(Uploader { caller: credentials::service(request), owner, replaces })
    }

    /// Checks the token before anything is said about an upload.
    fn admit(&self, request: &Request) -> Result<(), Failure> {
        match self.is_signed {
            true if request.header("x-signature").is_none() => Err(invalid("Missing x-signature header")),
            true => Ok(()),
            false => {
                credentials::required(&self.context.verifier, request).map(drop).map_err(Failure::Credentials)
            }
        }
    }

    async fn create(self, mut request: Request) -> Result<Response, Failure> {
        self.admit(&request)?;
        // A part that is to be joined with others later must not become the object.
        if request.headers().contains_key(UPLOAD_CONCAT) {
            return Err(Failure::Protocol(
                StatusCode::NOT_IMPLEMENTED,
                "Concatenation extension is not (yet) supported. Disable parallel uploads in the tus client.",
            ));
        }
        let metadata = metadata_header(&request)?;
        let length = announced_length(&request)?;
        let bucket_name = metadata_value(&metadata, "bucketName").unwrap_or_default();
        let object_name = metadata_value(&metadata, "objectName").unwrap_or_default();
        key::check_bucket(&bucket_name)?;
        key::check_key(&object_name)?;
        let uploader = self.uploader(&request, (&bucket_name, &object_name))?;
        let life = Duration::from_millis(self.context.settings.resumable_expiry_ms);
        let mut upload = Resumable {
            id: Uuid::new_v4(),
            bucket: bucket_name,
            key: object_name,
            owner: uploader.owner,
            replaces: uploader.replaces,
            metadata,
            length,
            received: 0,
            parts: Vec::new(),
            is_complete: false,
            expires_at: OffsetDateTime::now_utc() + life,
        };
        let caller = &uploader.caller;
        let bucket = bucket_rules::find(&self.context.store.rows, &upload.bucket).await?;
        let target =
            upload.target(self.operation("storage.tus.upload.create", "storage.tus.upload.create_signed"));
        if length.is_some_and(|length| length > target.size_limit(&self.context.store, &bucket)) {
            return Err(Refusal::TooLarge.into());
        }
        let about = upload.description();
        target.check(&bucket, &about)?;
        target.rehearse(&self.context.store.rows, caller, &about).await?;
        resumable::create(&self.context.store.rows, caller, &upload).await?;
        let has_body = request.header(CONTENT_TYPE) == Some(BYTES);
        if has_body || length == Some(0) {
            let chunks = Box::pin(request.take_body().into_bytes_stream());
            resumable::append(&self.context.store, caller, &mut upload, &bucket, chunks).await?;
        }
        let mut response: Response = StatusCode::CREATED.into();
        response::insert(response.headers_mut(), LOCATION, &self.location(&request, upload.id));
        if has_body {
            response.headers_mut().insert(UPLOAD_OFFSET, upload.received.into());
        }
        progress(&mut response, &upload);
        Ok(response)
    }

    /// Returns the address of an upload as the client reaches it.
    fn location(&self, request: &Request, id: Uuid) -> String {
        let PublicAddress { scheme, host, prefix } = PublicAddress::of(request);
        let host = if gateway::is_host(&host) { &*host } else { "localhost" };
        let mount = origin::mount(request);
        let signed = if self.is_signed { "/sign" } else { "" };
        format!("{scheme}://{host}{prefix}{mount}/upload/resumable{signed}/{id}")
    }

    /// Returns the value of `storage.operation()` for the request, which is one of these two.
    const fn operation(&self, plain: &'static str, signed: &'static str) -> &'static str {
        if self.is_signed { signed } else { plain }
    }

    /// Finds the upload that the path of `request` names.
    async fn find(&self, request: &Request) -> Result<Resumable, Failure> {
        let id = Uuid::try_parse(rest(request)).map_err(|_| Refusal::NotFound)?;
        Ok(resumable::find(&self.context.store.rows, id).await?)
    }

    async fn describe(self, request: Request) -> Result<Response, Failure> {
        self.admit(&request)?;
        let upload = self.find(&request).await?;
        self.uploader(&request, (&upload.bucket, &upload.key))?;
        let mut response: Response = StatusCode::OK.into();
        progress(&mut response, &upload);
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(UPLOAD_OFFSET, upload.received.into());
        match upload.length {
            Some(length) => headers.insert(UPLOAD_LENGTH, length.into()),
            None => headers.insert(UPLOAD_DEFER_LENGTH, HeaderValue::from_static("1")),
        };
        response::insert(headers, UPLOAD_METADATA, &upload.metadata);
        Ok(response)
    }

    async fn append(self, mut request: Request) -> Result<Response, Failure> {
        self.admit(&request)?;
        let offset = request
            .header(UPLOAD_OFFSET)
            .ok_or(Failure::Protocol(StatusCode::FORBIDDEN, "Upload-Offset header required"))?;
        let offset: u64 = offset.parse().map_err(|_| invalid("Invalid upload-offset"))?;
        if request.header(CONTENT_TYPE) != Some(BYTES) {
            return Err(invalid("Invalid content-type"));
        }
        let mut upload = self.find(&request).await?;
        let caller = self.uploader(&request, (&upload.bucket, &upload.key))?.caller;
        if offset != upload.received || upload.is_complete {
            return Err(Refusal::Conflict.into());
        }
        let bucket = bucket_rules::find(&self.context.store.rows, &upload.bucket).await?;
        let limit = upload.target("").size_limit(&self.context.store, &bucket);
        if let Some(length) = request.header(UPLOAD_LENGTH) {
            let length: u64 = length.parse().map_err(|_| invalid("Invalid upload-length"))?;
            if upload.length.is_some_and(|known| known != length) || length < upload.received {
                return Err(invalid("Invalid upload-length"));
            }
            upload.length = Some(length);
        }
        if upload.length.is_some_and(|length| length > limit) {
            return Err(Refusal::TooLarge.into());
        }
        let about = upload.description();
        let target =
            upload.target(self.operation("storage.tus.upload.part", "storage.tus.upload.part_signed"));
        target.rehearse(&self.context.store.rows, &caller, &about).await?;
        let chunks = Box::pin(request.take_body().into_bytes_stream());
        resumable::append(&self.context.store, &caller, &mut upload, &bucket, chunks).await?;
        let mut response: Response = StatusCode::NO_CONTENT.into();
        response.headers_mut().insert(UPLOAD_OFFSET, upload.received.into());
        progress(&mut response, &upload);
        Ok(response)
    }

    async fn terminate(self, request: Request) -> Result<Response, Failure> {
        self.admit(&request)?;
        let upload = self.find(&request).await?;
        let caller = self.uploader(&request, (&upload.bucket, &upload.key))?.caller;
        if upload.is_complete {
            return Err(Refusal::Complete.into());
        }
        let target =
            upload.target(self.operation("storage.tus.upload.delete", "storage.tus.upload.delete_signed"));
        target.rehearse(&self.context.store.rows, &caller, &upload.description()).await?;
        resumable::terminate(&self.context.store, &caller, &upload).await?;
        Ok(StatusCode::NO_CONTENT.into())
    }
}

/// Returns the header `Upload-Metadata` of a new upload.
fn metadata_header(request: &Request) -> Result<String, Failure> {
    let metadata = request.header(UPLOAD_METADATA).ok_or(invalid("Metadata header is required"))?;
    if resumable::is_metadata(metadata) {
        Ok(metadata.to_owned())
    } else {
        Err(invalid("Invalid upload-metadata"))
    }
}

/// Returns how many bytes a new upload will have; `None` if the client will say it later.
fn announced_length(request: &Request) -> Result<Option<u64>, Failure> {
    match (request.header(UPLOAD_LENGTH), request.header(UPLOAD_DEFER_LENGTH)) {
        (Some(length), None) => length.parse().map(Some).map_err(|_| invalid("Invalid upload-length")),
        (None, Some("1")) => Ok(None),
        (None, Some(_)) => Err(invalid("Invalid upload-defer-length")),
        (Some(_), Some(_)) | (None, None) => {
            Err(invalid("Upload-Length or Upload-Defer-Length header required"))
        }
    }
}

/// Adds the headers that say how long the upload will be kept, or that it is complete.
fn progress(response: &mut Response, upload: &Resumable) {
    if upload.length == Some(upload.received) {
        response.headers_mut().insert(TUS_COMPLETE, HeaderValue::from_static("1"));
    } else if let Some(date) = range::http_date(upload.expires_at) {
        response::insert(response.headers_mut(), UPLOAD_EXPIRES, &date);
    }
}
