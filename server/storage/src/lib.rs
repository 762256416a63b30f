//! Supabase Storage's interface: buckets and objects over HTTP.
//!
//! The way through it: `routes` is the table of paths, `api` reads requests and writes responses, `objects`,
//! `buckets` and `upload` hold the rules and the rows (`storage.objects`, `storage.buckets`, under row-level security
//! of the `caller`), `backend` holds the bytes, `render` makes other pictures of them. Everything about an object is in
//! its row; the backend only stores bytes by their version.
//!
//! [`service`] makes an endpoint of settings and [`Handles`], and gives its handlers their `context`. Rules get no more
//! than the part that they need: the rows, the `store` of rows and bytes, or the vectors.
//!
//! Other ways in: `s3` (the S3 protocol; `multipart` stores its parts), `resumable` (uploads in parts), `vector`
//! (vector buckets). `signature` makes and reads the tokens of signed URLs. `sweeper` removes expired uploads and bytes
//! that no row names, `expiry` removes versions of objects that have expired.

mod access_keys;
mod api;
mod backend;
mod bucket_rules;
mod buckets;
mod caller;
mod chunks;
mod coding;
mod context;
mod error;
mod expiry;
mod handles;
mod keeper;
mod key;
mod lenient_base64;
mod metrics;
mod mime;
mod multipart;
mod object_row;
mod objects;
mod public_objects;
mod range;
mod refusal;
mod render;
mod response;
mod resumable;
mod robots;
mod routes;
mod row;
mod s3;
mod seed;
mod settings;
mod signature;
mod size;
mod store;
mod sweeper;
mod transfer;
mod upload;
mod vector;
mod version_id;

use std::sync::Arc;

pub use access_keys::AccessKeys;
pub use buckets::BucketDefinition;
pub use error::Error;
pub use expiry::Expiry;
pub use handles::Handles;
pub use keeper::{Keeper, VersionStore};
pub use public_objects::CHANNEL;
pub use refusal::Refusal;
pub use seed::{SeedReport, seed_bucket};
pub use settings::{BackendKind, KNOWN_KEYS, S3Settings, Settings, settings_that_need_a_restart};
pub use sweeper::Sweeper;
pub use transfer::{Transfer, transfer};

use context::Context;

/// Returns the service with `settings`, its paths relative to where it is mounted (`/storage/v1`). It may be called
/// again with the same handles and other settings: what the handles hold is shared.
pub fn service(
    settings: Settings,
    handles: &Handles,
) -> impl poem::Endpoint<Output = poem::Response> + use<> {
    if settings.s3_access_key.is_empty() != settings.s3_secret.is_empty() {
        tracing::warn!(
            "an access key of the S3 protocol needs a secret, and the other way round: it is ignored"
        );
    }
    routes::endpoint(Arc::new(Context::new(settings, handles)))
}

/// Reports whether `request` was sent to `origin`, that of the setting `storage_origin`. On it only
/// [reads of objects](is_read_of_object) get a response.
pub fn is_addressed(request: &poem::Request, origin: &str) -> bool {
    api::origin::is_addressed(request, origin)
}

/// Reports whether a request with `method` for `path`, relative to where the service is mounted, reads an object.
pub fn is_read_of_object(method: &http::Method, path: &str) -> bool {
    api::origin::is_read(method, path)
}
