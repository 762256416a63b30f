//! Objects: their rows, under row-level security.

pub(crate) mod list;
pub(crate) mod relocate;
pub(crate) mod remove;

use std::sync::Arc;

use database::{Parameter, Row, Transaction};
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::caller::{Caller, owner_uuid};
use crate::row::{self, optional, text, timestamp};
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
    pub(crate) content_encoding: Option<String>,
}

/// An object that the caller may read.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) version: Uuid,
    pub(crate) size: u64,
    pub(crate) metadata: Metadata,
    pub(crate) id: Option<Uuid>,
    /// The user metadata, as JSON.
    pub(crate) user_metadata: Option<Value>,
    pub(crate) created_at: Option<OffsetDateTime>,
    pub(crate) updated_at: Option<OffsetDateTime>,
}

/// The columns of an [`Object`].
const COLUMNS: &str = "o.version, o.metadata, o.updated_at, o.created_at, o.id, o.user_metadata";

/// Whether the triggers are in place and on that notify changes of public objects: their owner may have switched them off.
const ARE_CHANGES_NOTIFIED: &str = "(select count(*) = 4 from pg_catalog.pg_trigger \
     where tgrelid in ('storage.objects'::regclass, 'storage.buckets'::regclass) \
     and tgname like 'basalt\\_notify%' and tgenabled in ('O', 'A'))";

/// The rights that decide whether an object may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// None: only objects of public buckets are found.
    Public,
    /// The caller's, unless the bucket is public.
    Caller,
    /// The service's, since a signed URL names the object.
    Signature,
}

/// Finds object `key` of `bucket`. `operation` is what `storage.operation()` tells policies.
///
/// Whether a bucket is public is not a secret that row-level security keeps, so the service looks at it.
///
/// Errors: [`Error::NoSuchBucket`] for a missing bucket and for a private one with [`Access::Public`];
/// [`Error::NoSuchKey`] for a missing object and for one that row-level security hides.
pub(crate) async fn find(
    storage: &Storage,
    caller: &Caller,
    (bucket, key): (&str, &str),
    access: Access,
    operation: &'static str,
) -> Result<Arc<Object>, Error> {
    let before = storage.public_objects().revision();
    let sql = format!(
        "select b.public, {COLUMNS}, {ARE_CHANGES_NOTIFIED} from storage.buckets b \
         left join storage.objects o on o.bucket_id = b.id and o.name = $2 where b.id = $1"
    );
    let answer = storage.look_up(sql, vec![text(bucket), text(key)]).await?;
    let row = answer.row();
    let is_public = row.is_some_and(|row| row.get(0) == Some(b"t"));
    match row {
        Some(row) if is_public || access == Access::Signature => {
            let object = Arc::new(object(storage, row).await?);
            let are_notified = row.get(7) == Some(b"t");
            if let Some(before) = before.filter(|_| is_public && are_notified) {
                storage.public_objects().keep(bucket, key, &object, before);
            }
            Ok(object)
        }
        None if access == Access::Signature => Err(Error::NoSuchKey),
        None => Err(Error::NoSuchBucket),
        Some(_) if access == Access::Public || !caller.is_authenticated() => Err(Error::NoSuchBucket),
        Some(_) => find_visible(storage, caller, (bucket, key), operation).await,
    }
}

/// Finds object `key` of `bucket` if row-level security lets `caller` see it.
///
/// Errors: [`Error::NoSuchKey`].
pub(crate) async fn find_visible(
    storage: &Storage,
    caller: &Caller,
    (bucket, key): (&str, &str),
    operation: &'static str,
) -> Result<Arc<Object>, Error> {
    let sql = format!("select true, {COLUMNS} from storage.objects o where o.bucket_id = $1 and o.name = $2");
    let answer = storage.look_up_as(caller, operation, sql, vec![text(bucket), text(key)]).await?;
    let row = answer.row().ok_or(Error::NoSuchKey)?;
    Ok(Arc::new(object(storage, row).await?))
}

async fn object(storage: &Storage, row: &Row) -> Result<Object, Error> {
    // Users' SQL may have written any version, but only a UUID is one of stored bytes.
    let version = row::uuid(row, 1).ok_or(Error::NoSuchKey)?;
    let mut metadata: Metadata =
        row.get(2).and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default();
    let updated_at = row.text(3).and_then(timestamp);
    metadata.last_modified = metadata.last_modified.or(updated_at);
    let size = match metadata.size {
        Some(size) => size,
        None => storage.backend().size(version).await?,
    };
    Ok(Object {
        version,
        size,
        metadata,
        id: row::uuid(row, 5),
        user_metadata: row.get(6).and_then(|json| serde_json::from_slice(json).ok()),
        created_at: row.text(4).and_then(timestamp),
        updated_at,
    })
}

/// A row of `storage.objects` that is to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewRow<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    pub(crate) owner: Option<&'a str>,
    pub(crate) version: Uuid,
    pub(crate) metadata: &'a Value,
    pub(crate) user_metadata: &'a Value,
    /// Whether an object of that name is replaced; else it is an error.
    pub(crate) replaces: bool,
}

