//! `/mcp`: the Model Context Protocol over streamable HTTP, for agents. Without sessions: every request is complete.
//!
//! The tools, their arguments and answers are those of Supabase's own MCP server, which asks the Management API. So
//! does this one, inside of the process: what a tool may do is what the access token may do.
//!
//! Sources: the specification of MCP of 2025-11-25 and 2026-07-28; `@supabase/mcp-server-supabase` 0.13.

mod answers;
mod arguments;
mod documents;
mod handler;
mod logs;
mod messages;
mod requests;
mod scope;
mod tables;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use gateway::Bearer;
use http::header::{ACCEPT, ORIGIN, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use poem::{Endpoint, Request, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::access::Operator;
use crate::api::Context;
use crate::error;
use handler::Handler;
use scope::Scope;

/// The largest request in bytes: the files of a function are in one.
const LARGEST: usize = 16 << 20;
/// What a client has to accept: the transport demands both, even where only the first is sent.
const ACCEPTED: &str = "application/json, text/event-stream";
/// The endpoint.
pub(crate) struct Mcp {
    context: Arc<Context>,
    service: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Mcp {
    /// Returns the endpoint of the server of `context`.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        // Requests carry an access token, which no browser sends by itself: so the name of the host does not matter.
        // The page that sends one is checked here, before the token is.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(LARGEST)
            .disable_allowed_hosts();
        let handler = Handler::new(&context);
        let service = StreamableHttpService::new(
            move || Ok(handler.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Self { context, service }
    }
}

/// Returns the challenge to a client without a token that is valid (RFC 6750, section 3; RFC 9728, section 5.1). It
/// leads to the authorization server.
fn challenge(context: &Context, request: &Request) -> Option<HeaderValue> {
    let url = &context.settings.api_url;
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    // A client that has sent no token is told of no error (RFC 6750, section 3.1).
    let error = match Bearer::of(request.headers()) {
        Some(_) => {
            "error=\"invalid_token\", error_description=\"An access token of this server is needed\", "
        }
        None => "",
    };
    let challenge = format!(
        "Bearer {error}resource_metadata=\"{url}/.well-known/oauth-protected-resource{}{query}\"",
        crate::MCP
    );
    HeaderValue::from_str(&challenge).ok()
}

/// Reports whether a page with this `origin` is this server's own, at `url`, or one of this machine. Others may be
/// pages whose name has been made to lead here (MCP, "Transports", "Security Warning").
fn is_own(origin: &HeaderValue, url: &str) -> bool {
    let parsed = |text: &str| url::Url::parse(text).ok();
    let Some(page) = origin.to_str().ok().and_then(parsed) else { return false };
    let is_loopback = match page.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    is_loopback || parsed(url).is_some_and(|own| own.origin() == page.origin())
}

/// Reports whether `request` says that its body is JSON.
fn is_json(request: &Request) -> bool {
    let essence = request.content_type().and_then(|text| text.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

impl Endpoint for Mcp {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        if !self.context.is_open() {
            return Ok(error::response(StatusCode::NOT_FOUND, "Not found"));
        }
        if request.headers().get(ORIGIN).is_some_and(|origin| !is_own(origin, &self.context.settings.api_url))
        {
            return Ok(error::response(
                StatusCode::FORBIDDEN,
                "Pages of this origin may not use this server",
            ));
        }
        let inner = self.context.inner();
        let operator = match Operator::of(&request, &inner.store, &inner.failures).await {
            Ok(operator) => operator,
            Err(refusal) => {
                let mut response = refusal.into_response();
                if response.status() == StatusCode::UNAUTHORIZED {
                    let challenge = challenge(&self.context, &request);
                    response.headers_mut().extend(challenge.map(|challenge| (WWW_AUTHENTICATE, challenge)));
                }
                return Ok(response);
            }
        };
        let revoked = inner.revoked(operator.id());
        let scope = match Scope::of(request.uri().query().unwrap_or_default(), operator) {
            Ok(scope) => scope,
            Err(problem) => return Ok(error::response(StatusCode::BAD_REQUEST, &problem)),
        };
        if request.method() == Method::POST && is_json(&request) {
            let body = match request.take_body().into_bytes_limit(LARGEST).await {
                Ok(body) => body,
                Err(failure) => {
                    let response = error::response(StatusCode::PAYLOAD_TOO_LARGE, &failure.to_string());
                    return Ok(response);
                }
            };
            if let Some(refusal) = messages::refused(&body) {
                return Ok(refusal);
            }
            request.set_body(body);
        }
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        let mut request: http::Request<_> = request.into();
        request.extensions_mut().insert(scope);
        let response = tokio::select! {
            response = self.service.handle(request) => response,
            () = revoked => return Ok(error::Error::unauthorized().into_response()),
        };
        // The body has no errors, but the framework wants them to be of this type.
        Ok(response.map(|body| body.map_err(|never: Infallible| -> io::Error { match never {} })).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_server_and_of_this_machine_may_use_it() {
        let is_own =
            |origin: &str| is_own(&HeaderValue::from_str(origin).unwrap(), "https://shop.example.org/api");
        for own in
            ["https://shop.example.org", "http://localhost:6274", "http://127.0.0.1", "http://[::1]:80"]
        {
            assert!(is_own(own), "{own}");
        }
        for other in
            ["http://shop.example.org", "https://example.org", "http://localhost.example.org", "null", "x"]
        {
            assert!(!is_own(other), "{other}");
        }
    }
}
