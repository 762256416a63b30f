//! Buckets as a project defines them.

use std::path::{Path, PathBuf};

use ::settings::{Bytes, Invalid, Reader};

use super::size_limit;
use crate::caller::service_transaction;
use crate::row::{display, names, text};
use crate::{Error, Storage, key};

::settings::settings! {
    /// A bucket as `[storage.buckets.<name>]` of `config.toml` defines it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct BucketDefinition {
        /// Its name, which is also its id.
        pub name: String = String::new(),
        /// Whether everybody may read its objects. Where it is not set, an existing bucket stays as it is, and a new one is
        /// private.
        #[setting(variables = [], key = "public")]
        pub public: Option<bool> = None,
        /// Bytes that one object may have; the service's limit where it is not set, or 0.
        #[setting(variables = [], key = "file_size_limit")]
        pub file_size_limit: Option<Bytes> = None,
        /// Content types that it takes, each `type/subtype` or `type/*`. Where there is none, it takes all.
        #[setting(variables = [], key = "allowed_mime_types")]
        pub allowed_mime_types: Vec<String> = Vec::new(),
        /// Folder of files to begin with.
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

    /// Checks a file that is to be put into the bucket. Parameters of its content type, such as the charset that
    /// browsers and the CLI add to texts, do not count.
    ///
    /// Errors: [`Error::EntityTooLarge`], [`Error::InvalidMimeType`].
    pub(crate) fn admit(&self, size: u64, mimetype: &str, service_limit: u64) -> Result<(), Error> {
        if size > size_limit(self.file_size_limit.map(|limit| limit.0), service_limit) {
            return Err(Error::EntityTooLarge);
        }
        let essence = mimetype.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let admitted = self.allowed_mime_types.is_empty()
            || self.allowed_mime_types.iter().any(|allowed| match allowed.strip_suffix('*') {
                Some(prefix) => essence.starts_with(prefix),
                None => essence == *allowed,
            });
        if admitted { Ok(()) } else { Err(Error::InvalidMimeType(mimetype.to_owned())) }
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
pub(crate) async fn upsert(storage: &Storage, bucket: &BucketDefinition) -> Result<(), Error> {
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
    storage.change(&transaction).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admits_by_size_and_declared_type() {
        let bucket = BucketDefinition {
            file_size_limit: Some(Bytes(10)),
            allowed_mime_types: vec!["image/*".to_owned(), "text/plain".to_owned()],
            ..BucketDefinition::default()
        };
        assert!(bucket.admit(10, "image/png", 100).is_ok());
        assert!(bucket.admit(5, "text/plain", 100).is_ok());
        assert!(matches!(bucket.admit(11, "image/png", 100), Err(Error::EntityTooLarge)));
        assert!(matches!(bucket.admit(9, "image/png", 8), Err(Error::EntityTooLarge)));
        assert!(bucket.admit(1, "text/plain;charset=UTF-8", 100).is_ok());
        assert!(matches!(bucket.admit(1, "text/html; charset=utf-8", 100), Err(Error::InvalidMimeType(_))));
    }
}
