//! This service as a SAML 2.0 service provider: its metadata, the requests that it sends users to identity providers
//! with, and the responses that they bring back.

mod artifact;
pub(crate) mod assertion;
mod encryption;
mod key_pair;
mod mapping;
mod metadata;
mod moment;
mod remote;
mod request;
mod response;
mod service_provider;
mod signature;
mod xml;

use std::sync::Arc;

use time::OffsetDateTime;
use tokio::sync::Semaphore;
use url::Url;

use crate::error::refusals;
use crate::{Code, Error, Settings};

pub(crate) use assertion::{Assertion, format};
use key_pair::KeyPair;
pub(crate) use mapping::AttributeMapping;
pub(crate) use metadata::IdentityProvider;
pub(crate) use remote::{Remote, check_url};
pub(crate) use response::LONGEST_USE;

/// Responses that are looked at at the same time; each takes some milliseconds of a processor.
const PARALLEL_RESPONSES: usize = 64;

/// The service provider.
pub(crate) struct ServiceProvider {
    inner: Arc<Inner>,
    places: Arc<Semaphore>,
}

struct Inner {
    /// Where its endpoints are, without a slash at the end.
    base: String,
    key: KeyPair,
    /// The key that will follow.
    next: Option<KeyPair>,
    /// Whether assertions may be encrypted.
    decrypts: bool,
}

/// A response, as a browser or an identity provider's server has brought it.
pub(crate) struct Brought {
    /// The document.
    pub(crate) xml: String,
    /// The id of the message that a server has answered with it; None if a browser posts it.
    pub(crate) resolve_id: Option<String>,
    /// Whose it should be.
    pub(crate) provider: IdentityProvider,
    /// The id of the request that it should answer; None if the identity provider has begun.
    pub(crate) request_id: Option<String>,
}

impl ServiceProvider {
    /// None if settings switch SAML off.
    ///
    /// Errors: a sentence for the operator about a key or an address that cannot be used.
    pub(crate) fn new(settings: &Settings) -> Result<Option<ServiceProvider>, String> {
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
        let pair = |name, secret| KeyPair::new(name, secret, &host, saml.allow_encrypted_assertions);
        let next = Some(&saml.private_key_next).filter(|secret| !secret.is_empty());
        let inner = Inner {
            base: base.to_owned(),
            key: pair("GOTRUE_SAML_PRIVATE_KEY", &saml.private_key)?,
            next: next.map(|secret| pair("GOTRUE_SAML_PRIVATE_KEY_NEXT", secret)).transpose()?,
            decrypts: saml.allow_encrypted_assertions,
        };
        let places = Arc::new(Semaphore::new(PARALLEL_RESPONSES));
        Ok(Some(ServiceProvider { inner: Arc::new(inner), places }))
    }

    /// Judges a response on a thread of its own, since signatures and decryption take time. The outer error is this
    /// service's: `over_request_rate_limit` while too many are being judged; the inner one says to the log why the
    /// response does not count.
    pub(crate) async fn accept(&self, brought: Brought) -> Result<Result<Assertion, String>, Error> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| refusals::over_request_rate_limit())?;
        let inner = Arc::clone(&self.inner);
        let judged = tokio::task::spawn_blocking(move || {
            // Held until the work is done even if the request is gone, so that the bound is one of real work.
            let _place = place;
            inner.accept(&brought)
        });
        judged.await.map_err(|error| Error::Internal(error.to_string()))
    }
}

impl Inner {
    /// The id of this service, which is where its metadata is.
    fn entity_id(&self) -> String {
        format!("{}/sso/saml/metadata", self.base)
    }

    /// Where responses are posted to.
    fn consumer(&self) -> String {
        format!("{}/sso/saml/acs", self.base)
    }

    fn accept(&self, brought: &Brought) -> Result<Assertion, String> {
        let keys =
            if self.decrypts { std::iter::once(&self.key).chain(&self.next).collect() } else { Vec::new() };
        let expected = response::Expected {
            provider: &brought.provider,
            request_id: brought.request_id.as_deref(),
            resolve_id: brought.resolve_id.as_deref(),
            consumer: &self.consumer(),
            audience: &self.entity_id(),
            keys,
            now: OffsetDateTime::now_utc(),
        };
        response::accept(&brought.xml, &expected)
    }
}

/// Who claims to have sent the response `xml`, to find out whether that is true; empty if it does not say.
///
/// Errors: `validation_failed` for what is no response.
pub(crate) fn issuer(xml: &str) -> Result<String, Error> {
    let message = "SAMLResponse is not a valid XML SAML assertion";
    response::issuer(xml).ok_or_else(|| Error::validation(message))
}

/// Errors: `saml_provider_disabled`.
pub(crate) fn disabled() -> Error {
    Code::SamlProviderDisabled.because("SAML 2.0 is disabled")
}
