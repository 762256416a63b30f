//! A router of endpoints by path prefix. It handles every request, so it does less than a general router: it has no
//! parameters and no patterns.

use poem::endpoint::BoxEndpoint;
use poem::http::Uri;
use poem::http::uri::PathAndQuery;
use poem::{Endpoint, EndpointExt as _, Request, Response, Result};

/// Endpoints by path prefix.
pub(super) struct PrefixRouter {
    mounted: Vec<(&'static str, BoxEndpoint<'static, Response>)>,
    others: BoxEndpoint<'static, Response>,
}

impl PrefixRouter {
    /// Returns a router in which `others` responds to all paths without a mounted endpoint.
    pub(super) fn new(others: impl Endpoint<Output = Response> + 'static) -> Self {
        Self { mounted: Vec::new(), others: others.boxed() }
    }

    /// Mounts `endpoint` at `prefix`, which begins with a slash and does not end with one. The endpoint gets paths
    /// without the prefix, and `/` for the prefix itself.
    pub(super) fn mount(
        mut self,
        prefix: &'static str,
        endpoint: impl Endpoint<Output = Response> + 'static,
    ) -> Self {
        self.mounted.push((prefix, endpoint.boxed()));
        self
    }
}

impl Endpoint for PrefixRouter {
    type Output = Response;

    async fn call(&self, mut request: Request) -> Result<Response> {
        let path = request.uri().path();
        let is_below =
            |prefix| path.strip_prefix(prefix).is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'/', ..]));
        let Some((prefix, endpoint)) = self.mounted.iter().find(|(prefix, _)| is_below(*prefix)) else {
            return self.others.call(request).await;
        };
        strip(request.uri_mut(), prefix.len());
        endpoint.call(request).await
    }
}

/// Removes the first `length` bytes of the path from `uri`.
fn strip(uri: &mut Uri, length: usize) {
    let mut parts = std::mem::take(uri).into_parts();
    let target = parts.path_and_query.as_ref().map_or("", PathAndQuery::as_str);
    let rest = target.get(length..).unwrap_or_default();
    // The end of a path that was valid is a valid path.
    let rest = if rest.starts_with('/') { rest.parse() } else { format!("/{rest}").parse() };
    parts.path_and_query = rest.ok();
    *uri = Uri::from_parts(parts).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn response(target: &str) -> String {
        let tells = |name: &'static str| {
            poem::endpoint::make_sync(move |request: Request| format!("{name} {}", request.uri()))
                .map_to_response()
        };
        let mounts = PrefixRouter::new(tells("others"))
            .mount("/rest/v1", tells("rest"))
            .mount("/health", tells("health"));
        let request = Request::builder().uri(target.parse().unwrap()).finish();
        mounts.call(request).await.unwrap().into_body().into_string().await.unwrap()
    }

    #[tokio::test]
    async fn prefixes_end_where_a_segment_does() {
        assert_eq!(response("/rest/v1/players?id=eq.1").await, "rest /players?id=eq.1");
        assert_eq!(response("/rest/v1").await, "rest /");
        assert_eq!(response("/rest/v1?a=%2F").await, "rest /?a=%2F");
        assert_eq!(response("/rest/v1/").await, "rest /");
        assert_eq!(response("/rest/v10/x").await, "others /rest/v10/x");
        assert_eq!(response("/health/live").await, "health /live");
        assert_eq!(response("/").await, "others /");
    }

    #[tokio::test]
    async fn absolute_targets_keep_their_authority() {
        assert_eq!(response("http://a.example/rest/v1/t?x=1").await, "rest http://a.example/t?x=1");
    }
}
