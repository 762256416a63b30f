//! OpenID Connect issuers: what they publish about themselves, their keys, and the ID tokens that they sign.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use quick_cache::sync::Cache;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq;
use tokens::Verifier;
use tokio::sync::{Mutex, RwLock};

use super::profile::audiences;
use super::{ProviderError, get_json};
use crate::http_client::{HttpClient, Reach};

/// Issuers that are remembered.
const REMEMBERED: usize = 200;
/// How often keys may be fetched again because a token named an unknown one, within [`KEY_FETCH_WINDOW`]: enough for
/// any rotation, too seldom for a flood of forged tokens to become a flood at the issuer's.
const KEY_FETCHES: u32 = 10;
const KEY_FETCH_WINDOW: Duration = Duration::from_secs(60);

/// The address of an issuer, and how far it is trusted.
#[derive(Debug, Clone)]
pub(crate) struct IssuerAddress {
    /// Claim `iss` of its tokens.
    pub(crate) issuer: String,
    /// Where its document is, if not below the issuer (Discovery 1.0, section 4).
    pub(crate) discovery_url: Option<String>,
    pub(crate) reach: Reach,
    /// Takes a document and tokens that name another issuer: Apple's has two names.
    pub(crate) any_name: bool,
}

impl IssuerAddress {
    /// Returns an issuer that the operator trusts.
    pub(crate) fn trusted(issuer: &str) -> Self {
        Self { issuer: issuer.to_owned(), discovery_url: None, reach: Reach::Anywhere, any_name: false }
    }

    /// Returns where the document is.
    pub(crate) fn discovery_url(&self) -> String {
        let below = || format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        self.discovery_url.clone().unwrap_or_else(below)
    }
}

/// What an issuer publishes about itself (Discovery 1.0, section 3), as far as it matters here.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Discovery {
    #[serde(default)]
    pub(crate) issuer: String,
    #[serde(default)]
    pub(crate) authorization_endpoint: String,
    #[serde(default)]
    pub(crate) token_endpoint: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) userinfo_endpoint: String,
    #[serde(default)]
    pub(crate) jwks_uri: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) scopes_supported: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) response_types_supported: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) grant_types_supported: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) subject_types_supported: Vec<String>,
}

/// An ID token whose signature, issuer and times are in order.
#[derive(Debug)]
pub(crate) struct IdToken {
    pub(crate) claims: Map<String, Value>,
    algorithm: String,
}

