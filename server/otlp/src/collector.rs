//! The HTTP client for the collector.

use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use parking_lot::Mutex;
use prost::Message;
use reqwest::Client;
use reqwest::redirect::Policy;
use url::Url;

use crate::settings::{Compression, Target};

/// The minimum pause between two warnings of failures.
const WARNING_PAUSE: Duration = Duration::from_secs(60);
/// The maximum number of bytes that are read of a response.
const RESPONSE_LIMIT: usize = 64 * 1024;

/// A collector and its client.
#[derive(Debug)]
pub(crate) struct Collector {
    client: Client,
    url: Url,
    compression: Compression,
    last_warning: Mutex<Option<Instant>>,
}

impl Collector {
    /// Returns the collector at `target`.
    ///
    /// Errors: a sentence when TLS cannot be set up.
    pub(crate) fn new(target: Target) -> Result<Self, String> {
        let client = tls::client_builder()?
            .timeout(target.timeout)
            .redirect(Policy::none())
            .default_headers(target.headers)
            .user_agent(concat!("OTel-OTLP-Exporter-Rust/basalt-", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(Self { client, url: target.url, compression: target.compression, last_warning: Mutex::new(None) })
    }

    /// Sends `message`, which has `count` `things`; reports whether the collector has accepted it. A failed message is
    /// not sent again; a warning is logged, but not for every failure.
    pub(crate) async fn send(&self, message: &impl Message, count: usize, things: &'static str) -> bool {
        let sent = self.post(message.encode_to_vec()).await;
        if let Err(reason) = &sent
            && self.may_warn()
        {
            // Without path and query string, which may hold a key.
            let collector = self.url.origin().ascii_serialization();
            tracing::warn!(collector, reason, "the collector did not take {count} {things}, which are lost");
        }
        sent.is_ok()
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), String> {
        let mut request = self.client.post(self.url.clone());
        request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        request = match self.compression {
            Compression::None => request.body(body),
            Compression::Gzip => {
                let body = gzip(&body).map_err(|error| error.to_string())?;
                request.header(CONTENT_ENCODING, HeaderValue::from_static("gzip")).body(body)
            }
        };
        let mut response = request.send().await.map_err(tls::describe)?;
        if !response.status().is_success() {
            return Err(format!("it answered {}", response.status()));
        }
        // The response is read to its end, so that the connection can be reused.
        let mut read = 0;
        while read < RESPONSE_LIMIT
            && let Some(chunk) = response.chunk().await.map_err(tls::describe)?
        {
            read += chunk.len();
        }
        Ok(())
    }

    /// Reports whether a warning may be logged now.
    fn may_warn(&self) -> bool {
        let mut last_warning = self.last_warning.lock();
        let is_due = last_warning.is_none_or(|last| last.elapsed() >= WARNING_PAUSE);
        if is_due {
            *last_warning = Some(Instant::now());
        }
        is_due
    }
}

/// Compresses `body` with gzip.
fn gzip(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
    encoder.write_all(body)?;
    encoder.finish()
}
