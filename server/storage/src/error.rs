//! The errors of the service, with upstream's codes.
//!
//! A body is always `{statusCode, error, message, code}`. `statusCode` is the true class; the HTTP status is 400
//! for nearly all of them, which is what upstream responds with and what storage-js expects.

use http::StatusCode;
use poem::{Body, Response};
use serde_json::json;

use crate::refusal::Refusal;

/// A refusal or a failure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such bucket, or none that this caller may know of.
    #[error("Bucket not found")]
    NoSuchBucket,
    /// No such object, or none that this caller may read.
    #[error("Object not found")]
    NoSuchKey,
    /// A version of an object that is a delete marker, which has no content.
    #[error("The specified method is not allowed against this version of the resource")]
    MethodNotAllowed,
    /// A bucket without rules by which objects expire.
    #[error("The lifecycle configuration does not exist")]
    NoSuchLifecycle,
    /// A name that no object can have; holds the name.
    #[error("Invalid key: {0}")]
    InvalidKey(String),
    /// A name that no bucket can have.
    #[error("Bucket name invalid")]
    InvalidBucketName,
    /// A `Range` that cannot be served from an object of this many bytes.
    #[error("invalid range provided")]
    InvalidRange(u64),
    /// A request that lacks something or has it in the wrong form; holds what.
    #[error("{0}")]
    InvalidRequest(String),
    /// A body that is not the JSON that its content type says it is; holds what was expected.
    #[error("{0}")]
    InvalidJson(&'static str),
    /// A parameter whose value cannot be used; holds its name.
    #[error("Invalid Parameter {0}")]
    InvalidParameter(&'static str),
    /// An `X-Robots-Tag` that says nothing that search engines understand; holds what is wrong.
    #[error("Invalid X-Robots-Tag header: {0}")]
    InvalidRobotsTag(String),
    /// The token of a signed URL is malformed, forged or expired; holds which.
    #[error("{0}")]
    InvalidJwt(&'static str),
    /// The token of a signed URL is for another object or another use; holds which.
    #[error("{0}")]
    InvalidSignature(&'static str),
    /// An object of that name exists.
    #[error("The resource already exists")]
    KeyAlreadyExists,
    /// A bucket of that name exists.
    #[error("The resource already exists")]
    BucketAlreadyExists,
    /// What an object is to be moved to exists.
    #[error("The resource already exists")]
    ResourceAlreadyExists,
    /// The bucket that an object is to be written to does not exist.
    #[error("The related resource does not exist")]
    RelatedResource,
    /// A bucket that is to be deleted holds objects.
    #[error("The bucket you tried to delete is not empty")]
    BucketNotEmpty,
    /// A bucket that is to be deleted has multipart uploads under way; holds the keys of some.
    #[error("{}", referenced(.0))]
    BucketReferenced(Vec<String>),
    /// No such multipart upload, or it has ended.
    #[error("Upload not found")]
    NoSuchUpload,
    /// A bucket that is to be emptied holds more objects than one request may remove.
    #[error("Unable to empty the bucket because it contains too many objects")]
    BucketTooLarge,
    /// More user metadata than an object may have.
    #[error("The user_metadata exceeded the maximum allowed size")]
    MetadataTooLarge,
    /// A value that a vector index cannot hold or search for; holds what is wrong.
    #[error("{0}")]
    InvalidValue(String),
    /// No vector bucket or index of this name.
    #[error("resource \"{0}\" not found")]
    VectorResourceNotFound(String),
    /// There is a vector bucket or index of this name.
    #[error("{kind} \"{name}\" already exists")]
    VectorResourceExists {
        /// What it is.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A vector bucket that is to be deleted has indexes; holds its name.
    #[error("Vector Bucket \"{0}\" not empty")]
    VectorBucketNotEmpty(String),
    /// There are as many vector buckets as the operator allows.
    #[error("Maximum number of buckets exceeded. Max allowed is {0}.")]
    TooManyVectorBuckets(u64),
    /// A vector bucket has as many indexes as the operator allows.
    #[error("Maximum number of indexes exceeded. Max allowed is {0}.")]
    TooManyVectorIndexes(u64),
    /// A feature that this service does not have; holds its description.
    #[error("The feature {0} is not enabled for this resource")]
    FeatureNotEnabled(&'static str),
    /// A route for the service role alone.
    #[error("Access denied: Invalid role")]
    InvalidRole,
    /// Content that is missing, broken or cannot be understood; holds how.
    #[error("{0}")]
    InvalidContent(String),
    /// The token is not acceptable, or the caller's role may not do this; holds which.
    #[error("{0}")]
    AccessDenied(String),
    /// More bytes than the bucket or the service takes.
    #[error("The object exceeded the maximum allowed size")]
    EntityTooLarge,
    /// Too many uploads at the same time, in all or of the caller's network.
    #[error("Please reduce your request rate.")]
    SlowDown,
    /// A content type that the bucket does not take; holds it.
    #[error("mime type {0} is not supported")]
    InvalidMimeType(String),
    /// A header `Content-Type` that names no type.
    #[error("Invalid Content-Type header")]
    InvalidContentType,
    /// A route that does not exist; holds method and path.
    #[error("Route {0} not found")]
    NoSuchRoute(String),
    /// A picture that is not rendered.
    #[error(transparent)]
    Render(Refusal),
    /// The database refused or did not respond.
    #[error(transparent)]
    Database(postgres::Error),
    /// The store of bytes failed.
    #[error("object store: {0}")]
    Backend(String),
    /// The store of bytes is another server, which does not respond as it should.
    #[error("object store: {0}")]
    BackendUnavailable(String),
}

/// The form of an error in responses.
struct WireForm {
    http: StatusCode,
    status_code: &'static str,
    error: &'static str,
    code: &'static str,
}

const fn bad_request(status_code: &'static str, error: &'static str, code: &'static str) -> WireForm {
    WireForm { http: StatusCode::BAD_REQUEST, status_code, error, code }
}

/// Returns a bad request whose error is called like its code.
const fn coded(status_code: &'static str, code: &'static str) -> WireForm {
    bad_request(status_code, code, code)
}

impl Error {
    fn wire_form(&self) -> WireForm {
        match self {
            Self::NoSuchBucket => bad_request("404", "Bucket not found", "NoSuchBucket"),
            Self::NoSuchKey => bad_request("404", "not_found", "NoSuchKey"),
            Self::MethodNotAllowed => bad_request("405", "method_not_allowed", "MethodNotAllowed"),
            Self::NoSuchLifecycle => coded("404", "NoSuchLifecycleConfiguration"),
            Self::InvalidKey(_) => coded("400", "InvalidKey"),
            Self::InvalidBucketName => bad_request("400", "Invalid Input", "InvalidBucketName"),
            Self::InvalidRequest(_) => bad_request("400", "Error", "InvalidRequest"),
            Self::InvalidJson(_) => bad_request("400", "FastifyError", "InvalidRequest"),
            Self::InvalidParameter(_) | Self::InvalidValue(_) => coded("400", "InvalidParameter"),
            Self::VectorResourceNotFound(_) => coded("404", "NotFoundException"),
            Self::VectorResourceExists { .. } => coded("409", "ConflictException"),
            Self::VectorBucketNotEmpty(_) => coded("400", "VectorBucketNotEmpty"),
            Self::TooManyVectorBuckets(_) => coded("400", "S3VectorMaxBucketsExceeded"),
            Self::TooManyVectorIndexes(_) => coded("400", "S3VectorMaxIndexesExceeded"),
            Self::InvalidRobotsTag(_) => bad_request("400", "invalid_x_robots_tag", "InvalidRequest"),
            Self::InvalidJwt(_) => coded("400", "InvalidJWT"),
            Self::InvalidSignature(_) => coded("400", "InvalidSignature"),
            Self::KeyAlreadyExists => bad_request("409", "Duplicate", "KeyAlreadyExists"),
            Self::BucketAlreadyExists => bad_request("409", "Duplicate", "BucketAlreadyExists"),
            Self::ResourceAlreadyExists => bad_request("409", "Duplicate", "ResourceAlreadyExists"),
            Self::RelatedResource => coded("404", "InvalidRequest"),
            Self::BucketNotEmpty => coded("409", "ResourceNotEmpty"),
            Self::BucketReferenced(_) => coded("409", "ResourceReferenced"),
            Self::NoSuchUpload => coded("404", "NoSuchUpload"),
            Self::BucketTooLarge => coded("409", "InvalidRequest"),
            Self::MetadataTooLarge => bad_request("413", "Payload too large", "EntityTooLarge"),
            Self::FeatureNotEnabled(_) => coded("409", "FeatureNotEnabled"),
            Self::InvalidRole => WireForm {
                http: StatusCode::FORBIDDEN,
                status_code: "403",
                error: "Unauthorized",
                code: "AccessDenied",
            },
            Self::InvalidContent(_) => coded("400", "InvalidRequest"),
            Self::AccessDenied(_) => bad_request("403", "Unauthorized", "AccessDenied"),
            Self::EntityTooLarge => bad_request("413", "Payload too large", "EntityTooLarge"),
            Self::InvalidMimeType(_) | Self::InvalidContentType => {
                bad_request("415", "invalid_mime_type", "InvalidMimeType")
            }
            Self::InvalidRange(_) => WireForm {
                http: StatusCode::RANGE_NOT_SATISFIABLE,
                status_code: "416",
                error: "invalid_range",
                code: "InvalidRange",
            },
            Self::NoSuchRoute(_) => WireForm {
                http: StatusCode::NOT_FOUND,
                status_code: "404",
                error: "Not Found",
                code: "InvalidRequest",
            },
            Self::Render(refusal) => render_form(*refusal),
            Self::Backend(_) => internal("InternalError"),
            Self::BackendUnavailable(_) => unavailable("S3Error"),
            Self::SlowDown => unavailable("SlowDown"),
            Self::Database(error) => database_form(error),
        }
    }

    /// Returns the message for the caller. Internal errors are not described to callers; the log has the details.
    fn public_message(&self) -> String {
        match self {
            Self::Backend(_) => "Internal Server Error".to_owned(),
            Self::BackendUnavailable(_) => "The object store cannot be reached".to_owned(),
            Self::Database(error) => match error {
                postgres::Error::Postgres(server) if server.code == "42501" => {
                    policy_refusal(&server.message)
                }
                postgres::Error::Postgres(server) if server.code == "22P02" => server.message.clone(),
                postgres::Error::Postgres(server) => format!("database error, code: {}", server.code),
                postgres::Error::AcquireTimeout(_) => {
                    "Too many connections issued to the database".to_owned()
                }
                _ => "The connection to the database timed out".to_owned(),
            },
            _ => self.to_string(),
        }
    }

    /// Returns the true status, which most responses have only in their body.
    fn true_status(&self) -> StatusCode {
        let WireForm { http, status_code, .. } = self.wire_form();
        status_code.parse().ok().and_then(|code| StatusCode::from_u16(code).ok()).unwrap_or(http)
    }

    /// Returns the true status, which most responses have only in their body, and the message for the caller.
    pub(crate) fn status_and_words(&self) -> (StatusCode, String) {
        let (status, _, words) = self.code_and_words();
        (status, words)
    }

    /// Returns what [`Self::status_and_words`] returns, with the code between the two.
    pub(crate) fn code_and_words(&self) -> (StatusCode, &'static str, String) {
        let (status, code) = (self.true_status(), self.wire_form().code);
        if status.is_server_error() {
            tracing::error!(code, error = %self, "storage request failed");
        }
        (status, code, self.public_message())
    }

    /// Returns the response. 416 names the object's size (RFC 9110, section 14.4), so that a client can ask again.
    pub(crate) fn into_response(self) -> Response {
        let http = self.wire_form().http;
        self.response(http)
    }

    /// Returns the response with the true status, as the newer interfaces have it.
    pub(crate) fn into_true_response(self) -> Response {
        let status = self.true_status();
        self.response(status)
    }

    fn response(self, http: StatusCode) -> Response {
        let WireForm { status_code, error, code, .. } = self.wire_form();
        if http.is_server_error() {
            tracing::error!(code, error = %self, "storage request failed");
        }
        let body = json!({
            "statusCode": status_code, "error": error, "message": self.public_message(), "code": code,
        });
        let mut response = Response::builder()
            .status(http)
            .content_type("application/json; charset=utf-8")
            .header(http::header::CACHE_CONTROL, "no-store");
        if let Self::InvalidRange(size) = self {
            response = response.header(http::header::CONTENT_RANGE, format!("bytes */{size}"));
        }
        if http == StatusCode::SERVICE_UNAVAILABLE {
            response = response.header(http::header::RETRY_AFTER, "1");
        }
        response.body(Body::from_string(body.to_string()))
    }
}

/// Returns the message for a bucket that pending uploads to `keys` and perhaps others refer to.
fn referenced(keys: &[String]) -> String {
    let names: Vec<String> = keys.iter().map(|key| format!("\"{key}\"")).collect();
    let such_as = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    format!(
        "The bucket could not be deleted because it is referenced by a pending multipart upload{such_as}. Complete or \
         abort it first; an upload ends by itself when it has received nothing for a day."
    )
}

/// Returns the message for the refusal of a policy, in which upstream names no table.
fn policy_refusal(message: &str) -> String {
    const POLICY: &str = "new row violates row-level security policy";
    if message.starts_with(POLICY) { POLICY.to_owned() } else { message.to_owned() }
}

const fn internal(code: &'static str) -> WireForm {
    WireForm { http: StatusCode::INTERNAL_SERVER_ERROR, status_code: "500", error: code, code }
}

/// Returns the form of a temporary failure.
const fn unavailable(code: &'static str) -> WireForm {
    WireForm { http: StatusCode::SERVICE_UNAVAILABLE, status_code: "503", error: code, code }
}

const fn render_form(refusal: Refusal) -> WireForm {
    match refusal {
        Refusal::Failed => internal("InternalError"),
        Refusal::Overloaded => coded("429", "InvalidRequest"),
        Refusal::Timeout => coded("408", "InvalidRequest"),
        Refusal::Missing => coded("404", "InvalidRequest"),
        Refusal::Unsupported | Refusal::Resolution | Refusal::FileSize => coded("400", "InvalidRequest"),
    }
}

fn database_form(error: &postgres::Error) -> WireForm {
    match error {
        postgres::Error::Postgres(server) => match &*server.code {
            "42501" => bad_request("403", "Unauthorized", "AccessDenied"),
            "22P02" | "22021" => coded("400", "InvalidParameter"),
            "42703" | "42P01" => coded("503", "DatabaseSchemaMismatch"),
            "42P17" => coded("503", "DatabaseInvalidObjectDefinition"),
            "23503" => coded("404", "InvalidRequest"),
            "25006" => coded("503", "DatabaseReadOnly"),
            "57014" => timeout(),
            _ => internal("DatabaseError"),
        },
        postgres::Error::AcquireTimeout(_) => WireForm {
            http: StatusCode::TOO_MANY_REQUESTS,
            status_code: "429",
            error: "too_many_connections",
            code: "SlowDown",
        },
        postgres::Error::Timeout(_) => timeout(),
        postgres::Error::Unavailable(_) | postgres::Error::TooManyConnections(_) => {
            unavailable("DatabaseTimeout")
        }
        postgres::Error::Configuration(_) | postgres::Error::Protocol(_) | postgres::Error::TooLarge(_) => {
            internal("InternalError")
        }
    }
}

/// Returns the status 544, which is upstream's own: no registered one says that the database timed out.
fn timeout() -> WireForm {
    WireForm {
        http: StatusCode::from_u16(544).unwrap_or(StatusCode::GATEWAY_TIMEOUT),
        status_code: "544",
        error: "DatabaseTimeout",
        code: "DatabaseTimeout",
    }
}

impl From<postgres::Error> for Error {
    fn from(error: postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Missing => Self::NoSuchKey,
            refusal => Self::Render(refusal),
        }
    }
}

impl From<object_store::Error> for Error {
    fn from(error: object_store::Error) -> Self {
        match error {
            object_store::Error::NotFound { .. } => Self::NoSuchKey,
            // Refusals of the other server are errors of other kinds.
            object_store::Error::Generic { store: "S3", .. } => Self::BackendUnavailable(error.to_string()),
            other => Self::Backend(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_are_away_are_worth_another_attempt() {
        let failed = |store| object_store::Error::Generic { store, source: "no answer".into() };
        let away = [failed("S3").into(), postgres::Error::Unavailable("no server".to_owned()).into()];
        for error in away.map(Error::into_response) {
            assert_eq!(error.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(error.headers()[http::header::RETRY_AFTER], "1");
        }
        let own = Error::from(failed("LocalFileSystem")).into_response();
        assert_eq!(own.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!own.headers().contains_key(http::header::RETRY_AFTER));
    }
}
