//! An identity provider that these tests are: it signs, or encrypts, whatever it is told to say.

use std::io::Read;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra::core::algorithm;
use bergshamra::crypto::{cipher, keytransport};
use bergshamra::keys::loader;
use bergshamra::{DsigContext, Key, KeysManager};
use flate2::read::DeflateDecoder;
use rcgen::{CertificateParams, KeyPair};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};
use url::Url;

use crate::sign_in_at::query;

pub(crate) const ENTITY: &str = "https://idp.example/metadata";
pub(crate) const EXTERNAL: &str = "https://project.example/auth/v1";
pub(crate) const CONSUMER: &str = "https://project.example/auth/v1/sso/saml/acs";
pub(crate) const AUDIENCE: &str = "https://project.example/auth/v1/sso/saml/metadata";

const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
pub(crate) const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const NAMESPACES: &str = "xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" \
    xmlns:samlp=\"urn:oasis:names:tc:SAML:2.0:protocol\"";

/// A key that an identity provider signs with, and its certificate.
pub(crate) struct Signer {
    key: Key,
    certificate: String,
}

fn signer(pem: &str, params: impl FnOnce(&mut CertificateParams)) -> Signer {
    let mut certificate = CertificateParams::new(vec!["idp.example".to_owned()]).unwrap();
    params(&mut certificate);
    let pair = KeyPair::from_pem(pem).unwrap();
    let certificate = certificate.self_signed(&pair).unwrap();
    Signer {
        key: loader::load_rsa_private_pem(pem.as_bytes()).unwrap(),
        certificate: STANDARD.encode(certificate.der()),
    }
}

/// The provider's key.
pub(crate) static OWN: LazyLock<Signer> = LazyLock::new(|| signer(include_str!("keys/first.pem"), |_| {}));
/// Somebody else's.
pub(crate) static OTHER: LazyLock<Signer> = LazyLock::new(|| signer(include_str!("keys/second.pem"), |_| {}));
/// The provider's key, with a certificate that has expired.
pub(crate) static EXPIRED: LazyLock<Signer> = LazyLock::new(|| {
    signer(include_str!("keys/first.pem"), |params| params.not_after = rcgen::date_time_ymd(2020, 1, 1))
});

/// Returns the metadata of an identity provider that signs with all of `signers`.
pub(crate) fn metadata(entity: &str, signers: &[&Signer]) -> String {
    let keys = signers.iter().map(|signer| {
        format!(
            "<KeyDescriptor use=\"signing\"><KeyInfo xmlns=\"http://www.w3.org/2000/09/xmldsig#\"><X509Data>\
             <X509Certificate>{}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>",
            signer.certificate
        )
    });
    format!(
        "<EntityDescriptor xmlns=\"urn:oasis:names:tc:SAML:2.0:metadata\" entityID=\"{entity}\"><IDPSSODescriptor \
         protocolSupportEnumeration=\"urn:oasis:names:tc:SAML:2.0:protocol\">{}<SingleSignOnService \
         Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect\" Location=\"https://idp.example/sso?tenant=7\"/>\
         </IDPSSODescriptor></EntityDescriptor>",
        keys.collect::<String>()
    )
}

/// What is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signed {
    Nothing,
    Response,
    Assertion,
    Both,
}

/// A response of the identity provider, with the values that tests change.
#[derive(Clone)]
pub(crate) struct SamlResponse {
    pub(crate) id: String,
    pub(crate) issuer: String,
    pub(crate) assertion_issuer: String,
    pub(crate) destination: String,
    pub(crate) recipient: String,
    pub(crate) audience: String,
    /// Empty for none.
    pub(crate) in_response_to: String,
    pub(crate) status: String,
    pub(crate) issued: OffsetDateTime,
    pub(crate) not_before: OffsetDateTime,
    pub(crate) not_after: OffsetDateTime,
    pub(crate) confirmed_until: OffsetDateTime,
    pub(crate) name_format: String,
    pub(crate) name: String,
    pub(crate) attributes: Vec<(&'static str, Vec<&'static str>)>,
    /// `SessionNotOnOrAfter`.
    pub(crate) session_end: Option<&'static str>,
    pub(crate) signature_method: &'static str,
    pub(crate) digest_method: &'static str,
}

fn instant(moment: OffsetDateTime) -> String {
    moment.replace_nanosecond(0).unwrap().format(&Rfc3339).unwrap()
}

