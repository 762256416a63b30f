//! Administration of users' factors and passkeys.

use http::{Method, StatusCode};
use serde_json::json;

use crate::authenticator::{Authenticator, settings};
use crate::harness::{Response, Server};
use crate::passkeys::registered;

const ADA: &str = "ada@example.com";

struct Setting {
    server: Server,
    user: String,
    token: String,
    admin: String,
}

async fn setting() -> Setting {
    let server = Server::with(settings()).await;
    let user = server.user(ADA).await;
    let (token, _) = server.tokens(ADA).await;
    let admin = server.keys.api_keys().service_role().to_owned();
    Setting { server, user, token, admin }
}

#[tokio::test]
async fn administrators_change_and_remove_factors() {
    let Setting { server, user, token, admin } = setting().await;
    let app = server.enroll_app(&token, "app").await;
    let (risen, refresh) = server.rise(&token, &app).await;
    let path = format!("/admin/users/{user}/factors/{}", app.factor);
    let changes = json!({ "friendly_name": "renamed", "phone": "+41791234567" });
    let changed = server.call(Method::PUT, &path, &admin, changes).await;
    assert_eq!(changed.text("phone"), "", "an app has no number");
    let unchanged = server.call(Method::PUT, &path, &admin, json!({})).await;
    assert_eq!(unchanged.text("friendly_name"), "renamed");
    server.enroll_app(&risen, "other").await;
    let taken = server.call(Method::PUT, &path, &admin, json!({ "friendly_name": "other" })).await;
    assert_eq!(taken.refusal(), (422, "mfa_factor_name_conflict"));

    server.call(Method::DELETE, &path, &admin, json!(null)).await;
    let refreshed = server.refresh(&refresh).await;
    assert_eq!(server.claims(refreshed.text("access_token"))["aal"], json!("aal1"));
    let logged =
        "select string_agg(payload ->> 'action', ' ' order by created_at) from auth.audit_log_entries
      where payload #>> '{traits,user_id}' is not null";
    assert_eq!(server.text(logged).await, "factor_updated factor_updated factor_deleted");
}

#[tokio::test]
async fn only_administrators_may() {
    let Setting { server, user, token, .. } = setting().await;
    let app = server.enroll_app(&token, "app").await;
    let passkey = registered(&server, &token, &mut Authenticator::new()).await;
    let refusal = |response: Response| (response.status.as_u16(), response.refusal().1.to_owned());
    for (method, path) in [
        (Method::GET, "factors".to_owned()),
        (Method::PUT, format!("factors/{}", app.factor)),
        (Method::DELETE, format!("factors/{}", app.factor)),
        (Method::GET, "passkeys".to_owned()),
        (Method::DELETE, format!("passkeys/{passkey}")),
    ] {
        let path = format!("/admin/users/{user}/{path}");
        let response = server.call(method, &path, &token, json!({})).await;
        assert_eq!(refusal(response), (403, "not_admin".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn administrators_see_and_remove_passkeys_even_where_they_are_switched_off() {
    let Setting { server, user, token, admin } = setting().await;
    let id = registered(&server, &token, &mut Authenticator::new()).await;
    let off = server.second_node_with(auth::Settings::default()).await;
    let path = format!("/admin/users/{user}/passkeys");
    let list = off.get_as(&path, &admin).await;
    assert_eq!((list.status, &list.body[0]["id"]), (StatusCode::OK, &json!(id)), "{}", list.body);
    let gone = off.call(Method::DELETE, &format!("{path}/{id}"), &admin, json!(null)).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(off.get_as(&path, &admin).await.body, json!([]));
}
