//! The metadata that this service publishes (SAML 2.0 Metadata), with which identity providers are configured.

use std::fmt::Write;

use time::{Duration, OffsetDateTime};

use super::assertion::name_id_format;
use super::key_pair::KeyPair;
use super::xml::{escape, ns};
use super::{ServiceProvider, moment};

/// The validity of fetched metadata.
const LIFE: Duration = Duration::days(2);
/// The validity of downloaded metadata, which is meant to be stored.
const DOWNLOAD_LIFE: Duration = Duration::days(5 * 365);

/// The algorithms that identity providers may encrypt assertions with.
const ENCRYPTION_METHODS: [&str; 7] = [
    "http://www.w3.org/2009/xmlenc11#aes128-gcm",
    "http://www.w3.org/2009/xmlenc11#aes192-gcm",
    "http://www.w3.org/2009/xmlenc11#aes256-gcm",
    "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
    "http://www.w3.org/2001/04/xmlenc#aes192-cbc",
    "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
    "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
];

impl ServiceProvider {
    /// Returns the document at `now`, to be fetched regularly or to be `downloaded`.
    pub fn metadata(&self, now: OffsetDateTime, downloaded: bool) -> String {
        let until = moment::format(now + LIFE);
        let entity_until = if downloaded { moment::format(now + DOWNLOAD_LIFE) } else { until.clone() };
        let mut keys = String::new();
        for pair in self.keys() {
            describe(&mut keys, pair, "signing", "");
            if self.allow_encrypted_assertions {
                describe(&mut keys, pair, "encryption", &encryption_methods());
            }
        }
        // Before the key is replaced, the metadata must not be cached for long.
        let cache = if self.next_key.is_some() { " cacheDuration=\"PT1H\"" } else { "" };
        format!(
            "<EntityDescriptor xmlns=\"{metadata}\" validUntil=\"{entity_until}\"{cache} entityID=\"{entity}\">\
             <SPSSODescriptor validUntil=\"{until}\" protocolSupportEnumeration=\"{protocol}\" \
             WantAssertionsSigned=\"true\">{keys}\
             <NameIDFormat>{email}</NameIDFormat><NameIDFormat>{persistent}</NameIDFormat>\
             <AssertionConsumerService Binding=\"{post}\" Location=\"{consumer}\" index=\"1\"/>\
             <AssertionConsumerService Binding=\"{artifact}\" Location=\"{consumer}\" index=\"2\"/>\
             </SPSSODescriptor></EntityDescriptor>",
            metadata = ns::METADATA,
            protocol = ns::PROTOCOL,
            entity = escape(&self.entity_id),
            email = name_id_format::EMAIL,
            persistent = name_id_format::PERSISTENT,
            post = super::request::HTTP_POST,
            artifact = super::artifact::HTTP_ARTIFACT,
            consumer = escape(&self.consumer_url),
        )
    }

    /// Returns how long caches may keep the document (RFC 9111).
    pub fn metadata_caching(&self) -> &'static str {
        if self.next_key.is_some() { "public, max-age=60" } else { "public, max-age=600" }
    }
}

fn describe(document: &mut String, pair: &KeyPair, usage: &str, methods: &str) {
    // Writing to text does not fail.
    let _ = write!(
        document,
        "<KeyDescriptor use=\"{usage}\"><KeyInfo xmlns=\"{}\"><X509Data><X509Certificate>{}</X509Certificate>\
         </X509Data></KeyInfo>{methods}</KeyDescriptor>",
        ns::DSIG,
        pair.certificate(),
    );
}

fn encryption_methods() -> String {
    let methods = ENCRYPTION_METHODS.iter();
    methods.map(|name| format!("<EncryptionMethod Algorithm=\"{name}\"/>")).collect()
}
