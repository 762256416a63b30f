//! Uploads: first the caller's right to write, then the bytes, then the row.
//!
//! A row is written only after its bytes are on the disk, and bytes are removed only after no row names them: whenever
//! the process ends, every row has its bytes. What it may leave behind are bytes without a row, which the sweeper
//! removes.

use std::io;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use fairness::{FairSemaphore, Permit};
use futures_util::{Stream, StreamExt as _};
use md5::{Digest as _, Md5};
use postgres::Transaction;
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::backend::Writer;
use crate::bucket_rules::Bucket;
use crate::caller::Caller;
use crate::error::Error;
use crate::objects::{NewRow, Written};
use crate::row::iso_milliseconds;
use crate::store::{Rows, Store};
use crate::{coding, key, robots};

/// `Cache-Control` of an object for which the request says nothing.
pub(crate) const DEFAULT_CACHE_CONTROL: &str = "no-cache";

/// Bytes up to which an upload of the service is stored before its row is tried: refusing it afterwards is cheap.
const SMALL: u64 = 64 * 1024;

/// What an upload says about its object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Description {
    pub(crate) mimetype: String,
    pub(crate) cache_control: String,
    pub(crate) robots_tag: Option<String>,
    /// Codings of the bytes, in the form in which they are stored.
    pub(crate) content_encoding: Option<String>,
    pub(crate) user_metadata: Option<Value>,
    /// The length of the request's body as it was announced.
    pub(crate) content_length: Option<u64>,
}

/// The target of an upload, and the caller whose rights apply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    pub(crate) owner: Option<&'a str>,
    pub(crate) replaces: bool,
    /// What `storage.operation()` tells policies.
    pub(crate) operation: &'static str,
}

impl Target<'_> {
    /// Checks the object's name and what its description says against the bucket's rules.
    ///
    /// Errors: [`Error::InvalidRobotsTag`], [`Error::InvalidRequest`], [`Error::InvalidMimeType`],
    /// [`Error::InvalidKey`].
    pub(crate) fn check(&self, bucket: &Bucket, about: &Description) -> Result<(), Error> {
        if let Some(tag) = &about.robots_tag {
            robots::check(tag)?;
        }
        if let Some(codings) = &about.content_encoding {
            coding::check(codings)?;
        }
        bucket.admit_type(self.key, &about.mimetype)?;
        key::check_key(self.key)?;
        Ok(())
    }

    /// Returns the bytes that the object may have.
    pub(crate) fn size_limit(&self, store: &Store, bucket: &Bucket) -> u64 {
        bucket.size_limit(self.key, store.max_size)
    }

    /// Checks whether row-level security lets `caller` write the object.
    ///
    /// Errors: [`Error::KeyAlreadyExists`], the refusal of a policy.
    pub(crate) async fn rehearse(
        &self,
        rows: &Rows,
        caller: &Caller,
        about: &Description,
    ) -> Result<(), Error> {
        let metadata = json!({ "mimetype": about.mimetype, "contentLength": about.content_length });
        let user_metadata = about.user_metadata.clone().unwrap_or_default();
        self.row(Uuid::nil(), &metadata, &user_metadata).rehearse(rows, caller, self.operation).await
    }

    /// Stores the bytes after everything that can be known before them has been checked. `announced` is their number,
    /// if the request says it.
    ///
    /// Errors: those of [`Self::check`], [`Self::rehearse`] and [`store`]. Nothing is stored then.
    pub(crate) async fn receive(
        &self,
        store: &Store,
        caller: &Caller,
        bucket: &Bucket,
        about: &Description,
        announced: Option<u64>,
        chunks: impl Stream<Item = io::Result<Bytes>> + Unpin + Send,
    ) -> Result<StoredBytes, Error> {
        let limit = self.size_limit(store, bucket);
        self.check(bucket, about)?;
        if announced.is_some_and(|length| length > limit) {
            return Err(Error::EntityTooLarge);
        }
        // The service may write everything, and writing the row also detects a name that is taken.
        let is_cheap_to_refuse = announced.is_some_and(|length| length <= SMALL);
        if !(caller.is_service() && is_cheap_to_refuse) {
            self.rehearse(&store.rows, caller, about).await?;
        }
        self::store(store, chunks, limit).await
    }

    /// Writes the row of the object whose bytes are stored, as the service. Removes the bytes that it replaces, unless
    /// the bucket keeps them; those of the object itself if the row cannot be written.
    ///
    /// Errors: [`Error::KeyAlreadyExists`], [`Error::RelatedResource`], what a trigger raises.
    pub(crate) async fn complete(
        &self,
        store: &Store,
        caller: &Caller,
        about: &Description,
        stored: &StoredBytes,
    ) -> Result<Written, Error> {
        let transaction = caller.service_transaction(self.operation);
        self.complete_with(store, transaction, about, stored).await
    }

    /// Does what [`Self::complete`] does, in a transaction of the service that may do something else before.
    ///
    /// Errors: as [`Self::complete`].
    pub(crate) async fn complete_with(
        &self,
        store: &Store,
        transaction: Transaction<'_>,
        about: &Description,
        stored: &StoredBytes,
    ) -> Result<Written, Error> {
        let metadata = stored.metadata(about);
        let user_metadata = about.user_metadata.clone().unwrap_or_else(|| json!({}));
        self.row(stored.version, &metadata, &user_metadata).write(store, transaction).await
    }

    fn row<'r>(&'r self, version: Uuid, metadata: &'r Value, user_metadata: &'r Value) -> NewRow<'r> {
        NewRow {
            bucket: self.bucket,
            key: self.key,
            owner: self.owner,
            version,
            metadata,
            user_metadata,
            replaces: self.replaces,
        }
    }
}

