//! Signing keys, JSON Web Tokens and API keys.
//!
//! - [`Keys`] holds what signs and what verifies: the shared HS256 secret, the ES256 key that is made on first
//!   start, or the keys that settings name. It also holds the project's [`ApiKeys`].
//! - [`Verifier`] checks tokens (RFC 7519, RFC 8725) and remembers, within a bound, those it has accepted.
//!
//! The crate knows nothing of HTTP: who maps an [`Error`] to a status is the service that met it.

mod api_keys;
mod der;
mod error;
mod issuer;
mod jwk;
mod key_file;
mod keys;
mod signature;
mod verified;
mod verifier;

pub use api_keys::{ApiKeyKind, ApiKeys};
pub use error::{Error, KeyError};
pub use issuer::Issuer;
pub use keys::{KeyOverrides, Keys};
pub use verified::Verified;
pub use verifier::{CacheStatistics, Verifier};
