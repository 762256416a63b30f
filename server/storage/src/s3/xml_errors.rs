//! Refusals in the form of S3: XML with the true status.

use poem::http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use poem::http::{HeaderMap, HeaderValue, StatusCode};
use poem::{Body, Response};
use s3s::{S3Error, S3ErrorCode};

use crate::error::Error;

const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";
const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
pub(super) const XML: &str = "application/xml";

/// Returns a refusal.
pub(super) fn refusal(status: StatusCode, code: &str, message: impl Into<String>) -> S3Error {
    // Every text is a code.
    let code = code.parse().unwrap_or(S3ErrorCode::InternalError);
    let mut error = S3Error::with_message(code, message.into());
    error.set_status_code(status);
    error
}

/// Returns the refusal of a request that lacks something or has it in the wrong form.
pub(super) fn invalid(message: impl Into<String>) -> S3Error {
    refusal(StatusCode::BAD_REQUEST, "InvalidRequest", message)
}

/// Returns the refusal of what this service does not have.
pub(super) fn not_implemented(what: &str) -> S3Error {
    let message =
        format!("A header or query you provided implies functionality that is not implemented: {what}");
    refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}

/// Returns the refusal of a request whose condition does not hold.
pub(super) fn precondition_failed() -> S3Error {
    let message = "At least one of the pre-conditions you specified did not hold";
    refusal(StatusCode::PRECONDITION_FAILED, "PreconditionFailed", message)
}

impl From<Error> for S3Error {
    fn from(error: Error) -> Self {
        let (status, code, words) = error.code_and_words();
        let mut refused = refusal(status, code, words);
        if let Error::InvalidRange(size) = error {
            // `s3s` sends these in place of its own.
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(XML));
            if let Ok(range) = HeaderValue::from_str(&format!("bytes */{size}")) {
                headers.insert(CONTENT_RANGE, range);
            }
            refused.set_headers(headers);
        }
        refused
    }
}

/// Returns the response that says `error` about `resource`.
pub(super) fn respond(error: S3Error, resource: &str) -> Response {
    let status = error.status_code().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let words = error.message().unwrap_or_default();
    let body = document(&escape(resource), &escape(error.code().as_str()), &escape(words));
    let mut response = Response::builder().status(status).content_type(XML).body(body);
    if let Some(headers) = error.headers() {
        response.headers_mut().extend(headers.clone());
    }
    response
}

/// Returns the document that describes the upload of a form.
pub(super) fn post_response(location: &str, bucket: &str, key: &str, tag: &str) -> String {
    let [location, bucket, key, tag] = [location, bucket, key, tag].map(escape);
    format!(
        "{DECLARATION}<PostResponse xmlns=\"{NAMESPACE}\"><Location>{location}</Location><Bucket>{bucket}</Bucket>\
         <Key>{key}</Key><ETag>{tag}</ETag></PostResponse>"
    )
}

/// Returns the document of a refusal. Its root is in no namespace, as Amazon's is: clients in Python look for an
/// element `Error` without one, and read neither code nor message of any other.
fn document(resource: &str, code: &str, message: &str) -> String {
    format!(
        "{DECLARATION}<Error><Resource>{resource}</Resource><Code>{code}</Code><Message>{message}</Message></Error>"
    )
}

/// Gives the documents of `s3s` the form of upstream's: errors say what they are about, and the root element of every
/// other is in S3's namespace.
pub(super) fn complete(response: &mut Response, document_of_s3s: &str, resource: &str) {
    let body = if response.status().is_client_error() || response.status().is_server_error() {
        let part = |name: &str| {
            let (_, rest) = document_of_s3s.split_once(&format!("<{name}>"))?;
            rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
        };
        let message =
            part("Message").unwrap_or_else(|| response.status().canonical_reason().unwrap_or_default());
        document(&escape(resource), part("Code").unwrap_or("InternalError"), message)
    } else {
        in_namespace(document_of_s3s)
    };
    response.headers_mut().remove(CONTENT_LENGTH);
    response.set_body(Body::from_string(body));
}

fn in_namespace(document: &str) -> String {
    let (declaration, root) = match document.split_once("?>") {
        Some((_, root)) => (DECLARATION, root),
        None => (DECLARATION, document),
    };
    let Some(end) = root.find('>').filter(|end| !root[..*end].contains("xmlns")) else {
        return format!("{declaration}{root}");
    };
    let end = if root[..end].ends_with('/') { end - 1 } else { end };
    format!("{declaration}{} xmlns=\"{NAMESPACE}\"{}", &root[..end], &root[end..])
}

/// Escapes `text` for element content of an XML document. Unlike HTML and attributes, such content keeps its tabs and
/// line breaks, but control characters make the document invalid: keys of objects may have them.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // No document may hold these (XML 1.0, section 2.2).
            control if control < ' ' && !matches!(control, '\t' | '\n' | '\r') => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_in_the_namespace_once() {
        let declared = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
        let namespace = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
        for (document, expected) in [
            ("<A><B/></A>", format!("{declared}<A {namespace}><B/></A>")),
            ("<A/>", format!("{declared}<A {namespace}/>")),
            ("<?xml version=\"1.0\"?><A>/</A>", format!("{declared}<A {namespace}>/</A>")),
            (&format!("<A {namespace}></A>"), format!("{declared}<A {namespace}></A>")),
        ] {
            assert_eq!(in_namespace(document), expected);
        }
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escape("a<b>&\"c\u{1}"), "a&lt;b&gt;&amp;&quot;c\u{fffd}");
    }
}
