//! Signing keys, JSON Web Tokens and API keys.
//!
//! - [`Keys`] has the keys that sign and verify: the shared HS256 secret, and the ES256 key that the first start
//!   generates, or the keys of the settings. It also has the project's [`ApiKeys`].
//! - [`Verifier`] checks tokens (RFC 7519, RFC 8725) and has a bounded cache of valid ones.
//!
//! The crate does not depend on HTTP: each service maps an [`Error`] to a status itself.

mod api_keys;
mod cli_keys;
mod der;
mod error;
mod issuer;
mod jwk;
mod key_file;
mod keys;
mod message_seal;
mod signature;
mod value_seal;
mod verified;
mod verifier;

pub use api_keys::{ApiKeyKind, ApiKeys, new_opaque_key};
pub use cli_keys::CLI_PUBLISHABLE_KEY;
pub use error::{Error, KeyError};
pub use issuer::Issuer;
pub use keys::{KeyOverrides, Keys};
pub use message_seal::MessageSeal;
pub use value_seal::ValueSeal;
pub use verified::Verified;
pub use verifier::{CacheStatistics, Verifier, now};
