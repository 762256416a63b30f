//! The page of problems.

use http::header::CACHE_CONTROL;
use http::{HeaderValue, Method, StatusCode};
use poem::{Endpoint, Request, Response, endpoint};
use serde_json::Value;

use crate::{local, response};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Whether the checks are run now; `refresh=true` in the query.
    pub is_fresh: bool,
    /// Whether problems count that there would be if strangers could reach the server; `public=true` in the query.
    pub as_public: bool,
}

impl Question {
    fn of(request: &Request) -> Self {
        let query = request.uri().query().unwrap_or_default();
        let has = |word: &str| query.split('&').any(|pair| pair == word);
        Self { is_fresh: has("refresh=true"), as_public: has("public=true") }
    }
}

/// Returns the endpoint that shows the list of problems that `list` returns. It says where the server is weak: mount it
/// on a port that the public cannot reach; in addition, a [`RemoteRequest`](crate::RemoteRequest) is refused.
pub fn problems<F, Fut>(list: F) -> impl Endpoint<Output = Response>
where
    F: Fn(Question) -> Fut + Send + Sync,
    Fut: Future<Output = Value> + Send,
{
    endpoint::make(move |request: Request| {
        let refusal = match *request.method() {
            Method::GET | Method::HEAD => local::refusal(&request, "problems"),
            _ => Some(StatusCode::METHOD_NOT_ALLOWED.into()),
        };
        let listed = list(Question::of(&request));
        async move {
            let response = match refusal {
                Some(refusal) => refusal,
                None => {
                    let mut response = response::json(StatusCode::OK, &listed.await);
                    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                    response
                }
            };
            Ok::<_, poem::Error>(response)
        }
    })
}

#[cfg(test)]
mod tests {
    use http::header::HOST;
    use serde_json::json;

    use super::*;

    async fn ask(request: Request) -> (StatusCode, String) {
        let endpoint = problems(async |question: Question| json!([question.is_fresh, question.as_public]));
        let response = endpoint.get_response(request).await;
        (response.status(), response.into_body().into_string().await.unwrap())
    }

    fn local(target: &str) -> poem::RequestBuilder {
        Request::builder().uri_str(target).header(HOST, "127.0.0.1:54330")
    }

    #[tokio::test]
    async fn the_query_says_what_is_asked_for() {
        assert_eq!(ask(local("/").finish()).await, (StatusCode::OK, "[false,false]".to_owned()));
        let both = local("/?public=true&refresh=true").finish();
        assert_eq!(ask(both).await, (StatusCode::OK, "[true,true]".to_owned()));
    }

    #[tokio::test]
    async fn only_programs_on_this_machine_may_ask() {
        assert_eq!(
            ask(local("/").header("x-forwarded-for", "192.0.2.1").finish()).await.0,
            StatusCode::FORBIDDEN
        );
        let rebound = Request::builder().uri_str("/").header(HOST, "rebound.example").finish();
        assert_eq!(ask(rebound).await.0, StatusCode::FORBIDDEN);
        assert_eq!(ask(local("/").method(Method::POST).finish()).await.0, StatusCode::METHOD_NOT_ALLOWED);
    }
}
