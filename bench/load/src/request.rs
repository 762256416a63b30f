//! The requests: read from a file, chosen by weight, written as HTTP/1.1.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use rand::RngExt as _;
use serde::Deserialize;

use crate::template::{Source, Template};

/// A request in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    #[serde(default = "get")]
    method: String,
    /// Path and query, below the base URL's path. May contain placeholders.
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// May contain placeholders.
    body: Option<String>,
    /// The status that the response must have; any of 2xx if absent.
    status: Option<u16>,
    /// How often this request is chosen, relative to the others.
    #[serde(default = "once")]
    weight: u32,
}

fn get() -> String {
    "GET".to_owned()
}

const fn once() -> u32 {
    1
}

/// A request, ready to be written.
#[derive(Debug)]
pub(crate) struct Request {
    /// Request line and headers, up to the position of `Content-Length`.
    head: Template,
    body: Option<Template>,
    status: Option<u16>,
    /// Whether the method is HEAD, whose responses have no body.
    pub(crate) is_head: bool,
}

impl Request {
    /// Reports whether `status` is an expected one.
    pub(crate) fn expects(&self, status: u16) -> bool {
        self.status.map_or((200..300).contains(&status), |expected| expected == status)
    }

    /// Writes the request's bytes into `out`; `scratch` is a buffer for the body.
    pub(crate) fn render(&self, source: &mut Source<'_>, out: &mut Vec<u8>, scratch: &mut Vec<u8>) {
        out.clear();
        self.head.render(source, out);
        if let Some(body) = &self.body {
            scratch.clear();
            body.render(source, scratch);
            // Writing to a vector cannot fail.
            let _ = write!(out, "Content-Length: {}\r\n", scratch.len());
            out.extend_from_slice(b"\r\n");
            out.append(scratch);
        } else {
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// All requests of a file.
#[derive(Debug)]
pub(crate) struct Requests {
    /// Each with the sum of the weights up to and including its own.
    requests: Vec<(u32, Request)>,
}

impl Requests {
    /// Parses a JSON array of requests to `base`.
    ///
    /// Errors: if the JSON is invalid or contains no request.
    pub(crate) fn parse(json: &str, base: &Base) -> io::Result<Self> {
        let definitions: Vec<Definition> = serde_json::from_str(json)?;
        let mut total = 0;
        let requests = definitions.into_iter().filter(|definition| definition.weight > 0).map(|definition| {
            total += definition.weight;
            (total, Request::new(&definition, base))
        });
        let requests: Vec<_> = requests.collect();
        if requests.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "expected at least one request, found none",
            ));
        }
        Ok(Self { requests })
    }

    /// Returns a random request. The probability of each is proportional to its weight.
    pub(crate) fn choose(&self, source: &mut Source<'_>) -> &Request {
        let total = self.requests.last().map_or(1, |(sum, _)| *sum);
        let ticket = if self.requests.len() == 1 { 0 } else { source.random.random_range(0..total) };
        let index = self.requests.partition_point(|(sum, _)| *sum <= ticket);
        &self.requests[index].1
    }
}

impl Request {
    fn new(definition: &Definition, base: &Base) -> Self {
        let Definition { method, path, headers, body, status, .. } = definition;
        let mut head = format!("{method} {}{path} HTTP/1.1\r\nHost: {}\r\n", base.path, base.authority);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Self {
            head: Template::new(&head),
            body: body.as_deref().map(Template::new),
            status: *status,
            is_head: method == "HEAD",
        }
    }
}

/// The URL that precedes the paths of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base {
    /// `host:port`.
    pub(crate) authority: String,
    /// The beginning of every path, without a slash at its end.
    path: String,
}

impl std::str::FromStr for Base {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let rest =
            url.strip_prefix("http://").ok_or_else(|| format!("expected http://host:port, found {url}"))?;
        let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        if !authority.contains(':') {
            return Err(format!("expected a port after the host, found {url}"));
        }
        Ok(Self { authority: authority.to_owned(), path: path.trim_end_matches('/').to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rand::SeedableRng as _;
    use rand::rngs::SmallRng;

    use super::*;

    fn rendered(json: &str) -> String {
        let base = "http://127.0.0.1:80/rest/v1/".parse().unwrap();
        let requests = Requests::parse(json, &base).unwrap();
        let sequence = Cell::new(1);
        let mut source = Source { random: SmallRng::seed_from_u64(1), sequence: &sequence };
        let (mut out, mut scratch) = (Vec::new(), Vec::new());
        requests.choose(&mut source).render(&mut source, &mut out, &mut scratch);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_read_has_no_length() {
        assert_eq!(
            rendered(r#"[{"path":"/clubs?id=eq.{7..7}","headers":{"apikey":"k"}}]"#),
            "GET /rest/v1/clubs?id=eq.7 HTTP/1.1\r\nHost: 127.0.0.1:80\r\napikey: k\r\n\r\n"
        );
    }

    #[test]
    fn a_bodys_length_is_that_of_the_filled_template() {
        let text = rendered(r#"[{"method":"POST","path":"/t","body":"{\"a\":{1000..1000}}"}]"#);
        assert!(text.ends_with("Content-Length: 10\r\n\r\n{\"a\":1000}"), "{text}");
    }

    #[test]
    fn requests_without_weight_are_never_chosen() {
        let json = r#"[{"path":"/never","weight":0},{"path":"/always"}]"#;
        assert!(rendered(json).starts_with("GET /rest/v1/always "));
    }

    #[test]
    fn statuses_are_those_expected() {
        let base = "http://h:1".parse().unwrap();
        let requests = Requests::parse(r#"[{"path":"/","status":206}]"#, &base).unwrap();
        assert!(requests.requests[0].1.expects(206) && !requests.requests[0].1.expects(200));
        let requests = Requests::parse(r#"[{"path":"/"}]"#, &base).unwrap();
        assert!(requests.requests[0].1.expects(201) && !requests.requests[0].1.expects(401));
    }

    #[test]
    fn urls_need_scheme_and_port() {
        assert!("https://h:1".parse::<Base>().is_err() && "http://host/x".parse::<Base>().is_err());
        assert!(Requests::parse("[]", &"http://h:1".parse().unwrap()).is_err());
    }
}