impl SamlResponse {
    /// Returns a valid response to `request`, or an unsolicited one if that is empty.
    pub(crate) fn to(request: &str) -> Self {
        let now = OffsetDateTime::now_utc();
        Self {
            id: format!("_{}", uuid::Uuid::new_v4().simple()),
            issuer: ENTITY.to_owned(),
            assertion_issuer: ENTITY.to_owned(),
            destination: CONSUMER.to_owned(),
            recipient: CONSUMER.to_owned(),
            audience: AUDIENCE.to_owned(),
            in_response_to: request.to_owned(),
            status: SUCCESS.to_owned(),
            issued: now,
            not_before: now - Duration::minutes(1),
            not_after: now + Duration::minutes(5),
            confirmed_until: now + Duration::minutes(5),
            name_format: PERSISTENT.to_owned(),
            name: "user-1".to_owned(),
            attributes: vec![("mail", vec!["Ada@Example.com"])],
            session_end: None,
            signature_method: algorithm::RSA_SHA256,
            digest_method: algorithm::SHA256,
        }
    }

    fn in_response_to(&self) -> String {
        match self.in_response_to.as_str() {
            "" => String::new(),
            request => format!("InResponseTo=\"{request}\""),
        }
    }

    /// Returns a signature of the element `id` that is yet to be made.
    fn signature(&self, id: &str) -> String {
        format!(
            "<ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:SignedInfo>\
             <ds:CanonicalizationMethod Algorithm=\"{canonical}\"/><ds:SignatureMethod Algorithm=\"{method}\"/>\
             <ds:Reference URI=\"#{id}\"><ds:Transforms><ds:Transform Algorithm=\"{enveloped}\"/>\
             <ds:Transform Algorithm=\"{canonical}\"/></ds:Transforms><ds:DigestMethod Algorithm=\"{digest}\"/>\
             <ds:DigestValue></ds:DigestValue></ds:Reference></ds:SignedInfo><ds:SignatureValue></ds:SignatureValue>\
             </ds:Signature>",
            canonical = algorithm::EXC_C14N,
            enveloped = algorithm::ENVELOPED_SIGNATURE,
            method = self.signature_method,
            digest = self.digest_method,
        )
    }

    /// Returns the assertion, signed by `signer` if there is one.
    pub(crate) fn assertion(&self, signer: Option<&Signer>) -> String {
        let attributes = self.attributes.iter().map(|(name, values)| {
            let values =
                values.iter().map(|value| format!("<saml:AttributeValue>{value}</saml:AttributeValue>"));
            format!("<saml:Attribute Name=\"{name}\">{}</saml:Attribute>", values.collect::<String>())
        });
        let end = self.session_end.map(|end| format!("SessionNotOnOrAfter=\"{end}\"")).unwrap_or_default();
        let text = format!(
            "<saml:Assertion {NAMESPACES} ID=\"{id}\" Version=\"2.0\" IssueInstant=\"{issued}\"><saml:Issuer>{issuer}\
             </saml:Issuer>{signature}<saml:Subject><saml:NameID Format=\"{format}\">{name}</saml:NameID>\
             <saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:bearer\"><saml:SubjectConfirmationData \
             NotOnOrAfter=\"{confirmed}\" Recipient=\"{recipient}\" {response}/></saml:SubjectConfirmation></saml:Subject>\
             <saml:Conditions NotBefore=\"{begin}\" NotOnOrAfter=\"{after}\"><saml:AudienceRestriction><saml:Audience>\
             {audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement \
             AuthnInstant=\"{issued}\" {end}/><saml:AttributeStatement>{attributes}</saml:AttributeStatement>\
             </saml:Assertion>",
            id = self.id,
            issued = instant(self.issued),
            issuer = self.assertion_issuer,
            signature = signer.map(|_| self.signature(&self.id)).unwrap_or_default(),
            format = self.name_format,
            name = self.name,
            confirmed = instant(self.confirmed_until),
            recipient = self.recipient,
            response = self.in_response_to(),
            begin = instant(self.not_before),
            after = instant(self.not_after),
            audience = self.audience,
            attributes = attributes.collect::<String>(),
        );
        signer.map_or(text.clone(), |signer| sign(&text, signer))
    }

    /// Returns a response around `content`, signed by `signer` if there is one.
    pub(crate) fn response(&self, content: &str, signer: Option<&Signer>) -> String {
        let id = format!("{}-response", self.id);
        let text = format!(
            "<samlp:Response {NAMESPACES} ID=\"{id}\" Version=\"2.0\" IssueInstant=\"{issued}\" \
             Destination=\"{destination}\" {response}><saml:Issuer>{issuer}</saml:Issuer>{signature}<samlp:Status>\
             <samlp:StatusCode Value=\"{status}\"/></samlp:Status>{content}</samlp:Response>",
            issued = instant(self.issued),
            destination = self.destination,
            response = self.in_response_to(),
            issuer = self.issuer,
            signature = signer.map(|_| self.signature(&id)).unwrap_or_default(),
            status = self.status,
        );
        signer.map_or(text.clone(), |signer| sign(&text, signer))
    }

