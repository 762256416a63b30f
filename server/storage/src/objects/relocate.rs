//! Moving and copying objects.

use postgres::{Reply, Row, Transaction};
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::caller::{Caller, owner_uuid};
use crate::error::Error;
use crate::mime::DEFAULT_TYPE;
use crate::row::{self, optional, text, times};
use crate::store::{Rows, Store};
use crate::{bucket_rules, coding, key};

use super::versions::{self, IS_CURRENT, IS_NAMED};
use super::{LOCK, NewRow, Written, conflict};
use crate::version_id::VersionId;

/// Where an object is, and where it is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route<'a> {
    pub(crate) source: (&'a str, &'a str),
    pub(crate) target: (&'a str, &'a str),
}

/// How often a move begins again, because another request has replaced the object meanwhile.
const ATTEMPTS: usize = 3;
/// What `storage.operation()` tells policies.
const MOVE: &str = "storage.object.move";

/// Moves an object as `caller`, who becomes its owner (unless it is the service, which has no subject), and returns its
/// id. It gets a new version, under which its bytes are stored before its row is changed.
///
/// Errors: [`Error::NoSuchKey`] when row-level security shows the caller no such object;
/// [`Error::ResourceAlreadyExists`]; [`Error::RelatedResource`]; the refusal of a policy; [`Error::InvalidMimeType`]
/// and [`Error::EntityTooLarge`] by the rules of another bucket.
pub(crate) async fn move_object(store: &Store, caller: &Caller, route: Route<'_>) -> Result<Uuid, Error> {
    key::check_key(route.target.1)?;
    for _ in 0..ATTEMPTS {
        let version = Uuid::new_v4();
        let update = route.update(caller, version, None).rollback();
        let (id, original, metadata) = match moved_object(caller, store.rows.run(&update).await) {
            Err(error) if is_versioned(&error) => return move_version(store, caller, route, None).await,
            moved => moved?,
        };
        if route.source.0 != route.target.0 {
            admit(store, route.target, original, &metadata).await?;
        }
        // An object with the same source and target is not moved, but the caller must have the right to move it.
        if route.source == route.target {
            return Ok(id);
        }
        store.blobs.backend.copy(original, version).await?;
        match moved_object(caller, store.rows.change(&route.update(caller, version, Some(original))).await) {
            Ok((id, ..)) => {
                store.blobs.retire(&[original]).await;
                return Ok(id);
            }
            Err(Error::NoSuchKey) => store.blobs.discard(&[version]).await,
            Err(error) => {
                store.blobs.discard_after(&error, version).await;
                return Err(error);
            }
        }
    }
    Err(Error::NoSuchKey)
}

/// Reports whether a move was refused because one of the buckets keeps versions.
fn is_versioned(error: &Error) -> bool {
    matches!(error, Error::Database(error) if versions::is_versioned(error))
}

impl Route<'_> {
    /// Returns the transaction that moves the row of the object, whose version has to be `original` if it is known, and
    /// that returns the object's id, the version that it had, and its metadata.
    fn update<'a>(&'a self, caller: &'a Caller, version: Uuid, original: Option<Uuid>) -> Transaction<'a> {
        let owner = caller.subject();
        caller.transaction(MOVE).statement(
            "with original as (select id, version from storage.objects \
               where bucket_id = $1 and name collate \"C\" = $2 and archived_at is null and not is_delete_marker \
               and (select storage.refuse_versioned($1)) and (select storage.refuse_versioned($3)) \
               and ($8::text is null or version = $8)) \
             update storage.objects o set bucket_id = $3, name = $4, version = $7, \
               owner = coalesce($5::uuid, o.owner), owner_id = coalesce($6, o.owner_id) \
             from original where o.id = original.id and o.version is not distinct from original.version \
             returning o.id, original.version, coalesce(o.metadata, '{}')",
            vec![
                text(self.source.0),
                text(self.source.1),
                text(self.target.0),
                text(self.target.1),
                optional(owner_uuid(owner)),
                optional(owner),
                row::display(version.hyphenated()),
                original.and_then(|original| row::display(original.hyphenated())),
            ],
        )
    }
}

