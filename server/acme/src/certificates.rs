//! What connections are encrypted with: the current certificate, or the answer to a challenge.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokens::now;

use crate::Certificate;
use crate::answer::{self, Answer};
use crate::storage::Issued;

/// The protocol that an ACME server speaks to see the answer to a challenge (RFC 8737, section 6.2).
pub const ACME_PROTOCOL: &[u8] = b"acme-tls/1";

/// The current certificate, and the answers to the challenges of orders that are under way.
#[derive(Debug, Default)]
pub struct Certificates {
    current: ArcSwapOption<Certificate>,
    answers: Mutex<Answers>,
    failure: Mutex<Option<Failure>>,
}

#[derive(Debug, Default)]
struct Answers {
    /// The certificates that answer TLS-ALPN-01, by the name that they are for.
    handshakes: HashMap<String, Arc<CertifiedKey>>,
    /// The texts that answer HTTP-01, by their tokens.
    texts: HashMap<String, String>,
}

/// Why there is no new certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// When the first of the failures in a row was, in seconds since 1970.
    pub since: i64,
    /// The reason of the last one.
    pub reason: String,
}

impl Certificates {
    /// Uses `certificate` for all connections from now on.
    pub fn replace(&self, certificate: Certificate) {
        self.current.store(Some(Arc::new(certificate)));
        self.succeed();
    }

    /// Returns since and until when the current certificate is valid, in seconds since 1970; `None` without one.
    pub fn validity(&self) -> Option<Range<i64>> {
        self.current.load().as_ref().map(|current| current.begin..current.end)
    }

    /// Returns how many seconds the current certificate is still valid, which is a negative number after its end;
    /// `None` without a certificate.
    pub fn seconds_left(&self) -> Option<i64> {
        self.validity().map(|validity| validity.end - now())
    }

    /// Returns why the last attempt to get or to read a certificate has failed; `None` if it has not.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.lock().clone()
    }

    /// Returns the text that answers the challenge of `token` over HTTP.
    pub fn answer_text(&self, token: &str) -> Option<String> {
        self.answers.lock().texts.get(token).cloned()
    }

    /// Uses `issued` for all connections from now on.
    pub(crate) fn use_issued(&self, issued: &Issued) -> Result<(), String> {
        let certificate = Certificate::from_pem(&issued.chain, &issued.key)
            .map_err(|reason| format!("the stored certificate cannot be used: {reason}"))?;
        self.replace(certificate);
        Ok(())
    }

    pub(crate) fn current(&self) -> Option<Arc<Certificate>> {
        self.current.load_full()
    }

    /// Records that an attempt has failed.
    pub(crate) fn fail(&self, reason: String) {
        let mut failure = self.failure.lock();
        let since = failure.as_ref().map_or_else(now, |failure| failure.since);
        *failure = Some(Failure { since, reason });
    }

    /// Forgets the failures.
    pub(crate) fn succeed(&self) {
        *self.failure.lock() = None;
    }

    /// Gives these answers, and no others.
    pub(crate) fn answer(&self, answers: &[Answer]) -> Result<(), String> {
        let mut new = Answers::default();
        for answer in answers {
            match answer {
                Answer::Text { token, text } => {
                    new.texts.insert(token.clone(), text.clone());
                }
                Answer::Handshake { domain, digest } => {
                    let key = answer::certificate(domain, digest)?;
                    new.handshakes.insert(domain.clone(), Arc::new(key));
                }
            }
        }
        *self.answers.lock() = new;
        Ok(())
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let is_challenge = hello.alpn().is_some_and(|mut offered| offered.any(|name| name == ACME_PROTOCOL));
        if is_challenge {
            let domain = hello.server_name()?.to_ascii_lowercase();
            return self.answers.lock().handshakes.get(&domain).cloned();
        }
        self.current.load().as_ref().map(|current| Arc::clone(&current.key))
    }
}
