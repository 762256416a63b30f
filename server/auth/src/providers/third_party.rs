//! Issuers other than this project whose tokens its services take (`[auth.third_party]`): their keys are fetched where
//! OpenID Connect Discovery 1.0 has them, and every now and then, since issuers change them.

use std::time::Duration;

use tokens::Issuer;

use crate::InvalidSettings;
use crate::http_client::HttpClient;
use crate::providers::{IssuerAddress, Issuers, KnownIssuers, ProviderError};

/// How long keys are good for, and after which time is tried again if they could not be fetched.
const LIFE: Duration = Duration::from_secs(600);
const RETRY: Duration = Duration::from_secs(15);

/// The issuers.
pub struct ThirdParties {
    http: Issuers,
    issuers: Vec<Issuer>,
}

impl ThirdParties {
    /// Returns the issuers with these names, which are the URLs that their discovery documents lie below. Their keys
    /// are not known until [`keep_fresh`](Self::keep_fresh) has fetched them.
    ///
    /// Errors: [`InvalidSettings`] when TLS cannot be set up.
    pub fn new(names: &[String]) -> Result<Self, InvalidSettings> {
        let http = HttpClient::new().map_err(InvalidSettings)?;
        let issuers = names.iter().map(|name| Issuer::new(name)).collect();
        Ok(Self { http: Issuers::new(http, LIFE, KnownIssuers::default()), issuers })
    }

    /// Returns the issuers, for [`tokens::Verifier::with_issuers`].
    pub fn issuers(&self) -> &[Issuer] {
        &self.issuers
    }

    /// Fetches the keys of all issuers, every ten minutes, and every fifteen seconds while that fails. Never ends.
    pub async fn keep_fresh(&self) {
        loop {
            let complete = self.fetch().await;
            tokio::time::sleep(if complete { LIFE } else { RETRY }).await;
        }
    }

    /// Fetches the keys of all issuers once. False if the keys of an issuer could not be fetched, so that its previous
    /// ones stay in use.
    pub async fn fetch(&self) -> bool {
        let mut complete = true;
        for issuer in &self.issuers {
            if let Err(error) = self.fetch_keys(issuer).await {
                complete = false;
                tracing::warn!(issuer = issuer.name(), %error, "the keys of a third party cannot be fetched");
            }
        }
        complete
    }

    async fn fetch_keys(&self, issuer: &Issuer) -> Result<(), ProviderError> {
        // Auth0 ends its name with a slash where others do not; nothing else may differ.
        let address = IssuerAddress { any_name: true, ..IssuerAddress::trusted(issuer.name()) };
        let document = self.http.discover(&address).await?;
        if document.issuer.trim_end_matches('/') != issuer.name() {
            let found = document.issuer;
            return Err(ProviderError::Unexpected(format!(
                "expected issuer {:?}, got {found:?}",
                issuer.name()
            )));
        }
        let published = self.http.keys(&document, &address).await?;
        if issuer.publish(&published) == 0 {
            return Err(ProviderError::Unexpected("none of its keys verifies signatures".to_owned()));
        }
        Ok(())
    }
}
