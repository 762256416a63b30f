//! Multipart uploads, the S3 protocol's way of sending an object in parts: their rows and those of their parts
//! (`storage.s3_multipart_uploads`, `storage.s3_multipart_uploads_parts`).
//!
//! The bytes of a part are stored under the part's version and are live as long as its row is. Completion puts the
//! parts together under a new version; the transaction that writes the object's row deletes the upload's, so that an
//! upload either is under way with all its parts or is an object.

use postgres::Row;
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::caller::{Caller, service_transaction};
use crate::error::Error;
use crate::mime::DEFAULT_TYPE;
use crate::objects::Written;
use crate::row::{self, display, optional, text, timestamp};
use crate::store::{Blobs, Rows, Store};
use crate::upload::{DEFAULT_CACHE_CONTROL, Description, StoredBytes, Target};

/// Bytes that a part may have. Source: Amazon S3 User Guide, "Amazon S3 multipart upload limits"; upstream's
/// `MAX_PART_SIZE`.
pub(crate) const MAX_PART_SIZE: u64 = 5 << 30;
/// Parts that an upload may have, by the same source.
pub(crate) const MAX_PARTS: u64 = 10_000;

/// An upload under way.
#[derive(Debug, Clone)]
pub(crate) struct Multipart {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) created_at: Option<OffsetDateTime>,
    metadata: Value,
    user_metadata: Option<Value>,
}

impl Multipart {
    const COLUMNS: &'static str = "id, key, created_at, metadata, user_metadata";

    fn of(row: &Row) -> Option<Self> {
        let document = |index| row.get(index).and_then(|json| serde_json::from_slice(json).ok());
        Some(Self {
            id: row.text(0)?.to_owned(),
            key: row.text(1)?.to_owned(),
            created_at: row.text(2).and_then(timestamp),
            metadata: document(3).unwrap_or_default(),
            user_metadata: document(4),
        })
    }

    /// Returns what the client said about the object when it began.
    pub(crate) fn description(&self) -> Description {
        let text = |name: &str| self.metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        Description {
            mimetype: text("mimetype").unwrap_or_else(|| DEFAULT_TYPE.to_owned()),
            cache_control: text("cacheControl").unwrap_or_else(|| DEFAULT_CACHE_CONTROL.to_owned()),
            robots_tag: text("xRobotsTag"),
            content_encoding: text("contentEncoding"),
            user_metadata: self.user_metadata.clone(),
            content_length: None,
        }
    }
}

/// A part that was uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) number: u64,
    pub(crate) version: Uuid,
    pub(crate) size: u64,
    /// The quoted MD5 of its bytes.
    pub(crate) etag: String,
    pub(crate) created_at: Option<OffsetDateTime>,
}

impl Part {
    fn of(row: &Row) -> Option<Self> {
        Some(Self {
            number: row.text(0)?.parse().ok()?,
            version: row::uuid(row, 1)?,
            size: row.text(2)?.parse().ok()?,
            etag: row.text(3)?.to_owned(),
            created_at: row.text(4).and_then(timestamp),
        })
    }
}

/// Stores the row of a new upload to `target`, which has no parts yet, and returns its id.
pub(crate) async fn create(
    rows: &Rows,
    caller: &Caller,
    target: &Target<'_>,
    about: &Description,
) -> Result<String, Error> {
    let id = Uuid::new_v4().simple().to_string();
    let metadata = json!({
        "mimetype": about.mimetype, "cacheControl": about.cache_control, "xRobotsTag": about.robots_tag,
        "contentEncoding": about.content_encoding,
    });
    // Upstream signs the progress that it notes, since its rows can be written by others; here the bytes are counted
    // each time.
    let insert = caller.service_transaction(target.operation).statement(
        "insert into storage.s3_multipart_uploads \
         (id, upload_signature, bucket_id, key, version, owner_id, metadata, user_metadata) \
         values ($1, '', $2, $3, $4, $5, $6::jsonb, $7::jsonb)",
        vec![
            text(&id),
            text(target.bucket),
            text(target.key),
            display(Uuid::new_v4().hyphenated()),
            optional(target.owner),
            display(metadata),
            about.user_metadata.as_ref().and_then(display),
        ],
    );
    rows.run(&insert).await?;
    Ok(id)
}

