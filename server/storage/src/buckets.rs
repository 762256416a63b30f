//! Buckets: their rows, under row-level security, and the objects that they accept.

mod definition;
pub(crate) mod lifecycle;

use serde_json::Value;
use uuid::Uuid;

use crate::caller::{Caller, owner_uuid};
use crate::error::Error;
use crate::multipart::{self, UploadListing};
use crate::row::{self, display, iso, json_array, optional, text};
use crate::store::{Rows, Store};
use crate::{key, mime, size};

pub use definition::BucketDefinition;
pub(crate) use definition::upsert;

/// Objects that one request to empty a bucket may remove. Source: upstream's `emptyBucketMax`.
const MAX_EMPTIED: usize = 200_000;
/// Pending uploads that the refusal to delete a bucket names.
const MAX_NAMED: u64 = 3;
/// Objects that one transaction removes.
const BATCH: usize = 1000;

::settings::words! {
    /// Whether a bucket keeps what is replaced and removed.
    #[derive(Default)]
    pub(crate) enum Versioning {
        /// It never has.
        #[default]
        Disabled = "DISABLED",
        Enabled = "ENABLED",
        /// It no longer does.
        Suspended = "SUSPENDED",
    }
}

/// A bucket that is to be created.
#[derive(Debug)]
pub(crate) struct NewBucket<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) is_public: bool,
    pub(crate) versioning: Versioning,
    pub(crate) limits: Limits<'a>,
}

/// What is to be changed of a bucket; `None` leaves it as it is.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) is_public: Option<bool>,
    pub(crate) versioning: Option<Versioning>,
    pub(crate) limits: Limits<'a>,
}

/// A bucket's limits as a request has them: `None` leaves one as it is, a JSON null lifts it.
#[derive(Debug, Default)]
pub(crate) struct Limits<'a> {
    pub(crate) file_size_limit: Option<&'a Value>,
    pub(crate) allowed_mime_types: Option<Option<Vec<String>>>,
}

impl Limits<'_> {
    /// Returns both limits as parameters, after checking them against the service's own.
    ///
    /// Errors: [`Error::EntityTooLarge`], [`Error::InvalidContent`], [`Error::InvalidMimeType`].
    fn parameters(&self, service_limit: u64) -> Result<[row::Parameter<'static>; 2], Error> {
        let bytes = match self.file_size_limit {
            None | Some(Value::Null) => None,
            Some(value) => Some(size::parse(value)?),
        };
        if bytes.is_some_and(|bytes| bytes > service_limit) {
            return Err(Error::EntityTooLarge);
        }
        let types = self.allowed_mime_types.as_ref().and_then(Option::as_ref);
        let types: Option<Vec<&str>> =
            types.map(|types| types.iter().map(String::as_str).filter(|entry| !entry.is_empty()).collect());
        types.iter().flatten().try_for_each(|entry| mime::check_entry(entry))?;
        Ok([bytes.and_then(display), types.map(Value::from).and_then(display)])
    }
}

const INSERT: &str = "insert into storage.buckets \
     (id, name, owner, owner_id, public, file_size_limit, allowed_mime_types, versioning_status) \
     values ($1, $2, $3::uuid, $4, $5::boolean, $6::bigint, \
       case when $7::jsonb is not null then \
         (select coalesce(array_agg(t), '{}') from jsonb_array_elements_text($7::jsonb) t) end, $8)";

/// Creates a bucket as `caller`. `operation` is what `storage.operation()` tells policies, here and below.
///
/// Errors: [`Error::InvalidBucketName`], [`Error::BucketAlreadyExists`], those of the limits, and the refusal of a
/// policy.
pub(crate) async fn create(
    store: &Store,
    caller: &Caller,
    new: &NewBucket<'_>,
    operation: &'static str,
) -> Result<(), Error> {
    key::check_bucket(new.name)?;
    key::check_bucket(new.id)?;
    let [bytes, types] = new.limits.parameters(store.max_size)?;
    let owner = caller.subject();
    let parameters = vec![
        text(new.id),
        text(new.name),
        optional(owner_uuid(owner)),
        optional(owner),
        display(new.is_public),
        bytes,
        types,
        text(new.versioning.name()),
    ];
    let insert = caller.transaction(operation).statement(INSERT, parameters);
    store.rows.run(&insert).await.map(drop).map_err(|error| match error.server() {
        Some(server) if server.code == "23505" => Error::BucketAlreadyExists,
        _ => versioning_refusal(caller, error),
    })
}

/// Returns the refusal of a change of a bucket. A database whose schema another server made may not be ready for
/// versions.
fn versioning_refusal(caller: &Caller, error: postgres::Error) -> Error {
    // Those are upstream's constraints; users may have added others.
    const CLOSED: [&str; 2] = ["buckets_versioning_dark_check", "buckets_versioning_standard_only_check"];
    match error.server().and_then(|server| server.constraint.as_deref()) {
        Some(constraint) if CLOSED.contains(&constraint) => Error::FeatureNotEnabled("object versioning"),
        _ => caller.refusal(error),
    }
}

