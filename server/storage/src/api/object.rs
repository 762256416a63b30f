//! `object`: the choice of its route, and the routes that only need names: listing, moving, copying, removing.

use poem::http::Method;
use poem::{Request, Response};
use serde_json::json;

use super::body::{self, Fields};
use super::read::{self, Visibility};
use super::{answer, credentials, message, refuse_list_of_versions, refuse_version, sign, unknown, upload};
use crate::objects::list::{self, Column, FolderListing, PrefixListing};
use crate::objects::relocate::{self, CopyChanges, CopyOptions};
use crate::objects::remove;
use crate::{Error, Storage, coding, key};

/// Names that one request may remove. Source: upstream's `MAX_OBJECTS_PER_REQUEST`.
const MAX_REMOVED: usize = 1000;
/// Entries that a list of version 1 shows if the request does not say how many.
const DEFAULT_LIMIT: u64 = 100;

/// Answers all routes below `object`; `rest` is what follows it in the path.
pub(super) async fn route(storage: &Storage, request: Request, rest: &str) -> Result<Response, Error> {
    let (first, after) = rest.split_once('/').unwrap_or((rest, ""));
    match (request.method().clone(), first) {
        (Method::GET | Method::HEAD, "public") => {
            read::object(storage, &request, after, Visibility::Public).await
        }
        (Method::GET | Method::HEAD, "authenticated") => {
            read::object(storage, &request, after, Visibility::Authenticated).await
        }
        (Method::GET | Method::HEAD, "sign") => sign::read(storage, &request, after).await,
        (Method::GET | Method::HEAD, "info") => read::info(storage, &request, after).await,
        (Method::GET | Method::HEAD, _) => read::object(storage, &request, rest, Visibility::Optional).await,
        (Method::POST, "move") if after.is_empty() => move_object(storage, request).await,
        (Method::POST, "copy") if after.is_empty() => copy_object(storage, request).await,
        (Method::POST, "list") => list_folder(storage, request, after).await,
        (Method::POST, "list-v2") => list_prefix(storage, request, after).await,
        (Method::POST, "sign") => sign::download(storage, request, after).await,
        (Method::POST | Method::PUT, "upload") if after.starts_with("sign/") => {
            sign::upload(storage, request, &after["sign/".len()..]).await
        }
        (Method::POST | Method::PUT, _) => upload::object(storage, request, rest).await,
        (Method::DELETE, _) if after.is_empty() => remove_many(storage, request, first).await,
        (Method::DELETE, _) => {
            let (bucket, key) = key::split_path(rest)?;
            let caller = credentials::required(storage, &request)?;
            remove::one(storage, &caller, (&bucket, &key), "storage.object.delete").await?;
            Ok(message("Successfully deleted"))
        }
        _ => Err(unknown(&request)),
    }
}

async fn remove_many(storage: &Storage, mut request: Request, bucket: &str) -> Result<Response, Error> {
    let bucket = key::decode(bucket)?;
    let caller = credentials::required(storage, &request)?;
    let body = body::json(&mut request, false).await?;
    let keys = Fields::of(&body, "body")?.texts("prefixes", 1..=MAX_REMOVED)?;
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let removed = remove::many(storage, &caller, &bucket, &keys, "storage.object.delete_many").await?;
    Ok(answer(removed))
}

/// The names in the body of a move or a copy.
struct Names {
    source: (String, String),
    target: (String, String),
}

impl Names {
    fn of(fields: &Fields<'_>) -> Result<Self, Error> {
        refuse_version(fields, "sourceVersionId")?;
        let bucket = fields.required_text("bucketId")?;
        let target = fields.text("destinationBucket")?.filter(|bucket| !bucket.is_empty());
        Ok(Self {
            target: (target.unwrap_or_else(|| bucket.clone()), fields.required_text("destinationKey")?),
            source: (bucket, fields.required_text("sourceKey")?),
        })
    }

    fn route(&self) -> relocate::Route<'_> {
        relocate::Route { source: (&self.source.0, &self.source.1), target: (&self.target.0, &self.target.1) }
    }
}

async fn move_object(storage: &Storage, mut request: Request) -> Result<Response, Error> {
    let caller = credentials::required(storage, &request)?;
    let body = body::json(&mut request, false).await?;
    let names = Names::of(&Fields::of(&body, "body")?)?;
    let id = relocate::move_object(storage, &caller, names.route()).await?;
    Ok(answer(json!({ "message": "Successfully moved", "Id": id, "Key": names.target.1 }).to_string()))
}

