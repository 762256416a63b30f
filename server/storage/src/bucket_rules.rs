//! The objects that a bucket accepts.

use crate::error::Error;
use crate::key::FOLDER_MARKER;
use crate::mime;
use crate::row::text;
use crate::store::Rows;

/// The objects that a bucket accepts, and whether it is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) is_public: bool,
    /// Bytes that an object may have; `None` and 0 mean the service's limit.
    pub(crate) file_size_limit: Option<u64>,
    /// Content types that it accepts; empty for all.
    pub(crate) allowed_mime_types: Vec<String>,
}

impl Bucket {
    /// Returns the bytes that object `key` may have where the service allows `service_limit`.
    pub(crate) fn size_limit(&self, key: &str, service_limit: u64) -> u64 {
        match self.file_size_limit.filter(|limit| *limit > 0) {
            _ if is_folder_marker(key) => 0,
            Some(limit) => limit.min(service_limit),
            None => service_limit,
        }
    }

    /// Checks the content type that object `key` is to have.
    ///
    /// Errors: [`Error::InvalidMimeType`].
    pub(crate) fn admit_type(&self, key: &str, mimetype: &str) -> Result<(), Error> {
        if is_folder_marker(key) { Ok(()) } else { mime::admit(mimetype, &self.allowed_mime_types) }
    }

    /// Checks object `key`, whose bytes are known: all ways into a bucket apply these rules.
    ///
    /// Errors: [`Error::InvalidMimeType`], [`Error::EntityTooLarge`].
    pub(crate) fn admit(
        &self,
        key: &str,
        mimetype: &str,
        size: u64,
        service_limit: u64,
    ) -> Result<(), Error> {
        self.admit_type(key, mimetype)?;
        if size > self.size_limit(key, service_limit) { Err(Error::EntityTooLarge) } else { Ok(()) }
    }
}

/// Reports whether `key` is that of the empty object that keeps a folder without other objects. It needs no type that
/// the bucket allows, and has no bytes.
fn is_folder_marker(key: &str) -> bool {
    key.ends_with(FOLDER_MARKER)
}

/// Finds bucket `id` with the service's rights: callers may use a bucket without the right to see its row.
///
/// Errors: [`Error::NoSuchBucket`].
pub(crate) async fn find(rows: &Rows, id: &str) -> Result<Bucket, Error> {
    let sql =
        "select public, file_size_limit, to_json(allowed_mime_types) from storage.buckets where id = $1";
    let reply = rows.look_up(sql, vec![text(id)]).await?;
    let row = reply.row().ok_or(Error::NoSuchBucket)?;
    Ok(Bucket {
        is_public: row.get(0) == Some(b"t"),
        file_size_limit: row.text(1).and_then(|limit| limit.parse().ok()),
        allowed_mime_types: row.get(2).and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default(),
    })
}