const COLUMNS: &str = concat!(
    "b.id, b.name, coalesce(b.owner::text, '') as owner, b.public, b.file_size_limit, b.allowed_mime_types, ",
    iso!("b.created_at"),
    " as created_at, ",
    iso!("b.updated_at"),
    " as updated_at"
);
/// A further column, which older clients for Python fail on.
const VERSIONING: &str = ", b.versioning_status";

/// Returns bucket `id` as a JSON document, if `caller` may see it; with `has_versioning` also whether it keeps
/// versions.
///
/// Errors: [`Error::NoSuchBucket`].
pub(crate) async fn get(
    rows: &Rows,
    caller: &Caller,
    id: &str,
    has_versioning: bool,
    operation: &'static str,
) -> Result<String, Error> {
    let versioning = if has_versioning { VERSIONING } else { "" };
    let sql = format!(
        "select row_to_json(r) from (select {COLUMNS}{versioning} from storage.buckets b where b.id = $1) r"
    );
    let reply = rows.look_up_as(caller, operation, sql, vec![text(id)]).await?;
    let document = reply.row().and_then(|row| row.text(0));
    document.map(str::to_owned).ok_or(Error::NoSuchBucket)
}

/// Which buckets a list shows, and in which order.
#[derive(Debug, Default)]
pub(crate) struct Listing<'a> {
    pub(crate) search: Option<&'a str>,
    /// Whether it says of what type a bucket is: Python's older clients fail on it.
    pub(crate) has_type: bool,
    /// Whether it says if a bucket keeps versions, which more of them fail on.
    pub(crate) has_versioning: bool,
    /// Column to order by, one that the table has; `None` for the table's own order.
    pub(crate) column: Option<&'static str>,
    pub(crate) descending: bool,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: Option<u64>,
}

/// Returns the buckets that `caller` may see as a JSON array.
pub(crate) async fn list(
    rows: &Rows,
    caller: &Caller,
    listing: &Listing<'_>,
    operation: &'static str,
) -> Result<String, Error> {
    let order = listing.column.map_or(String::new(), |column| {
        format!("order by b.{column} {}", if listing.descending { "desc" } else { "asc" })
    });
    // `strpos` takes every character as itself, where a pattern would have to be escaped.
    let kind = if listing.has_type { ", b.type" } else { "" };
    let versioning = if listing.has_versioning { VERSIONING } else { "" };
    let sql = format!(
        "select row_to_json(r) from (select {COLUMNS}{kind}{versioning} from storage.buckets b \
         where strpos(lower(b.name), lower($1)) > 0 or $1 = '' {order} limit $2::bigint offset $3::bigint) r"
    );
    let parameters = vec![
        text(listing.search.unwrap_or_default()),
        listing.limit.and_then(display),
        display(listing.offset.unwrap_or(0)),
    ];
    let reply = rows.look_up_as(caller, operation, sql, parameters).await?;
    Ok(json_array(reply.rows()))
}

/// Changes bucket `id` as `caller`.
///
/// Errors: [`Error::NoSuchBucket`] also for a bucket that the caller may not change; [`Error::InvalidValue`] for a
/// bucket that is no longer to keep versions and never has.
pub(crate) async fn update(
    store: &Store,
    caller: &Caller,
    id: &str,
    Changes { is_public, versioning, limits }: &Changes<'_>,
    operation: &'static str,
) -> Result<(), Error> {
    key::check_bucket(id)?;
    let [bytes, types] = limits.parameters(store.max_size)?;
    let parameters = vec![
        text(id),
        is_public.and_then(display),
        display(limits.file_size_limit.is_some()),
        bytes,
        display(limits.allowed_mime_types.is_some()),
        types,
        versioning.map(Versioning::name).and_then(text),
    ];
    let update = caller.transaction(operation).statement(
        "update storage.buckets set public = coalesce($2::boolean, public), \
         file_size_limit = case when $3::boolean then $4::bigint else file_size_limit end, \
         allowed_mime_types = case when not $5::boolean then allowed_mime_types when $6::jsonb is not null then \
           (select coalesce(array_agg(t), '{}') from jsonb_array_elements_text($6::jsonb) t) end, \
         versioning_status = coalesce($7, versioning_status) \
         where id = $1 and not ($7 is not distinct from 'SUSPENDED' and versioning_status = 'DISABLED') returning id",
        parameters,
    );
    let reply = store.rows.change(&update).await.map_err(|error| versioning_refusal(caller, error))?;
    if reply.row().is_some() {
        return Ok(());
    }
    if *versioning == Some(Versioning::Suspended)
        && status(&store.rows, caller, id, operation).await? == Versioning::Disabled
    {
        return Err(Error::InvalidValue(
            "A bucket that has never kept versions cannot stop keeping them".to_owned(),
        ));
    }
    Err(Error::NoSuchBucket)
}

