//! Objects: finding one that a caller may read.

use std::borrow::Cow;

use database::{Row, Transaction};
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use crate::{Error, Storage};

/// `storage.objects.metadata`, as upstream writes it. Rows that users' SQL made may lack any of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metadata {
    /// The quoted MD5 of the bytes.
    #[serde(rename = "eTag")]
    pub(crate) etag: Option<String>,
    pub(crate) size: Option<u64>,
    pub(crate) mimetype: Option<String>,
    pub(crate) cache_control: Option<String>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub(crate) last_modified: Option<OffsetDateTime>,
    pub(crate) x_robots_tag: Option<String>,
}

/// An object that the caller may read.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) version: Uuid,
    pub(crate) size: u64,
    pub(crate) metadata: Metadata,
}

/// Who asks for an object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reader<'a> {
    /// Somebody without a token: only public buckets answer.
    Anyone,
    /// Somebody whose verified claims row-level security judges, unless the bucket is public.
    Claims { role: &'a str, json: &'a str },
}

/// What a bucket and one of its objects say, as `service_role` sees them: whether a bucket is public is not a
/// secret that row-level security keeps.
const FIND_PUBLIC: &str = "select b.public, o.version, o.metadata, o.updated_at \
     from storage.buckets b left join storage.objects o on o.bucket_id = b.id and o.name = $2 \
     where b.id = $1";

const FIND_READABLE: &str = "select true, version, metadata, updated_at from storage.objects \
     where bucket_id = $1 and name = $2";

/// Finds object `key` of `bucket` for `reader`.
///
/// Errors: [`Error::NoSuchBucket`] for a missing bucket and for a private one asked for without a token;
/// [`Error::NoSuchKey`] for a missing object and for one that row-level security hides.
pub(crate) async fn find(
    storage: &Storage,
    bucket: &str,
    key: &str,
    reader: Reader<'_>,
) -> Result<Object, Error> {
    let parameters = || vec![text(bucket), text(key)];
    let lookup = Transaction::new("service_role")
        .setting("storage.operation", "storage.object.get_public")
        .read_only()
        .statement(FIND_PUBLIC, parameters());
    let answer = storage.database().run(&lookup).await?;
    let row = answer.last().and_then(|rows| rows.first()).ok_or(Error::NoSuchBucket)?;
    if row.get(0) == Some(b"t") {
        return object(storage, row).await;
    }
    let Reader::Claims { role, json } = reader else { return Err(Error::NoSuchBucket) };
    let lookup = Transaction::new(role)
        .setting("request.jwt.claims", json)
        .setting("request.jwt.claim.role", role)
        .setting("storage.operation", "storage.object.get_authenticated")
        .read_only()
        .statement(FIND_READABLE, parameters());
    let answer = storage.database().run(&lookup).await.map_err(|error| unknown_role(error, role))?;
    let row = answer.last().and_then(|rows| rows.first()).ok_or(Error::NoSuchKey)?;
    object(storage, row).await
}

/// A token may name a role that this database does not have or that callers may not become.
fn unknown_role(error: database::Error, role: &str) -> Error {
    match error.server() {
        Some(server) if matches!(&*server.code, "22023" | "42704") => {
            Error::AccessDenied(format!("role \"{role}\" does not exist"))
        }
        _ => error.into(),
    }
}

async fn object(storage: &Storage, row: &Row) -> Result<Object, Error> {
    // Users' SQL may have written any version; only a UUID names bytes.
    let version = row.text(1).and_then(|version| Uuid::parse_str(version).ok()).ok_or(Error::NoSuchKey)?;
    let mut metadata: Metadata =
        row.get(2).and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default();
    if metadata.last_modified.is_none() {
        metadata.last_modified = row.text(3).and_then(timestamp);
    }
    let size = match metadata.size {
        Some(size) => size,
        None => storage.backend().size(version).await?,
    };
    Ok(Object { version, size, metadata })
}

/// Reads a `timestamptz` of Postgres' text format, `2026-01-31 12:00:00.5+00`, whose zone may lack minutes.
pub(crate) fn timestamp(text: &str) -> Option<OffsetDateTime> {
    let mut iso = text.replacen(' ', "T", 1);
    let zone = iso.rfind(['+', '-'])?;
    if iso.len() - zone == 3 {
        iso.push_str(":00");
    }
    OffsetDateTime::parse(&iso, &Rfc3339).ok()
}

/// `value` as a text parameter.
pub(crate) fn text(value: &str) -> Option<Cow<'_, [u8]>> {
    Some(Cow::Borrowed(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_of_postgres_are_understood() {
        let expected = time::macros::datetime!(2026-01-31 12:00:00.5 UTC);
        assert_eq!(timestamp("2026-01-31 12:00:00.5+00"), Some(expected));
        assert_eq!(timestamp("2026-01-31 17:30:00.5+05:30"), Some(expected));
        assert_eq!(timestamp("yesterday"), None);
    }

    #[test]
    fn metadata_may_lack_anything() {
        let metadata: Metadata = serde_json::from_str("{\"mimetype\":\"image/png\"}").unwrap();
        assert_eq!(metadata.mimetype.as_deref(), Some("image/png"));
        assert!(metadata.etag.is_none() && metadata.size.is_none());
    }
}
