//! Requests to identity providers' servers: for their metadata, and for responses that a browser brings a reference to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use http::header::{ACCEPT, ACCEPT_CHARSET, CONTENT_TYPE};
use parking_lot::Mutex;
use reqwest::Method;
use url::Url;
use uuid::Uuid;

use super::service_provider::{IdentityProvider, parse_metadata};
use crate::http_client::{HttpClient, Reach};
use crate::{Code, Error, Settings};

/// Longest time for a response, and never more than half of what a whole request may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The time after a failed fetch of a provider's metadata in which sign-ins do not try again.
const PAUSE: Duration = Duration::from_secs(60);

/// A client of identity providers' servers.
#[derive(Clone)]
pub(crate) struct IdentityProviderClient {
    client: HttpClient,
    reach: Reach,
    timeout: Duration,
    failures: FetchFailures,
}

/// When fetching metadata failed last, by provider: as many as there are. Cheap to clone: clones share it.
#[derive(Clone, Default)]
pub(crate) struct FetchFailures(Arc<Mutex<HashMap<Uuid, Instant>>>);

/// Checks an address that an administrator sends. Only settings that allow private networks allow plain HTTP.
///
/// Errors: `validation_failed`.
pub(crate) fn check_url(settings: &Settings, url: &str) -> Result<(), Error> {
    let url = Url::parse(url).map_err(|_| Error::validation("metadata_url is not a valid URL"))?;
    match url.scheme() {
        "https" => Ok(()),
        "http" if settings.saml.private_addresses => Ok(()),
        _ => Err(Error::validation("metadata_url is not a HTTPS URL")),
    }
}

impl IdentityProviderClient {
    pub(crate) fn new(client: HttpClient, settings: &Settings, failures: FetchFailures) -> Self {
        Self {
            client,
            reach: if settings.saml.private_addresses { Reach::Anywhere } else { Reach::Public },
            timeout: TIMEOUT.min(settings.request_timeout / 2),
            failures,
        }
    }

    /// Returns the document at `url`.
    ///
    /// Errors: `saml_metadata_fetch_failed`; `validation_failed` for what is no UTF-8.
    pub(crate) async fn fetch(&self, url: &str) -> Result<String, Error> {
        let failed = |cause: &dyn std::fmt::Display| {
            let message = format!("Error fetching SAML Metadata from URL '{url}': {cause}");
            Code::SamlMetadataFetchFailed.because(message)
        };
        let request = self.client.request(Method::GET, url, self.reach).map_err(|error| failed(&error))?;
        let request = request
            .timeout(self.timeout)
            .header(ACCEPT, "application/xml;charset=UTF-8")
            .header(ACCEPT_CHARSET, "UTF-8");
        let response = self.client.send(request).await.map_err(|error| failed(&error))?;
        if response.status != StatusCode::OK {
            let message =
                format!("HTTP {} error fetching SAML Metadata from URL '{url}'", response.status.as_u16());
            return Err(Code::SamlMetadataFetchFailed.because(message));
        }
        String::from_utf8(response.body.into()).map_err(|_| {
            Error::validation(
                "SAML Metadata XML contains invalid UTF-8 characters, which are not supported at this time",
            )
        })
    }

    /// Returns the response of the server at `url` to a SOAP message (SAML 2.0 Bindings, section 3.2).
    ///
    /// Errors: a sentence for the log.
    pub(crate) async fn call(&self, url: &str, message: String) -> Result<String, String> {
        let request =
            self.client.request(Method::POST, url, self.reach).map_err(|error| error.to_string())?;
        let request = request
            .timeout(self.timeout)
            .header(CONTENT_TYPE, "text/xml")
            .header("SOAPAction", "http://www.oasis-open.org/committees/security")
            .body(message);
        let response = self.client.send(request).await.map_err(|error| error.to_string())?;
        if response.status != StatusCode::OK {
            return Err(format!("expected status 200, found {}", response.status.as_u16()));
        }
        String::from_utf8(response.body.into()).map_err(|_| "the answer is no text".to_owned())
    }

    /// Returns the document at `url` and what it says of the identity provider that is `known`, for provider `id` at a
    /// sign-in. `None`, with a warning in the log, if it cannot be fetched or is about another one; for a while
    /// after that it is not fetched.
    pub(crate) async fn renew(
        &self,
        id: Uuid,
        url: &str,
        known: &IdentityProvider,
    ) -> Option<(String, IdentityProvider)> {
        if self.failures.0.lock().get(&id).is_some_and(|at| at.elapsed() < PAUSE) {
            return None;
        }
        let renewed = self.fetch(url).await.and_then(|text| {
            let provider = parse_metadata(&text)?;
            if provider.entity_id() == known.entity_id() {
                return Ok((text, provider));
            }
            Err(Error::validation(format!(
                "SAML Metadata is about another EntityID, {:?}",
                provider.entity_id()
            )))
        });
        let mut failures = self.failures.0.lock();
        match renewed {
            Ok(renewed) => {
                failures.remove(&id);
                Some(renewed)
            }
            Err(error) => {
                tracing::warn!(sso_provider_id = %id, %error, "SAML metadata is stale and could not be renewed");
                failures.insert(id, Instant::now());
                None
            }
        }
    }
}
