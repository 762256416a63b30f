//! The port of HTTP beside that of HTTPS: it redirects to it, and answers challenges of an ACME server.

use std::sync::Arc;

use acme::Certificates;
use poem::http::header::{HOST, LOCATION};
use poem::http::uri::Authority;
use poem::http::{StatusCode, Uri};
use poem::{Endpoint, Request, Response};

/// Where an ACME server looks for answers (RFC 8555, section 8.3).
const CHALLENGES: &str = "/.well-known/acme-challenge/";

/// The routes of the port.
pub(super) struct Redirects {
    domains: Vec<String>,
    port: u16,
    certificates: Arc<Certificates>,
}

impl Redirects {
    /// Returns routes that redirect to the port of `settings`.
    pub(super) fn new(settings: &acme::Settings, certificates: Arc<Certificates>) -> Self {
        Self { domains: settings.domains.clone(), port: settings.port, certificates }
    }
}

impl Endpoint for Redirects {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        if let Some(token) = request.uri().path().strip_prefix(CHALLENGES) {
            return Ok(match self.certificates.answer_text(token) {
                Some(answer) => answer.into(),
                None => StatusCode::NOT_FOUND.into(),
            });
        }
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let target = target(&self.domains, self.port, host, request.uri());
        Ok(match target {
            Some(target) => {
                Response::builder().status(StatusCode::PERMANENT_REDIRECT).header(LOCATION, target).finish()
            }
            None => StatusCode::BAD_REQUEST.into(),
        })
    }
}

/// Returns the URL of HTTPS for a request to `host`. A host that is none of `domains` has no certificate: the first one
/// stands for it.
fn target(domains: &[String], port: u16, host: Option<&str>, uri: &Uri) -> Option<String> {
    let host = host.and_then(|host| host.parse::<Authority>().ok()).map(|host| host.host().to_lowercase());
    let known = host.as_ref().filter(|host| domains.is_empty() || domains.contains(host));
    let name = known.or(domains.first()).filter(|name| !name.is_empty())?;
    let path = uri.path_and_query().map(|path| path.as_str()).filter(|path| path.starts_with('/'));
    let path = path.unwrap_or("/");
    Some(match port {
        443 => format!("https://{name}{path}"),
        port => format!("https://{name}:{port}{path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_keep_the_path_and_lead_to_a_host_with_a_certificate() {
        let domains = ["a.example".to_owned(), "b.example".to_owned()];
        let of = |host, uri: &'static str| target(&domains, 443, Some(host), &Uri::from_static(uri)).unwrap();
        assert_eq!(of("B.example:80", "/x?y=1"), "https://b.example/x?y=1");
        assert_eq!(of("evil.example", "//x"), "https://a.example//x");
        assert_eq!(of("a.example", "*"), "https://a.example/");
        let own = |host| target(&[], 8443, host, &Uri::from_static("/"));
        assert_eq!(own(Some("c.example")).as_deref(), Some("https://c.example:8443/"));
        assert_eq!(own(None), None);
    }
}
