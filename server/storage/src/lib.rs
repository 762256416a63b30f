//! Supabase Storage's interface: buckets and objects over HTTP.
//!
//! The way through it: [`api`] reads requests and writes answers, `objects`, `buckets` and `upload` hold the rules and
//! the rows (`storage.objects`, `storage.buckets`, under row-level security of the `caller`), `backend` holds the
//! bytes. All truth about an object is in its row; the backend knows bytes by their version and nothing else.

mod api;
mod backend;
mod buckets;
mod caller;
mod error;
mod key;
mod mime;
mod objects;
mod resumable;
mod robots;
mod row;
mod seed;
mod settings;
mod signature;
mod size;
mod sweeper;
mod upload;

use std::sync::Arc;

use database::Database;
use tokens::{Keys, Verifier};

pub use buckets::BucketDefinition;
pub use error::Error;
pub use seed::SeedReport;
pub use settings::Settings;
pub use sweeper::Sweeper;

use backend::Backend;

/// What the service's endpoints share. Cheap to clone.
#[derive(Clone)]
pub struct Storage {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    database: Database,
    keys: Keys,
    verifier: Verifier,
    backend: Backend,
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storage").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

impl Storage {
    /// Opens the store of bytes, creating its folder where it is missing.
    ///
    /// `database` must have logged in as a role that may become `anon`, `authenticated` and `service_role`, as
    /// `supabase_storage_admin` may.
    ///
    /// Errors: [`Error::Backend`] when the folder cannot be made or opened.
    /// Tokens of callers are checked by `verifier`, signed URLs are made with `keys`.
    pub async fn open(
        settings: Settings,
        database: Database,
        keys: Keys,
        verifier: Verifier,
    ) -> Result<Self, Error> {
        let backend = Backend::local(&settings.path).await?;
        Ok(Self { inner: Arc::new(Inner { settings, database, keys, verifier, backend }) })
    }

    pub(crate) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(crate) fn verifier(&self) -> &Verifier {
        &self.inner.verifier
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.inner.keys
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.settings
    }
}

/// The service, its paths relative to where it is mounted (`/storage/v1`).
pub fn service(storage: Storage) -> impl poem::Endpoint {
    api::routes(storage)
}
