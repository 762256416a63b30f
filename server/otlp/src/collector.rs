//! The HTTP client towards the collector.

use std::io::Write as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use prost::Message;
use reqwest::Client;
use reqwest::redirect::Policy;
use url::Url;

use crate::settings::{Compression, Target};

/// How often it is logged at most that something could not be sent.
const COMPLAINT_PAUSE: Duration = Duration::from_secs(60);
/// Most bytes of an answer that are read.
const ANSWER_LIMIT: usize = 64 * 1024;

/// A collector, and how to speak to it.
#[derive(Debug)]
pub(crate) struct Collector {
    client: Client,
    url: Url,
    compression: Compression,
    complained: Mutex<Option<Instant>>,
}

impl Collector {
    /// Errors: a sentence when TLS cannot be set up.
    pub(crate) fn new(target: Target) -> Result<Self, String> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls::client_config()?)
            .timeout(target.timeout)
            .redirect(Policy::none())
            .default_headers(target.headers)
            .user_agent(concat!("OTel-OTLP-Exporter-Rust/basalt-", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(Self { client, url: target.url, compression: target.compression, complained: Mutex::new(None) })
    }

    /// Sends `message`, which tells of `count` `things`; returns whether the collector has taken it. It is not tried
    /// again, and of failures there is a line in the log once in a while.
    pub(crate) async fn send(&self, message: &impl Message, count: usize, things: &'static str) -> bool {
        let sent = self.post(message.encode_to_vec()).await;
        if let Err(reason) = &sent
            && self.may_complain()
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
                let body = zipped(&body).map_err(|error| error.to_string())?;
                request.header(CONTENT_ENCODING, HeaderValue::from_static("gzip")).body(body)
            }
        };
        let mut answer = request.send().await.map_err(described)?;
        if !answer.status().is_success() {
            return Err(format!("it answered {}", answer.status()));
        }
        // Read to its end, so that the connection can be used again.
        let mut read = 0;
        while read < ANSWER_LIMIT
            && let Some(chunk) = answer.chunk().await.map_err(described)?
        {
            read += chunk.len();
        }
        Ok(())
    }

    fn may_complain(&self) -> bool {
        let Ok(mut complained) = self.complained.lock() else { return false };
        let is_due = complained.is_none_or(|last| last.elapsed() >= COMPLAINT_PAUSE);
        if is_due {
            *complained = Some(Instant::now());
        }
        is_due
    }
}

fn zipped(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
    encoder.write_all(body)?;
    encoder.finish()
}

/// Returns the error with its causes, and without the URL.
fn described(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
