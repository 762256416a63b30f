//! Resumable uploads, which are sent in parts.
//!
//! The bytes of each request are stored as a part, joined with small parts before it, and then added to the upload's
//! row, on the condition that its offset is the one in the request. So any node can continue an upload, also after a
//! crash, and of two requests that send the same bytes only one is accepted. The last one puts the parts together, and
//! its transaction writes the object's row and ends the upload in one.

use std::collections::HashSet;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::Stream;
use postgres::Row;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::bucket_rules::Bucket;
use crate::caller::Caller;
use crate::error::Error;
use crate::mime::DEFAULT_TYPE;
use crate::row::{self, display, optional, text, timestamp};
use crate::store::{Blobs, Rows, Store};
use crate::upload::{self, DEFAULT_CACHE_CONTROL, Description, StoredBytes, Target};

/// How a resumable upload is refused. Source: tus resumable upload protocol 1.0.0.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// For a reason that applies to all kinds of uploads.
    #[error(transparent)]
    Storage(#[from] Error),
    /// No such upload.
    #[error("The file for this url was not found")]
    NotFound,
    /// The upload was not finished in time.
    #[error("The file for this url no longer exists")]
    Expired,
    /// The offset in the request is not the current one.
    #[error("Upload-Offset conflict")]
    Conflict,
    /// More is announced than the bucket takes.
    #[error("Maximum size exceeded")]
    TooLarge,
    /// More came than was announced.
    #[error("upload's size exceeded")]
    LengthExceeded,
    /// An upload that is complete cannot be terminated.
    #[error("The upload has been completed and cannot be terminated")]
    Complete,
}

/// A resumable upload, as its row has it.
#[derive(Debug, Clone)]
pub(crate) struct Resumable {
    pub(crate) id: Uuid,
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) owner: Option<String>,
    pub(crate) replaces: bool,
    /// Header `Upload-Metadata` as the client sent it.
    pub(crate) metadata: String,
    /// Bytes that the object will have, if that is known.
    pub(crate) length: Option<u64>,
    /// Bytes that have come.
    pub(crate) received: u64,
    pub(crate) parts: Vec<Uuid>,
    pub(crate) is_complete: bool,
    pub(crate) expires_at: OffsetDateTime,
}

impl Resumable {
    const COLUMNS: &'static str = "id, bucket_id, name, owner_id, replaces, metadata, length, received, \
         to_json(parts), is_complete, expires_at";

    fn of(row: &Row) -> Option<Self> {
        let number = |index| row.text(index).and_then(|text| text.parse().ok());
        Some(Self {
            id: row::uuid(row, 0)?,
            bucket: row.text(1)?.to_owned(),
            key: row.text(2)?.to_owned(),
            owner: row.text(3).map(str::to_owned),
            replaces: row.get(4) == Some(b"t"),
            metadata: row.text(5)?.to_owned(),
            length: number(6),
            received: number(7)?,
            parts: serde_json::from_slice(row.get(8)?).ok()?,
            is_complete: row.get(9) == Some(b"t"),
            expires_at: timestamp(row.text(10)?)?,
        })
    }

