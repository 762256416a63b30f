//! The host of a request: links, signatures and pages depend on it, so that no two programs on the way may read
//! different ones.

use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue};
use poem::Response;
use poem::http::uri::Authority;
use poem::http::{HeaderMap, Request, StatusCode, Version};

/// Checks that `request` names one valid host (RFC 9112, section 3.2; RFC 9113, section 8.3.1). In HTTP/1 the host of
/// an absolute target replaces that of the header.
///
/// Errors: the reason for a refusal with 400.
pub(super) fn settle<B>(request: &mut Request<B>) -> Result<(), &'static str> {
    let version = request.version();
    let named = header(request.headers(), version)?;
    let Some(target) = request.uri().authority().map(Authority::as_str) else { return Ok(()) };
    if !gateway::is_host(target) {
        return Err("The target's host is not valid");
    }
    if named.is_some_and(|named| named.as_bytes().eq_ignore_ascii_case(target.as_bytes())) {
        return Ok(());
    }
    match (version, named) {
        (Version::HTTP_2, None) => {}
        (Version::HTTP_2, Some(_)) => return Err("The header Host is not the target's host"),
        _ => {
            // All characters of a host are allowed in a header.
            let host = HeaderValue::from_str(target).map_err(|_| "The target's host is not valid")?;
            request.headers_mut().insert(HOST, host);
        }
    }
    Ok(())
}

/// Returns the header `Host`. Only HTTP/1.1 requires one; it may be empty.
fn header(headers: &HeaderMap, version: Version) -> Result<Option<&HeaderValue>, &'static str> {
    let mut hosts = headers.get_all(HOST).iter();
    let Some(host) = hosts.next() else {
        return if version == Version::HTTP_11 { Err("The header Host is missing") } else { Ok(None) };
    };
    if hosts.next().is_some() {
        return Err("There is more than one header Host");
    }
    let is_valid = host.to_str().is_ok_and(|host| host.is_empty() || gateway::is_host(host));
    if is_valid { Ok(Some(host)) } else { Err("The header Host is not valid") }
}

/// Returns the refusal of a request whose host is in doubt. In HTTP/1 it ends the connection, because the program that
/// sent the request may also be in doubt about where it ends.
pub(super) fn refusal(reason: &str, version: Version) -> Response {
    let body = serde_json::json!({ "message": reason }).to_string();
    let mut response = Response::builder().status(StatusCode::BAD_REQUEST).body(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    if version != Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the header `Host` of a request after it was settled, or the reason for a refusal.
    fn settled(version: Version, target: &str, hosts: &[&str]) -> Result<String, &'static str> {
        let mut request = Request::builder().version(version).uri(target);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let mut request = request.body(()).unwrap();
        settle(&mut request)?;
        let host = request.headers().get(HOST).map(|host| host.to_str().unwrap().to_owned());
        Ok(host.unwrap_or_default())
    }

    #[test]
    fn a_request_names_one_host() {
        for host in ["a.example", "A.example:8080", "my_service:80", "127.0.0.1", "[::1]:54321", ""] {
            assert_eq!(settled(Version::HTTP_11, "/", &[host]).as_deref(), Ok(host));
            assert_eq!(settled(Version::HTTP_10, "/", &[host]).as_deref(), Ok(host));
        }
        for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
            assert!(settled(version, "/", &["a.example", "a.example"]).is_err());
            assert!(settled(version, "/", &["a.example", "b.example"]).is_err());
            for host in ["a b", "a/b", "a?b", "a@b", "a,b", "\"><script>", "a%62", "é"] {
                assert!(settled(version, "/", &[host]).is_err(), "{host}");
            }
        }
        assert!(settled(Version::HTTP_11, "/", &[]).is_err());
        assert!(settled(Version::HTTP_11, "http://a.example/", &[]).is_err());
        assert_eq!(settled(Version::HTTP_10, "/", &[]).as_deref(), Ok(""));
        assert_eq!(settled(Version::HTTP_2, "/", &[]).as_deref(), Ok(""));
    }

    #[test]
    fn the_host_of_an_absolute_target_counts() {
        for host in ["a.example", "b.example", ""] {
            let settled = settled(Version::HTTP_11, "http://a.example/x", &[host]);
            assert_eq!(settled.as_deref(), Ok("a.example"));
        }
        assert_eq!(settled(Version::HTTP_10, "http://a.example/x", &[]).as_deref(), Ok("a.example"));
        assert!(settled(Version::HTTP_11, "http://me@a.example/x", &["a.example"]).is_err());
        let over_2 = |hosts: &[&str]| settled(Version::HTTP_2, "http://a.example/x", hosts);
        assert!(over_2(&[]).is_ok() && over_2(&["A.example"]).is_ok());
        assert!(over_2(&["b.example"]).is_err());
    }
}
