//! A request over HTTP.

use std::time::Duration;

use bytes::BytesMut;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use serde_json::{Map, Value};
use tokio::net::lookup_host;

/// The maximum time limit of a request.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(300);

/// The maximum number of bytes of a response.
const CONTENT_LIMIT: usize = 10 << 20;

/// A queued request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: i64,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Value,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) timeout_milliseconds: i32,
}

/// The outcome of a request: a response or an error.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) content_type: Option<String>,
    pub(crate) headers: Option<Value>,
    pub(crate) content: Option<String>,
    pub(crate) timed_out: Option<bool>,
    pub(crate) error: Option<String>,
}

/// Hosts of the gateway for the Supabase CLI's containers, on [`GATEWAY_PORT`]; seeds and webhooks name them.
const GATEWAY_HOSTS: [&str; 2] = ["kong", "api.supabase.internal"];
const GATEWAY_PORT: u16 = 8000;

/// What the gateway's container is called before the project's id, on the same port.
const GATEWAY_CONTAINER: &str = "supabase_kong_";

/// The host name by which containers reach their machine.
const CONTAINERS_HOST: &str = "host.docker.internal";

/// An HTTP client that trusts the machine's certificate authorities. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Sender {
    client: Client,
    /// The URL of this server.
    api: Url,
}

impl Sender {
    /// Returns a sender for the server at `api`.
    ///
    /// Errors: a sentence when TLS cannot be set up, or `api` is not a URL.
    pub(crate) fn new(api: &str) -> Result<Self, String> {
        let api = Url::parse(api).map_err(|error| format!("{api}: {error}"))?;
        let client =
            tls::client_builder()?.user_agent(concat!("basalt-pg_net/", env!("CARGO_PKG_VERSION"))).build();
        let client = client.map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(Self { client, api })
    }

    /// Sends `request` and waits for the whole response, within its time limit.
    pub(crate) async fn send(&self, request: &Request) -> Outcome {
        let milliseconds = u64::try_from(request.timeout_milliseconds).unwrap_or(1);
        let limit = Duration::from_millis(milliseconds).min(MAX_TIMEOUT);
        match tokio::time::timeout(limit, self.exchange(request)).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => Outcome { timed_out: Some(false), error: Some(error), ..Outcome::default() },
            Err(_) => Outcome {
                timed_out: Some(true),
                error: Some(format!("Timeout of {} ms reached", limit.as_millis())),
                ..Outcome::default()
            },
        }
    }

    /// Returns `url` with the address of this server or machine in place of a host that only the CLI's containers can
    /// resolve.
    pub(crate) async fn reachable(&self, url: &str) -> Result<Url, String> {
        let mut url = Url::parse(url).map_err(|error| format!("not a URL: {error}"))?;
        let host = url.host_str().unwrap_or_default();
        let is_gateway = GATEWAY_HOSTS.contains(&host) || host.starts_with(GATEWAY_CONTAINER);
        let port = if is_gateway && url.port() == Some(GATEWAY_PORT) {
            self.api.port()
        } else if host == CONTAINERS_HOST && lookup_host((CONTAINERS_HOST, 0)).await.is_err() {
            url.port()
        } else {
            return Ok(url);
        };
        let is_set = url.set_host(self.api.host_str()).is_ok() && url.set_port(port).is_ok();
        if is_set { Ok(url) } else { Err("not a URL of HTTP".to_owned()) }
    }

    /// Sends `request` and reads the response, without a time limit.
    async fn exchange(&self, request: &Request) -> Result<Outcome, String> {
        let method = request.method.to_ascii_uppercase().parse();
        let method: reqwest::Method = method.map_err(|_| format!("no HTTP method: {}", request.method))?;
        let url = self.reachable(&request.url).await?;
        let mut sent = self.client.request(method, url).headers(headers(&request.headers)?);
        if let Some(body) = &request.body {
            sent = sent.body(body.clone());
        }
        let mut response = sent.send().await.map_err(tls::describe)?;
        let content = content_of(&mut response).await?;
        let text = |value: &HeaderValue| clean(&String::from_utf8_lossy(value.as_bytes()));
        let named =
            response.headers().iter().map(|(name, value)| (name.to_string(), Value::String(text(value))));
        Ok(Outcome {
            status: Some(i32::from(response.status().as_u16())),
            content_type: response.headers().get(CONTENT_TYPE).map(text),
            headers: Some(Value::Object(named.collect::<Map<_, _>>())),
            content: Some(clean(&String::from_utf8_lossy(&content))),
            timed_out: Some(false),
            error: None,
        })
    }
}

/// Reads the content of `response`, which has a maximum length.
pub(crate) async fn content_of(response: &mut Response) -> Result<BytesMut, String> {
    let mut content = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(tls::describe)? {
        if content.len() + chunk.len() > CONTENT_LIMIT {
            return Err(format!("the answer is longer than {CONTENT_LIMIT} bytes"));
        }
        content.extend_from_slice(&chunk);
    }
    Ok(content)
}

/// Removes null characters, which Postgres' text cannot hold.
fn clean(text: &str) -> String {
    text.replace('\0', "")
}

fn headers(named: &Value) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in named.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let (Ok(header), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(&text)) else {
            return Err(format!("not a header: {name}"));
        };
        headers.insert(header, value);
    }
    Ok(headers)
}
