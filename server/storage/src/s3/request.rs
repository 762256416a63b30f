//! The target of a request (bucket and key), the check for unsupported features, and the request's form for `s3s`.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use poem::Request;
use poem::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use poem::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use s3s::{HttpRequest, S3Error};

use super::payload::{CHECKSUM_PREFIX, Chunks};
use super::sigv4::{Claim, QUERY_PARAMETERS, parameter};
use super::xml_errors::{invalid, not_implemented};
use crate::caller::Caller;
use crate::error::Error;
use crate::key;

/// Sub-resources of buckets and objects. A request for one that is not supported must not be taken for one that
/// concerns the bucket or the object itself. Source: Amazon S3 API Reference, "Actions".
const SUB_RESOURCES: [&str; 43] = [
    "abac",
    "accelerate",
    "acl",
    "analytics",
    "annotation",
    "append",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "events",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metadataConfiguration",
    "metadataInventoryTable",
    "metadataJournalTable",
    "metadataTable",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "renameObject",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "select-type",
    "session",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versioning",
    "versions",
    "website",
];

/// Headers that request features which are not supported. They are refused, because ignoring them would mislead the
/// client. A name that ends with a dash stands for all that begin with it.
const UNSUPPORTED_HEADERS: [&str; 10] = [
    "x-amz-bucket-object-lock-enabled",
    "x-amz-copy-source-server-side-encryption-",
    "x-amz-grant-",
    "x-amz-object-lock-",
    "x-amz-rename-source",
    "x-amz-server-side-encryption",
    "x-amz-server-side-encryption-",
    "x-amz-tagging",
    "x-amz-website-redirect-location",
    "x-amz-write-offset-bytes",
];

/// Parameters that are whole numbers, with the least and the greatest that they may be.
const NUMBERS: [(&str, i32, i32); 6] = [
    ("max-keys", 0, i32::MAX),
    ("max-uploads", 1, 1000),
    ("max-parts", 0, i32::MAX),
    ("max-buckets", 1, 10_000),
    ("part-number-marker", 0, i32::MAX),
    ("partNumber", 1, 10_000),
];

/// Headers that this service reads itself: `s3s` either refuses values that are allowed here or need not see them.
const OWN_HEADERS: [HeaderName; 15] = [
    poem::http::header::AUTHORIZATION,
    poem::http::header::CONTENT_ENCODING,
    poem::http::header::CONTENT_TYPE,
    poem::http::header::EXPIRES,
    poem::http::header::IF_MATCH,
    poem::http::header::IF_MODIFIED_SINCE,
    poem::http::header::IF_NONE_MATCH,
    poem::http::header::IF_UNMODIFIED_SINCE,
    poem::http::header::RANGE,
    HeaderName::from_static("x-amz-acl"),
    HeaderName::from_static("x-amz-content-sha256"),
    HeaderName::from_static("x-amz-date"),
    HeaderName::from_static("x-amz-decoded-content-length"),
    HeaderName::from_static("x-amz-security-token"),
    HeaderName::from_static("x-amz-mp-object-size"),
];
const COPY_SOURCE: HeaderName = HeaderName::from_static("x-amz-copy-source");

/// The bucket and the key of a request; either may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) bucket: String,
    pub(super) key: String,
}

impl Target {
    /// Reads the encoded rest of a path. Slashes of the key are kept as they are.
    ///
    /// An encoded slash does not end the bucket's name. No bucket has one in its name, and `s3s`, which decodes a path
    /// before it splits it, would see another bucket and another key than what is checked here.
    ///
    /// Errors: [`Error::InvalidKey`] for a path that is not UTF-8 and for a key that is too long;
    /// [`Error::InvalidBucketName`].
    pub(super) fn of(rest: &str) -> Result<Self, Error> {
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let (bucket, key) = (key::decode(bucket)?, key::decode(key)?);
        if bucket.contains('/') || (bucket.is_empty() && !key.is_empty()) {
            return Err(Error::InvalidBucketName);
        }
        if key.len() > key::MAX_KEY_LENGTH { Err(Error::InvalidKey(key)) } else { Ok(Self { bucket, key }) }
    }

    /// Returns the text by which refusals name it.
    pub(super) fn resource(&self) -> String {
        let parts = [&*self.bucket, &*self.key];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }

    fn path(&self) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        match (self.bucket.is_empty(), self.key.is_empty()) {
            (true, _) => "/".to_owned(),
            (false, true) => format!("/{}", encoded(&self.bucket)),
            (false, false) => format!("/{}/{}", encoded(&self.bucket), encoded(&self.key)),
        }
    }
}

/// What operations need of a request in addition to the input from `s3s`.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) caller: Caller,
    /// The request's headers, with those that a presigned URL has in its query.
    pub(super) headers: HeaderMap,
    /// Bytes of the body, if that is known.
    pub(super) length: Option<u64>,
}

impl Call {
    /// Returns the value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        super::sigv4::header(&self.headers, name)
    }
}

