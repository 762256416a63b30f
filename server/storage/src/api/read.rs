//! Reading an object, and what `info` says about it.

use std::sync::Arc;

use poem::http::Method;
use poem::http::header::{CACHE_CONTROL, ETAG, LAST_MODIFIED};
use poem::{Request, Response};
use serde_json::json;

use super::{credentials, json_response, rest};
use crate::caller::Caller;
use crate::context::Context;
use crate::error::Error;
use crate::object_row::Object;
use crate::objects::{self, Access};
use crate::row::iso_milliseconds;
use crate::version_id::VersionId;
use crate::{coding, key};
use crate::{range, response};

/// Who may read over a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visibility {
    /// Public buckets only; tokens are not looked at.
    Public,
    /// A missing or bad token counts as none.
    Optional,
    /// A valid token is demanded.
    Authenticated,
}

impl Visibility {
    fn caller(self, context: &Context, request: &Request) -> Result<Caller, Error> {
        match self {
            Self::Public => Ok(credentials::anonymous(request)),
            Self::Optional => Ok(credentials::optional(&context.verifier, request)),
            Self::Authenticated => credentials::required(&context.verifier, request),
        }
    }

    const fn access(self) -> Access {
        match self {
            Self::Public => Access::Public,
            Self::Optional | Self::Authenticated => Access::Caller,
        }
    }
}

/// Responds to `object/public/:bucket/*`.
pub(crate) async fn public(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    object(&context, &request, Visibility::Public).await
}

/// Responds to `object/authenticated/:bucket/*`.
pub(crate) async fn authenticated(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    object(&context, &request, Visibility::Authenticated).await
}

/// Responds to `object/:bucket/*`.
pub(crate) async fn optional(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    object(&context, &request, Visibility::Optional).await
}

async fn object(context: &Context, request: &Request, visibility: Visibility) -> Result<Response, Error> {
    let (bucket, key) = key::split_url_path(rest(request))?;
    let version = response::version(request)?;
    if visibility != Visibility::Authenticated
        && version.is_none()
        && let Some(object) = context.store.rows.public_objects().get(&bucket, &key)
    {
        match response::object(&context.store.blobs.backend, request, &object, visibility.access()).await {
            // It has just been replaced; the notification of that will follow.
            Err(Error::NoSuchKey) => {}
            response => return response,
        }
    }
    let caller = visibility.caller(context, request)?;
    let operation = match (visibility, request.method()) {
        (Visibility::Public, _) => "storage.object.get_public",
        (_, &Method::HEAD) => "object.head_authenticated_info",
        _ => "storage.object.get_authenticated",
    };
    let access = visibility.access();
    deliver(context, request, &caller, (&bucket, &key, version), access, operation).await
}

/// Responds with the bytes of an object, in its current version unless one is named.
pub(crate) async fn deliver(
    context: &Context,
    request: &Request,
    caller: &Caller,
    (bucket, key, version): (&str, &str, Option<VersionId>),
    access: Access,
    operation: &'static str,
) -> Result<Response, Error> {
    let find = || objects::find(&context.store, caller, (bucket, key), version, access, operation);
    let object = find().await?;
    match response::object(&context.store.blobs.backend, request, &object, access).await {
        // The object may have been replaced, and its old bytes removed, since its row was read.
        Err(Error::NoSuchKey) => {
            response::object(&context.store.blobs.backend, request, &*find().await?, access).await
        }
        response => response,
    }
}

/// Responds to `object/info/public/:bucket/*`.
pub(crate) async fn public_info(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    info(&context, &request, Visibility::Public).await
}

/// Responds to `object/info/authenticated/:bucket/*`.
pub(crate) async fn authenticated_info(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    info(&context, &request, Visibility::Authenticated).await
}

/// Responds to `object/info/:bucket/*`.
pub(crate) async fn optional_info(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    info(&context, &request, Visibility::Optional).await
}

async fn info(context: &Context, request: &Request, visibility: Visibility) -> Result<Response, Error> {
    let (bucket, key) = key::split_path(rest(request))?;
    let caller = visibility.caller(context, request)?;
    let operation = match visibility {
        Visibility::Public => "storage.object.info_public",
        _ => "object.get_authenticated_info",
    };
    let (version, access) = (response::version(request)?, visibility.access());
    let object = objects::find(&context.store, &caller, (&bucket, &key), version, access, operation).await?;
    Ok(info_response(&bucket, &key, &object))
}

fn info_response(bucket: &str, key: &str, object: &Object) -> Response {
    let metadata = &object.metadata;
    let time = |time: Option<time::OffsetDateTime>| time.map(iso_milliseconds);
    let mut response = json_response(
        json!({
            "id": object.id,
            "name": key,
            "version": object.version,
            "bucket_id": bucket,
            "size": object.size,
            "content_type": metadata.mimetype,
            "content_encoding": coding::served(metadata.content_encoding.as_deref()),
            "cache_control": metadata.cache_control,
            "etag": metadata.etag,
            "metadata": object.user_metadata.clone().unwrap_or_else(|| json!({})),
            // The row of a version that is no longer current was changed when another took its place.
            "last_modified": time(object.archived_at.map_or(object.updated_at, |_| metadata.last_modified)),
            "created_at": time(object.created_at),
            "archived_at": time(object.archived_at),
            "is_delete_marker": false,
            "is_versioned": object.is_versioned,
        })
        .to_string(),
    );
    let modified = metadata.last_modified.and_then(range::http_date);
    let headers = [
        (ETAG, metadata.etag.as_deref()),
        (CACHE_CONTROL, metadata.cache_control.as_deref()),
        (LAST_MODIFIED, modified.as_deref()),
    ];
    for (name, value) in headers {
        if let Some(value) = value {
            response::insert(response.headers_mut(), name, value);
        }
    }
    response
}
