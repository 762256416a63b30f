//! A service that is made anew with other settings, on the state of the one before.

use auth::{LimitSettings, Settings};
use http::Method;
use serde_json::json;

use crate::harness::{PASSWORD, Server};

async fn refresh(server: &Server) -> u16 {
    let (path, body) = ("/token?grant_type=refresh_token", json!({ "refresh_token": "unknown" }));
    server.send(Method::POST, path, &[("x-client", "a")], body.to_string()).await.status.as_u16()
}

async fn sign_up(server: &Server, email: &str) -> u16 {
    server.post("/signup", json!({ "email": email, "password": PASSWORD })).await.status.as_u16()
}

#[tokio::test]
async fn it_goes_on_counting_and_follows_the_new_settings() {
    let header = Some("x-client".to_owned());
    let limits = LimitSettings { header, token: 1e-6, ..LimitSettings::default() };
    let settings = Settings { limits, ..Settings::default() };
    let old = Server::with(settings.clone()).await;
    for _ in 0..30 {
        assert_eq!(refresh(&old).await, 400);
    }
    let new = old.reloaded(Settings { disable_signup: true, ..settings });
    // Refreshes are counted in memory.
    assert_eq!(refresh(&new).await, 429);
    assert_eq!(sign_up(&new, "new@row.example").await, 422);
    // Requests that are under way finish by the settings that they began with.
    assert_eq!(sign_up(&old, "old@row.example").await, 200);
}
