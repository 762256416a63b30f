//! Uploads of whole objects: raw bodies and forms.

use std::io;
use std::sync::Arc;

use futures_util::StreamExt as _;
use multer::{Field, Multipart};
use poem::http::Method;
use poem::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use poem::{Request, Response};
use serde_json::{Value, json};

use super::body::{self, Fields};
use super::{credentials, json_response, rest};
use crate::bucket_rules::{self, Bucket};
use crate::caller::Caller;
use crate::chunks::chunk_by_chunk;
use crate::context::Context;
use crate::error::Error;
use crate::mime::DEFAULT_TYPE;
use crate::objects::Written;
use crate::response::X_ROBOTS_TAG;
use crate::signature::{self, Scope};
use crate::upload::{DEFAULT_CACHE_CONTROL, Description, StoredBytes, Target};
use crate::{coding, key, lenient_base64, mime};

/// Fields of a form in addition to the file. Source: upstream's limits.
const MAX_FIELDS: usize = 10;
/// Bytes that a field may have, of which user metadata is the largest.
const MAX_FIELD_LENGTH: usize = 1 << 20;
/// The type of a form's file that says none. Source: RFC 7578, section 4.4.
const DEFAULT_TYPE_OF_PART: &str = "text/plain";

/// Responds to `POST object/:bucket/*`, which creates, and `PUT object/:bucket/*`, which also replaces.
pub(crate) async fn object(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let caller = credentials::required(&context.verifier, &request)?;
    let (bucket, key) = key::split_path(rest(&request))?;
    let is_update = *request.method() == Method::PUT;
    let target = Target {
        bucket: &bucket,
        key: &key,
        owner: caller.subject(),
        replaces: is_update || replaces(&request),
        operation: if is_update { "storage.object.upload_update" } else { "storage.object.upload" },
    };
    let written = receive(&context, &caller, request, &target).await?;
    let mut json = json!({ "Id": written.id, "Key": format!("{bucket}/{key}") });
    if let Some(version) = written.version {
        json["VersionId"] = version.to_string().into();
    }
    Ok(json_response(json.to_string()))
}

/// Responds to `PUT object/upload/sign/:bucket/*?token=`: the token says who owns the object and whether it may replace
/// another.
pub(crate) async fn signed(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let query = body::query(&request);
    let token = Fields::of(&query, "querystring")?.required_text("token")?;
    let (bucket, key) = key::split_url_path(rest(&request))?;
    let object = format!("{bucket}/{key}");
    let verified = signature::verify(&context.keys, &token, &object, Scope::Upload)?;
    let target = Target {
        bucket: &bucket,
        key: &key,
        owner: verified.claims.get("owner").and_then(Value::as_str),
        replaces: verified.claims.get("upsert") == Some(&Value::Bool(true)),
        operation: "storage.object.upload_signed",
    };
    let caller = credentials::service(&request);
    receive(&context, &caller, request, &target).await?;
    Ok(json_response(json!({ "Key": object }).to_string()))
}

/// Reports whether the request says that an object of the same name is to be replaced.
pub(super) fn replaces(request: &Request) -> bool {
    request.header("x-upsert") == Some("true")
}

/// Returns the user metadata of header `x-metadata`: base64 of a JSON object. What is neither is ignored.
pub(super) fn metadata_header(request: &Request) -> Option<Value> {
    let bytes = lenient_base64::decode(request.header("x-metadata")?.trim())?;
    serde_json::from_slice(&bytes).ok().filter(Value::is_object)
}

/// Returns the announced length of the request's body.
pub(super) fn content_length(request: &Request) -> Option<u64> {
    request.header(CONTENT_LENGTH).and_then(|length| length.parse().ok())
}

/// Stores the object that the body of `request` holds.
async fn receive(
    context: &Context,
    caller: &Caller,
    request: Request,
    target: &Target<'_>,
) -> Result<Written, Error> {
    let content_type = request.header(CONTENT_TYPE).unwrap_or(DEFAULT_TYPE).to_owned();
    if !mime::is_media_type(&content_type) {
        return Err(Error::InvalidContentType);
    }
    let bucket = bucket_rules::find(&context.store.rows, target.bucket).await?;
    let upload = Upload { context, caller, target, bucket: &bucket };
    let (about, stored) = if content_type.starts_with("multipart/form-data") {
        upload.form(request, &content_type).await?
    } else {
        upload.raw(request, content_type).await?
    };
    target.complete(&context.store, caller, &about, &stored).await
}

/// An upload whose body is being read.
struct Upload<'a> {
    context: &'a Context,
    caller: &'a Caller,
    target: &'a Target<'a>,
    bucket: &'a Bucket,
}

