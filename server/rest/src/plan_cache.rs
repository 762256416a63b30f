//! Plans of requests that came before, with their statements.
//!
//! An application keeps sending the same few requests with other values in them. What two of them have in common is
//! their [`RequestShape`]; a [`Template`] is the plan and the statements that all requests of one shape have, with
//! places for the values. A request whose shape is known needs to be neither parsed nor planned nor written as SQL.
//!
//! No value of a client's can get from one request into another, because no template ever holds one: it is made from
//! a request in which placeholders stand for the values, and they are all that is replaced.

mod shape;
mod template;

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use foldhash::fast::RandomState;
use parking_lot::RwLock;

pub(crate) use shape::Parameter;
pub use shape::RequestShape;
pub use template::Template;

use crate::configuration::Configuration;
use crate::schema_cache::SchemaCache;

/// The most templates that are kept.
const MAX_TEMPLATES: usize = 512;
/// The most bytes that all of them may take, by estimate.
const MAX_BYTES: usize = 6 << 20;
/// How many shapes that came once are remembered: a request that is never repeated is not worth a template.
const CANDIDATES: usize = 4096;

/// The templates of a schema cache and settings. When either changes, all plans do: the cache is then empty.
#[derive(Default)]
pub(crate) struct PlanCache {
    current: ArcSwapOption<Generation>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The state of a [`PlanCache`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlanStatistics {
    /// Requests for which there was a template.
    pub(crate) hits: u64,
    /// Requests for which there was none.
    pub(crate) misses: u64,
    /// Templates that are kept.
    pub(crate) entries: usize,
    /// Bytes that they take, by estimate.
    pub(crate) bytes: usize,
}

/// Everything that was planned with one schema cache and one set of settings.
pub(crate) struct Generation {
    configuration: Arc<Configuration>,
    schema: Arc<SchemaCache>,
    hasher: RandomState,
    templates: RwLock<Templates>,
    /// Hashes of shapes that came once, each at the index that follows from it.
    candidates: Box<[AtomicU64]>,
    clock: AtomicU64,
}

#[derive(Default)]
struct Templates {
    by_shape: HashMap<Box<[u8]>, Entry, RandomState>,
    bytes: usize,
}

struct Entry {
    template: Arc<Template>,
    bytes: usize,
    last_used: AtomicU64,
}

impl PlanCache {
    /// Returns what was planned with `schema` and `configuration`.
    pub(crate) fn of(
        &self,
        configuration: &Arc<Configuration>,
        schema: &Arc<SchemaCache>,
    ) -> Arc<Generation> {
        if let Some(current) = &*self.current.load()
            && Arc::ptr_eq(&current.configuration, configuration)
            && Arc::ptr_eq(&current.schema, schema)
        {
            return Arc::clone(current);
        }
        let new = Arc::new(Generation::new(Arc::clone(configuration), Arc::clone(schema)));
        self.current.store(Some(Arc::clone(&new)));
        new
    }

    /// Counts a request for which there was a template or not.
    pub(crate) fn count(&self, is_hit: bool) {
        let counter = if is_hit { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the state.
    pub(crate) fn statistics(&self) -> PlanStatistics {
        let (entries, bytes) = self.current.load().as_ref().map_or((0, 0), |current| {
            let templates = current.templates.read();
            (templates.by_shape.len(), templates.bytes)
        });
        let [hits, misses] = [&self.hits, &self.misses].map(|counter| counter.load(Ordering::Relaxed));
        PlanStatistics { hits, misses, entries, bytes }
    }
}

impl Generation {
    fn new(configuration: Arc<Configuration>, schema: Arc<SchemaCache>) -> Self {
        Self {
            configuration,
            schema,
            hasher: RandomState::default(),
            templates: RwLock::default(),
            candidates: std::iter::repeat_with(AtomicU64::default).take(CANDIDATES).collect(),
            clock: AtomicU64::new(0),
        }
    }

    /// Returns the template for requests of this shape, if there is one.
    pub(crate) fn find(&self, shape: &RequestShape<'_>) -> Option<Arc<Template>> {
        let templates = self.templates.read();
        let entry = templates.by_shape.get(shape.key())?;
        entry.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(Arc::clone(&entry.template))
    }

    /// Reports whether a request of this shape came before, so that a template will be of use.
    pub(crate) fn expects(&self, shape: &RequestShape<'_>) -> bool {
        let hash = self.hasher.hash_one(shape.key());
        let index = usize::try_from(hash % CANDIDATES as u64).unwrap_or(0);
        self.candidates[index].swap(hash, Ordering::Relaxed) == hash
    }

    /// Keeps `template` for requests of this shape. Those that were not used for the longest time make room.
    pub(crate) fn keep(&self, shape: &RequestShape<'_>, template: Template) {
        let bytes = shape.key().len() + template.size();
        if bytes > MAX_BYTES / 16 {
            return;
        }
        let last_used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        let entry = Entry { template: Arc::new(template), bytes, last_used };
        let mut templates = self.templates.write();
        templates.remove(shape.key());
        while templates.by_shape.len() >= MAX_TEMPLATES || templates.bytes + bytes > MAX_BYTES {
            templates.remove_oldest();
        }
        templates.bytes += bytes;
        templates.by_shape.insert(shape.key().into(), entry);
    }

    /// Forgets what requests of this shape have in common, since it was not right for one of them.
    pub(crate) fn forget(&self, shape: &RequestShape<'_>) {
        self.templates.write().remove(shape.key());
    }
}

impl Templates {
    fn remove(&mut self, key: &[u8]) {
        if let Some(entry) = self.by_shape.remove(key) {
            self.bytes -= entry.bytes;
        }
    }

    fn remove_oldest(&mut self) {
        let oldest = self.by_shape.iter().min_by_key(|(_, entry)| entry.last_used.load(Ordering::Relaxed));
        match oldest.map(|(key, _)| key.clone()) {
            Some(key) => self.remove(&key),
            None => self.bytes = 0,
        }
    }
}

#[cfg(test)]
mod tests;
