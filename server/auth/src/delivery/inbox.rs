//! The mails that were kept in a folder instead of being sent, for people (a page) and for tests (a JSON API).
//!
//! They contain all users' sign-in links, so only this machine may read them: serve them on the loopback interface
//! only. In addition, requests that a proxy has forwarded are refused, and requests for another host name than this
//! machine's, which a web page can send by DNS rebinding.
//!
//! Source of the API's shapes: Mailpit's documentation (`/api/v1`), which the Supabase CLI runs in this place, so that
//! tests written against that find their mails here, too.

mod documents;

use std::path::{Path, PathBuf};

use gateway::RemoteRequest;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use mail_parser::MessageParser;
use poem::{Endpoint, Request, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::delivery::mail::{KEPT, files};

const PAGE: &str = include_str!("inbox/page/index.html");
const STYLE: &str = include_str!("inbox/page/inbox.css");
const SCRIPT: &str = include_str!("inbox/page/inbox.js");

/// What the page may load: its own files, and mails in a frame.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; \
                           img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// What a mail may do: look as it likes, open links, nothing else.
const MAIL_POLICY: &str = "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; \
                           style-src 'unsafe-inline'; img-src data: http: https:; font-src data: http: https:";

/// Largest body of a request in bytes.
const BODY_LIMIT: usize = 64 * 1024;

/// The mails in a folder.
pub(crate) struct Inbox {
    folder: PathBuf,
}

/// Which mails to delete; all without ids.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Deletion {
    #[serde(rename = "IDs")]
    ids: Vec<String>,
}

impl Inbox {
    /// Returns the mails in `folder`, which need not exist yet.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    async fn route(&self, request: &mut Request) -> std::io::Result<Response> {
        let path = request.uri().path().to_owned();
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let get = matches!(*request.method(), Method::GET | Method::HEAD);
        Ok(match parts.as_slice() {
            [""] if get => asset("text/html; charset=utf-8", PAGE, PAGE_POLICY),
            ["inbox.css"] if get => asset("text/css; charset=utf-8", STYLE, PAGE_POLICY),
            ["inbox.js"] if get => asset("text/javascript; charset=utf-8", SCRIPT, PAGE_POLICY),
            ["api", "v1", "messages" | "search"] if get => self.list(request).await?,
            ["api", "v1", "messages"] if *request.method() == Method::DELETE => self.delete(request).await?,
            ["api", "v1", "message", id] if get => {
                self.respond(id, |id, raw| json(&documents::message(id, raw))).await?
            }
            ["api", "v1", "message", id, "raw"] if get => {
                self.respond(id, |_, raw| text(raw.to_vec())).await?
            }
            ["view", file] if get => self.view(file).await?,
            _ => refusal(StatusCode::NOT_FOUND, "there is nothing at this path"),
        })
    }

    /// Returns the mails, newest first: all, or those that `query` finds.
    async fn list(&self, request: &Request) -> std::io::Result<Response> {
        let parameters = request.uri().query().unwrap_or_default();
        let parameter = |name: &str| {
            let mut all = form_urlencoded::parse(parameters.as_bytes());
            all.find(|(parameter, _)| parameter == name).map(|(_, value)| value.into_owned())
        };
        let number = |name: &str, default: usize| {
            parameter(name).and_then(|value| value.parse().ok()).unwrap_or(default)
        };
        let (start, limit) = (number("start", 0), number("limit", 50).min(KEPT));
        let query = parameter("query").unwrap_or_default();
        let names = files(&self.folder).await?;
        let (total, mut found) = (names.len(), Vec::new());
        for name in names {
            // A mail may make room for a new one while the list is read.
            let Ok(raw) = tokio::fs::read(self.folder.join(&name)).await else { continue };
            let summary = documents::summary(identifier(&name), &raw);
            if documents::matches(&summary, &query) {
                found.push(summary);
            }
        }
        let count = found.len();
        let page: Vec<Value> = found.into_iter().skip(start).take(limit).collect();
        Ok(json(&json!({
            "total": total, "unread": total, "count": page.len(), "messages_count": count,
            "messages_unread": count, "start": start, "tags": [], "messages": page,
        })))
    }

    async fn delete(&self, request: &mut Request) -> std::io::Result<Response> {
        let body = request.take_body().into_bytes_limit(BODY_LIMIT).await;
        let Ok(body) = body else {
            return Ok(refusal(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"));
        };
        let deletion = if body.is_empty() { Ok(Deletion::default()) } else { serde_json::from_slice(&body) };
        let Ok(Deletion { ids }) = deletion else {
            return Ok(refusal(
                StatusCode::BAD_REQUEST,
                r#"expected {"IDs": ["…"]}, or no body to delete all"#,
            ));
        };
        for name in files(&self.folder).await? {
            if (ids.is_empty() || ids.iter().any(|id| id == identifier(&name)))
                && let Err(error) = tokio::fs::remove_file(self.folder.join(&name)).await
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(error);
            }
        }
        Ok(text("ok".into()))
    }

    async fn view(&self, file: &str) -> std::io::Result<Response> {
        let (id, kind) = file.rsplit_once('.').unwrap_or((file, ""));
        match kind {
            "html" => self.respond(id, |_, raw| page(raw)).await,
            "txt" => self.respond(id, |_, raw| text(documents::plain(raw).into_bytes())).await,
            _ => Ok(refusal(StatusCode::NOT_FOUND, "expected <id>.html or <id>.txt")),
        }
    }

    /// Returns what `make` makes of the mail `id`, which may be `latest`.
    async fn respond(
        &self,
        id: &str,
        make: impl FnOnce(&str, &[u8]) -> Response,
    ) -> std::io::Result<Response> {
        // Only names of mails that are there are ever opened: an id is no path.
        let names = files(&self.folder).await?;
        let name = names.into_iter().find(|name| id == "latest" || identifier(name) == id);
        let Some(name) = name else { return Ok(refusal(StatusCode::NOT_FOUND, "there is no such mail")) };
        let raw = tokio::fs::read(self.folder.join(&name)).await?;
        Ok(make(identifier(&name), &raw))
    }
}