impl Upload<'_> {
    /// Stores a body that is the object itself.
    async fn raw(&self, mut request: Request, mimetype: String) -> Result<(Description, StoredBytes), Error> {
        let about = Description {
            mimetype,
            cache_control: request.header(CACHE_CONTROL).unwrap_or(DEFAULT_CACHE_CONTROL).to_owned(),
            robots_tag: request.header(X_ROBOTS_TAG).map(str::to_owned),
            content_encoding: request.header(CONTENT_ENCODING).and_then(coding::stored),
            user_metadata: metadata_header(&request),
            content_length: content_length(&request),
        };
        let Self { context, caller, target, bucket } = self;
        let chunks = Box::pin(request.take_body().into_bytes_stream());
        let stored =
            target.receive(&context.store, caller, bucket, &about, about.content_length, chunks).await?;
        Ok((about, stored))
    }

    /// Stores the first file of a form. Other fields describe it, before or after the file.
    async fn form(
        &self,
        mut request: Request,
        content_type: &str,
    ) -> Result<(Description, StoredBytes), Error> {
        let boundary = multer::parse_boundary(content_type)
            .map_err(|_| Error::InvalidContent("Multipart: Boundary not found".to_owned()))?;
        let mut about = Description {
            mimetype: DEFAULT_TYPE.to_owned(),
            cache_control: DEFAULT_CACHE_CONTROL.to_owned(),
            robots_tag: request.header(X_ROBOTS_TAG).map(str::to_owned),
            content_encoding: None,
            user_metadata: None,
            content_length: content_length(&request),
        };
        let mut form = Multipart::new(chunk_by_chunk(request.take_body().into_bytes_stream()), boundary);
        let mut declared_type = None;
        let mut stored = None;
        let read = self.fields(&mut form, &mut about, &mut declared_type, &mut stored).await;
        let stored = stored.ok_or_else(|| Error::InvalidContent("No content provided".to_owned()));
        // What was stored before a refusal is removed.
        let checked = read.and_then(|()| self.target.check(self.bucket, &about));
        match (checked, stored) {
            (Ok(()), Ok(stored)) => Ok((about, stored)),
            (Ok(()), Err(error)) => Err(error),
            (Err(error), stored) => {
                if let Ok(stored) = stored {
                    self.context.store.blobs.discard(&[stored.version]).await;
                }
                Err(error)
            }
        }
    }

    async fn fields(
        &self,
        form: &mut Multipart<'_>,
        about: &mut Description,
        declared_type: &mut Option<String>,
        stored: &mut Option<StoredBytes>,
    ) -> Result<(), Error> {
        let mut count = 0;
        while let Some(field) = form.next_field().await.map_err(broken)? {
            if !is_file(&field) {
                count += 1;
                if count > MAX_FIELDS {
                    return Err(Error::InvalidContent("reach fields limit".to_owned()));
                }
                describe(about, declared_type, field).await?;
                continue;
            }
            // A second file is skipped.
            if stored.is_some() {
                continue;
            }
            about.mimetype = match (&*declared_type, field.content_type()) {
                (Some(declared), _) => declared.clone(),
                // Without its parameters, as upstream's reader of forms has it: browsers add a charset.
                (None, Some(of_part)) => of_part.essence_str().to_owned(),
                (None, None) => DEFAULT_TYPE_OF_PART.to_owned(),
            };
            let chunks = field.map(|chunk| chunk.map_err(|error| io::Error::other(words(&error))));
            let Self { context, caller, target, bucket } = self;
            // The announced length is the form's, not the file's.
            *stored = Some(target.receive(&context.store, caller, bucket, about, None, chunks).await?);
        }
        Ok(())
    }
}

/// Reads a field that describes the file.
async fn describe(
    about: &mut Description,
    declared_type: &mut Option<String>,
    mut field: Field<'_>,
) -> Result<(), Error> {
    let name = field.name().unwrap_or_default().to_owned();
    let mut value = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(broken)? {
        value.extend_from_slice(&chunk);
        if value.len() > MAX_FIELD_LENGTH {
            return Err(Error::MetadataTooLarge);
        }
    }
    let text = String::from_utf8_lossy(&value);
    match &*name {
        "cacheControl" if !text.is_empty() => about.cache_control = format!("max-age={text}"),
        "contentType" if !text.is_empty() => {
            about.mimetype = text.to_string();
            *declared_type = Some(text.into_owned());
        }
        "contentEncoding" => about.content_encoding = coding::stored(&text),
        "metadata" | "userMetadata" => {
            if let Ok(metadata @ Value::Object(_)) = serde_json::from_str(&text) {
                about.user_metadata = Some(metadata);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Reports whether a part of a form is a file: it has a file's name, or the type of one.
fn is_file(field: &Field<'_>) -> bool {
    field.file_name().is_some() || field.content_type().is_some_and(|kind| kind.essence_str() == DEFAULT_TYPE)
}

fn broken(error: multer::Error) -> Error {
    Error::InvalidContent(words(&error))
}

/// Returns upstream's words for a form that cannot be read.
fn words(error: &multer::Error) -> String {
    match error {
        multer::Error::StreamReadFailed(error) => error.to_string(),
        _ => "Unexpected end of multipart data".to_owned(),
    }
}
