//! Other issuers whose tokens are accepted, and their keys.

use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;

use crate::jwk::{self, Key};

/// Another issuer whose tokens are accepted, such as a hosted identity provider. Its keys may change; clones share
/// them.
#[derive(Clone)]
pub struct Issuer(Arc<Inner>);

struct Inner {
    name: Box<str>,
    keys: RwLock<Arc<[Key]>>,
}

impl Issuer {
    /// Returns an issuer without keys, so that none of its tokens is accepted yet. `name` is the claim `iss` of its
    /// tokens; a slash at the end is ignored.
    pub fn new(name: &str) -> Self {
        let name = name.trim_end_matches('/').into();
        Self(Arc::new(Inner { name, keys: RwLock::new(Arc::new([])) }))
    }

    /// Returns the name, without a slash at the end.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Replaces the keys by those of `jwks` (RFC 7517, section 5), and returns how many can be used. If there are none,
    /// the earlier keys stay.
    pub fn publish(&self, jwks: &Value) -> usize {
        let keys = jwk::published(jwks);
        let count = keys.len();
        if count > 0 {
            *self.0.keys.write() = keys.into();
        }
        count
    }

    pub(crate) fn is_named(&self, name: &str) -> bool {
        name.trim_end_matches('/') == self.name()
    }

    pub(crate) fn keys(&self) -> Arc<[Key]> {
        Arc::clone(&self.0.keys.read())
    }
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("name", &self.name()).field("keys", &self.keys().len()).finish()
    }
}