/// Moves a version of an object where a bucket keeps versions, as `caller`, and returns the id of the object that it
/// becomes the current version of. The current version leaves a delete marker behind; another one is removed, and
/// becomes current again if it is moved to where it is.
///
/// Errors: as [`move_object`]; [`Error::AccessDenied`] for an older version of an object that the caller may not
/// change.
pub(crate) async fn move_version(
    store: &Store,
    caller: &Caller,
    route: Route<'_>,
    id: Option<VersionId>,
) -> Result<Uuid, Error> {
    key::check_key(route.target.1)?;
    for _ in 0..ATTEMPTS {
        match try_move_version(store, caller, route, id).await {
            Err(error) if versions::is_replaced(&error) => {}
            Err(Error::KeyAlreadyExists) => return Err(Error::ResourceAlreadyExists),
            moved => return moved,
        }
    }
    Err(Error::NoSuchKey)
}

/// Does what [`move_version`] does, unless another request changes the version meanwhile ([`versions::is_replaced`]).
async fn try_move_version(
    store: &Store,
    caller: &Caller,
    route: Route<'_>,
    id: Option<VersionId>,
) -> Result<Uuid, Error> {
    let version = Uuid::new_v4();
    let trial = route.trial(caller, version, id);
    let reply = store.rows.run(&trial).await.map_err(|error| conflict(caller.refusal(error)))?;
    let row = reply.row().ok_or(Error::NoSuchKey)?;
    let (object, original) = row::uuid(row, 0).zip(row::uuid(row, 1)).ok_or(Error::NoSuchKey)?;
    let (metadata, user_metadata, is_current) =
        (document(row, 2), document(row, 3), row.get(4) == Some(b"t"));
    if route.source.0 != route.target.0 {
        admit(store, route.target, original, &metadata).await?;
    }
    let stays = route.source == route.target;
    if is_current && stays {
        return Ok(object);
    }
    if stays {
        check_change(&store.rows, caller, route.target).await?;
    }
    store.blobs.backend.copy(original, version).await?;
    let moved = NewRow {
        bucket: route.target.0,
        key: route.target.1,
        owner: caller.subject(),
        version,
        metadata: &metadata,
        user_metadata: &user_metadata,
        replaces: stays,
    };
    let mut names = [route.source, route.target];
    names.sort_unstable();
    let mut transaction = caller.service_transaction(MOVE);
    for (bucket, key) in names {
        transaction = transaction.statement(LOCK, vec![text(bucket), text(key)]);
    }
    let transaction = versions::leave(transaction, caller, route.source, original, is_current);
    let written = moved.write(store, transaction).await?;
    let (bucket, key) = route.source;
    let sql = "select from storage.objects where bucket_id = $1 and name collate \"C\" = $2 and version = $3";
    let named = vec![text(bucket), text(key), row::display(original.hyphenated())];
    if store.rows.look_up(sql, named).await?.row().is_none() {
        store.blobs.retire(&[original]).await;
    }
    Ok(written.id)
}

/// Checks that `caller` may change the current version of object `key` of `bucket`, which an older one is to replace.
///
/// Errors: [`Error::AccessDenied`], the refusal of a policy.
async fn check_change(rows: &Rows, caller: &Caller, (bucket, key): (&str, &str)) -> Result<(), Error> {
    const CHANGE: &str = "update storage.objects o set version = $3, \
         owner = coalesce($4::uuid, o.owner), owner_id = coalesce($5, o.owner_id) \
         where o.bucket_id = $1 and o.name collate \"C\" = $2 and o.archived_at is null returning o.id";
    let owner = caller.subject();
    let parameters = vec![
        text(bucket),
        text(key),
        row::display(Uuid::new_v4().hyphenated()),
        optional(owner_uuid(owner)),
        optional(owner),
    ];
    let trial = caller.transaction(MOVE).statement(CHANGE, parameters).rollback();
    let reply = rows.run(&trial).await.map_err(|error| caller.refusal(error))?;
    match reply.row() {
        Some(_) => Ok(()),
        None => Err(Error::AccessDenied("Access denied".to_owned())),
    }
}

