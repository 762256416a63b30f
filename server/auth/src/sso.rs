//! Single sign-on with SAML 2.0: the crate `saml` with this service's settings, limits and errors, and requests to
//! identity providers' servers.
//!
//! Without the feature `saml`, `unavailable` stands in for the service provider.

pub(crate) mod attribute_mapping;
mod identity_provider_client;
#[cfg(feature = "saml")]
mod service_provider;
#[cfg(not(feature = "saml"))]
#[path = "sso/unavailable.rs"]
mod service_provider;

use crate::{Code, Error};

pub(crate) use attribute_mapping::AttributeMapping;
pub(crate) use identity_provider_client::{IdentityProviderClient, check_url};
pub(crate) use service_provider::{
    Assertion, IdentityProvider, LONGEST_USE, NAME_ID_FORMATS, Response, ServiceProvider, issuer,
    parse_metadata,
};

/// Returns the refusal `saml_provider_disabled`.
pub(crate) fn provider_disabled() -> Error {
    Code::SamlProviderDisabled.because("SAML 2.0 is disabled")
}
