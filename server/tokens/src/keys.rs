//! The project's keys: loading, signing, and the JSON Web Key Set.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde_json::{Value, json};
use settings::{Invalid, Reader};
use sha2::{Digest as _, Sha256};

use crate::api_keys::{self, ApiKeys};
use crate::jwk::{self, Key};
use crate::key_file::KeyFile;
use crate::{KeyError, MessageSeal, ValueSeal, Verifier};

/// The names of the signing keys in messages: of a variable's keys, and of those in the CLI's file.
const SIGNING_KEYS: &str = "GOTRUE_JWT_KEYS";
const SIGNING_FILE: &str = "auth.signing_keys_path";
/// Shorter secrets can be guessed (RFC 7518, section 3.2); PostgREST also refuses them.
const SHORTEST_SECRET: usize = 32;
/// The lifetime in seconds of API keys that are tokens: ten years, as in hosted Supabase.
const API_KEY_LIFE: i64 = 10 * 365 * 24 * 3600;

settings::settings! {
    /// Keys that settings name in place of generated ones. Every field is optional.
    ///
    /// Which key signs users' tokens:
    /// - with [`jwt_keys`](Self::jwt_keys): the one whose `key_ops` contain `sign`;
    /// - else with [`signing_keys`](Self::signing_keys): the first;
    /// - else with [`jwt_secret`](Self::jwt_secret): that secret (HS256), as GoTrue does, because other services and
    ///   nodes may know only the secret;
    /// - else the generated ES256 key, as new hosted projects do. The generated secret signs the API keys.
    #[derive(Clone)]
    pub struct KeyOverrides {
        /// The shared HS256 secret, at least 32 bytes. All forms of `PGRST_JWT_SECRET` are accepted.
        #[setting(variables = ["JWT_SECRET", "GOTRUE_JWT_SECRET"], key = "auth.jwt_secret")]
        pub jwt_secret: Option<String> = None,
        /// Whether a secret that is plain text is the base64 form (either alphabet) of the real secret.
        #[setting(variables = ["PGRST_JWT_SECRET_IS_BASE64"])]
        pub secret_is_base64: bool = false,
        /// The `kid` of tokens that are signed with the shared secret.
        #[setting(variables = ["GOTRUE_JWT_KEY_ID"])]
        pub key_id: Option<String> = None,
        /// A JSON array of private JWKs. Exactly one of them has `sign` in its `key_ops`.
        #[setting(variables = ["GOTRUE_JWT_KEYS"])]
        pub jwt_keys: Option<String> = None,
        /// A file with a JSON array of private JWKs, as `supabase gen signing-key` makes it. The first one signs users'
        /// tokens.
        #[setting(variables = [], key = "auth.signing_keys_path")]
        pub signing_keys_path: Option<PathBuf> = None,
        /// What is in that file.
        pub signing_keys: Option<String> = None,
        /// Further keys that verify tokens: a plain secret, a JWK or a JWKS. A shared secret in it also signs if no
        /// other is set.
        #[setting(variables = ["PGRST_JWT_SECRET"])]
        pub verification_keys: Option<String> = None,
        /// The legacy public API key.
        #[setting(variables = ["ANON_KEY", "SUPABASE_ANON_KEY"], key = "auth.anon_key")]
        pub anon_key: Option<String> = None,
        /// The legacy secret API key.
        #[setting(variables = ["SERVICE_ROLE_KEY", "SUPABASE_SERVICE_ROLE_KEY"], key = "auth.service_role_key")]
        pub service_role_key: Option<String> = None,
        /// The publishable API key, `sb_publishable_…`.
        #[setting(variables = ["SUPABASE_PUBLISHABLE_KEY"], key = "auth.publishable_key")]
        pub publishable_key: Option<String> = None,
        /// The secret API key, `sb_secret_…`.
        #[setting(variables = ["SUPABASE_SECRET_KEY"], key = "auth.secret_key")]
        pub secret_key: Option<String> = None,
        /// The project's reference: the claim `ref` of the legacy API keys. The default is `basalt`.
        #[setting(variables = [], key = "project_id")]
        pub project: Option<String> = None,
    }
}

