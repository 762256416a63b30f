//! Supabase Realtime's interface: channels over WebSocket.
//!
//! This release has the service's place and settings and says plainly that it carries no channels.

mod error;
mod settings;

use std::sync::Arc;

use poem::{Endpoint, EndpointExt, Request, Response, endpoint};

pub use error::Error;
pub use settings::Settings;

/// Whether there are channels to subscribe to.
pub const HAS_CHANNELS: bool = false;

/// Returns the service, its paths relative to where it is mounted (`/realtime/v1`): `websocket` and `api/…`.
pub fn service(settings: Settings) -> impl Endpoint<Output = Response> {
    endpoint::make(answer).data(Arc::new(settings))
}

async fn answer(request: Request) -> poem::Result<Response> {
    let limit = request.data::<Arc<Settings>>().map_or(usize::MAX, |settings| settings.max_header_length);
    let longest = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).max();
    let error = match request.uri().path() {
        _ if longest.is_some_and(|length| length > limit) => Error::HeaderTooLarge(limit),
        "/websocket" => Error::NotImplemented,
        path if path.starts_with("/api/") => Error::NotImplemented,
        _ => Error::NotFound,
    };
    Ok(error.into_response())
}

#[cfg(test)]
mod tests {
    use poem::http::{StatusCode, Uri};

    use super::*;

    #[tokio::test]
    async fn answers_have_upstreams_shape() {
        let service = service(Settings::default());
        let ask = |path: &'static str| Request::builder().uri(Uri::from_static(path));
        for (path, status) in [
            ("/websocket?vsn=2.0.0", StatusCode::NOT_IMPLEMENTED),
            ("/api/broadcast", StatusCode::NOT_IMPLEMENTED),
            ("/elsewhere", StatusCode::NOT_FOUND),
        ] {
            let answer = service.get_response(ask(path).finish()).await;
            assert_eq!(answer.status(), status, "{path}");
            let body: serde_json::Value = answer.into_body().into_json().await.unwrap();
            assert!(body["error"].is_string());
        }
        let long = ask("/websocket").header("x-long", "x".repeat(5000)).finish();
        assert_eq!(service.get_response(long).await.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }
}