impl NewRow<'_> {
    /// Serializes writers of one name, also those that replace nothing. The lock is a separate statement, so that the
    /// snapshot of the next one sees what another writer has committed.
    const LOCK: &'static str = "select pg_advisory_xact_lock(hashtextextended($1 || '/' || $2, 0))";

    const REPLACED: &'static str =
        "with replaced as (select version from storage.objects where bucket_id = $1 and name = $2) ";

    const INSERT: &'static str = "insert into storage.objects \
         (bucket_id, name, owner, owner_id, version, metadata, user_metadata) \
         values ($1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb)";

    /// The service has no subject, and leaves an object its owner.
    const REPLACE: &'static str = " on conflict (bucket_id, name) do update \
         set owner = coalesce(excluded.owner, objects.owner), \
         owner_id = coalesce(excluded.owner_id, objects.owner_id), version = excluded.version, metadata = excluded.metadata, \
         user_metadata = excluded.user_metadata, updated_at = now()";

    /// Returns the statement that writes the row.
    fn insert(&self) -> String {
        format!("{}{}", Self::INSERT, if self.replaces { Self::REPLACE } else { "" })
    }

    /// Returns the parameters of every statement of the row.
    fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![
            text(self.bucket),
            text(self.key),
            optional(owner_uuid(self.owner)),
            optional(self.owner),
            row::display(self.version.hyphenated()),
            row::display(self.metadata),
            row::display(self.user_metadata),
        ]
    }

    /// Writes the row as `caller` and rolls back, so that row-level security refuses it before any bytes are received.
    ///
    /// Errors: [`Error::KeyAlreadyExists`], [`Error::RelatedResource`], the refusal of a policy.
    pub(crate) async fn rehearse(
        &self,
        storage: &Storage,
        caller: &Caller,
        operation: &'static str,
    ) -> Result<(), Error> {
        let trial = caller.transaction(operation).statement(self.insert(), self.parameters()).rollback();
        storage.database().run(&trial).await.map(drop).map_err(|error| conflict(caller.refusal(error)))
    }

    /// Writes the row in `transaction`, one of the service, and returns the object's id. Removes the bytes that it
    /// replaces; those of the object itself if the row cannot be written.
    ///
    /// Errors: [`Error::KeyAlreadyExists`], [`Error::RelatedResource`], what a trigger raises.
    pub(crate) async fn write(&self, storage: &Storage, transaction: Transaction<'_>) -> Result<Uuid, Error> {
        match self.run_insert(storage, transaction).await {
            Ok((id, replaced)) => {
                discard(storage, replaced.as_slice()).await;
                Ok(id)
            }
            Err(error) => {
                discard_after(storage, &error, self.version).await;
                Err(error)
            }
        }
    }

    /// Writes the row, and returns the object's id and the version that it replaces.
    async fn run_insert(
        &self,
        storage: &Storage,
        transaction: Transaction<'_>,
    ) -> Result<(Uuid, Option<Uuid>), Error> {
        let transaction = transaction.statement(Self::LOCK, vec![text(self.bucket), text(self.key)]);
        let answer = if self.replaces {
            let insert = self.insert();
            let sql = format!("{}{insert} returning id, (select version from replaced)", Self::REPLACED);
            storage.change(&transaction.statement(sql, self.parameters())).await
        } else {
            let sql = format!("{} returning id", self.insert());
            storage.database().run(&transaction.statement(sql, self.parameters())).await
        };
        let answer = answer.map_err(|error| conflict(error.into()))?;
        let row = answer.row();
        let id = row.and_then(|row| row::uuid(row, 0));
        // A trigger of the users may have suppressed the row.
        let id = id
            .ok_or_else(|| Error::Backend("a trigger kept the object's row from being written".to_owned()))?;
        Ok((id, row.and_then(|row| row::uuid(row, 1))))
    }
}

/// Returns the error of an upload for `error`, if that is about a constraint of the table.
fn conflict(error: Error) -> Error {
    match &error {
        Error::Database(database::Error::Postgres(server)) => match &*server.code {
            "23505" => Error::KeyAlreadyExists,
            "23503" => Error::RelatedResource,
            _ => error,
        },
        _ => error,
    }
}

/// Removes the bytes of versions that no row names any more. What cannot be removed now is left to the sweeper.
pub(crate) async fn discard(storage: &Storage, versions: &[Uuid]) {
    for version in versions {
        if let Err(error) = storage.backend().remove(*version).await {
            tracing::warn!(%version, %error, "bytes that no object needs could not be removed");
        }
        if let Some(renderer) = storage.renderer() {
            renderer.forget(*version).await;
        }
    }
}

/// Removes the bytes of `version`, whose row could not be written because of `error`; unless the row may have been
/// written nevertheless, since the connection broke before Postgres had answered.
pub(crate) async fn discard_after(storage: &Storage, error: &Error, version: Uuid) {
    use database::Error::{AcquireTimeout, Configuration, Postgres};
    let is_certain = !matches!(error, Error::Database(error) if !matches!(error, Postgres(_) | AcquireTimeout(_) | Configuration(_)));
    if is_certain {
        discard(storage, &[version]).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_may_lack_anything() {
        let metadata: Metadata = serde_json::from_str("{\"mimetype\":\"image/png\"}").unwrap();
        assert_eq!(metadata.mimetype.as_deref(), Some("image/png"));
        assert!(metadata.etag.is_none() && metadata.size.is_none());
    }
}
