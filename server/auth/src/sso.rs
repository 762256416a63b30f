//! Single sign-on with SAML 2.0: the crate `saml` with this service's settings, limits and errors, and requests to
//! identity providers' servers.

pub(crate) mod attribute_mapping;
mod identity_provider_client;
mod service_provider;

pub(crate) use attribute_mapping::AttributeMapping;
pub(crate) use identity_provider_client::{FetchFailures, IdentityProviderClient, check_url};
pub(crate) use service_provider::{
    Assertion, IdentityProvider, LONGEST_USE, NAME_ID_FORMATS, Response, ServiceProvider, issuer,
    parse_metadata,
};