/// Finds upload `id` of object `key` of `bucket`.
///
/// Errors: [`Error::NoSuchUpload`].
pub(crate) async fn find(rows: &Rows, (bucket, key): (&str, &str), id: &str) -> Result<Multipart, Error> {
    let sql = format!(
        "select {} from storage.s3_multipart_uploads where id = $1 and bucket_id = $2 and key = $3",
        Multipart::COLUMNS
    );
    let reply = rows.look_up(sql, vec![text(id), text(bucket), text(key)]).await?;
    reply.row().and_then(Multipart::of).ok_or(Error::NoSuchUpload)
}

/// Returns at most `limit` parts of upload `id` with numbers above `after`, by number.
pub(crate) async fn parts(rows: &Rows, id: &str, after: u64, limit: u64) -> Result<Vec<Part>, Error> {
    let sql = "select part_number, version, size, etag, created_at from storage.s3_multipart_uploads_parts \
         where upload_id = $1 and part_number > $2::integer order by part_number limit $3::bigint";
    let reply =
        rows.look_up(sql, vec![text(id), display(after.min(i32::MAX as u64)), display(limit)]).await?;
    Ok(reply.rows().iter().filter_map(Part::of).collect())
}

/// Returns how many bytes the parts of upload `id` have together, except part `number`.
pub(crate) async fn received_bytes(rows: &Rows, id: &str, number: u64) -> Result<u64, Error> {
    let sql = "select coalesce(sum(size), 0)::bigint from storage.s3_multipart_uploads_parts \
         where upload_id = $1 and part_number <> $2::integer";
    let reply = rows.look_up(sql, vec![text(id), display(number)]).await?;
    let row = reply.row();
    Ok(row.and_then(|row| row.text(0)).and_then(|sum| sum.parse().ok()).unwrap_or_default())
}

/// Stores the row of part `number`, whose bytes are stored, in place of an earlier one of that number. All parts
/// together may have `limit` bytes.
///
/// Errors: [`Error::NoSuchUpload`] if the upload has ended meanwhile, [`Error::EntityTooLarge`]. The bytes are removed
/// then.
pub(crate) async fn note(
    store: &Store,
    caller: &Caller,
    upload: &Multipart,
    (number, part, limit): (u64, &StoredBytes, u64),
    operation: &'static str,
) -> Result<(), Error> {
    // The lock of the upload's row serializes its parts. It is a separate statement, so that the snapshot of the next
    // one sees what another part's transaction has committed.
    let transaction = caller
        .service_transaction(operation)
        .statement("select from storage.s3_multipart_uploads where id = $1 for update", vec![text(&upload.id)])
        .statement(
            "with upload as (select * from storage.s3_multipart_uploads where id = $1), \
             earlier as (select coalesce(sum(size) filter (where part_number <> $2::integer), 0) as size \
               from storage.s3_multipart_uploads_parts where upload_id = $1), \
             accepted as (select upload.*, earlier.size + $4::bigint as total from upload, earlier \
               where earlier.size + $4::bigint <= $7::bigint), \
             replaced as (delete from storage.s3_multipart_uploads_parts using accepted \
               where upload_id = $1 and part_number = $2::integer returning s3_multipart_uploads_parts.version), \
             noted as (insert into storage.s3_multipart_uploads_parts \
               (upload_id, part_number, version, size, etag, owner_id, bucket_id, key) \
               select id, $2::integer, $3, $4::bigint, $5, $6, bucket_id, key from accepted), \
             counted as (update storage.s3_multipart_uploads u set in_progress_size = accepted.total \
               from accepted where u.id = accepted.id) \
             select (select count(*) from upload), (select count(*) from accepted), \
               (select to_json(array_agg(version)) from replaced)",
            vec![
                text(&upload.id),
                display(number),
                display(part.version.hyphenated()),
                display(part.size),
                display(format_args!("\"{}\"", part.md5)),
                optional(caller.subject()),
                display(limit),
            ],
        );
    let outcome = store.rows.run(&transaction).await.map_err(Error::from);
    let outcome = outcome.and_then(|reply| {
        let row = reply.row();
        match (row.and_then(|row| row.text(0)), row.and_then(|row| row.text(1))) {
            (Some("1"), Some("1")) => Ok(row.and_then(|row| row.get(2)).map(versions).unwrap_or_default()),
            (Some("1"), _) => Err(Error::EntityTooLarge),
            _ => Err(Error::NoSuchUpload),
        }
    });
    match outcome {
        Ok(replaced) => {
            store.blobs.discard(&replaced).await;
            Ok(())
        }
        Err(error) => {
            store.blobs.discard_after(&error, part.version).await;
            Err(error)
        }
    }
}

