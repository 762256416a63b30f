//! Verification of tokens, with a cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde::Deserialize;

use crate::jwk::Key;
use crate::signature::Signature;
use crate::{Error, Issuer, KeyError, Verified};

/// Bytes of tokens and claims that the cache may hold.
const CACHE_BYTES: u64 = 16 << 20;
/// The approximate size of a user's token with a few additional claims. It determines the size of the cache's table.
const TYPICAL_ENTRY: u64 = 2048;
/// Longer tokens are verified every time, so that a few of them cannot evict all others.
const LONGEST_CACHED: usize = 8 << 10;

/// Verifies tokens with a fixed set of keys; cheap to clone, clones share the cache.
#[derive(Clone)]
pub struct Verifier {
    keys: Arc<[Key]>,
    issuers: Arc<[Issuer]>,
    cache: Arc<TokenCache>,
    audience: Option<Arc<str>>,
    /// Whether `nbf` and `iat` are ignored.
    ignores_beginning: bool,
}

/// A cache of verified tokens, with statistics.
struct TokenCache {
    tokens: Cache<Box<str>, Arc<Verified>, Bytes>,
    requests: AtomicU64,
    hits: AtomicU64,
    inserted: AtomicU64,
}

/// The state of a [`Verifier`]'s cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStatistics {
    /// Tokens looked up.
    pub requests: u64,
    /// Tokens found.
    pub hits: u64,
    /// Tokens evicted for others.
    pub evictions: u64,
}

impl TokenCache {
    fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            tokens: Cache::with_weighter((bytes / TYPICAL_ENTRY) as usize, bytes, Bytes),
            requests: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            inserted: AtomicU64::new(0),
        })
    }

    fn get(&self, token: &str) -> Option<Arc<Verified>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let found = self.tokens.get(token)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    fn insert(&self, token: &str, verified: &Arc<Verified>) {
        self.inserted.fetch_add(1, Ordering::Relaxed);
        self.tokens.insert(token.into(), Arc::clone(verified));
    }
}

/// The weight of tokens in the cache, in bytes.
#[derive(Clone)]
struct Bytes;

impl Weighter<Box<str>, Arc<Verified>> for Bytes {
    fn weight(&self, token: &Box<str>, verified: &Arc<Verified>) -> u64 {
        // The parsed claims take about as much memory as their text, with a map node for each.
        (token.len() + 3 * verified.json.len() + 256) as u64
    }
}

#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    alg: Option<String>,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<serde_json::Value>,
}

impl Verifier {
    pub(crate) fn new(keys: Vec<Key>) -> Self {
        let (keys, issuers) = (keys.into(), Arc::default());
        Self { keys, issuers, cache: TokenCache::new(CACHE_BYTES), audience: None, ignores_beginning: false }
    }

    /// Returns a verifier for the keys of `secret`, in the forms of PostgREST's `jwt-secret`: a plain secret of at
    /// least 32 bytes, which need not be text, a JWK or a JWKS; each in base64 if `is_base64`.
    ///
    /// Errors: [`KeyError::Setting`], which never quotes the secret.
    pub fn from_secret(secret: &[u8], is_base64: bool) -> Result<Self, KeyError> {
        Ok(Self::new(crate::keys::read_secret("jwt-secret", secret, is_base64)?))
    }

    /// Returns a verifier for the tokens of an issuer that publishes `jwks` (RFC 7517, section 5). Keys that are not
    /// for signatures, or of an unknown type, are skipped. It caches no tokens.
    pub fn from_published(jwks: &serde_json::Value) -> Self {
        let cache = TokenCache::new(0);
        let keys = crate::jwk::published(jwks).into();
        Self { keys, issuers: Arc::default(), cache, audience: None, ignores_beginning: false }
    }