impl IdToken {
    pub(crate) fn text(&self, claim: &str) -> &str {
        self.claims.get(claim).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns claim `aud`.
    pub(crate) fn audiences(&self) -> Vec<String> {
        self.claims.get("aud").and_then(audiences).unwrap_or_default()
    }

    /// Returns whether claim `at_hash`, if the token has it, fits `access_token` (Core 1.0, section 3.1.3.6).
    pub(crate) fn belongs_to(&self, access_token: &str) -> bool {
        let expected = self.text("at_hash");
        if expected.is_empty() {
            return true;
        }
        let token = access_token.as_bytes();
        let digest = match self.algorithm.get(2..) {
            Some("256") => Sha256::digest(token).to_vec(),
            Some("384") => Sha384::digest(token).to_vec(),
            // EdDSA hashes with SHA-512, too.
            _ => Sha512::digest(token).to_vec(),
        };
        let half = digest.get(..digest.len() / 2).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(half).as_bytes().ct_eq(expected.as_bytes()).into()
    }
}

/// Returns the issuer that a token names, unverified: to be used only to choose whose keys to fetch.
pub(crate) fn claimed_issuer(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let (_, payload, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
        return None;
    };
    let claims: Map<String, Value> = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    Some(claims.get("iss").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// An issuer and its keys.
pub(crate) struct Issuer {
    pub(crate) document: Discovery,
    fetched: Instant,
    reach: Reach,
    keys: RwLock<Keys>,
    refresh: Mutex<()>,
}

/// The keys that were fetched last.
struct Keys {
    verifier: Option<Verifier>,
    /// When the counting of fetches began, and how many there were since.
    window: Instant,
    fetches: u32,
    /// Grows with each fetch.
    generation: u64,
}

impl Keys {
    /// Returns whether they may be fetched again.
    fn take_fetch(&mut self) -> bool {
        if self.window.elapsed() > KEY_FETCH_WINDOW {
            (self.window, self.fetches) = (Instant::now(), 0);
        }
        self.fetches += 1;
        self.fetches <= KEY_FETCHES
    }
}

/// The issuers that were used lately.
pub(crate) struct Issuers {
    http: HttpClient,
    /// How long documents and keys are good for.
    lifetime: Duration,
    known: KnownIssuers,
}

/// What has been fetched of issuers. Cheap to clone: clones share it.
#[derive(Clone)]
pub(crate) struct KnownIssuers(Arc<Cache<String, Arc<Issuer>>>);

impl Default for KnownIssuers {
    fn default() -> Self {
        Self(Arc::new(Cache::new(REMEMBERED)))
    }
}

impl Issuers {
    pub(crate) fn new(http: HttpClient, lifetime: Duration, known: KnownIssuers) -> Self {
        Self { http, lifetime, known }
    }

    /// Returns the issuer at `address`. Requests that come while it is being fetched wait for the same response; once
    /// known, it is fetched again in a while, and kept as it is for as long as that fails.
    pub(crate) async fn get(&self, address: &IssuerAddress) -> Result<Arc<Issuer>, ProviderError> {
        let key = key(address);
        let issuer = self.known.0.get_or_insert_async(&key, self.fetch(address)).await?;
        if issuer.fetched.elapsed() < self.lifetime {
            return Ok(issuer);
        }
        let Ok(_turn) = issuer.refresh.try_lock() else { return Ok(Arc::clone(&issuer)) };
        match self.fetch(address).await {
            Ok(fresh) => {
                self.known.0.insert(key, Arc::clone(&fresh));
                Ok(fresh)
            }
            Err(error) => {
                tracing::warn!(issuer = address.issuer, %error, "an issuer keeps its keys of before");
                Ok(Arc::clone(&issuer))
            }
        }
    }

    /// Fetches the issuer at `address` the next time that it is needed.
    pub(crate) fn forget(&self, address: &IssuerAddress) {
        self.known.0.remove(&key(address));
    }

    async fn fetch(&self, address: &IssuerAddress) -> Result<Arc<Issuer>, ProviderError> {
        let document = self.discover(address).await?;
        let now = Instant::now();
        let keys = Keys { verifier: None, window: now, fetches: 0, generation: 0 };
        Ok(Arc::new(Issuer {
            document,
            fetched: now,
            reach: address.reach,
            keys: RwLock::new(keys),
            refresh: Mutex::new(()),
        }))
    }

    /// Returns the document at `address`, fresh.
    ///
    /// Errors: also a document of another issuer (Discovery 1.0, section 4.3).
    pub(crate) async fn discover(&self, address: &IssuerAddress) -> Result<Discovery, ProviderError> {
        let document: Discovery = self.json(&address.discovery_url(), address.reach).await?;
        if document.issuer != address.issuer && !address.any_name {
            return Err(ProviderError::Unexpected(format!(
                "issuer mismatch, expected {:?} got {:?}",
                address.issuer, document.issuer
            )));
        }
        Ok(document)
    }

    /// Returns the keys that the issuer at `address` publishes as its `document` says, fresh (RFC 7517, section 5).
    pub(crate) async fn keys(
        &self,
        document: &Discovery,
        address: &IssuerAddress,
    ) -> Result<Value, ProviderError> {
        self.json(&document.jwks_uri, address.reach).await
    }

    async fn json<T: DeserializeOwned>(&self, url: &str, reach: Reach) -> Result<T, ProviderError> {
        get_json(&self.http, url, reach, |request| request).await
    }

    /// Checks that the issuer at `address` has signed `token`, that the token names it, and that it is valid now. The
    /// caller has to check the audience. Keys are fetched again for a token that none of the known ones fits.
    pub(crate) async fn verify(
        &self,
        address: &IssuerAddress,
        token: &str,
    ) -> Result<IdToken, ProviderError> {
        let issuer = self.get(address).await?;
        let (verifier, generation) = {
            let keys = issuer.keys.read().await;
            (keys.verifier.clone(), keys.generation)
        };
        let known = verifier.map(|verifier| verifier.verify(token));
        let verified = match known {
            None | Some(Err(tokens::Error::NoSuitableKey | tokens::Error::Signature)) => {
                self.newer_keys(&issuer, generation).await?.verify(token)
            }
            Some(outcome) => outcome,
        };
        let verified = verified.map_err(|error| ProviderError::Unexpected(format!("ID token: {error}")))?;
        let token = IdToken { claims: verified.claims.clone(), algorithm: algorithm(token) };
        if verified.expires_at().is_none() {
            return Err(ProviderError::Unexpected("ID token: claim exp is missing".to_owned()));
        }
        let named = token.text("iss");
        // Google's documentation promises both forms.
        let without_scheme =
            address.issuer.strip_prefix("https://") == Some(named) && named == "accounts.google.com";
        if named != address.issuer && !address.any_name && !without_scheme {
            return Err(ProviderError::Unexpected(format!(
                "ID token: expected issuer {:?} got {named:?}",
                address.issuer
            )));
        }
        Ok(token)
    }

    /// Returns keys that are newer than `generation`; one of those who ask fetches them for all.
    async fn newer_keys(&self, issuer: &Issuer, generation: u64) -> Result<Verifier, ProviderError> {
        let mut keys = issuer.keys.write().await;
        if let Some(verifier) = keys.verifier.clone().filter(|_| keys.generation > generation) {
            return Ok(verifier);
        }
        if !keys.take_fetch() {
            let reason = "its keys were fetched too often lately; try again in a minute";
            return keys.verifier.clone().ok_or_else(|| ProviderError::Unexpected(reason.to_owned()));
        }
        let published: Value = self.json(&issuer.document.jwks_uri, issuer.reach).await?;
        let verifier = Verifier::from_published(&published);
        keys.generation += 1;
        keys.verifier = Some(verifier.clone());
        Ok(verifier)
    }
}

fn key(address: &IssuerAddress) -> String {
    // A custom provider must not share what a trusted one has fetched.
    format!("{:?} {} {}", address.reach, address.issuer, address.discovery_url())
}

/// Returns `alg` of a token's header; empty if there is none.
fn algorithm(token: &str) -> String {
    let header = token.split('.').next().and_then(|header| URL_SAFE_NO_PAD.decode(header).ok());
    let header = header.and_then(|header| serde_json::from_slice::<Map<String, Value>>(&header).ok());
    header.and_then(|header| header.get("alg")?.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(algorithm: &str, hash: &str) -> IdToken {
        let claims = Map::from_iter([("at_hash".to_owned(), Value::from(hash))]);
        IdToken { claims, algorithm: algorithm.to_owned() }
    }

    #[test]
    fn an_access_token_belongs_to_its_id_token() {
        // Core 1.0, appendix A.3: the example of at_hash.
        let (access, hash) = ("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y", "77QmUPtjPfzWtF2AnpK9RQ");
        assert!(token("RS256", hash).belongs_to(access));
        assert!(!token("RS256", hash).belongs_to("another"));
        assert!(!token("RS384", hash).belongs_to(access));
        assert!(token("RS256", "").belongs_to(access));
    }

    #[test]
    fn the_claimed_issuer_of_nonsense_is_none() {
        for text in ["", "a.b", "a.b.c.d", "a.!.c", "a.e30"] {
            assert_eq!(claimed_issuer(text), None, "{text}");
        }
        assert_eq!(claimed_issuer("e30.e30.x").as_deref(), Some(""));
        assert_eq!(claimed_issuer("e30.eyJpc3MiOiJhIn0.x").as_deref(), Some("a"));
    }
}
