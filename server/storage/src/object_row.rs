//! An object as its row describes it.

use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::version_id::VersionId;

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
    /// When this version stopped being the current one.
    pub(crate) archived_at: Option<OffsetDateTime>,
    /// Whether it was written while its bucket kept versions.
    pub(crate) is_versioned: bool,
}

impl Object {
    /// Returns the id of this version.
    pub(crate) const fn version_id(&self) -> VersionId {
        VersionId::of(self.version, self.is_versioned)
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
