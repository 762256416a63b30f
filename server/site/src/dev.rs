//! A proxy to Vite's dev server, for work on the client. Browsers reach its WebSocket for hot reload directly.

use std::time::Duration;

use poem::http::header::{ACCEPT, CONTENT_TYPE};
use poem::http::{Method, StatusCode};
use poem::{Body, Request, Response};

/// How long the dev server may take; at the first request it bundles dependencies.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A proxy to one dev server.
pub(crate) struct Proxy {
    base: String,
    client: reqwest::Client,
}

impl Proxy {
    /// Returns a proxy to the server at `base`.
    ///
    /// Errors: a sentence when the URL is invalid.
    pub(crate) fn new(base: &str) -> Result<Self, String> {
        let host = base.strip_prefix("http://").unwrap_or_default();
        if !gateway::is_host(host) {
            return Err(format!(
                "expected the URL of Vite's dev server such as http://127.0.0.1:5173, found {base:?}"
            ));
        }
        let client = reqwest::Client::builder()
            .timeout(TIME_LIMIT)
            .no_proxy()
            .build()
            .map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(Self { base: base.to_owned(), client })
    }

    /// Returns the dev server's response to `request`, with `inject` applied to pages.
    pub(crate) async fn forward(&self, request: &Request, inject: impl Fn(&str) -> String) -> Response {
        match self.fetch(request, inject).await {
            Ok(response) => response,
            Err(error) => {
                let message =
                    format!("Vite's dev server at {} does not answer ({error}). Is it running?", self.base);
                let response = Response::builder().status(StatusCode::BAD_GATEWAY).content_type("text/plain");
                response.body(message)
            }
        }
    }

    async fn fetch(
        &self,
        request: &Request,
        inject: impl Fn(&str) -> String,
    ) -> Result<Response, reqwest::Error> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let method = if request.method() == Method::HEAD { Method::HEAD } else { Method::GET };
        let mut outgoing = self.client.request(method, format!("{}{path}", self.base));
        if let Some(accept) = request.headers().get(ACCEPT) {
            outgoing = outgoing.header(ACCEPT, accept);
        }
        let incoming = outgoing.send().await?;
        let mut response = Response::builder().status(incoming.status());
        let content_type = incoming.headers().get(CONTENT_TYPE).cloned();
        let is_page = content_type.as_ref().is_some_and(|value| value.as_bytes().starts_with(b"text/html"));
        if let Some(content_type) = content_type {
            response = response.header(CONTENT_TYPE, content_type);
        }
        let body = incoming.bytes().await?;
        Ok(match is_page {
            true => response.body(inject(&String::from_utf8_lossy(&body))),
            false => response.body(Body::from_bytes(body)),
        })
    }
}