impl Route<'_> {
    /// Returns the transaction that finds out whether `caller` may move the version with this `id`, the current one if
    /// it is `None`, and returns its id, its version, its metadata, and whether it is the current one. The row that is
    /// tried collides with no other.
    fn trial<'a>(&'a self, caller: &'a Caller, version: Uuid, id: Option<VersionId>) -> Transaction<'a> {
        let owner = caller.subject();
        let named = id.map_or(IS_CURRENT, |_| IS_NAMED);
        let sql = format!(
            "with original as (select o.* from storage.objects o where o.bucket_id = $1 \
               and o.name collate \"C\" = $2 and not o.is_delete_marker and ($3::text is null or true) and {named}) \
             update storage.objects o set bucket_id = $4, name = $5, version = $6, \
               owner = coalesce($7::uuid, o.owner), owner_id = coalesce($8, o.owner_id), \
               archived_at = now(), is_versioned = true \
             from original p where o.id = p.id \
             returning p.id, p.version, coalesce(p.metadata, '{{}}'), coalesce(p.user_metadata, '{{}}'), \
               p.archived_at is null"
        );
        let parameters = vec![
            text(self.source.0),
            text(self.source.1),
            id.and_then(row::display),
            text(self.target.0),
            text(self.target.1),
            row::display(version.hyphenated()),
            optional(owner_uuid(owner)),
            optional(owner),
        ];
        caller.transaction(MOVE).statement(sql, parameters).rollback()
    }
}

/// Returns the id of the object whose row was moved, the version that it had, and its metadata.
fn moved_object(
    caller: &Caller,
    reply: Result<Reply, postgres::Error>,
) -> Result<(Uuid, Uuid, Value), Error> {
    let reply = reply.map_err(|error| match conflict(caller.refusal(error)) {
        Error::KeyAlreadyExists => Error::ResourceAlreadyExists,
        error => error,
    })?;
    let row = reply.row().ok_or(Error::NoSuchKey)?;
    let (id, version) = row::uuid(row, 0).zip(row::uuid(row, 1)).ok_or(Error::NoSuchKey)?;
    Ok((id, version, document(row, 2)))
}

/// Returns the JSON document in column `index`, null if there is none.
fn document(row: &Row, index: usize) -> Value {
    row.get(index).and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default()
}

/// Checks an object of `version` with `metadata` against the rules of the bucket that it is to come into. A bucket that
/// does not exist has none; writing the row is refused then.
///
/// Errors: [`Error::InvalidMimeType`], [`Error::EntityTooLarge`].
async fn admit(
    store: &Store,
    (bucket, key): (&str, &str),
    version: Uuid,
    metadata: &Value,
) -> Result<(), Error> {
    let rules = match bucket_rules::find(&store.rows, bucket).await {
        Err(Error::NoSuchBucket) => return Ok(()),
        found => found?,
    };
    // Users' SQL may have written rows without these.
    let mimetype = metadata["mimetype"].as_str().unwrap_or(DEFAULT_TYPE);
    let size = match metadata["size"].as_u64() {
        Some(size) => size,
        None => store.blobs.backend.size(version).await?,
    };
    rules.admit(key, mimetype, size, store.max_size)
}

/// The differences between a copy and its original.
#[derive(Debug, Default)]
pub(crate) struct CopyOptions<'a> {
    /// The version that is copied; `None` for the current one.
    pub(crate) version: Option<VersionId>,
    /// Whether an object of the target's name is replaced.
    pub(crate) replaces: bool,
    /// What replaces the original's metadata; `None` keeps all of it.
    pub(crate) changes: Option<CopyChanges<'a>>,
}

/// What replaces parts of a copied object's metadata.
#[derive(Debug, Default)]
pub(crate) struct CopyChanges<'a> {
    pub(crate) cache_control: Option<&'a str>,
    pub(crate) mimetype: Option<&'a str>,
    /// Codings of the bytes, in the form in which they are stored; empty for none.
    pub(crate) content_encoding: Option<&'a str>,
    pub(crate) user_metadata: Option<Value>,
    /// Whether what is `None` stays as the original has it; else the copy has none of it.
    pub(crate) keeps_unspecified: bool,
}