/// Bytes that are stored durably, but have no row yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredBytes {
    pub(crate) version: Uuid,
    pub(crate) size: u64,
    /// Their MD5 in hexadecimal digits.
    pub(crate) md5: String,
}

impl StoredBytes {
    /// Returns column `metadata` of the object's row.
    pub(crate) fn metadata(&self, about: &Description) -> Value {
        let mut metadata = json!({
            "eTag": format!("\"{}\"", self.md5),
            "size": self.size,
            "mimetype": about.mimetype,
            "cacheControl": about.cache_control,
            "lastModified": iso_milliseconds(OffsetDateTime::now_utc()),
            "contentLength": self.size,
            "httpStatusCode": 200,
        });
        for (name, value) in [("xRobotsTag", &about.robots_tag), ("contentEncoding", &about.content_encoding)]
        {
            if let Some(value) = value {
                metadata[name] = value.as_str().into();
            }
        }
        metadata
    }
}

/// Stores the bytes of `chunks`, at most `limit`, under a new version. The memory that this needs does not depend on
/// the size.
///
/// Errors: [`Error::EntityTooLarge`]; [`Error::InvalidContent`] when the sender breaks off; [`Error::SlowDown`];
/// [`Error::Backend`]. Nothing is stored then.
pub(crate) async fn store(
    store: &Store,
    chunks: impl Stream<Item = io::Result<Bytes>> + Unpin + Send,
    limit: u64,
) -> Result<StoredBytes, Error> {
    let mut writer = ObjectWriter::begin(store, limit);
    match writer.take(chunks).await {
        Ok(()) => writer.finish().await,
        Err(error) => {
            writer.inner.abort().await;
            Err(error)
        }
    }
}

/// Does what [`store`] does, but keeps the bytes that were received before the sender broke off, and returns that
/// failure with them.
///
/// Errors: [`Error::EntityTooLarge`], [`Error::SlowDown`], [`Error::Backend`]. Nothing is stored then.
pub(crate) async fn store_part(
    store: &Store,
    chunks: impl Stream<Item = io::Result<Bytes>> + Unpin + Send,
    limit: u64,
) -> Result<(StoredBytes, Option<Error>), Error> {
    let mut writer = ObjectWriter::begin(store, limit);
    let failure = match writer.take(chunks).await {
        Ok(()) => None,
        Err(failure @ Error::InvalidContent(_)) => Some(failure),
        Err(error) => {
            writer.inner.abort().await;
            return Err(error);
        }
    };
    Ok((writer.finish().await?, failure))
}

/// The bytes of an object or of a part on their way into the store.
struct ObjectWriter {
    uploads: FairSemaphore,
    /// Taken when the first bytes have arrived: a sender that sends none holds nothing.
    permit: Option<Permit>,
    version: Uuid,
    inner: Writer,
    digest: Md5,
    size: u64,
    limit: u64,
}

impl ObjectWriter {
    fn begin(store: &Store, limit: u64) -> Self {
        let version = Uuid::new_v4();
        Self {
            uploads: store.blobs.uploads.clone(),
            permit: None,
            version,
            inner: store.blobs.backend.writer(version),
            digest: Md5::new(),
            size: 0,
            limit,
        }
    }

    async fn take(
        &mut self,
        mut chunks: impl Stream<Item = io::Result<Bytes>> + Unpin + Send,
    ) -> Result<(), Error> {
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| Error::InvalidContent(error.to_string()))?;
            if self.permit.is_none() {
                let permit = self.uploads.try_acquire(fairness::caller()).ok_or(Error::SlowDown)?;
                self.permit = Some(permit);
            }
            self.size += chunk.len() as u64;
            if self.size > self.limit {
                return Err(Error::EntityTooLarge);
            }
            self.digest.update(&chunk);
            self.inner.put(chunk).await?;
        }
        Ok(())
    }

    async fn finish(self) -> Result<StoredBytes, Error> {
        self.inner.finish().await?;
        Ok(StoredBytes {
            version: self.version,
            size: self.size,
            md5: HEXLOWER.encode(&self.digest.finalize()),
        })
    }
}