async fn copy_object(storage: &Storage, mut request: Request) -> Result<Response, Error> {
    let caller = credentials::required(storage, &request)?;
    let body = body::json(&mut request, false).await?;
    let fields = Fields::of(&body, "body")?;
    let names = Names::of(&fields)?;
    let metadata = fields.value("metadata").map(|value| Fields::of(value, "body/metadata")).transpose()?;
    let text = |name| metadata.as_ref().map_or(Ok(None), |metadata| metadata.text(name));
    let (cache_control, mimetype) = (text("cacheControl")?, text("mimetype")?);
    // An empty text is none, which the copy is to have then.
    let content_encoding = text("contentEncoding")?.map(|header| coding::stored(&header).unwrap_or_default());
    let keeps_all = fields.boolean("copyMetadata")?.unwrap_or(true);
    let options = CopyOptions {
        replaces: upload::replaces(&request),
        changes: (!keeps_all).then(|| CopyChanges {
            cache_control: cache_control.as_deref(),
            mimetype: mimetype.as_deref(),
            content_encoding: content_encoding.as_deref(),
            user_metadata: upload::metadata_header(&request),
            keeps_unspecified: true,
        }),
    };
    let operation = "storage.object.copy";
    Ok(answer(relocate::copy_object(storage, &caller, names.route(), options, operation).await?))
}

/// Returns the order that `sortBy` asks for: the column, and whether it descends.
fn order(fields: &Fields<'_>, columns: &[&'static str]) -> Result<(Column, bool), Error> {
    let Some(value) = fields.value("sortBy").filter(|value| !value.is_null()) else {
        return Ok((Column::Name, false));
    };
    let order = Fields::of(value, "body/sortBy")?;
    order.required("column")?;
    let column = order.one_of("column", columns)?.and_then(Column::of_name).unwrap_or_default();
    Ok((column, order.one_of("order", &["asc", "desc"])? == Some("desc")))
}

async fn list_folder(storage: &Storage, mut request: Request, bucket: &str) -> Result<Response, Error> {
    let bucket = key::decode(bucket)?;
    let caller = credentials::required(storage, &request)?;
    let body = body::json(&mut request, false).await?;
    let fields = Fields::of(&body, "body")?;
    refuse_list_of_versions(&fields)?;
    let mut folder = fields.required_text("prefix")?;
    if !folder.is_empty() && !folder.ends_with('/') {
        folder.push('/');
    }
    let search = fields.text("search")?.unwrap_or_default();
    let (column, descending) = order(&fields, &["name", "updated_at", "created_at", "last_accessed_at"])?;
    let listing = FolderListing {
        folder: &folder,
        search: &search,
        limit: fields.integer("limit", 1)?.unwrap_or(DEFAULT_LIMIT),
        offset: fields.integer("offset", 0)?.unwrap_or(0),
        column,
        descending,
    };
    Ok(answer(list::folder(storage, &caller, &bucket, &listing).await?))
}

async fn list_prefix(storage: &Storage, mut request: Request, bucket: &str) -> Result<Response, Error> {
    let bucket = key::decode(bucket)?;
    let caller = credentials::required(storage, &request)?;
    let body = body::json(&mut request, false).await?;
    let fields = Fields::of(&body, "body")?;
    refuse_list_of_versions(&fields)?;
    let prefix = fields.text("prefix")?.unwrap_or_default();
    let (mut column, mut descending) = order(&fields, &["name", "updated_at", "created_at"])?;
    let mut start = list::Cursor::default();
    if let Some(token) = fields.text("cursor")?.filter(|token| !token.is_empty()) {
        (start, column, descending) = list::decode_cursor(&token)?;
    }
    let listing = PrefixListing {
        prefix: &prefix,
        delimiter: fields.boolean("with_delimiter")?.unwrap_or(false).then_some("/"),
        limit: fields.integer("limit", 1)?.unwrap_or(list::MAX_KEYS),
        column,
        descending,
        start,
    };
    let page = list::page(storage, &caller, &bucket, &listing, "storage.object.list_v2").await?;
    Ok(answer(list::page_as_json(page, column, descending).to_string()))
}
