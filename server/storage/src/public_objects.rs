//! A cache of objects of public buckets: reading them again needs neither the database nor row-level security.
//!
//! Every change to such an object or its bucket is notified by triggers of the database
//! (`schema/platform/0019_public_object_changes.sql`), no matter who makes it. After a notification the cache is not
//! used for anything that was read before it. While no notifications arrive (no listener, or its connection broke)
//! nothing is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use postgres::Database;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::object_row::Object;

/// The channel of the triggers' notifications. The service's database has to listen to it.
pub const CHANNEL: &str = "basalt_public_objects";

/// Bytes of memory that the objects' rows may take.
const CAPACITY: u64 = 8 << 20;
/// About how many objects that is.
const ESTIMATED_OBJECTS: usize = 16_384;

/// The objects, by bucket and key.
pub(crate) struct PublicObjects {
    database: Database,
    /// How often this node itself has changed objects.
    changes: AtomicU64,
    entries: Cache<String, Entry, Size>,
}

#[derive(Clone)]
struct Entry {
    object: Arc<Object>,
    revision: Revision,
    /// About how many bytes of memory it takes.
    size: u64,
}

/// A state of all public objects: how many notifications had come, and how many changes this node had made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Revision(u64, u64);

#[derive(Clone)]
struct Size;

impl Weighter<String, Entry> for Size {
    fn weight(&self, _: &String, entry: &Entry) -> u64 {
        entry.size
    }
}

impl PublicObjects {
    /// Creates an empty cache. Objects are kept only if `database` listens to [`CHANNEL`].
    pub(crate) fn new(database: Database) -> Self {
        Self {
            database,
            changes: AtomicU64::new(0),
            entries: Cache::with_weighter(ESTIMATED_OBJECTS, CAPACITY, Size),
        }
    }

    /// Returns the present state, to be taken before an object is read; `None` while notifications do not arrive.
    pub(crate) fn revision(&self) -> Option<Revision> {
        let is_listening = self.database.is_listening_to(CHANNEL);
        is_listening
            .then(|| Revision(self.database.notification_count(), self.changes.load(Ordering::Acquire)))
    }

    /// Forgets everything that has been read up to now.
    pub(crate) fn forget(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns object `key` of `bucket` if nothing has changed since it was read.
    pub(crate) fn get(&self, bucket: &str, key: &str) -> Option<Arc<Object>> {
        let revision = self.revision()?;
        let entry = self.entries.get(&name(bucket, key))?;
        (entry.revision == revision).then_some(entry.object)
    }

    /// Keeps object `key` of `bucket`, which was read after `revision`.
    pub(crate) fn keep(&self, bucket: &str, key: &str, object: &Arc<Object>, revision: Revision) {
        let name = name(bucket, key);
        let metadata = &object.metadata;
        let texts = [&metadata.etag, &metadata.mimetype, &metadata.cache_control];
        let texts = texts.into_iter().chain([&metadata.x_robots_tag, &metadata.content_encoding]);
        let texts = texts.flatten().map(String::len).sum::<usize>();
        let document = object.user_metadata.as_ref().map_or(0, |document| document.to_string().len());
        let size = (size_of::<Entry>() + size_of::<Object>() + name.len() + texts + document) as u64;
        self.entries.insert(name, Entry { object: Arc::clone(object), revision, size });
    }
}

/// Returns the name of an entry. A bucket's name has no slash, so no two objects share one.
fn name(bucket: &str, key: &str) -> String {
    format!("{bucket}/{key}")
}