impl CopyChanges<'_> {
    /// Reports whether the copy has another content type.
    fn has_type(&self) -> bool {
        self.mimetype.is_some() || !self.keeps_unspecified
    }
}

/// Copies an object as `caller`, who becomes the copy's owner. Returns the copy's row as a JSON document, and what was
/// written.
///
/// Errors: as [`move_object`], but [`Error::KeyAlreadyExists`].
pub(crate) async fn copy_object(
    store: &Store,
    caller: &Caller,
    Route { source, target }: Route<'_>,
    options: CopyOptions<'_>,
    operation: &'static str,
) -> Result<(String, Written), Error> {
    key::check_key(target.1)?;
    let (condition, parameters) = super::selection(source, options.version);
    let sql = format!(
        "select o.version, coalesce(o.metadata, '{{}}'), coalesce(o.user_metadata, '{{}}') from storage.objects o \
         where o.bucket_id = $1 and o.name collate \"C\" = $2 and not o.is_delete_marker and {condition}"
    );
    let reply = store.rows.look_up_as(caller, operation, sql, parameters).await?;
    let row = reply.row().ok_or(Error::NoSuchKey)?;
    let original = row::uuid(row, 0).ok_or(Error::NoSuchKey)?;
    let mut metadata = document(row, 1);
    let mut user_metadata = document(row, 2);
    // A copy inside of a bucket that keeps its type brings nothing that is not there.
    let is_new_to_bucket =
        source.0 != target.0 || options.changes.as_ref().is_some_and(CopyChanges::has_type);
    if let Some(changes) = options.changes {
        changes.content_encoding.filter(|codings| !codings.is_empty()).map_or(Ok(()), coding::check)?;
        for (name, value) in [
            ("cacheControl", changes.cache_control),
            ("mimetype", changes.mimetype),
            ("contentEncoding", changes.content_encoding),
        ] {
            match (value, metadata.as_object_mut()) {
                (Some(""), Some(metadata)) if name == "contentEncoding" => drop(metadata.remove(name)),
                (Some(value), Some(metadata)) => drop(metadata.insert(name.to_owned(), value.into())),
                (None, Some(metadata)) if !changes.keeps_unspecified => drop(metadata.remove(name)),
                _ => {}
            }
        }
        let kept = if changes.keeps_unspecified { user_metadata } else { json!({}) };
        user_metadata = changes.user_metadata.unwrap_or(kept);
    }
    if is_new_to_bucket {
        admit(store, target, original, &metadata).await?;
    }
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("lastModified".to_owned(), row::iso_milliseconds(OffsetDateTime::now_utc()).into());
    }
    let version = Uuid::new_v4();
    let copy = NewRow {
        bucket: target.0,
        key: target.1,
        owner: caller.subject(),
        version,
        metadata: &metadata,
        user_metadata: &user_metadata,
        replaces: options.replaces,
    };
    copy.rehearse(&store.rows, caller, operation).await?;
    store.blobs.backend.copy(original, version).await?;
    let written = copy.write(store, caller.service_transaction(operation)).await?;
    Ok((document_of(&store.rows, written.id).await?, written))
}

/// Returns the row of the object with this `id` as a JSON document.
async fn document_of(rows: &Rows, id: Uuid) -> Result<String, Error> {
    const ROW: &str = concat!(
        "select row_to_json(r) from (select id as \"Id\", bucket_id || '/' || name as \"Key\", name, bucket_id, \
         owner, owner_id, version, id, ",
        times!(),
        ", metadata, user_metadata from storage.objects where id = $1::uuid) r"
    );
    let reply = rows.look_up(ROW, vec![row::display(id)]).await?;
    let document = reply.row().and_then(|row| row.text(0));
    document.map(str::to_owned).ok_or(Error::NoSuchKey)
}
