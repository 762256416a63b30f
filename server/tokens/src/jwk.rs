//! JSON Web Keys (RFC 7517, RFC 7518 section 6, RFC 8037) as keys that sign and verify.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use serde_json::{Map, Value, json};

use crate::der;
use crate::signature::{PublicNumbers, Signature};

/// Algorithms of a shared secret whose JWK does not name an algorithm.
const HMAC: &[Algorithm] = &[Algorithm::HS256, Algorithm::HS384, Algorithm::HS512];
const RSA: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// A key, which verifies tokens and, if its private part is known, signs them.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) id: Option<String>,
    /// The algorithms that this key may be used with: its JWK's `alg`, or all that fit its type. A token with any other
    /// algorithm is refused, even if its signature is valid (RFC 8725, section 3.1).
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) decoding: DecodingKey,
    /// The key for faster verification, for the types that most tokens are signed with.
    pub(crate) numbers: Option<PublicNumbers>,
    pub(crate) encoding: Option<EncodingKey>,
    /// Whether `key_ops` contains `sign`.
    pub(crate) signs: bool,
    /// The public JWK; `None` for shared secrets.
    pub(crate) public: Option<Value>,
    /// The bytes of a shared secret.
    pub(crate) secret: Option<Vec<u8>>,
}

impl Key {
    /// Returns the key of a shared secret: it signs with HS256 and verifies every HMAC algorithm.
    pub(crate) fn from_secret(secret: &[u8], id: Option<String>) -> Self {
        Self {
            id,
            algorithms: HMAC.to_vec(),
            decoding: DecodingKey::from_secret(secret),
            numbers: None,
            encoding: Some(EncodingKey::from_secret(secret)),
            signs: true,
            public: None,
            secret: Some(secret.to_vec()),
        }
    }

    /// Parses a public or private JWK.
    ///
    /// Errors: a sentence that names the member that is missing or wrong, without its value.
    pub(crate) fn from_jwk(jwk: &Value) -> Result<Self, String> {
        let jwk = Jwk(jwk.as_object().ok_or("expected a JSON object")?);
        let key_type = jwk.text("kty")?;
        let mut key = match key_type {
            "oct" => Self::from_secret(&jwk.bytes("k")?, None),
            "RSA" => jwk.rsa()?,
            "EC" => jwk.elliptic_curve()?,
            "OKP" => jwk.edwards_curve()?,
            other => return Err(format!("key type (kty) {other:?} is none of oct, RSA, EC, OKP")),
        };
        key.id = jwk.0.get("kid").and_then(Value::as_str).map(str::to_owned);
        key.signs = jwk
            .0
            .get("key_ops")
            .and_then(Value::as_array)
            .is_some_and(|operations| operations.iter().any(|operation| operation == "sign"));
        key.restrict_to(jwk.0.get("alg"))?;
        key.publish();
        Ok(key)
    }

    /// Returns the algorithm that this key signs with: the first one.
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.algorithms.first().copied().unwrap_or_default()
    }

    /// Reports whether this key made `signature` of `message` with `algorithm`, which must be one of the key's.
    pub(crate) fn verify(&self, algorithm: Algorithm, message: &[u8], signature: Signature<'_>) -> bool {
        let quick = self.numbers.as_ref().and_then(|key| key.verify(algorithm, message, signature.bytes));
        quick.unwrap_or_else(|| {
            jsonwebtoken::crypto::verify(signature.text, message, &self.decoding, algorithm).unwrap_or(false)
        })
    }

    /// Restricts the key to the algorithm that its JWK names, if any.
    fn restrict_to(&mut self, algorithm: Option<&Value>) -> Result<(), String> {
        let Some(name) = algorithm.and_then(Value::as_str) else { return Ok(()) };
        let named = name.parse::<Algorithm>().ok().filter(|named| self.algorithms.contains(named));
        let named = named.ok_or_else(|| {
            format!("algorithm (alg) {name:?} does not fit the key; it allows {:?}", self.algorithms)
        })?;
        self.algorithms = vec![named];
        Ok(())
    }

    /// Adds to the public JWK the members that GoTrue's JWKS endpoint adds.
    fn publish(&mut self) {
        let algorithm = format!("{:?}", self.algorithm());
        let Some(Value::Object(public)) = &mut self.public else { return };
        if let Some(id) = &self.id {
            public.insert("kid".into(), id.as_str().into());
        }
        public.insert("alg".into(), algorithm.into());
        public.insert("use".into(), "sig".into());
        public.insert("key_ops".into(), json!(["verify"]));
        public.insert("ext".into(), true.into());
    }
}

/// The members of a JWK.
struct Jwk<'a>(&'a Map<String, Value>);