/// Ends `upload`: writes the row of the object whose bytes are stored, and forgets the parts.
///
/// Errors: [`Error::NoSuchUpload`] if the upload has ended meanwhile, and those of uploads. The object's bytes are
/// removed then.
pub(crate) async fn complete(
    store: &Store,
    caller: &Caller,
    upload: &Multipart,
    target: &Target<'_>,
    whole: &StoredBytes,
) -> Result<Written, Error> {
    let every = parts(&store.rows, &upload.id, 0, MAX_PARTS).await;
    let ending = caller
        .service_transaction(target.operation)
        .statement("select basalt.complete_multipart_upload($1)", vec![text(&upload.id)]);
    let written =
        target.complete_with(store, ending, &upload.description(), whole).await.map_err(upload_error)?;
    // The sweeper removes a part that comes between these two.
    let versions: Vec<Uuid> = every.unwrap_or_default().iter().map(|part| part.version).collect();
    store.blobs.discard(&versions).await;
    Ok(written)
}

/// Returns the error for `error` of the transaction that ends an upload.
fn upload_error(error: Error) -> Error {
    match &error {
        Error::Database(postgres::Error::Postgres(server)) if server.code == "PT404" => Error::NoSuchUpload,
        _ => error,
    }
}

/// Aborts upload `id`.
///
/// Errors: [`Error::NoSuchUpload`].
pub(crate) async fn abort(
    store: &Store,
    caller: &Caller,
    id: &str,
    operation: &'static str,
) -> Result<(), Error> {
    let removal = caller
        .service_transaction(operation)
        .statement("select from storage.s3_multipart_uploads where id = $1 for update", vec![text(id)])
        .statement(
            "with parts as (delete from storage.s3_multipart_uploads_parts where upload_id = $1 returning version), \
             upload as (delete from storage.s3_multipart_uploads where id = $1 returning id) \
             select (select count(*) from upload), (select to_json(array_agg(version)) from parts)",
            vec![text(id)],
        );
    let reply = store.rows.run(&removal).await?;
    let row = reply.row();
    store.blobs.discard(&row.and_then(|row| row.get(1)).map(versions).unwrap_or_default()).await;
    if row.and_then(|row| row.text(0)) == Some("1") { Ok(()) } else { Err(Error::NoSuchUpload) }
}

/// Which uploads a list shows.
#[derive(Debug, Default)]
pub(crate) struct UploadListing<'a> {
    /// How keys begin, byte for byte.
    pub(crate) prefix: &'a str,
    /// The key and the id behind which the list begins.
    pub(crate) after: (&'a str, &'a str),
    pub(crate) limit: u64,
}

/// Returns the uploads of `bucket` that `caller` may see, by key and id.
pub(crate) async fn list(
    rows: &Rows,
    caller: &Caller,
    bucket: &str,
    listing: &UploadListing<'_>,
    operation: &'static str,
) -> Result<Vec<Multipart>, Error> {
    let sql = format!(
        "select {} from storage.s3_multipart_uploads where bucket_id = $1 and starts_with(key, $2) \
           and ($3 = '' or key > $3 or (key = $3 and $4 <> '' and id collate \"C\" > $4)) \
         order by key, id collate \"C\" limit $5::bigint",
        Multipart::COLUMNS
    );
    let (key, id) = listing.after;
    let parameters = vec![text(bucket), text(listing.prefix), text(key), text(id), display(listing.limit)];
    let reply = rows.look_up_as(caller, operation, sql, parameters).await?;
    Ok(reply.rows().iter().filter_map(Multipart::of).collect())
}

/// Removes the uploads that have received nothing for a day.
pub(crate) async fn remove_expired(rows: &Rows, blobs: &Blobs) -> Result<(), Error> {
    const OPERATION: &str = "storage.s3.upload.abort_multipart";
    let removal = service_transaction(OPERATION).statement(
        "with expired as (select id from storage.s3_multipart_uploads u where greatest(created_at, \
             (select max(created_at) from storage.s3_multipart_uploads_parts p where p.upload_id = u.id)) \
             <= now() - interval '1 day' for update skip locked), \
           parts as (delete from storage.s3_multipart_uploads_parts where upload_id in (select id from expired) \
             returning version), \
           uploads as (delete from storage.s3_multipart_uploads where id in (select id from expired)) \
         select version from parts",
        Vec::new(),
    );
    let reply = rows.run(&removal).await?;
    let versions: Vec<Uuid> = reply.rows().iter().filter_map(|row| row::uuid(row, 0)).collect();
    blobs.discard(&versions).await;
    Ok(())
}

fn versions(json: &[u8]) -> Vec<Uuid> {
    serde_json::from_slice(json).unwrap_or_default()
}