impl KeyOverrides {
    /// Reads the keys that settings name. `resolve` returns where the file of a path in `config.toml` is. As in the
    /// Supabase CLI, the file of signing keys may be missing if auth is switched off.
    ///
    /// Errors: [`Invalid`] for a setting or a file that cannot be read.
    pub fn read(reader: &mut Reader<'_>, resolve: impl FnOnce(&Path) -> PathBuf) -> Result<Self, Invalid> {
        let mut overrides: Self = reader.read()?;
        let is_off = reader.get::<bool>("auth.enabled", &[])? == Some(false);
        if let Some(path) = overrides.signing_keys_path.as_deref().filter(|_| !is_off).map(resolve) {
            overrides.signing_keys = Some(std::fs::read_to_string(&path).map_err(|error| {
                let found = format!("{}: {error}", path.display());
                Invalid::new(SIGNING_FILE, "a file with a JSON array of private JWKs", &found)
            })?);
        }
        Ok(overrides)
    }
}

impl fmt::Debug for KeyOverrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyOverrides").field("project", &self.project).finish_non_exhaustive()
    }
}

/// All keys of one project; cheap to clone.
#[derive(Clone)]
pub struct Keys(Arc<Inner>);

struct Inner {
    secret_text: String,
    shared: Key,
    signing: Key,
    derivation: Hmac<Sha256>,
    jwks: Value,
    api_keys: ApiKeys,
    verifier: Verifier,
}

impl Keys {
    /// Loads the key file at `path`; creates it (mode 0600) with a new HS256 secret and ES256 key at the first start.
    /// Keys of `overrides` take precedence; if all keys are among them, the file is not used.
    ///
    /// The opaque API keys are derived from the secret, so nodes that share `JWT_SECRET` share them.
    ///
    /// Errors: [`KeyError`], which names the file or the setting and never quotes a key.
    pub fn load_or_create(path: &Path, overrides: KeyOverrides) -> Result<Self, KeyError> {
        let keys = KeySettings::read(&overrides)?;
        let complete =
            keys.secret.is_some() && overrides.anon_key.is_some() && overrides.service_role_key.is_some();
        let file = if complete { None } else { Some(KeyFile::load_or_create(path)?) };
        Self::new(keys, path, file, overrides)
    }

    /// Returns the keys of settings with at least the shared secret, without a file. Missing API keys are derived from
    /// the secret, but are not used.
    ///
    /// Errors: as [`load_or_create`](Self::load_or_create).
    pub fn from_settings(settings: KeyOverrides) -> Result<Self, KeyError> {
        let keys = KeySettings::read(&settings)?;
        Self::new(keys, Path::new(""), None, settings)
    }

    fn new(
        mut keys: KeySettings,
        path: &Path,
        file: Option<KeyFile>,
        overrides: KeyOverrides,
    ) -> Result<Self, KeyError> {
        let generated = keys.secret.is_none();
        let (secret_text, secret) = match (keys.secret.take(), &file) {
            (Some(secret), _) => secret,
            (None, Some(file)) => (file.jwt_secret.clone(), file.jwt_secret.clone().into_bytes()),
            (None, None) => {
                return Err(KeyError::setting("JWT_SECRET", "is not set and no key file is in use"));
            }
        };
        let shared = Key::from_secret(&secret, overrides.key_id.clone());
        let signing = match (keys.signing.take(), &file) {
            (Some(key), _) => key,
            (None, Some(file)) if generated => generated_key(path, &file.signing_key)?,
            _ => shared.clone(),
        };
        let source = if present(&overrides.jwt_keys).is_some() { SIGNING_KEYS } else { SIGNING_FILE };
        check_pair(source, &signing)?;
        let mut published: Vec<&Key> = vec![&signing];
        published.extend(keys.published.iter());
        let jwks =
            json!({ "keys": published.iter().filter_map(|key| key.public.as_ref()).collect::<Vec<_>>() });
        keys.verifying.retain(|key| key.secret.as_ref() != Some(&secret));
        let mut verifying = vec![shared.clone()];
        if signing.public.is_some() {
            verifying.push(signing.clone());
        }
        verifying.append(&mut keys.published);
        verifying.append(&mut keys.verifying);
        let verifier = Verifier::new(verifying);
        let issued_at = file.map_or(0, |file| file.issued_at);
        let derivation = Hmac::new_from_slice(&secret).map_err(|error| KeyError::Sign(error.to_string()))?;
        let maker = ApiKeyMaker { shared: &shared, derivation: &derivation, verifier: &verifier, issued_at };
        let api_keys = maker.make(overrides)?;
        Ok(Self(Arc::new(Inner { secret_text, shared, signing, derivation, jwks, api_keys, verifier })))
    }

