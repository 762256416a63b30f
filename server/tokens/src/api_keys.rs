//! The project's API keys.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The beginnings of opaque keys.
pub(crate) const PUBLISHABLE_PREFIX: &str = "sb_publishable_";
pub(crate) const SECRET_PREFIX: &str = "sb_secret_";

/// The kind of key that a caller has presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiKeyKind {
    /// The legacy token with role `anon`.
    Anon,
    /// The legacy token with role `service_role`.
    ServiceRole,
    /// `sb_publishable_…`: grants the role `anon`.
    Publishable,
    /// `sb_secret_…`: grants the role `service_role`.
    Secret,
    /// Another token of this server with a claim `role`.
    Token,
}

/// The API keys of a project: Supabase's legacy pair of tokens, its newer opaque pair, and further opaque keys that were
/// created while the server runs.
#[derive(Clone)]
pub struct ApiKeys {
    /// The kinds of the further keys, by the SHA-256 of each key.
    pub(crate) further: Arc<RwLock<HashMap<[u8; 32], ApiKeyKind>>>,
    pub(crate) anon: String,
    pub(crate) service_role: String,
    pub(crate) publishable: String,
    pub(crate) secret: String,
}

impl ApiKeys {
    /// Returns the legacy public key: a token with role `anon`. May be published; row-level security limits it.
    pub fn anon(&self) -> &str {
        &self.anon
    }

    /// Returns the legacy secret key: a token with role `service_role`, which bypasses row-level security.
    pub fn service_role(&self) -> &str {
        &self.service_role
    }

    /// Returns the public key `sb_publishable_…`.
    pub fn publishable(&self) -> &str {
        &self.publishable
    }

    /// Returns the secret key `sb_secret_…`.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Makes `keys` the further opaque keys, each by the SHA-256 of it. All clones see the change at once.
    pub fn set_further(&self, keys: HashMap<[u8; 32], ApiKeyKind>) {
        *self.further.write() = keys;
    }

    /// Returns which of the keys `presented` is, if any, in a time that does not depend on how much of it matches.
    pub fn identify(&self, presented: &str) -> Option<ApiKeyKind> {
        let candidates = [
            (&self.anon, ApiKeyKind::Anon),
            (&self.publishable, ApiKeyKind::Publishable),
            (&self.service_role, ApiKeyKind::ServiceRole),
            (&self.secret, ApiKeyKind::Secret),
        ];
        let known = candidates.into_iter().find(|(key, _)| are_equal(key, presented)).map(|(_, kind)| kind);
        known.or_else(|| self.identify_further(presented))
    }

    fn identify_further(&self, presented: &str) -> Option<ApiKeyKind> {
        if !Self::is_opaque(presented) {
            return None;
        }
        let further = self.further.read();
        // What is looked up is a hash, so the time says nothing about a key.
        if further.is_empty() { None } else { further.get(&*Sha256::digest(presented)).copied() }
    }

    /// Returns the token that services get in place of an opaque key: the legacy token of the same role; `None` for
    /// [`ApiKeyKind::Token`], which is a token itself.
    pub fn token_for(&self, kind: ApiKeyKind) -> Option<&str> {
        match kind {
            ApiKeyKind::Anon | ApiKeyKind::Publishable => Some(&self.anon),
            ApiKeyKind::ServiceRole | ApiKeyKind::Secret => Some(&self.service_role),
            ApiKeyKind::Token => None,
        }
    }

    /// Reports whether `credential` has the form of an opaque key, which is not a token.
    pub fn is_opaque(credential: &str) -> bool {
        credential.starts_with("sb_")
    }
}

/// Reports whether two texts are equal, in a time that depends only on their lengths. All differences are collected
/// before a single comparison, so that many bytes are processed at a time.
fn are_equal(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let differences = pairs.fold(0, |found: u8, (a, b)| found | (a ^ b));
    one.len() == other.len() && bool::from(differences.ct_eq(&0))
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys").field("publishable", &self.publishable).finish_non_exhaustive()
    }
}

/// Returns a new opaque key for the further keys of the project `project`: `sb_publishable_…` or `sb_secret_…`; `None` for
/// a kind that is not opaque.
pub fn new_opaque_key(kind: ApiKeyKind, project: &str) -> Option<String> {
    let prefix = match kind {
        ApiKeyKind::Publishable => PUBLISHABLE_PREFIX,
        ApiKeyKind::Secret => SECRET_PREFIX,
        ApiKeyKind::Anon | ApiKeyKind::ServiceRole | ApiKeyKind::Token => return None,
    };
    Some(opaque(prefix, &rand::random(), project))
}

/// Returns an opaque key in Supabase's format: `prefix`, 22 characters of base64url of `entropy`, and a checksum of
/// eight characters over the project's reference and the rest, by which secret scanners recognize it.
pub(crate) fn opaque(prefix: &str, entropy: &[u8; 32], project: &str) -> String {
    let mut random = URL_SAFE_NO_PAD.encode(entropy);
    random.truncate(22);
    let body = format!("{prefix}{random}");
    let digest = Sha256::digest(format!("{project}|{body}"));
    let mut checksum = URL_SAFE_NO_PAD.encode(digest);
    checksum.truncate(8);
    format!("{body}_{checksum}")
}