    /// Returns where the upload goes. `operation` is what `storage.operation()` tells policies.
    pub(crate) fn target(&self, operation: &'static str) -> Target<'_> {
        Target {
            bucket: &self.bucket,
            key: &self.key,
            owner: self.owner.as_deref(),
            replaces: self.replaces,
            operation,
        }
    }

    /// Returns what the client says about the object.
    pub(crate) fn description(&self) -> Description {
        let seconds = metadata_value(&self.metadata, "cacheControl")
            .filter(|value| value.strip_prefix('-').unwrap_or(value).parse::<u64>().is_ok());
        let user_metadata = metadata_value(&self.metadata, "metadata");
        Description {
            mimetype: metadata_value(&self.metadata, "contentType")
                .unwrap_or_else(|| DEFAULT_TYPE.to_owned()),
            cache_control: seconds
                .map_or_else(|| DEFAULT_CACHE_CONTROL.to_owned(), |seconds| format!("max-age={seconds}")),
            robots_tag: None,
            content_encoding: None,
            user_metadata: user_metadata
                .and_then(|json| serde_json::from_str(&json).ok())
                .filter(Value::is_object),
            content_length: self.length,
        }
    }

    /// Returns the bytes that may still come, where the bucket takes `limit`.
    fn room(&self, limit: u64) -> u64 {
        self.length.unwrap_or(limit).saturating_sub(self.received)
    }
}

/// Reports whether `header` is an `Upload-Metadata`: names in ASCII, none of them twice, each alone or with a value in
/// base64.
pub(crate) fn is_metadata(header: &str) -> bool {
    let mut names = HashSet::new();
    metadata_pairs(header).all(|(name, value)| {
        !name.is_empty() && name.is_ascii() && names.insert(name) && STANDARD.decode(value).is_ok()
    })
}

/// Returns the value of `name` in a header `Upload-Metadata`, whose values are base64.
pub(crate) fn metadata_value(header: &str, name: &str) -> Option<String> {
    let (_, value) = metadata_pairs(header).find(|(key, _)| *key == name)?;
    String::from_utf8(STANDARD.decode(value).ok()?).ok()
}

/// Returns the names in a header `Upload-Metadata` with their values, which are empty where there is none.
fn metadata_pairs(header: &str) -> impl Iterator<Item = (&str, &str)> {
    header.split(',').map(|pair| pair.split_once(' ').unwrap_or((pair, "")))
}

/// Stores the row of a new upload, which has no bytes yet.
pub(crate) async fn create(rows: &Rows, caller: &Caller, new: &Resumable) -> Result<(), Error> {
    let transaction = caller.service_transaction("storage.tus.upload.create").statement(
        "insert into basalt.resumable_uploads \
         (id, bucket_id, name, owner_id, replaces, metadata, length, expires_at) \
         values ($1::uuid, $2, $3, $4, $5::boolean, $6, $7::bigint, $8::timestamptz)",
        vec![
            display(new.id),
            text(&new.bucket),
            text(&new.key),
            optional(new.owner.as_deref()),
            display(new.replaces),
            text(&new.metadata),
            new.length.and_then(display),
            display(row::iso_milliseconds(new.expires_at)),
        ],
    );
    Ok(rows.run(&transaction).await.map(drop)?)
}

/// Finds upload `id`.
///
/// Errors: [`Refusal::NotFound`], [`Refusal::Expired`].
pub(crate) async fn find(rows: &Rows, id: Uuid) -> Result<Resumable, Refusal> {
    let sql = format!("select {} from basalt.resumable_uploads where id = $1::uuid", Resumable::COLUMNS);
    let reply = rows.look_up(sql, vec![display(id)]).await?;
    let row = reply.row();
    let found = row.and_then(Resumable::of).ok_or(Refusal::NotFound)?;
    if found.expires_at <= OffsetDateTime::now_utc() { Err(Refusal::Expired) } else { Ok(found) }
}

/// Takes the next bytes of `upload`, and puts the object together when they are the last. Bytes that were received
/// before the sender broke off are kept, so that they need not be sent again.
///
/// Errors: [`Refusal::Conflict`] when another request has changed the offset, [`Refusal::TooLarge`],
/// [`Refusal::LengthExceeded`], and those of uploads; nothing of the request is stored then.
pub(crate) async fn append(
    store: &Store,
    caller: &Caller,
    upload: &mut Resumable,
    bucket: &Bucket,
    chunks: impl Stream<Item = io::Result<Bytes>> + Unpin + Send,
) -> Result<(), Refusal> {
    const OPERATION: &str = "storage.tus.upload.part";
    let target = upload.target(OPERATION);
    // The bucket's rules may have changed since the upload began.
    target.check(bucket, &upload.description())?;
    let limit = target.size_limit(store, bucket);
    let (part, failure) =
        upload::store_part(store, chunks, upload.room(limit)).await.map_err(|error| {
            match (error, upload.length) {
                (Error::EntityTooLarge, Some(_)) => Refusal::LengthExceeded,
                (Error::EntityTooLarge, None) => Refusal::TooLarge,
                (error, _) => error.into(),
            }
        })?;
    let received = upload.received + part.size;
    let outcome = if upload.length == Some(received) {
        complete(store, caller, upload, part).await
    } else {
        note(store, caller, upload, &part).await
    };
    outcome?;
    upload.received = received;
    failure.map_or(Ok(()), |error| Err(error.into()))
}

/// Bytes from which a part stays as it is.
const LEAST_PART: u64 = 5 << 20;

/// The parts of an upload with the newest one.
struct Parts {
    /// How many of the parts that there were stay as they are.
    kept: usize,
    /// What follows them; nothing if the request had no bytes.
    last: Option<Uuid>,
    /// Parts whose bytes are in `last`, too.
    joined: Vec<Uuid>,
}

impl Parts {
    /// Joins `newest` with small parts of `upload` before it, so that many short requests do not leave many parts. Of
    /// the parts below [`LEAST_PART`] each is then more than twice as large as the next. So there are few of them, and
    /// every byte is copied few times, however the sender cuts the object.
    ///
    /// Errors: [`Error::NoSuchKey`], [`Error::Backend`]; also if another request has ended the upload meanwhile.
    async fn join(store: &Store, upload: &Resumable, newest: &StoredBytes) -> Result<Self, Error> {
        let (mut kept, mut size) = (upload.parts.len(), newest.size);
        if size == 0 {
            return Ok(Self { kept, last: None, joined: vec![newest.version] });
        }
        while let Some(before) = kept.checked_sub(1).and_then(|index| upload.parts.get(index)) {
            let before = store.blobs.backend.size(*before).await?;
            if before >= LEAST_PART || before > 2 * size {
                break;
            }
            size += before;
            kept -= 1;
        }
        let mut joined = upload.parts.get(kept..).unwrap_or_default().to_vec();
        if joined.is_empty() {
            return Ok(Self { kept, last: Some(newest.version), joined });
        }
        joined.push(newest.version);
        let bytes = Box::pin(store.blobs.backend.stream_all(joined.clone()));
        let last = upload::store(store, bytes, size).await?;
        Ok(Self { kept, last: Some(last.version), joined })
    }
}

/// Adds `part` to the row.
async fn note(
    store: &Store,
    caller: &Caller,
    upload: &mut Resumable,
    part: &StoredBytes,
) -> Result<(), Refusal> {
    let parts = match Parts::join(store, upload, part).await {
        Ok(parts) => parts,
        Err(error) => {
            store.blobs.discard(&[part.version]).await;
            // The parts are removed if another request has joined them or has completed the upload meanwhile.
            let current = find(&store.rows, upload.id).await?;
            let has_changed = current.is_complete || current.received != upload.received;
            return Err(if has_changed { Refusal::Conflict } else { error.into() });
        }
    };
    let transaction = caller.service_transaction("storage.tus.upload.part").statement(
        "update basalt.resumable_uploads \
         set received = received + $3::bigint, length = $5::bigint, \
           parts = parts[1:$6::integer] || array_remove(array[$4::uuid], null) \
         where id = $1::uuid and received = $2::bigint and not is_complete returning id",
        vec![
            display(upload.id),
            display(upload.received),
            display(part.size),
            parts.last.and_then(display),
            upload.length.and_then(display),
            display(parts.kept),
        ],
    );
    match store.rows.run(&transaction).await {
        Ok(reply) if reply.row().is_some() => {
            store.blobs.discard(&parts.joined).await;
            Ok(())
        }
        Ok(_) => {
            store.blobs.discard(&[part.version]).await;
            store.blobs.discard(parts.last.as_slice()).await;
            Err(Refusal::Conflict)
        }
        Err(error) => {
            let error = Error::from(error);
            for version in [Some(part.version), parts.last].into_iter().flatten() {
                store.blobs.discard_after(&error, version).await;
            }
            Err(error.into())
        }
    }
}

/// Puts the parts and the last one together, writes the object's row and ends the upload.
async fn complete(
    store: &Store,
    caller: &Caller,
    upload: &Resumable,
    last: StoredBytes,
) -> Result<(), Refusal> {
    let total = upload.received + last.size;
    let is_whole = upload.parts.is_empty();
    let mut parts = upload.parts.clone();
    let whole = if is_whole {
        last.clone()
    } else {
        parts.push(last.version);
        let bytes = Box::pin(store.blobs.backend.stream_all(parts.clone()));
        match upload::store(store, bytes, total).await {
            Ok(whole) => whole,
            Err(error) => {
                store.blobs.discard(&[last.version]).await;
                // The parts are removed if another request has completed the upload meanwhile.
                let current = find(&store.rows, upload.id).await?;
                return Err(if current.is_complete { Refusal::Conflict } else { error.into() });
            }
        }
    };
    let ending = caller.service_transaction("storage.tus.upload.part").statement(
        "select basalt.complete_resumable_upload($1::uuid, $2::bigint, $3::bigint)",
        vec![display(upload.id), display(upload.received), display(total)],
    );
    let target = upload.target("storage.tus.upload.part");
    let outcome = target.complete_with(store, ending, &upload.description(), &whole).await;
    match outcome {
        Ok(_) => {
            store.blobs.discard(&parts).await;
            Ok(())
        }
        Err(error) => {
            if !is_whole {
                store.blobs.discard_after(&error, last.version).await;
            }
            Err(if is_conflict(&error) { Refusal::Conflict } else { error.into() })
        }
    }
}

fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::Database(postgres::Error::Postgres(server)) if server.code == "PT409")
}

