//! The request that a task handles.

use std::sync::{Arc, OnceLock};

use http::{HeaderValue, Method, Uri};

use crate::Parent;

tokio::task_local! {
    static CURRENT: Request;
}

/// A request, for log lines and spans.
#[derive(Debug)]
pub struct Request {
    /// The service that handles it.
    pub service: &'static str,
    /// The method.
    pub method: Method,
    /// The target that the client sent.
    pub uri: Uri,
    /// The id in log lines.
    pub id: HeaderValue,
    /// Returns a query string without its values.
    pub query_shape: fn(&str) -> String,
    /// Where [`name_route`] puts the route; `None` without tracing.
    pub route: Option<Arc<OnceLock<&'static str>>>,
    /// The parent of spans in the request; `None` without tracing.
    pub parent: Option<Parent>,
}

/// Runs `future`, which handles `request`. Tasks that it spawns are not part of the request.
pub fn handling<F: Future>(request: Request, future: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(request, future)
}

/// Names the route of the request that this task handles, such as `/{relation}`, for its trace. The name has nothing
/// that a client can choose freely: the number of names would be unlimited, and values may be secret. For services that
/// have no table of routes of poem's, whose routes name themselves.
pub fn name_route(route: &'static str) {
    current(|request| {
        if let Some(named) = &request.route {
            // Of a request that is tried again, the first name stays.
            let _ = named.set(route);
        }
    });
}

/// Calls `look` with the request that this task handles and returns the result; `None` if there is no request.
pub(crate) fn current<T>(look: impl FnOnce(&Request) -> T) -> Option<T> {
    CURRENT.try_with(look).ok()
}

impl Request {
    /// Returns the target without the values of its query string.
    pub(crate) fn shape(&self) -> String {
        match self.uri.query() {
            Some(query) if !query.is_empty() => {
                format!("{}?{}", self.uri.path(), (self.query_shape)(query))
            }
            _ => self.uri.path().to_owned(),
        }
    }
}

/// Returns `query` with `?` in place of all values, and of parameters without a name.
pub fn names_only(query: &str) -> String {
    let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) => format!("{name}=?"),
        None => "?".to_owned(),
    });
    parameters.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &'static str) -> Request {
        Request {
            service: "test",
            method: Method::GET,
            uri: Uri::from_static(uri),
            id: HeaderValue::from_static("7"),
            query_shape: names_only,
            route: None,
            parent: None,
        }
    }

    #[test]
    fn shapes_have_no_values() {
        assert_eq!(request("/a/b").shape(), "/a/b");
        assert_eq!(request("/a?").shape(), "/a");
        assert_eq!(request("/a?token=x.y&b=1&secret").shape(), "/a?token=?&b=?&?");
    }

    #[tokio::test]
    async fn a_service_names_the_route_of_its_request() {
        let route = Arc::<OnceLock<&'static str>>::default();
        name_route("/elsewhere");
        let traced = Request { route: Some(Arc::clone(&route)), ..request("/a") };
        handling(traced, async { name_route("/{thing}") }).await;
        assert_eq!(route.get(), Some(&"/{thing}"));
    }

    #[tokio::test]
    async fn a_task_has_its_request_until_the_response() {
        let path = || current(|request| request.uri.path().to_owned());
        assert_eq!(path(), None);
        let inner = async {
            tokio::task::yield_now().await;
            path()
        };
        assert_eq!(handling(request("/a"), inner).await.as_deref(), Some("/a"));
        assert_eq!(path(), None);
    }
}
