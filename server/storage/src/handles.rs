//! What the service keeps when its settings change.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairness::FairSemaphore;
use postgres::Database;
use prometheus_client::registry::Registry;
use telemetry::{gauge_of, write_metric};
use tokens::{Keys, Verifier};

use crate::backend::Backend;
use crate::error::Error;
use crate::metrics::Traffic;
use crate::render::Pictures;
use crate::settings::Settings;
use crate::store::{Blobs, Rows, Store};

/// What endpoints of the service share, those with earlier settings and those with later ones: the database, the keys,
/// the store of bytes, caches, and the permits of uploads and of renderings. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handles {
    pub(crate) keys: Keys,
    pub(crate) verifier: Verifier,
    pub(crate) rows: Rows,
    pub(crate) blobs: Blobs,
    /// Whether the database is known to have pgvector.
    pub(crate) vectors_are_available: Arc<AtomicBool>,
}

impl Handles {
    /// Opens the store of bytes; the folder of a store of files is created where it is missing. What
    /// [`settings_that_need_a_restart`](crate::settings::settings_that_need_a_restart) names is decided here.
    ///
    /// `database` must have logged in as a role that may become `anon`, `authenticated` and `service_role`, as
    /// `supabase_storage_admin` may. Objects of public buckets are kept in memory if it listens to
    /// [`CHANNEL`](crate::public_objects::CHANNEL).
    ///
    /// Tokens of callers are checked by `verifier`, signed URLs are made with `keys`.
    ///
    /// Errors: [`Error::Backend`] when the folder cannot be made or opened, or the S3 store's settings lack something.
    pub async fn new(
        settings: &Settings,
        database: Database,
        keys: Keys,
        verifier: Verifier,
    ) -> Result<Self, Error> {
        let blobs = Blobs {
            backend: Backend::open(settings).await?,
            pictures: Pictures::open(settings),
            uploads: FairSemaphore::new(settings.max_uploads, 0),
            keeper: Arc::default(),
        };
        let vectors_are_available = Arc::default();
        Ok(Self { keys, verifier, rows: Rows::new(database), blobs, vectors_are_available })
    }

    /// Returns the objects' store as `settings` limit it.
    pub(crate) fn store(&self, settings: &Settings) -> Store {
        Store { rows: self.rows.clone(), blobs: self.blobs.clone(), max_size: settings.file_size_limit.0 }
    }

    /// Adds the service's metrics to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("storage");
        let Traffic { read, written, uploads } = self.blobs.backend.traffic();
        registry.register("read_bytes", "Bytes of objects that were read for clients", read.clone());
        registry.register("written_bytes", "Bytes that were written to the store", written.clone());
        registry.register("uploads_under_way", "Objects that are being written", uploads.clone());
        let pictures = self.blobs.pictures.clone();
        let help = "Pictures that were rendered, or refused, and not found in the cache";
        registry.register("renderings", help, pictures.renderings().0.clone());
        registry.register_collector(telemetry::collector(move |encoder| {
            let (busy, waiting) = pictures.load();
            let help = "Pictures that are being rendered";
            write_metric(encoder, "renderings_under_way", help, &gauge_of(busy))?;
            write_metric(
                encoder,
                "renderings_waiting",
                "Pictures that wait to be rendered",
                &gauge_of(waiting),
            )
        }));
    }
}