    /// Signs `claims` with the current signing key; the header contains its `alg` and `kid`.
    pub fn sign<C: Serialize>(&self, claims: &C) -> Result<String, KeyError> {
        sign(&self.0.signing, claims)
    }

    /// Reports whether [`sign`](Self::sign) uses one of the keys in [`jwks`](Self::jwks), and not a shared secret.
    pub fn signs_publicly(&self) -> bool {
        self.0.signing.public.is_some()
    }

    /// Signs `claims` with the shared HS256 secret, for receivers that know no other key: signed storage URLs, edge
    /// functions.
    pub fn sign_with_secret<C: Serialize>(&self, claims: &C) -> Result<String, KeyError> {
        sign(&self.0.shared, claims)
    }

    /// Returns `{"keys": […]}` with the public parts of the asymmetric keys that sign or have signed users' tokens (RFC
    /// 7517, section 5), without shared secrets.
    pub fn jwks(&self) -> &Value {
        &self.0.jwks
    }

    /// Returns the text of the shared HS256 secret in the settings or the key file.
    pub fn jwt_secret(&self) -> &str {
        &self.0.secret_text
    }

    /// Returns the project's API keys.
    pub fn api_keys(&self) -> &ApiKeys {
        &self.0.api_keys
    }

    /// Returns a verifier for these keys; all verifiers of one `Keys` share a cache.
    pub fn verifier(&self) -> Verifier {
        self.0.verifier.clone()
    }

    /// Derives a secret for `purpose`: 64 hexadecimal digits of HMAC-SHA256 over the purpose with the shared secret as
    /// the key. Nodes with the same shared secret derive the same one.
    pub fn derive(&self, purpose: &str) -> String {
        HEXLOWER.encode(&derived(&self.0.derivation, purpose))
    }

    /// Returns the seal for messages of this `purpose` between nodes. Nodes with the same shared secret have the same
    /// one.
    pub fn message_seal(&self, purpose: &str) -> MessageSeal {
        MessageSeal::new(derived(&self.0.derivation, purpose))
    }

    /// Returns the seal for secret values of this `purpose`. Nodes with the same shared secret have the same one.
    pub fn value_seal(&self, purpose: &str) -> ValueSeal {
        ValueSeal::new(Sha256::digest(self.derive(purpose)).into())
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("jwks", &self.0.jwks)
            .field("api_keys", &self.0.api_keys)
            .finish_non_exhaustive()
    }
}

/// The keys of the settings, before missing ones are read from the key file.
#[derive(Default)]
struct KeySettings {
    secret: Option<(String, Vec<u8>)>,
    signing: Option<Key>,
    /// Keys of `GOTRUE_JWT_KEYS` that do not sign, or no longer do.
    published: Vec<Key>,
    verifying: Vec<Key>,
}

impl KeySettings {
    fn read(overrides: &KeyOverrides) -> Result<Self, KeyError> {
        let mut settings = Self::default();
        if let Some(keys) = present(&overrides.jwt_keys) {
            settings.read_signing_keys(keys)?;
        } else if let Some(keys) = present(&overrides.signing_keys) {
            settings.read_signing_file(keys)?;
        }
        for (setting, value) in
            [("JWT_SECRET", &overrides.jwt_secret), ("PGRST_JWT_SECRET", &overrides.verification_keys)]
        {
            if let Some(value) = present(value) {
                settings.read_secret(setting, value, overrides.secret_is_base64)?;
            }
        }
        Ok(settings)
    }

