//! Objects from an origin of their own (setting `storage_origin`, decision 67): which requests it responds to, and
//! which ones the API's origin sends there.

use poem::http::header::{AUTHORIZATION, CACHE_CONTROL, HOST, LOCATION};
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Request, Response};

use crate::response;
use crate::settings::Settings;

/// How long a browser may remember where an object is: as long as a change of the setting may take to arrive.
const REDIRECT_AGE: HeaderValue = HeaderValue::from_static("max-age=300");

/// Reports whether `request` was sent to `origin`.
pub(crate) fn is_addressed(request: &Request, origin: &str) -> bool {
    let host = request.header(HOST).or_else(|| request.uri().authority().map(|authority| authority.as_str()));
    let (_, own) = origin.split_once("://").unwrap_or_default();
    host.is_some_and(|host| host.eq_ignore_ascii_case(own))
}

/// Returns the path at which the service is mounted, without a slash at its end.
pub(super) fn mount(request: &Request) -> &str {
    let path = request.original_uri().path().trim_end_matches('/');
    path.strip_suffix(request.uri().path().trim_end_matches('/')).unwrap_or_default()
}

/// Reports whether `path`, relative to the service, is that of an object which a request with `method` reads, or asks
/// whether it may read.
pub(crate) fn is_read(method: &Method, path: &str) -> bool {
    let family = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) && matches!(family, "object" | "render")
}

/// Reports whether the settings give objects an origin, and `request` was sent to another.
pub(crate) fn is_elsewhere(settings: &Settings, request: &Request) -> bool {
    settings.origin.as_deref().is_some_and(|origin| !is_addressed(request, origin))
}

/// Returns the redirect to the origin of objects for a request that anybody could open as a page: one that needs
/// nothing besides its URL.
pub(crate) fn redirect(settings: &Settings, request: &Request) -> Option<Response> {
    let origin = settings.origin.as_deref().filter(|origin| !is_addressed(request, origin))?;
    let target = request.uri().path_and_query()?;
    let mut redirect: Response = StatusCode::TEMPORARY_REDIRECT.into();
    response::insert(redirect.headers_mut(), LOCATION, &format!("{origin}{}{target}", mount(request)));
    redirect.headers_mut().insert(CACHE_CONTROL, REDIRECT_AGE);
    Some(redirect)
}

/// Does what [`redirect`] does, unless the request has a token in `Authorization`, which clients do not send to another
/// origin.
pub(crate) fn redirect_without_token(settings: &Settings, request: &Request) -> Option<Response> {
    if request.headers().contains_key(AUTHORIZATION) { None } else { redirect(settings, request) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, path: &str) -> Request {
        Request::builder().method(method).uri_str(path).header(HOST, "api.example.org").finish()
    }

    #[test]
    fn the_origin_is_known_by_its_host() {
        let request = request(Method::GET, "/object/public/a/b");
        assert!(is_addressed(&request, "https://API.example.org"));
        assert!(!is_addressed(&request, "https://files.example.org"));
        assert!(!is_addressed(&request, "https://api.example.org:8443"));
    }

    #[test]
    fn only_objects_can_be_read_there() {
        for path in ["/object/public/a/b", "/render/image/public/a/b", "/object/sign/a/b"] {
            assert!(
                is_read(&Method::GET, path) && is_read(&Method::HEAD, path) && !is_read(&Method::POST, path)
            );
        }
        for path in ["/bucket", "/s3/a/b", "/upload/resumable", "/objects/a", "/", ""] {
            assert!(!is_read(&Method::GET, path), "{path}");
        }
    }
}