/// Refuses what is not supported.
///
/// Errors: `NotImplemented`; `InvalidRequest` for a number that is none.
pub(super) fn check(
    method: &Method,
    headers: &HeaderMap,
    query: &[(String, String)],
    target: &Target,
) -> Result<(), S3Error> {
    let is_object = !target.key.is_empty();
    for (name, value) in query {
        let is_supported = match (name.as_str(), method, is_object) {
            ("delete", &Method::POST, false)
            | ("location" | "versions" | "uploads", &Method::GET, false)
            | ("versioning", &Method::GET | &Method::PUT, false)
            | ("lifecycle", &Method::GET | &Method::PUT | &Method::DELETE, false)
            | ("tagging", &Method::GET, true)
            | ("uploads", &Method::POST, true)
            | ("uploadId", &Method::GET | &Method::PUT | &Method::POST | &Method::DELETE, true) => true,
            // An object is one part, however it was uploaded.
            ("partNumber", &Method::GET | &Method::HEAD, true) => value == "1",
            ("partNumber", method, _) => *method == Method::PUT && parameter(query, "uploadId").is_some(),
            ("versionId", &Method::GET | &Method::HEAD | &Method::DELETE, true) => true,
            ("versionId", _, _) => value.is_empty(),
            (name, _, _) => !SUB_RESOURCES.contains(&name),
        };
        if !is_supported {
            return Err(not_implemented(name));
        }
        check_number(name, value)?;
    }
    let names = headers.keys().map(HeaderName::as_str).chain(query.iter().map(|(name, _)| name.as_str()));
    let mut unsupported = names.filter(|name| is_unsupported(&name.to_ascii_lowercase()));
    match unsupported.next() {
        Some(name) => Err(not_implemented(name)),
        None if parameter(query, "uploadId").is_some() && *method == Method::PUT => {
            let number = parameter(query, "partNumber");
            number.map(drop).ok_or_else(|| not_implemented("uploadId"))
        }
        None => Ok(()),
    }
}

/// Reports whether the body of a request that passed [`check`] is a document, which is read as a whole: all others are
/// bytes of an object.
pub(super) fn has_document(request: &Request, target: &Target) -> bool {
    *request.method() == Method::POST || target.key.is_empty()
}

fn is_unsupported(header: &str) -> bool {
    let is_meant = |known: &&str| header == *known || (known.ends_with('-') && header.starts_with(*known));
    UNSUPPORTED_HEADERS.iter().any(is_meant)
}

fn check_number(name: &str, value: &str) -> Result<(), S3Error> {
    let Some((_, least, greatest)) = NUMBERS.iter().find(|(known, _, _)| *known == name) else {
        return Ok(());
    };
    match value.parse::<i32>() {
        Ok(number) if number < *least => Err(invalid(format!("Querystring, {name} must be >= {least}"))),
        Ok(number) if number > *greatest => {
            Err(invalid(format!("Querystring, {name} must be <= {greatest}")))
        }
        Ok(_) => Ok(()),
        Err(_) => Err(invalid(format!("Querystring, {name} must be integer"))),
    }
}

/// Returns the headers of a request. A presigned URL has those that were signed in its query; except checksums, since
/// the SDK for JavaScript puts the one of an empty body there.
pub(super) fn headers(headers: &HeaderMap, query: &[(String, String)], claim: &Claim) -> HeaderMap {
    let mut headers = headers.clone();
    let hoisted =
        query.iter().filter(|(name, _)| claim.is_presigned && !QUERY_PARAMETERS.contains(&name.as_str()));
    for (name, value) in hoisted {
        let name = name.to_ascii_lowercase();
        let is_meant = name.starts_with("x-amz-") && !name.starts_with(CHECKSUM_PREFIX);
        if let (true, Ok(name), Ok(value)) =
            (is_meant, HeaderName::try_from(name), HeaderValue::from_str(value))
        {
            headers.entry(name).or_insert(value);
        }
    }
    headers
}

/// Returns the request as `s3s` is to see it: without signature, under its own path, with the decoded body.
///
/// Errors: `InvalidURI`.
pub(super) fn for_s3s(
    request: &Request,
    call: Call,
    query: &[(String, String)],
    target: &Target,
    chunks: Chunks,
) -> Result<HttpRequest, S3Error> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let kept = query.iter().filter(|(name, _)| !QUERY_PARAMETERS.contains(&name.as_str()));
    let pairs: Vec<String> =
        kept.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    let address: Uri =
        format!("{}?{}", target.path(), pairs.join("&")).parse().map_err(|_| s3s::s3_error!(InvalidURI))?;
    let mut headers = call.headers.clone();
    for name in OWN_HEADERS {
        headers.remove(name);
    }
    let is_own = |name: &&HeaderName| {
        let name = name.as_str();
        ["x-amz-checksum-", "x-amz-meta-", "x-amz-sdk-", "x-amz-copy-source-"]
            .iter()
            .any(|own| name.starts_with(own))
    };
    for name in headers.keys().filter(is_own).cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
    if headers.contains_key(COPY_SOURCE) {
        // `s3s` only checks that there is one.
        headers.insert(COPY_SOURCE, HeaderValue::from_static("bucket/key"));
    }
    if let Some(length) = call.length {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    debug_assert!(!headers.contains_key(CONTENT_TYPE), "s3s would take a form for one of its own");
    let body = poem::Body::from_bytes_stream(chunks);
    let mut inner = HttpRequest::new(s3s::Body::http_body(BoxBody::<Bytes, io::Error>::from(body)));
    *inner.method_mut() = request.method().clone();
    *inner.uri_mut() = address;
    *inner.headers_mut() = headers;
    inner.extensions_mut().insert(Arc::new(call));
    Ok(inner)
}