impl Endpoint for Inbox {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        if let Some(remote) = RemoteRequest::of(&request) {
            let reason = match remote {
                RemoteRequest::Proxied => {
                    "these mails hold sign-in links: they are for this machine alone, not for a proxy"
                }
                RemoteRequest::OtherHost => "open this page as http://127.0.0.1 or http://localhost",
            };
            return Ok(refusal(StatusCode::FORBIDDEN, reason));
        }
        Ok(self.route(&mut request).await.unwrap_or_else(|error| {
            tracing::error!(folder = %self.folder.display(), %error, "the kept mails cannot be read");
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "the kept mails cannot be read; see the server's log")
        }))
    }
}

fn identifier(name: &str) -> &str {
    Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name)
}

fn asset(kind: &'static str, content: &'static str, policy: &'static str) -> Response {
    response(StatusCode::OK, kind, content.as_bytes().to_vec(), policy)
}

fn json(document: &Value) -> Response {
    response(StatusCode::OK, "application/json", document.to_string().into_bytes(), PAGE_POLICY)
}

fn text(content: Vec<u8>) -> Response {
    response(StatusCode::OK, "text/plain; charset=utf-8", content, PAGE_POLICY)
}

/// Returns the HTML of a mail. Its links open beside it.
fn page(raw: &[u8]) -> Response {
    let message = MessageParser::default().parse(raw);
    let html = message.as_ref().and_then(|message| message.body_html(0)).unwrap_or_default();
    let html = html.replacen("<head>", "<head><base target=\"_blank\">", 1);
    response(StatusCode::OK, "text/html; charset=utf-8", html.into_bytes(), MAIL_POLICY)
}

fn refusal(status: StatusCode, reason: &str) -> Response {
    let body = json!({ "error": reason }).to_string().into_bytes();
    response(status, "application/json", body, PAGE_POLICY)
}

fn response(status: StatusCode, kind: &'static str, body: Vec<u8>, policy: &'static str) -> Response {
    let mut response = Response::builder().status(status).body(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests;
