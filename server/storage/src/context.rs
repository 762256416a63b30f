//! What handlers of requests work with.

use tokens::{Keys, Verifier};

use crate::access_keys::AccessKeys;
use crate::handles::Handles;
use crate::render::Renderer;
use crate::settings::Settings;
use crate::store::Store;
use crate::vector::Vectors;

/// What handlers of requests work with: the settings of their endpoint, and what the endpoints share. They give the
/// rules only the part that these need.
pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) keys: Keys,
    pub(crate) verifier: Verifier,
    pub(crate) access_keys: AccessKeys,
    pub(crate) store: Store,
    /// `None` if pictures are not rendered.
    pub(crate) renderer: Option<Renderer>,
    pub(crate) vectors: Vectors,
}

impl Context {
    /// Returns what an endpoint with `settings` works with.
    pub(crate) fn new(settings: Settings, handles: &Handles) -> Self {
        let Handles { keys, verifier, rows, blobs, vectors_are_available } = handles.clone();
        let backend = blobs.backend.clone();
        Self {
            access_keys: AccessKeys::of(&settings, &keys),
            store: handles.store(&settings),
            renderer: settings
                .image_transformation
                .then(|| Renderer::new(&settings, backend, blobs.pictures)),
            vectors: Vectors {
                rows,
                are_available: vectors_are_available,
                max_buckets: settings.max_vector_buckets,
                max_indexes: settings.max_vector_indexes,
            },
            settings,
            keys,
            verifier,
        }
    }
}