    fn read_signing_keys(&mut self, json: &str) -> Result<(), KeyError> {
        let setting = SIGNING_KEYS;
        let keys = jwk::parse_set(json).map_err(|reason| KeyError::setting(setting, reason))?;
        let (mut signing, others): (Vec<Key>, Vec<Key>) = keys.into_iter().partition(|key| key.signs);
        match (signing.pop(), signing.len()) {
            (Some(key), 0) if key.encoding.is_some() => self.signing = Some(key),
            (Some(_), 0) => {
                return Err(KeyError::setting(
                    setting,
                    "the key with \"sign\" in key_ops lacks its private part",
                ));
            }
            (found, rest) => {
                let found = rest + usize::from(found.is_some());
                let reason = format!("expected exactly one key with \"sign\" in key_ops, found {found}");
                return Err(KeyError::setting(setting, reason));
            }
        }
        self.published = others;
        Ok(())
    }

    /// Reads the keys of the CLI's file. Each of them can sign; the CLI itself signs with the first.
    fn read_signing_file(&mut self, json: &str) -> Result<(), KeyError> {
        let wrong = |reason: &str| KeyError::setting(SIGNING_FILE, reason);
        let mut keys = jwk::parse_set(json).map_err(|reason| wrong(&reason))?;
        if keys.iter().any(|key| key.public.is_none() || key.encoding.is_none()) {
            return Err(wrong("expected private keys of the types RSA, EC and OKP"));
        }
        if keys.is_empty() {
            return Err(wrong("expected at least one key"));
        }
        self.signing = Some(keys.remove(0));
        self.published = keys;
        Ok(())
    }

    fn read_secret(&mut self, setting: &'static str, value: &str, base64: bool) -> Result<(), KeyError> {
        for key in read_secret(setting, value.as_bytes(), base64)? {
            if let Some(secret) = &key.secret {
                self.secret.get_or_insert_with(|| (secret_text(value, secret), secret.clone()));
            }
            self.verifying.push(key);
        }
        Ok(())
    }
}

const fn is_json(value: &[u8]) -> bool {
    matches!(value, [b'{' | b'[', ..])
}

/// Decodes base64 in any alphabet. A period may replace padding, as upstream.
fn decoded(value: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let alphabet = text.replace('-', "+").replace('_', "/");
    STANDARD_NO_PAD.decode(alphabet.trim_end_matches(['=', '.'])).ok()
}

/// Parses the keys in `value`: a plain secret, a JWK or a JWKS, in base64 if `base64`.
///
/// Errors: [`KeyError::Setting`], which names `setting`.
pub(crate) fn read_secret(setting: &'static str, value: &[u8], base64: bool) -> Result<Vec<Key>, KeyError> {
    let wrong = |reason: String| KeyError::setting(setting, reason);
    let decoded = match base64 && !is_json(value) {
        true => Cow::Owned(decoded(value).ok_or_else(|| wrong("is not valid base64".to_owned()))?),
        false => Cow::Borrowed(value),
    };
    let keys = match std::str::from_utf8(&decoded) {
        Ok(text) if is_json(&decoded) => jwk::parse_set(text).map_err(wrong)?,
        _ => vec![Key::from_secret(&decoded, None)],
    };
    match keys.iter().filter_map(|key| key.secret.as_ref()).find(|secret| secret.len() < SHORTEST_SECRET) {
        Some(short) => {
            Err(wrong(format!("holds {} bytes, expected at least {SHORTEST_SECRET}", short.len())))
        }
        None => Ok(keys),
    }
}

fn present(setting: &Option<String>) -> Option<&str> {
    setting.as_deref().map(str::trim).filter(|value| !value.is_empty())
}

/// Returns the text of a secret: a plain one unchanged, one from a JWK as text if it is valid UTF-8, else as base64.
fn secret_text(value: &str, secret: &[u8]) -> String {
    if !value.starts_with(['{', '[']) {
        return value.to_owned();
    }
    String::from_utf8(secret.to_vec()).unwrap_or_else(|_| STANDARD.encode(secret))
}

