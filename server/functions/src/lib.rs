//! Edge functions' interface: which functions a project has, and the answers about them.
//!
//! This release knows the project's functions and who may call them, and says plainly that it does not run them.

mod error;
mod settings;

use poem::{Endpoint, EndpointExt, Request, Response, endpoint};

pub use error::Error;
pub use settings::{Function, Settings};

/// The service, its paths relative to where it is mounted (`/functions/v1`): the first segment names the function,
/// any method.
pub fn service(settings: Settings) -> impl Endpoint<Output = Response> {
    endpoint::make(invoke).data(std::sync::Arc::new(settings))
}

async fn invoke(request: Request) -> poem::Result<Response> {
    let name = request.uri().path().trim_start_matches('/').split('/').next().unwrap_or_default();
    let known = request
        .data::<std::sync::Arc<Settings>>()
        .and_then(|settings| settings.functions.get(name))
        .is_some_and(|function| function.enabled);
    let error = match name {
        "" => Error::MissingName,
        _ if known => Error::NotImplemented(name.to_owned()),
        _ => Error::NotFound,
    };
    Ok(error.into_response())
}

#[cfg(test)]
mod tests {
    use poem::http::{StatusCode, Uri};

    use super::*;

    #[tokio::test]
    async fn answers_have_the_relays_shape() {
        let enabled = Function { enabled: true, ..Function::default() };
        let disabled = Function { enabled: false, ..Function::default() };
        let functions = [("hello".to_owned(), enabled), ("off".to_owned(), disabled)].into();
        let service = service(Settings { functions });
        for (path, status, code) in [
            ("/hello", StatusCode::NOT_IMPLEMENTED, "NOT_IMPLEMENTED"),
            ("/hello/deeper?x=1", StatusCode::NOT_IMPLEMENTED, "NOT_IMPLEMENTED"),
            ("/off", StatusCode::NOT_FOUND, "NOT_FOUND"),
            ("/other", StatusCode::NOT_FOUND, "NOT_FOUND"),
            ("/", StatusCode::BAD_REQUEST, "BAD_REQUEST"),
        ] {
            let answer = service.get_response(Request::builder().uri(Uri::from_static(path)).finish()).await;
            assert_eq!(answer.status(), status, "{path}");
            assert_eq!(answer.header("x-relay-error"), Some("true"));
            let body: serde_json::Value = answer.into_body().into_json().await.unwrap();
            assert_eq!(body["code"], code);
        }
    }
}
