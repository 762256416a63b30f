//! Stands in for the service provider in builds without the feature `saml`. None of its types can be created, and
//! requests are refused because SAML is disabled.

use std::time::Duration;

use time::OffsetDateTime;
use uuid::Uuid;

use super::provider_disabled;
use crate::{Error, Settings};

/// The kinds of names that identity providers can be asked for.
pub(crate) const NAME_ID_FORMATS: [&str; 0] = [];
/// For how long an assertion that was used has to be remembered.
pub(crate) const LONGEST_USE: Duration = Duration::ZERO;

/// The service provider.
pub(crate) enum ServiceProvider {}

/// An identity provider.
#[derive(Debug, Clone)]
pub(crate) enum IdentityProvider {}

/// An assertion that was verified.
pub(crate) enum Assertion {}

/// A request to an identity provider.
pub(crate) struct AuthnRequest {
    pub(crate) id: String,
    pub(crate) url: String,
}

/// A message that asks an identity provider's server for a response.
pub(crate) struct ArtifactResolve {
    pub(crate) id: String,
    pub(crate) url: String,
    pub(crate) message: String,
}

/// A response, as a browser or an identity provider's server has delivered it.
#[expect(dead_code, reason = "there is nobody to check it")]
pub(crate) struct Response {
    pub(crate) xml: String,
    pub(crate) resolve_id: Option<String>,
    pub(crate) provider: IdentityProvider,
    pub(crate) request_id: Option<String>,
}

impl ServiceProvider {
    /// Returns `None`.
    ///
    /// Errors: a sentence for the operator if settings switch SAML on.
    pub(crate) fn new(settings: &Settings) -> Result<Option<Self>, String> {
        if settings.saml.enabled {
            return Err("GOTRUE_SAML_ENABLED: expected false, since this program was built without SAML \
                        (the cargo feature saml), found true"
                .to_owned());
        }
        Ok(None)
    }

    pub(crate) fn request(
        &self,
        _: &IdentityProvider,
        _: Option<&str>,
        _: Uuid,
    ) -> Result<AuthnRequest, Error> {
        match *self {}
    }

    pub(crate) fn artifact_resolve(&self, _: &IdentityProvider, _: &str) -> Result<ArtifactResolve, String> {
        match *self {}
    }

    pub(crate) async fn accept(&self, _: Response) -> Result<Result<Assertion, String>, Error> {
        match *self {}
    }

    pub(crate) fn metadata(&self, _: bool) -> String {
        match *self {}
    }

    pub(crate) fn metadata_caching(&self) -> &'static str {
        match *self {}
    }
}

impl IdentityProvider {
    pub(crate) fn entity_id(&self) -> &str {
        match *self {}
    }

    pub(crate) fn is_stale(&self, _: Duration, _: OffsetDateTime) -> bool {
        match *self {}
    }

    pub(crate) fn remaining(&self, _: OffsetDateTime) -> Option<time::Duration> {
        match *self {}
    }
}

impl Assertion {
    pub(crate) fn id(&self) -> &str {
        match *self {}
    }

    pub(crate) fn values(&self, _: &str) -> Vec<&str> {
        match *self {}
    }

    pub(crate) fn user_id(&self) -> String {
        match *self {}
    }

    pub(crate) fn email(&self) -> &str {
        match *self {}
    }

    pub(crate) fn session_end(&self) -> Option<String> {
        match *self {}
    }
}

/// Refuses all metadata.
///
/// Errors: `saml_provider_disabled`.
pub(crate) fn parse_metadata(_: &str) -> Result<IdentityProvider, Error> {
    Err(provider_disabled())
}

/// Refuses all responses.
///
/// Errors: `saml_provider_disabled`.
pub(crate) fn issuer(_: &str) -> Result<String, Error> {
    Err(provider_disabled())
}
