//! A browser with a security key, in software: ES256, attestation `none` (WebAuthn Level 3, sections 5.8.1 and 6.1).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use p256::elliptic_curve::Generate;
use serde_cbor_2::Value as Cbor;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The flags of authenticator data.
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const ATTESTED: u8 = 1 << 6;

/// What a person holds in front of a browser. Its fields may be changed so that it misbehaves.
#[derive(Clone)]
pub(crate) struct Authenticator {
    pub(crate) key: SigningKey,
    pub(crate) id: Vec<u8>,
    pub(crate) origin: String,
    pub(crate) rp_id: String,
    pub(crate) aaguid: [u8; 16],
    /// How often it has signed; stays 0 if it does not count.
    pub(crate) count: u32,
    /// Whether its user has touched it, and whether it has recognized them.
    pub(crate) flags: u8,
    /// The user whom the credential was made for, once it was.
    pub(crate) user_handle: Vec<u8>,
}

impl Authenticator {
    /// Makes one for pages of `http://localhost:3000`.
    pub(crate) fn new() -> Self {
        Self {
            key: SigningKey::generate(),
            id: rand::random::<[u8; 16]>().into(),
            origin: "http://localhost:3000".to_owned(),
            rp_id: "localhost".to_owned(),
            aaguid: [0; 16],
            count: 0,
            flags: USER_PRESENT | USER_VERIFIED,
            user_handle: Vec::new(),
        }
    }

    /// Does what `navigator.credentials.create({ publicKey: options })` does.
    pub(crate) fn create(&mut self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.create", options);
        self.user_handle = BASE64URL.decode(options["user"]["id"].as_str().unwrap()).unwrap();
        let mut data = self.data(ATTESTED);
        data.extend(self.aaguid);
        data.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
        data.extend(&self.id);
        data.extend(self.cose_key());
        let object = Cbor::Map(
            [
                (Cbor::Text("fmt".into()), Cbor::Text("none".into())),
                (Cbor::Text("attStmt".into()), Cbor::Map([].into())),
                (Cbor::Text("authData".into()), Cbor::Bytes(data)),
            ]
            .into(),
        );
        let object = serde_cbor_2::to_vec(&object).unwrap();
        self.credential(json!({
            "clientDataJSON": BASE64URL.encode(client_data), "attestationObject": BASE64URL.encode(object),
            "transports": ["internal", "hybrid", "telepathy"]
        }))
    }

    /// Does what `navigator.credentials.get({ publicKey: options })` does.
    pub(crate) fn get(&mut self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.get", options);
        let data = self.data(0);
        let mut signed = data.clone();
        signed.extend(Sha256::digest(&client_data));
        let signature: Signature = self.key.sign(&signed);
        self.credential(json!({
            "clientDataJSON": BASE64URL.encode(client_data), "authenticatorData": BASE64URL.encode(data),
            "signature": BASE64URL.encode(signature.to_der().as_bytes()),
            "userHandle": BASE64URL.encode(&self.user_handle)
        }))
    }

    /// Does what [`get`](Self::get) does, as an authenticator that counts its signatures.
    pub(crate) fn get_counted(&mut self, options: &Value) -> Value {
        self.count += 1;
        self.get(options)
    }

    fn credential(&self, response: Value) -> Value {
        let id = BASE64URL.encode(&self.id);
        json!({
            "id": id, "rawId": id, "type": "public-key", "authenticatorAttachment": "platform",
            "clientExtensionResults": {}, "response": response
        })
    }

    fn client_data(&self, ceremony: &str, options: &Value) -> Vec<u8> {
        let data = json!({
            "type": ceremony, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false
        });
        data.to_string().into_bytes()
    }

    fn data(&self, more_flags: u8) -> Vec<u8> {
        let mut data = Sha256::digest(&self.rp_id).to_vec();
        data.push(self.flags | more_flags);
        data.extend(self.count.to_be_bytes());
        data
    }

    /// Returns the public key in COSE (RFC 9053, section 7.1).
    fn cose_key(&self) -> Vec<u8> {
        let point = self.key.verifying_key().to_sec1_point(false);
        let key = Cbor::Map(
            [
                (Cbor::Integer(1), Cbor::Integer(2)),
                (Cbor::Integer(3), Cbor::Integer(-7)),
                (Cbor::Integer(-1), Cbor::Integer(1)),
                (Cbor::Integer(-2), Cbor::Bytes(point.x().unwrap().to_vec())),
                (Cbor::Integer(-3), Cbor::Bytes(point.y().unwrap().to_vec())),
            ]
            .into(),
        );
        serde_cbor_2::to_vec(&key).unwrap()
    }
}

/// Returns settings of a project whose pages are at `http://localhost:3000`, with everything about security keys
/// switched on.
pub(crate) fn settings() -> auth::Settings {
    let mut settings =
        auth::Settings { site_url: "http://localhost:3000/app".to_owned(), ..auth::Settings::default() };
    settings.mfa.webauthn = auth::FactorSettings { enroll: true, verify: true };
    settings.passkeys.enabled = true;
    settings
}