/// Returns whether bucket `id` keeps versions, if `caller` may see it.
///
/// Errors: [`Error::NoSuchBucket`].
pub(crate) async fn status(
    rows: &Rows,
    caller: &Caller,
    id: &str,
    operation: &'static str,
) -> Result<Versioning, Error> {
    let sql = "select versioning_status from storage.buckets where id = $1";
    let reply = rows.look_up_as(caller, operation, sql, vec![text(id)]).await?;
    let row = reply.row().ok_or(Error::NoSuchBucket)?;
    Ok(row.text(0).and_then(Versioning::of_name).unwrap_or_default())
}

/// Deletes the empty bucket `id` as `caller`.
///
/// Errors: [`Error::NoSuchBucket`] also for a bucket that the caller may not delete; [`Error::BucketNotEmpty`];
/// [`Error::BucketReferenced`].
pub(crate) async fn delete(
    rows: &Rows,
    caller: &Caller,
    id: &str,
    operation: &'static str,
) -> Result<(), Error> {
    let sql = "select exists (select from storage.objects where bucket_id = $1), \
         exists (select from storage.s3_multipart_uploads where bucket_id = $1) \
         from storage.buckets where id = $1";
    let reply = rows.look_up(sql, vec![text(id)]).await?;
    let row = reply.row().ok_or(Error::NoSuchBucket)?;
    if row.get(0) == Some(b"t") {
        return Err(Error::BucketNotEmpty);
    }
    if row.get(1) == Some(b"t") {
        return Err(referenced(rows, caller, id, operation).await);
    }
    let delete = caller
        .transaction(operation)
        .statement("delete from storage.buckets where id = $1 returning id", vec![text(id)]);
    // Objects that were added meanwhile still prevent this, by their foreign key.
    let error = match rows.change(&delete).await {
        Ok(reply) if reply.row().is_some() => return Ok(()),
        Ok(_) => return Err(Error::NoSuchBucket),
        Err(error) => error,
    };
    Err(match error.server() {
        Some(server) if server.code == "23503" => match server.table.as_deref() {
            Some("s3_multipart_uploads" | "s3_multipart_uploads_parts") => {
                referenced(rows, caller, id, operation).await
            }
            _ => Error::BucketNotEmpty,
        },
        _ => caller.refusal(error),
    })
}

/// Returns the refusal to delete bucket `id`, which has multipart uploads under way. It names some of those that
/// `caller` may see.
async fn referenced(rows: &Rows, caller: &Caller, id: &str, operation: &'static str) -> Error {
    let listing = UploadListing { limit: MAX_NAMED, ..UploadListing::default() };
    let uploads = multipart::list(rows, caller, id, &listing, operation).await;
    Error::BucketReferenced(uploads.unwrap_or_default().into_iter().map(|upload| upload.key).collect())
}

/// Removes the objects that bucket `id` holds now; those that come meanwhile stay.
///
/// Errors: [`Error::InvalidRole`] unless the service role asks; [`Error::NoSuchBucket`]; [`Error::BucketTooLarge`].
pub(crate) async fn empty(store: &Store, caller: &Caller, id: &str) -> Result<(), Error> {
    if !caller.is_service() {
        return Err(Error::InvalidRole);
    }
    let sql = "select (select count(*) from (select from storage.objects where bucket_id = $1 limit $2::bigint) o), now() \
         from storage.buckets where id = $1";
    let reply = store
        .rows
        .look_up_as(caller, "storage.bucket.empty", sql, vec![text(id), display(MAX_EMPTIED + 1)])
        .await?;
    let row = reply.row().ok_or(Error::NoSuchBucket)?;
    let count: usize = row.text(0).and_then(|count| count.parse().ok()).unwrap_or_default();
    if count > MAX_EMPTIED {
        return Err(Error::BucketTooLarge);
    }
    let before = row.text(1).unwrap_or_default();
    loop {
        let removal = caller.transaction("storage.bucket.empty").statement(
            "delete from storage.objects where id in (select id from storage.objects \
               where bucket_id = $1 and created_at <= $2::timestamptz limit $3::bigint) returning version",
            vec![text(id), text(before), display(BATCH)],
        );
        let reply = store.rows.change(&removal).await.map_err(|error| caller.refusal(error))?;
        let versions: Vec<Uuid> = reply.rows().iter().filter_map(|row| row::uuid(row, 0)).collect();
        store.blobs.retire(&versions).await;
        if reply.rows().is_empty() {
            return Ok(());
        }
    }
}