    /// Returns the same verifier with a separate cache for a service that accepts only some algorithms: those of
    /// `methods` that fit the key (GoTrue's `JWT_VALID_METHODS`), or without `methods` the one that the key signs with.
    pub fn with_methods(&self, methods: &[String]) -> Self {
        let restricted = self.keys.iter().cloned().map(|mut key| {
            let own = key.algorithm();
            key.algorithms.retain(|algorithm| match methods {
                [] => *algorithm == own,
                named => named.iter().any(|name| name.parse() == Ok(*algorithm)),
            });
            key
        });
        Self { keys: restricted.collect(), cache: TokenCache::new(CACHE_BYTES), ..self.clone() }
    }

    /// Returns the same verifier with a separate cache for `entries` tokens of the usual size, or without a cache for 0
    /// (PostgREST's `jwt-cache-max-entries`).
    pub fn with_cache_of(&self, entries: usize) -> Self {
        let bytes = (entries as u64).saturating_mul(TYPICAL_ENTRY).min(CACHE_BYTES);
        Self { cache: TokenCache::new(bytes), ..self.clone() }
    }

    /// Returns the same verifier with a separate cache for a service that also accepts the tokens of `issuers`. An
    /// issuer's key is only used for tokens that name this issuer: some issuers sign for all their customers with the
    /// same keys.
    pub fn with_issuers(&self, issuers: impl Into<Arc<[Issuer]>>) -> Self {
        Self { issuers: issuers.into(), cache: TokenCache::new(CACHE_BYTES), ..self.clone() }
    }

    /// Returns the statistics of the cache.
    pub fn cache_statistics(&self) -> CacheStatistics {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheStatistics {
            requests: count(&self.cache.requests),
            hits: count(&self.cache.hits),
            evictions: count(&self.cache.inserted).saturating_sub(self.cache.tokens.len() as u64),
        }
    }

    /// Returns the same verifier for a service that only accepts tokens for `audience` (PostgREST's `jwt-aud`).
    pub fn with_audience(&self, audience: impl Into<Arc<str>>) -> Self {
        Self { audience: Some(audience.into()), ..self.clone() }
    }

    /// Returns the same verifier for a service that ignores the beginning of a token's validity (`nbf`, `iat`).
    pub fn ignoring_beginning(&self) -> Self {
        Self { ignores_beginning: true, ..self.clone() }
    }

    /// Checks the signature, then `exp`, `nbf`, `iat` (30 s of leeway) and `aud`. A valid signature is cached; the
    /// claims are checked against the clock every time.
    pub fn verify(&self, token: &str) -> Result<Arc<Verified>, Error> {
        self.verify_at(token, now())
    }

    /// Does the same as [`verify`](Self::verify) at the time `now`.
    pub(crate) fn verify_at(&self, token: &str, now: i64) -> Result<Arc<Verified>, Error> {
        let audience = self.audience.as_deref();
        if let Some(known) = self.cache.get(token) {
            known.check(now, audience, self.ignores_beginning)?;
            return Ok(known);
        }
        let verified = Arc::new(self.check_signature(token)?);
        verified.check(now, audience, self.ignores_beginning)?;
        if token.len() <= LONGEST_CACHED {
            self.cache.insert(token, &verified);
        }
        Ok(verified)
    }

    /// Verifies the signature and returns the token, whose claims are not checked yet.
    fn check_signature(&self, token: &str) -> Result<Verified, Error> {
        if token.is_empty() {
            return Err(Error::Empty);
        }
        let (header, payload, last) = split(token)?;
        let message = &token.as_bytes()[..header.len() + 1 + payload.len()];
        let header: Header =
            serde_json::from_slice(&decode(header, "header")?).map_err(|_| Error::Malformed("header"))?;
        // RFC 7515, section 4.1.11: a token with a critical extension that is not supported is invalid.
        if header.crit.is_some() {
            return Err(Error::Malformed("crit"));
        }
        let algorithm = algorithm(header.alg)?;
        let bytes = decode(last, "signature")?;
        let signature = Signature { text: last, bytes: &bytes };
        let check = |keys: &[Key]| {
            let mut fitting = fitting(keys, algorithm, header.kid.as_deref()).peekable();
            fitting.peek().ok_or(Error::NoSuitableKey)?;
            let is_signed = fitting.any(|key| key.verify(algorithm, message, signature));
            if is_signed { Ok(()) } else { Err(Error::Signature) }
        };
        let Err(refusal) = check(&self.keys) else { return Verified::parse(&decode(payload, "payload")?) };
        if self.issuers.is_empty() {
            return Err(refusal);
        }
        // The claims of an unverified token only decide which issuer's keys are tried.
        let claimed = decode(payload, "payload").and_then(|payload| Verified::parse(&payload)).ok();
        let named = claimed.and_then(|claimed| {
            let name = claimed.issuer().unwrap_or_default();
            let issuer = self.issuers.iter().find(|issuer| issuer.is_named(name))?;
            Some((issuer, claimed))
        });
        let (issuer, claimed) = named.ok_or(refusal)?;
        check(&issuer.keys())?;
        Ok(claimed)
    }
}

