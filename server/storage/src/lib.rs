//! Supabase Storage's interface: buckets and objects over HTTP.
//!
//! The way through it: [`api`] reads requests and writes answers, `objects`, `buckets` and `upload` hold the rules and
//! the rows (`storage.objects`, `storage.buckets`, under row-level security of the `caller`), `backend` holds the
//! bytes, `render` makes other pictures of them. Everything about an object is in its row; the backend only stores
//! bytes by their version.
//!
//! Other ways in: `s3` (the S3 protocol; `multipart` stores its parts), `resumable` (uploads in parts), `vector` (vector
//! buckets). `signature` makes and reads the tokens of signed URLs. `sweeper` removes expired uploads and bytes that no
//! row names, `expiry` removes versions of objects that have expired.

mod api;
mod backend;
mod buckets;
mod caller;
mod coding;
mod error;
mod expiry;
mod key;
mod lenient_base64;
mod metrics;
mod mime;
mod multipart;
mod objects;
mod public_objects;
mod render;
mod resumable;
mod robots;
mod row;
mod s3;
mod seed;
mod settings;
mod signature;
mod size;
mod sweeper;
mod transfer;
mod upload;
mod vector;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairness::FairSemaphore;
use postgres::{Answer, Database, Parameter, Transaction};
use tokens::{Keys, Verifier};

pub use buckets::BucketDefinition;
pub use error::Error;
pub use expiry::Expiry;
pub use public_objects::CHANNEL;
pub use render::Refusal;
pub use s3::AccessKeys;
pub use seed::SeedReport;
pub use settings::{BackendKind, KNOWN_KEYS, S3Settings, Settings};
pub use sweeper::Sweeper;
pub use transfer::{Transfer, transfer};

use backend::Backend;
use caller::Caller;
use public_objects::PublicObjects;
use render::Renderer;

/// The state that the service's endpoints share. Cheap to clone.
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
    public_objects: PublicObjects,
    access_keys: AccessKeys,
    renderer: Option<Renderer>,
    vectors_are_available: AtomicBool,
    /// A permit for each upload whose bytes are being received.
    uploads: FairSemaphore,
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storage").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

impl Storage {
    /// Opens the store of bytes; the folder of a store of files is created where it is missing.
    ///
    /// `database` must have logged in as a role that may become `anon`, `authenticated` and `service_role`, as
    /// `supabase_storage_admin` may. Objects of public buckets are kept in memory if it listens to [`CHANNEL`].
    ///
    /// Tokens of callers are checked by `verifier`, signed URLs are made with `keys`.
    ///
    /// Errors: [`Error::Backend`] when the folder cannot be made or opened, or the S3 store's settings lack something.
    pub async fn open(
        settings: Settings,
        database: Database,
        keys: Keys,
        verifier: Verifier,
    ) -> Result<Self, Error> {
        let backend = Backend::open(&settings).await?;
        let renderer = Renderer::new(&settings, &backend);
        let public_objects = PublicObjects::new(database.clone());
        if settings.s3_access_key.is_empty() != settings.s3_secret.is_empty() {
            tracing::warn!(
                "an access key of the S3 protocol needs a secret, and the other way round: it is ignored"
            );
        }
        let access_keys = AccessKeys::of(&settings, &keys);
        let uploads = FairSemaphore::new(settings.max_uploads, 0);
        let inner = Inner {
            settings,
            database,
            keys,
            verifier,
            backend,
            public_objects,
            access_keys,
            renderer,
            vectors_are_available: AtomicBool::new(false),
            uploads,
        };
        Ok(Self { inner: Arc::new(inner) })
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

    pub(crate) fn uploads(&self) -> &FairSemaphore {
        &self.inner.uploads
    }

    pub(crate) fn public_objects(&self) -> &PublicObjects {
        &self.inner.public_objects
    }

    /// Runs a query on the primary with the service's own rights, which policies do not restrict. The query must run
    /// none of the users' code: it has no settings that describe the request, and no session is reset for it.
    pub(crate) async fn look_up<'a>(
        &self,
        sql: impl Into<Cow<'a, str>>,
        parameters: Vec<Parameter<'a>>,
    ) -> Result<Answer, Error> {
        let query = caller::lookup().statement(sql, parameters);
        Ok(self.database().run(&query).await?)
    }

    /// Runs a query on the primary with row-level security as for `caller`. `operation` is what `storage.operation()`
    /// tells policies.
    ///
    /// Errors: [`Caller::refusal`].
    pub(crate) async fn look_up_as<'a>(
        &self,
        caller: &'a Caller,
        operation: &'static str,
        sql: impl Into<Cow<'a, str>>,
        parameters: Vec<Parameter<'a>>,
    ) -> Result<Answer, Error> {
        let query = caller.transaction(operation).read_only().on_primary().statement(sql, parameters);
        self.database().run(&query).await.map_err(|error| caller.refusal(error))
    }

    /// Runs a transaction that changes or removes rows of objects or buckets. What was read before is forgotten: this
    /// node's own changes take effect at once, before their notification arrives.
    pub(crate) async fn change(&self, transaction: &Transaction<'_>) -> Result<Answer, postgres::Error> {
        let answer = self.database().run(transaction).await;
        self.public_objects().forget();
        answer
    }

    /// Returns the keys that S3 clients sign with.
    pub fn access_keys(&self) -> &AccessKeys {
        &self.inner.access_keys
    }

    /// Returns the renderer of pictures; `None` if it is switched off.
    pub(crate) fn renderer(&self) -> Option<&Renderer> {
        self.inner.renderer.as_ref()
    }

    /// Returns whether the database is known to have pgvector.
    pub(crate) fn vectors_are_available(&self) -> &AtomicBool {
        &self.inner.vectors_are_available
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.settings
    }
}

/// Returns the service, its paths relative to where it is mounted (`/storage/v1`).
pub fn service(storage: Storage) -> impl poem::Endpoint {
    api::routes(storage)
}

/// Reports whether `request` was sent to `origin`, that of the setting `storage_origin`. On it only
/// [reads of objects](is_read_of_object) are answered.
pub fn is_addressed(request: &poem::Request, origin: &str) -> bool {
    api::origin::is_addressed(request, origin)
}

/// Reports whether a request with `method` for `path`, relative to where the service is mounted, reads an object.
pub fn is_read_of_object(method: &http::Method, path: &str) -> bool {
    api::origin::is_read(method, path)
}
