//! Buckets as a project defines them.

use std::path::{Path, PathBuf};

use ::settings::{Bytes, Invalid, Reader};

use crate::bucket_rules::Bucket;
use crate::caller::service_transaction;
use crate::error::Error;
use crate::key;
use crate::row::{display, names, text};
use crate::store::Rows;

::settings::settings! {
    /// A bucket as `[storage.buckets.<name>]` of `config.toml` defines it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct BucketDefinition {
        /// Its name, which is also its id.
        pub name: String = String::new(),
        /// Whether everybody may read the bucket's objects. If it is not set, a new bucket is private, and an existing
        /// one is not changed.
        #[setting(variables = [], key = "public")]
        pub public: Option<bool> = None,
        /// The maximum size of an object in bytes. If it is 0 or not set, the service's limit applies.
        #[setting(variables = [], key = "file_size_limit")]
        pub file_size_limit: Option<Bytes> = None,
        /// The content types that the bucket accepts, each `type/subtype` or `type/*`. Empty: all.
        #[setting(variables = [], key = "allowed_mime_types")]
        pub allowed_mime_types: Vec<String> = Vec::new(),
        /// A folder with files that are uploaded into the bucket at the start.
        #[setting(variables = [], key = "objects_path")]
        pub objects_path: Option<PathBuf> = None,
    }
}

impl BucketDefinition {
    /// Reads the buckets of a project. `resolve` returns where the folder of a path in `config.toml` is.
    ///
    /// Errors: [`Invalid`] for the first value that cannot be used.
    pub fn read_all(
        reader: &mut Reader<'_>,
        resolve: impl Fn(&Path) -> PathBuf,
    ) -> Result<Vec<Self>, Invalid> {
        let mut buckets = Vec::new();
        for name in reader.tables(&["storage", "buckets"]) {
            let mut bucket = Self { name, ..Self::default() };
            reader.apply_at(&["storage", "buckets", &bucket.name.clone()], &mut bucket)?;
            bucket.objects_path = bucket.objects_path.as_deref().map(&resolve);
            buckets.push(bucket);
        }
        Ok(buckets)
    }

    /// Returns what the bucket accepts.
    pub(crate) fn rules(&self) -> Bucket {
        Bucket {
            is_public: self.public.unwrap_or_default(),
            file_size_limit: self.file_size_limit.map(|limit| limit.0),
            allowed_mime_types: self.allowed_mime_types.clone(),
        }
    }
}

/// Writes only what differs, so that a start that changes nothing leaves no trace in the write-ahead log.
const UPSERT: &str = "insert into storage.buckets as b (id, name, public, file_size_limit, allowed_mime_types) \
     values ($1, $1, coalesce($2::boolean, false), $3::bigint, \
       (select array_agg(t) from jsonb_array_elements_text($4::jsonb) t)) \
     on conflict (id) do update set public = coalesce($2::boolean, b.public), \
       file_size_limit = excluded.file_size_limit, allowed_mime_types = excluded.allowed_mime_types, \
       updated_at = now() \
     where (b.public, b.file_size_limit, b.allowed_mime_types) is distinct from \
       (coalesce($2::boolean, b.public), excluded.file_size_limit, excluded.allowed_mime_types)";

/// Creates the bucket or gives an existing one the definition's properties.
///
/// Errors: [`Error::InvalidBucketName`], [`Error::Database`].
pub(crate) async fn upsert(rows: &Rows, bucket: &BucketDefinition) -> Result<(), Error> {
    key::check_bucket(&bucket.name)?;
    // `on conflict` arbitrates one unique index, and the table has two: of two nodes that create the bucket at the same
    // moment one could break the other. The lock makes them take turns; as a statement of its own, so that the next
    // one's snapshot sees what the other node committed.
    let transaction = service_transaction("storage.bucket.update")
        .statement("select pg_advisory_xact_lock(hashtextextended($1, 0))", vec![text(&bucket.name)])
        .statement(
            UPSERT,
            vec![
                text(&bucket.name),
                bucket.public.and_then(display),
                bucket.file_size_limit.map(|limit| limit.0).filter(|limit| *limit > 0).and_then(display),
                names(bucket.allowed_mime_types.iter().map(String::as_str)),
            ],
        );
    rows.change(&transaction).await?;
    Ok(())
}