/// Terminates `upload`.
///
/// Errors: [`Refusal::Complete`].
pub(crate) async fn terminate(store: &Store, caller: &Caller, upload: &Resumable) -> Result<(), Refusal> {
    let removal = caller.service_transaction("storage.tus.upload.delete").statement(
        "delete from basalt.resumable_uploads where id = $1::uuid and not is_complete returning to_json(parts)",
        vec![display(upload.id)],
    );
    let reply = store.rows.run(&removal).await.map_err(Error::from)?;
    let row = reply.row().ok_or(Refusal::Complete)?;
    discard_parts(&store.blobs, row).await;
    Ok(())
}

/// Removes the uploads that were not finished in time, and the rows of those that were.
pub(crate) async fn remove_expired(rows: &Rows, blobs: &Blobs) -> Result<(), Error> {
    let removal = crate::caller::service_transaction("storage.tus.upload.delete").statement(
        "delete from basalt.resumable_uploads where expires_at <= now() returning to_json(parts)",
        Vec::new(),
    );
    let reply = rows.run(&removal).await?;
    for row in reply.rows() {
        discard_parts(blobs, row).await;
    }
    Ok(())
}

async fn discard_parts(blobs: &Blobs, row: &Row) {
    let parts: Vec<Uuid> = row.get(0).and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default();
    blobs.discard(&parts).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read_by_name() {
        let header = "bucketName YQ==,objectName Yi9j,empty";
        assert!(is_metadata(header));
        assert_eq!(metadata_value(header, "bucketName").as_deref(), Some("a"));
        assert_eq!(metadata_value(header, "objectName").as_deref(), Some("b/c"));
        assert_eq!(metadata_value(header, "empty").as_deref(), Some(""));
        for broken in ["", "a !", "a,a", "a YQ", "a, b", "ä YQ==", "a YQ== YQ=="] {
            assert!(!is_metadata(broken), "{broken}");
        }
        assert_eq!(metadata_value(header, "missing"), None);
    }
}
