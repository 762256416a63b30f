//! A service provider of SAML 2.0 for single sign-on in a browser.
//!
//! [`ServiceProvider`] publishes its own metadata, writes the signed requests with which users are sent to an identity
//! provider ([`ServiceProvider::request`]), and decides whether a response is valid ([`ServiceProvider::accept`]).
//! Identity providers are read from their metadata ([`IdentityProvider::parse`]).
//!
//! The crate does no I/O and keeps no state: documents, keys and the time are passed in. The caller fetches metadata,
//! redirects users, sends messages, and stores requests and used assertions ([`LONGEST_USE`]).
//!
//! Sources: SAML 2.0 Core, Bindings, Profiles and Metadata (OASIS, March 2005).

mod artifact;
mod assertion;
mod encryption;
mod key_pair;
mod metadata;
mod moment;
mod own_metadata;
mod request;
mod response;
mod service_provider;
mod signature;
mod xml;

pub use artifact::ArtifactResolve;
pub use assertion::{Assertion, name_id_format};
pub use key_pair::{InvalidKey, KeyPair};
pub use metadata::{IdentityProvider, InvalidMetadata};
pub use request::{AuthnRequest, RequestError};
pub use response::{LONGEST_USE, Refusal, issuer};
pub use service_provider::{Response, ServiceProvider};