/// Returns those of `keys` whose type and `alg` allow `algorithm` and whose id does not contradict the token's `id`. If
/// one of `keys` has this id, only keys with this id are returned. If none has it, shared secrets and keys without an
/// id fit, as in GoTrue, whose old tokens have no id or one that has changed since.
fn fitting<'k>(keys: &'k [Key], algorithm: Algorithm, id: Option<&str>) -> impl Iterator<Item = &'k Key> {
    let is_known = id.is_some_and(|id| keys.iter().any(|key| key.id.as_deref() == Some(id)));
    let id_fits = move |key: &Key| match (id, &key.id) {
        (None, _) => true,
        (Some(wanted), Some(own)) if is_known => wanted == own,
        (Some(_), own) => !is_known && (own.is_none() || key.secret.is_some()),
    };
    keys.iter().filter(move |key| key.algorithms.contains(&algorithm) && id_fits(key))
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier")
            .field("keys", &self.keys.len())
            .field("cached", &self.cache.tokens.len())
            .finish()
    }
}

/// Returns the current time in Unix seconds.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs() as i64)
}

fn split(token: &str) -> Result<(&str, &str, &str), Error> {
    let mut parts = token.split('.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(header), Some(payload), Some(signature), None) => Ok((header, payload, signature)),
        _ => Err(Error::Parts(token.split('.').count())),
    }
}

fn algorithm(name: Option<String>) -> Result<Algorithm, Error> {
    let name = name.unwrap_or_default();
    // RFC 9864 names the curve in place of the family.
    let known = if name == "Ed25519" { "EdDSA" } else { &name };
    known.parse().map_err(|_| {
        // The name comes from an untrusted token and becomes part of a response, so it is truncated.
        Error::UnsupportedAlgorithm(name.chars().take(32).collect())
    })
}