fn generated_key(path: &Path, jwk: &Value) -> Result<Key, KeyError> {
    let damaged = |reason: String| KeyError::Damaged {
        path: path.to_owned(),
        reason: format!("signing_key: {reason}"),
    };
    let key = Key::from_jwk(jwk).map_err(damaged)?;
    if key.encoding.is_none() {
        return Err(damaged("lacks its private part (d)".to_owned()));
    }
    Ok(key)
}

/// Checks that the private and the public part belong together; otherwise no one could verify the tokens.
fn check_pair(setting: &'static str, key: &Key) -> Result<(), KeyError> {
    let reason = "its private and public parts do not belong together";
    let message: &[u8] = b"basalt";
    let Some(private) = &key.encoding else { return Err(KeyError::Sign(reason.to_owned())) };
    let signature = jsonwebtoken::crypto::sign(message, private, key.algorithm())
        .map_err(|error| KeyError::setting(setting, format!("the signing key is unusable: {error}")))?;
    match jsonwebtoken::crypto::verify(&signature, message, &key.decoding, key.algorithm()) {
        Ok(true) => Ok(()),
        _ => Err(KeyError::setting(setting, format!("the signing key is unusable: {reason}"))),
    }
}

fn sign<C: Serialize>(key: &Key, claims: &C) -> Result<String, KeyError> {
    let Some(private) = &key.encoding else {
        return Err(KeyError::Sign("the key has no private part".to_owned()));
    };
    let mut header = jsonwebtoken::Header::new(key.algorithm());
    header.kid.clone_from(&key.id);
    jsonwebtoken::encode(&header, claims, private).map_err(|error| KeyError::Sign(error.to_string()))
}

fn derived(derivation: &Hmac<Sha256>, purpose: &str) -> [u8; 32] {
    derivation.clone().chain_update(purpose).finalize().into_bytes().into()
}

/// Creates the missing API keys.
struct ApiKeyMaker<'a> {
    shared: &'a Key,
    derivation: &'a Hmac<Sha256>,
    verifier: &'a Verifier,
    issued_at: i64,
}

impl ApiKeyMaker<'_> {
    fn make(&self, overrides: KeyOverrides) -> Result<ApiKeys, KeyError> {
        let project = overrides.project.as_deref().unwrap_or("basalt");
        let legacy = |setting, value: &Option<String>, role| match present(value) {
            None => self.token(role, project),
            Some(key) => self.checked_token(setting, key, role),
        };
        let opaque = |setting, value: &Option<String>, prefix| match present(value) {
            None => Ok(api_keys::opaque(prefix, &derived(self.derivation, prefix), project)),
            Some(key) if key.starts_with(prefix) && key.len() >= prefix.len() + 22 => Ok(key.to_owned()),
            Some(_) => Err(KeyError::setting(
                setting,
                format!("must start with {prefix:?} and 22 random characters"),
            )),
        };
        let (publishable, secret) = (api_keys::PUBLISHABLE_PREFIX, api_keys::SECRET_PREFIX);
        Ok(ApiKeys {
            further: Arc::default(),
            anon: legacy("ANON_KEY", &overrides.anon_key, "anon")?,
            service_role: legacy("SERVICE_ROLE_KEY", &overrides.service_role_key, "service_role")?,
            publishable: opaque("SUPABASE_PUBLISHABLE_KEY", &overrides.publishable_key, publishable)?,
            secret: opaque("SUPABASE_SECRET_KEY", &overrides.secret_key, secret)?,
        })
    }

    fn token(&self, role: &str, project: &str) -> Result<String, KeyError> {
        let (issued, expires) = (self.issued_at, self.issued_at + API_KEY_LIFE);
        let claims =
            json!({ "iss": "supabase", "ref": project, "role": role, "iat": issued, "exp": expires });
        sign(self.shared, &claims)
    }

    fn checked_token(&self, setting: &'static str, key: &str, role: &str) -> Result<String, KeyError> {
        match self.verifier.verify(key) {
            Ok(verified) if verified.role() == Some(role) => Ok(key.to_owned()),
            Ok(_) => Err(KeyError::setting(setting, format!("is a token without role {role:?}"))),
            Err(error) => Err(KeyError::setting(
                setting,
                format!("is not a token that the server's keys verify: {error}"),
            )),
        }
    }
}