impl Jwk<'_> {
    fn text(&self, member: &str) -> Result<&str, String> {
        self.0
            .get(member)
            .and_then(Value::as_str)
            .ok_or_else(|| format!("member {member:?} is missing or not a string"))
    }

    fn bytes(&self, member: &str) -> Result<Vec<u8>, String> {
        let text = self.text(member)?;
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
        bytes
            .ok()
            .filter(|bytes| !bytes.is_empty())
            .ok_or_else(|| format!("member {member:?} is not base64url"))
    }

    fn is_private(&self) -> bool {
        self.0.contains_key("d")
    }

    /// Returns a member that must have `length` bytes.
    fn sized(&self, member: &str, length: usize) -> Result<Vec<u8>, String> {
        let bytes = self.bytes(member)?;
        if bytes.len() == length {
            return Ok(bytes);
        }
        Err(format!("member {member:?} holds {} bytes, expected {length}", bytes.len()))
    }

    fn rsa(&self) -> Result<Key, String> {
        let (n, e) = (self.bytes("n")?, self.bytes("e")?);
        if n.len() < 256 {
            return Err(format!("RSA key of {} bits, expected at least 2048", n.len() * 8));
        }
        let encoding = if self.is_private() {
            let [d, p, q] = [self.bytes("d")?, self.bytes("p")?, self.bytes("q")?];
            let numbers =
                [n.clone(), e.clone(), d, p, q, self.bytes("dp")?, self.bytes("dq")?, self.bytes("qi")?];
            Some(EncodingKey::from_rsa_der(&der::rsa_key(&numbers).map_err(unwritable)?))
        } else {
            None
        };
        Ok(Key {
            id: None,
            algorithms: RSA.to_vec(),
            decoding: DecodingKey::from_rsa_raw_components(&n, &e),
            numbers: PublicNumbers::rsa(&n, &e),
            encoding,
            signs: false,
            public: Some(json!({ "kty": "RSA", "n": self.text("n")?, "e": self.text("e")? })),
            secret: None,
        })
    }

    fn elliptic_curve(&self) -> Result<Key, String> {
        let (curve, length, algorithm) = match self.text("crv")? {
            "P-256" => (der::P256, 32, Algorithm::ES256),
            "P-384" => (der::P384, 48, Algorithm::ES384),
            other => return Err(format!("curve (crv) {other:?} is none of P-256, P-384")),
        };
        let point = [vec![4], self.sized("x", length)?, self.sized("y", length)?].concat();
        let encoding = if self.is_private() {
            let document = der::elliptic_curve_key(&curve, &self.sized("d", length)?);
            Some(EncodingKey::from_ec_der(&document.map_err(unwritable)?))
        } else {
            None
        };
        let (crv, x, y) = (self.text("crv")?, self.text("x")?, self.text("y")?);
        Ok(Key {
            id: None,
            algorithms: vec![algorithm],
            decoding: DecodingKey::from_ec_der(&point),
            numbers: (algorithm == Algorithm::ES256).then_some(PublicNumbers::P256(point)),
            encoding,
            signs: false,
            public: Some(json!({ "kty": "EC", "crv": crv, "x": x, "y": y })),
            secret: None,
        })
    }

    fn edwards_curve(&self) -> Result<Key, String> {
        let curve = self.text("crv")?;
        if curve != "Ed25519" {
            return Err(format!("curve (crv) {curve:?} is not Ed25519"));
        }
        let x = self.sized("x", 32)?;
        let encoding = if self.is_private() {
            Some(EncodingKey::from_ed_der(&der::ed25519_key(&self.sized("d", 32)?).map_err(unwritable)?))
        } else {
            None
        };
        Ok(Key {
            id: None,
            algorithms: vec![Algorithm::EdDSA],
            decoding: DecodingKey::from_ed_der(&x),
            numbers: None,
            encoding,
            signs: false,
            public: Some(json!({ "kty": "OKP", "crv": curve, "x": self.text("x")? })),
            secret: None,
        })
    }
}

fn unwritable(error: impl std::fmt::Display) -> String {
    format!("its numbers make no key: {error}")
}

/// Returns the keys that verify signatures from the JWKS of another issuer. Other keys are skipped: keys for
/// encryption, keys of unknown types, and shared secrets, which are not secret once published.
pub(crate) fn published(jwks: &Value) -> Vec<Key> {
    let keys = jwks.get("keys").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let signs = |jwk: &&Value| jwk.get("use").is_none_or(|purpose| purpose == "sig");
    let key = |jwk| Key::from_jwk(jwk).ok().filter(|key| key.secret.is_none());
    keys.iter().filter(signs).filter_map(key).collect()
}

/// Parses a JWK, a JWKS (`{"keys": […]}`) or a bare array of JWKs.
pub(crate) fn parse_set(json: &str) -> Result<Vec<Key>, String> {
    let value: Value = serde_json::from_str(json).map_err(|error| format!("not JSON: {error}"))?;
    let keys = match &value {
        Value::Array(keys) => keys.as_slice(),
        Value::Object(set) => match set.get("keys") {
            Some(Value::Array(keys)) => keys.as_slice(),
            Some(_) => return Err("member \"keys\" must be an array".to_owned()),
            None => std::slice::from_ref(&value),
        },
        _ => return Err("expected a JWK, a JWKS or an array of JWKs".to_owned()),
    };
    let parse =
        |(index, jwk)| Key::from_jwk(jwk).map_err(|reason| format!("key number {}: {reason}", index + 1));
    keys.iter().enumerate().map(parse).collect()
}
