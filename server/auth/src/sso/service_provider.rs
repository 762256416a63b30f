//! The service provider of the crate `saml`, made from settings, with a bound on the responses that are checked at the
//! same time.

use std::sync::Arc;

use saml::{ArtifactResolve, AuthnRequest, KeyPair, RequestError, name_id_format};
use time::OffsetDateTime;
use tokio::sync::Semaphore;
use url::Url;
use uuid::Uuid;

use crate::error::refusals;
use crate::{Error, Secret, Settings};

pub(crate) use saml::{Assertion, IdentityProvider, LONGEST_USE, Response};

/// The kinds of names that identity providers can be asked for.
pub(crate) const NAME_ID_FORMATS: [&str; 4] = [
    name_id_format::PERSISTENT,
    name_id_format::EMAIL,
    name_id_format::TRANSIENT,
    name_id_format::UNSPECIFIED,
];

/// Responses that are checked at the same time; each takes some milliseconds of a processor.
const PARALLEL_RESPONSES: usize = 64;

/// The service provider.
#[derive(Clone)]
pub(crate) struct ServiceProvider {
    inner: Arc<saml::ServiceProvider>,
    permits: Arc<Semaphore>,
}

impl ServiceProvider {
    /// Returns `None` if settings switch SAML off.
    ///
    /// Errors: a sentence for the operator about a key or an address that cannot be used.
    pub(crate) fn new(settings: &Settings) -> Result<Option<Self>, String> {
        let saml = &settings.saml;
        if !saml.enabled {
            return Ok(None);
        }
        let base = saml.external_url.as_deref().unwrap_or(&settings.external_url).trim_end_matches('/');
        Url::parse(base)
            .map_err(|error| format!("GOTRUE_SAML_EXTERNAL_URL: expected a URL, found {error}"))?;
        let host = Url::parse(&settings.external_url).ok().and_then(|url| Some(url.host_str()?.to_owned()));
        let host =
            host.ok_or("API_EXTERNAL_URL: expected a URL with a host, whom SAML's certificate names")?;
        let pair = |name: &str, secret: &Secret| {
            KeyPair::new(secret.expose(), &host, saml.allow_encrypted_assertions)
                .map_err(|error| format!("{name}: {error}"))
        };
        let next = Some(&saml.private_key_next).filter(|secret| !secret.is_empty());
        let inner = saml::ServiceProvider {
            entity_id: format!("{base}/sso/saml/metadata"),
            consumer_url: format!("{base}/sso/saml/acs"),
            key: pair("GOTRUE_SAML_PRIVATE_KEY", &saml.private_key)?,
            next_key: next.map(|secret| pair("GOTRUE_SAML_PRIVATE_KEY_NEXT", secret)).transpose()?,
            allow_encrypted_assertions: saml.allow_encrypted_assertions,
        };
        let permits = Arc::new(Semaphore::new(PARALLEL_RESPONSES));
        Ok(Some(Self { inner: Arc::new(inner), permits }))
    }

    /// Returns a signed request to `provider`, from which the user comes back with `relay_state`.
    ///
    /// Errors: `validation_failed` for a provider that users cannot be sent to.
    pub(crate) fn request(
        &self,
        provider: &IdentityProvider,
        name_format: Option<&str>,
        relay_state: Uuid,
    ) -> Result<AuthnRequest, Error> {
        let relay_state = relay_state.to_string();
        let request = self.inner.request(provider, name_format, &relay_state, OffsetDateTime::now_utc());
        request.map_err(|error| match error {
            RequestError::NoLocation => Error::validation(error.to_string()),
            RequestError::Unsigned(reason) => Error::Internal(reason),
        })
    }

    /// Returns the message that asks `provider` for the response that `artifact` refers to.
    ///
    /// Errors: a sentence for the log.
    pub(crate) fn artifact_resolve(
        &self,
        provider: &IdentityProvider,
        artifact: &str,
    ) -> Result<ArtifactResolve, String> {
        let message = self.inner.artifact_resolve(provider, artifact, OffsetDateTime::now_utc());
        message.map_err(|refusal| refusal.to_string())
    }

    /// Checks a response on a thread of its own, since signatures and decryption take time. The outer error is this
    /// service's: `over_request_rate_limit` while too many are being checked; the inner one says to the log why the
    /// response does not count.
    pub(crate) async fn accept(&self, response: Response) -> Result<Result<Assertion, String>, Error> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| refusals::over_request_rate_limit())?;
        let inner = Arc::clone(&self.inner);
        let checked = tokio::task::spawn_blocking(move || {
            // Held until the work is done even if the request is gone, so that the bound is one of real work.
            let _permit = permit;
            inner.accept(&response, OffsetDateTime::now_utc()).map_err(|refusal| refusal.to_string())
        });
        checked.await.map_err(|error| Error::Internal(error.to_string()))
    }

    /// Returns this service's metadata, to be fetched regularly or to be `downloaded`.
    pub(crate) fn metadata(&self, downloaded: bool) -> String {
        self.inner.metadata(OffsetDateTime::now_utc(), downloaded)
    }

    /// Returns how long caches may keep the metadata (RFC 9111).
    pub(crate) fn metadata_caching(&self) -> &'static str {
        self.inner.metadata_caching()
    }
}

/// Reads the metadata of an identity provider.
///
/// Errors: `validation_failed`.
pub(crate) fn parse_metadata(text: &str) -> Result<IdentityProvider, Error> {
    IdentityProvider::parse(text).map_err(|error| Error::validation(error.to_string()))
}

/// Returns who claims to have sent the response `xml`, to find out whether that is true; empty if it does not say.
///
/// Errors: `validation_failed` for what is no response.
pub(crate) fn issuer(xml: &str) -> Result<String, Error> {
    let message = "SAMLResponse is not a valid XML SAML assertion";
    saml::issuer(xml).ok_or_else(|| Error::validation(message))
}