fn decode(part: &str, name: &'static str) -> Result<Vec<u8>, Error> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Error::Malformed(name))
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, Header};
    use serde_json::json;

    use super::*;

    const SECRET: &[u8] = b"a secret of more than thirty-two bytes";

    fn verifier() -> Verifier {
        Verifier::new(vec![Key::from_secret(SECRET, None)])
    }

    fn token(claims: &serde_json::Value) -> String {
        jsonwebtoken::encode(&Header::default(), claims, &EncodingKey::from_secret(SECRET)).unwrap()
    }

    #[test]
    fn a_cached_token_still_expires() {
        let verifier = verifier();
        let token = token(&json!({ "exp": 1_000 }));
        let first = verifier.verify_at(&token, 1_030).unwrap();
        let second = verifier.verify_at(&token, 1_030).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(verifier.verify_at(&token, 1_031).unwrap_err(), Error::Expired);
    }

    #[test]
    fn methods_are_those_that_keys_sign_with_or_that_are_named() {
        let every = verifier();
        let with = |algorithm| {
            let key = EncodingKey::from_secret(SECRET);
            jsonwebtoken::encode(&Header::new(algorithm), &json!({}), &key).unwrap()
        };
        let (usual, other) = (with(Algorithm::HS256), with(Algorithm::HS512));
        assert!(every.verify_at(&usual, 0).is_ok() && every.verify_at(&other, 0).is_ok());
        let strict = every.with_methods(&[]);
        assert!(strict.verify_at(&usual, 0).is_ok());
        assert_eq!(strict.verify_at(&other, 0).unwrap_err(), Error::NoSuitableKey, "though others took it");
        let named = every.with_methods(&["HS512".to_owned(), "RS256".to_owned()]);
        assert!(named.verify_at(&other, 0).is_ok() && named.verify_at(&usual, 0).is_err());
    }

    #[test]
    fn published_keys_verify_despite_other_published_keys() {
        let secret = URL_SAFE_NO_PAD.encode(SECRET);
        let jwks = json!({ "keys": [
            { "kty": "oct", "k": secret },
            { "kty": "EC", "crv": "P-521", "x": "AA", "y": "AA" },
            { "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode([7; 32]), "use": "enc" },
            "nonsense",
        ] });
        let verifier = Verifier::from_published(&jwks);
        assert_eq!(verifier.verify_at(&token(&json!({})), 0).unwrap_err(), Error::NoSuitableKey);
        assert!(verifier.keys.is_empty());
        let signing = json!({ "keys": [
            { "kty": "RSA", "n": "AA", "e": "AQAB" },
            { "kty": "EC", "crv": "P-256", "x": URL_SAFE_NO_PAD.encode([1; 32]), "y": URL_SAFE_NO_PAD.encode([2; 32]), "use": "sig" },
        ] });
        assert_eq!(Verifier::from_published(&signing).keys.len(), 1);
        assert!(Verifier::from_published(&json!([])).keys.is_empty());
    }

    #[test]
    fn the_name_of_a_curve_is_accepted_in_place_of_its_family() {
        assert_eq!(algorithm(Some("Ed25519".to_owned())), Ok(Algorithm::EdDSA));
        assert!(algorithm(Some("ed25519".to_owned())).is_err());
    }

    #[test]
    fn an_issuers_keys_verify_only_its_own_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let keys =
            |name: &str| crate::Keys::load_or_create(&folder.path().join(name), Default::default()).unwrap();
        let (own, theirs) = (keys("own.json"), keys("theirs.json"));
        let issuer = Issuer::new("https://issuer.example/");
        let strict = own.verifier();
        let open = strict.with_issuers([issuer.clone()]);
        let named = |name: &str| theirs.sign(&json!({ "iss": name, "sub": "x" })).unwrap();
        let token = named("https://issuer.example");
        assert!(open.verify(&token).is_err(), "its keys are not known yet");
        assert_eq!(issuer.publish(&json!({ "keys": [] })), 0);
        assert_eq!(issuer.publish(theirs.jwks()), 1);
        assert_eq!(open.verify(&token).unwrap().subject(), Some("x"));
        assert!(open.verify(&named("https://issuer.example/")).is_ok());
        for name in ["", "https://other.example", "https://issuer.example/x"] {
            assert!(open.verify(&named(name)).is_err(), "{name}");
        }
        let forged = own.sign_with_secret(&json!({ "iss": "https://issuer.example" })).unwrap();
        assert!(open.verify(&forged).is_ok(), "our own keys may name anybody, as before");
        assert!(strict.verify(&token).is_err(), "nobody else takes them");
        assert_eq!(issuer.publish(&json!({ "keys": "none" })), 0);
        assert!(open.verify(&named("https://issuer.example")).is_ok(), "keys stay when there are no others");
    }

    #[test]
    fn the_cache_stays_within_its_bound_and_keeps_no_refused_tokens() {
        let verifier = verifier();
        let filler = "x".repeat(4_000);
        for number in 0..2_000 {
            verifier.verify_at(&token(&json!({ "n": number, "filler": filler })), 0).unwrap();
        }
        assert!(verifier.cache.tokens.weight() <= CACHE_BYTES);
        let remembered = verifier.cache.tokens.len();
        assert!(verifier.verify_at(&token(&json!({ "exp": 1 })), 100).is_err());
        let long = token(&json!({ "filler": "x".repeat(LONGEST_CACHED) }));
        verifier.verify_at(&long, 0).unwrap();
        assert_eq!(verifier.cache.tokens.len(), remembered);
    }
}