    /// Returns a server's response to message `resolve`, with `response` in it.
    pub(crate) fn resolved(&self, response: &str, resolve: &str) -> String {
        format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><samlp:ArtifactResponse \
             {NAMESPACES} ID=\"{id}-answer\" Version=\"2.0\" IssueInstant=\"{issued}\" InResponseTo=\"{resolve}\">\
             <saml:Issuer>{issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value=\"{SUCCESS}\"/></samlp:Status>\
             {response}</samlp:ArtifactResponse></s:Body></s:Envelope>",
            id = self.id,
            issued = instant(self.issued),
            issuer = self.issuer,
        )
    }

    /// Returns the whole of it, signed by the provider.
    pub(crate) fn signed(&self, what: Signed) -> String {
        self.signed_by(what, &OWN)
    }

    pub(crate) fn signed_by(&self, what: Signed, signer: &Signer) -> String {
        let inner = matches!(what, Signed::Assertion | Signed::Both).then_some(signer);
        let outer = matches!(what, Signed::Response | Signed::Both).then_some(signer);
        self.response(&self.assertion(inner), outer)
    }
}

/// Makes the first signature in `template`.
pub(crate) fn sign(template: &str, signer: &Signer) -> String {
    let mut keys = KeysManager::new();
    keys.add_key(signer.key.clone());
    bergshamra::sign(&DsigContext::new(keys), template).unwrap()
}

/// How an assertion is encrypted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encryption {
    pub(crate) cipher: &'static str,
    pub(crate) transport: &'static str,
    /// Whether the key is beside the data, rather than within.
    pub(crate) key_beside: bool,
}

pub(crate) const USUAL: Encryption =
    Encryption { cipher: algorithm::AES256_GCM, transport: algorithm::RSA_OAEP, key_beside: false };

/// Encrypts `assertion` for the owner of `certificate` (DER in base64).
pub(crate) fn encrypt(assertion: &str, certificate: &str, how: Encryption) -> String {
    let key = loader::load_x509_cert_der(&STANDARD.decode(certificate).unwrap()).unwrap();
    let cipher = cipher::from_uri(how.cipher).unwrap();
    let session_key = vec![7; cipher.key_size()];
    let transport = keytransport::from_uri(how.transport).unwrap();
    let wrapped = transport.encrypt(&key.software_key().unwrap().unwrap(), &session_key).unwrap();
    let data = cipher.encrypt(&session_key, assertion.as_bytes()).unwrap();
    let value = |bytes: &[u8]| {
        format!(
            "<xenc:CipherData><xenc:CipherValue>{}</xenc:CipherValue></xenc:CipherData>",
            STANDARD.encode(bytes)
        )
    };
    let encrypted_key = format!(
        "<xenc:EncryptedKey><xenc:EncryptionMethod Algorithm=\"{}\"/>{}</xenc:EncryptedKey>",
        how.transport,
        value(&wrapped)
    );
    let (within, beside) =
        if how.key_beside { ("", encrypted_key.as_str()) } else { (encrypted_key.as_str(), "") };
    format!(
        "<saml:EncryptedAssertion {NAMESPACES} xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\"><xenc:EncryptedData \
         Type=\"http://www.w3.org/2001/04/xmlenc#Element\"><xenc:EncryptionMethod Algorithm=\"{}\"/>\
         <ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\">{within}</ds:KeyInfo>{}</xenc:EncryptedData>\
         {beside}</saml:EncryptedAssertion>",
        how.cipher,
        value(&data)
    )
}

/// A request with which a user is redirected to the provider.
pub(crate) struct SamlRequest {
    pub(crate) id: String,
    pub(crate) relay_state: String,
    /// The document.
    pub(crate) xml: String,
}

/// Parses the request in `url`.
pub(crate) fn read(url: &Url) -> SamlRequest {
    let mut members = query(url);
    let deflated = STANDARD.decode(&members["SAMLRequest"]).unwrap();
    let mut xml = String::new();
    DeflateDecoder::new(deflated.as_slice()).read_to_string(&mut xml).unwrap();
    let (_, rest) = xml.split_once(" ID=\"").unwrap();
    let id = rest.split('"').next().unwrap().to_owned();
    SamlRequest { id, relay_state: members.remove("RelayState").unwrap(), xml }
}

/// Returns whether the signature at the end of `url` is one of the rest of it by `certificate` (DER in base64).
pub(crate) fn is_signed(url: &Url, certificate: &str) -> bool {
    let (all, signature) = url.query().unwrap().rsplit_once("&Signature=").unwrap();
    let (_, signed) = all.split_once("SAMLRequest=").unwrap();
    let signed = format!("SAMLRequest={signed}");
    let signature =
        url::form_urlencoded::parse(format!("s={signature}").as_bytes()).next().unwrap().1.into_owned();
    let key = loader::load_x509_cert_der(&STANDARD.decode(certificate).unwrap()).unwrap();
    let method = bergshamra::crypto::sign::from_uri(&query(url)["SigAlg"]).unwrap();
    let signature = STANDARD.decode(signature).unwrap();
    method.verify(&key.software_key().unwrap().unwrap(), signed.as_bytes(), &signature).unwrap()
}
