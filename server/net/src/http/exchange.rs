//! A request of the extension http, as libcurl sends it there.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use crate::request::{MAX_TIMEOUT, Sender, content_of};

/// How many redirections are followed.
const MAX_REDIRECTIONS: usize = 5;

/// Sends requests. Cheap to clone.
#[derive(Clone)]
pub(super) struct Client {
    sender: Sender,
}

/// A request as `http(request)` writes it.
struct Request<'a>(&'a Value);

impl<'a> Request<'a> {
    /// Returns the member `name` if it is a text.
    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    /// Returns the headers, with the type of the content.
    fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let named = self.0.get("headers").and_then(Value::as_array).into_iter().flatten();
        let named = named.filter_map(|pair| Some((pair.get(0)?.as_str()?, pair.get(1)?.as_str()?)));
        let content_type = self.text("content_type").map(|kind| (CONTENT_TYPE.as_str(), kind));
        for (name, value) in named.chain(content_type) {
            let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) else {
                return Err(format!("not a header: {name}"));
            };
            headers.append(name, value);
        }
        Ok(headers)
    }

    /// Returns a client for this request alone: as there, no connection is kept.
    fn client(&self) -> Result<reqwest::Client, String> {
        let is_head = self.text("method") == Some("HEAD");
        let redirections = if is_head { Policy::none() } else { Policy::limited(MAX_REDIRECTIONS) };
        let agent = self.text("user_agent").unwrap_or(concat!("basalt-http/", env!("CARGO_PKG_VERSION")));
        let builder = tls::client_builder()?.redirect(redirections).user_agent(agent);
        // For libcurl, 0 is its own default, which is longer than any request may take.
        let limit = self.0.get("connect_timeout_seconds").and_then(Value::as_u64).filter(|limit| *limit > 0);
        let builder = match limit {
            Some(seconds) => builder.connect_timeout(Duration::from_secs(seconds)),
            None => builder,
        };
        builder.build().map_err(|error| format!("no HTTP client: {error}"))
    }
}

impl Client {
    /// Returns a client of the server at `api`.
    ///
    /// Errors: a sentence when TLS cannot be set up, or `api` is not a URL.
    pub(super) fn new(api: &str) -> Result<Self, String> {
        Ok(Self { sender: Sender::new(api)? })
    }

    /// Returns the response to `request` as `http(request)` reads it, within the time limit.
    pub(super) async fn response(&self, request: &Value, timeout_milliseconds: i32) -> Value {
        let milliseconds = u64::try_from(timeout_milliseconds).unwrap_or(1);
        let limit = Duration::from_millis(milliseconds).min(MAX_TIMEOUT);
        let exchanged = tokio::time::timeout(limit, self.exchange(request)).await;
        let timed_out = |_| Err(format!("Operation timed out after {} milliseconds", limit.as_millis()));
        exchanged.unwrap_or_else(timed_out).unwrap_or_else(|error| json!({ "error": error }))
    }

    /// Sends `request` and reads the response, without a time limit.
    async fn exchange(&self, request: &Value) -> Result<Value, String> {
        let request = Request(request);
        let method = request.text("method").unwrap_or_default();
        let method: Method = method.parse().map_err(|_| format!("no HTTP method: {method}"))?;
        let url = self.sender.reachable(request.text("url").unwrap_or_default()).await?;
        let mut sent = request.client()?.request(method, url).headers(request.headers()?);
        if let Some(content) = request.text("content") {
            sent = sent.body(content.to_owned());
        }
        let mut response = sent.send().await.map_err(tls::describe)?;
        let content = content_of(&mut response).await?;
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).replace('\0', "");
        let content_type = response.headers().get(CONTENT_TYPE).map(text);
        let headers = response.headers().iter().map(|(name, value)| json!([name.as_str(), text(value)]));
        Ok(json!({
            "status": response.status().as_u16(),
            "headers": headers.collect::<Vec<_>>(),
            "content": decoded(&content, content_type.as_deref())?,
            "content_type": content_type,
        }))
    }
}

/// Returns `content` in the encoding that `content_type` names: UTF-8, which is the default, or Latin-1.
fn decoded(content: &[u8], content_type: Option<&str>) -> Result<String, String> {
    let charset = content_type.and_then(|kind| kind.split(';').find_map(charset)).unwrap_or("utf-8");
    let text = match charset.to_ascii_lowercase().as_str() {
        "iso-8859-1" | "latin1" => Some(content.iter().copied().map(char::from).collect()),
        "utf-8" | "utf8" | "us-ascii" => std::str::from_utf8(content).ok().map(str::to_owned),
        _ => None,
    };
    let text = text.filter(|text: &String| !text.contains('\0'));
    text.ok_or_else(|| format!("the content of the answer is not text in UTF-8 or Latin-1 ({charset})"))
}

/// Returns the value of the parameter `charset` of a content type.
fn charset(parameter: &str) -> Option<&str> {
    let (name, value) = parameter.split_once('=')?;
    name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_decoded_as_their_type_says() {
        for (content, kind, expected) in [
            (&b"\xc3\xa9"[..], None, Some("é")),
            (b"\xe9", Some("text/plain; charset=ISO-8859-1"), Some("é")),
            (b"\xe9", Some("text/plain; Charset=\"latin1\""), Some("é")),
            (b"\xe9", Some("text/plain; charset=unknown"), None),
            (b"\xe9", Some("image/png"), None),
            (b"a\0", None, None),
        ] {
            assert_eq!(decoded(content, kind).ok().as_deref(), expected, "{kind:?}");
        }
    }
}
