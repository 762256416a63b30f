//! Identities that users link and unlink themselves.

use auth::Settings;
use http::Method;
use serde_json::{Value, json};

use crate::harness::{Response, Server};
use crate::provider::Provider;
use crate::sign_in_at::{arrive, fragment, github, location, query, settings};

async fn start() -> (Provider, Server) {
    start_with(|_| {}).await
}

async fn start_with(change: impl FnOnce(&mut Settings)) -> (Provider, Server) {
    let provider = Provider::start().await;
    let mut linking = settings(&provider, &["github", "gitlab"]);
    linking.security.manual_linking = true;
    change(&mut linking);
    let server = Server::with(linking).await;
    github(&provider, 1, &[("ada@hub.example", true)]);
    (provider, server)
}

async fn with_token(server: &Server, method: Method, path: &str, token: &str) -> Response {
    let bearer = format!("Bearer {token}");
    server.send(method, path, &[("authorization", &bearer)], ()).await
}

/// Links the GitHub account to the owner of `token`; returns where the site is told about it.
async fn link(server: &Server, token: &str) -> url::Url {
    let path = "/user/identities/authorize?provider=github&skip_http_redirect=true";
    let response = with_token(server, Method::GET, path, token).await;
    assert_eq!(response.status, 200, "{}", response.body);
    let url = url::Url::parse(response.text("url")).unwrap();
    location(&arrive(server, &query(&url)["state"]).await)
}

async fn unlink(server: &Server, token: &str, id: &str) -> Response {
    with_token(server, Method::DELETE, &format!("/user/identities/{id}"), token).await
}

async fn user(server: &Server, token: &str) -> Value {
    server.get_as("/user", token).await.body
}

fn identity_id(user: &Value, provider: &str) -> String {
    let identities = user["identities"].as_array().unwrap();
    let identity = identities.iter().find(|identity| identity["provider"] == provider).unwrap();
    identity["identity_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn linking_by_hand_is_off_unless_settings_say_otherwise() {
    let (_provider, server) = start_with(|settings| settings.security.manual_linking = false).await;
    server.user("ada@example.com").await;
    let token = server.sign_in("ada@example.com").await.text("access_token").to_owned();
    for (method, path) in [
        (Method::GET, "/user/identities/authorize?provider=github"),
        (Method::DELETE, "/user/identities/00000000-0000-0000-0000-000000000001"),
    ] {
        assert_eq!(server.send(method.clone(), path, &[], ()).await.status, 401, "an API key is no user");
        let response = with_token(&server, method, path, &token).await;
        assert_eq!(response.refusal(), (404, "manual_linking_disabled"));
    }
}

#[tokio::test]
async fn the_audit_log_tells_of_identities_that_come_and_go() {
    let (_provider, server) = start().await;
    server.user("ada@example.com").await;
    let token = server.sign_in("ada@example.com").await.text("access_token").to_owned();
    let linked = user(&server, &fragment(&link(&server, &token).await)["access_token"]).await;
    let again = link(&server, &token).await;
    assert_eq!(query(&again)["error_code"], "identity_already_exists", "also where it is one's own");
    assert_eq!(unlink(&server, &token, &identity_id(&linked, "github")).await.status, 200);
    let logged = "select count(*) from auth.audit_log_entries
      where payload ->> 'action' in ('identity_linked', 'identity_unlinked')";
    assert_eq!(server.value(logged).await, 2);
}

#[tokio::test]
async fn the_address_goes_with_its_identity_and_the_best_of_the_others_takes_its_place() {
    let (_provider, server) = start().await;
    server.user("ada@example.com").await;
    let token = server.sign_in("ada@example.com").await.text("access_token").to_owned();
    link(&server, &token).await;
    server
        .sql(
            "insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at)
             select '9', id, '{\"sub\":\"9\",\"email\":\"unverified@lab.example\"}', 'gitlab', '2020-01-01', now()
             from auth.users;
             update auth.users set recovery_token = 'r', email_change = 'x@example.com'",
        )
        .await;
    let linked = user(&server, &token).await;
    assert_eq!(unlink(&server, &token, &identity_id(&linked, "email")).await.status, 200);
    let left = user(&server, &token).await;
    assert_eq!(left["email"], "ada@hub.example", "verified before unverified");
    assert!(left["email_confirmed_at"].is_string());
    assert_eq!(left["app_metadata"]["provider"], "gitlab", "the oldest");
    assert_eq!(
        server.value("select count(*) from auth.users where recovery_token = '' and email_change = ''").await,
        1
    );
    assert_eq!(unlink(&server, &token, &identity_id(&left, "github")).await.status, 200);
    let left = user(&server, &token).await;
    assert_eq!(left["email"], "unverified@lab.example");
    assert!(left["email_confirmed_at"].is_null(), "nobody has verified it");
    assert_eq!(left["user_metadata"]["email_verified"], false);
}

#[tokio::test]
async fn an_address_that_is_somebody_elses_cannot_be_fallen_back_to() {
    let (_provider, server) = start().await;
    server.user("ada@example.com").await;
    let token = server.sign_in("ada@example.com").await.text("access_token").to_owned();
    let linked = user(&server, &fragment(&link(&server, &token).await)["access_token"]).await;
    server.user("ada@hub.example").await;
    let response = unlink(&server, &token, &identity_id(&linked, "email")).await;
    assert_eq!(response.refusal(), (422, "email_conflict_identity_not_deletable"));
    assert_eq!(
        user(&server, &token).await["identities"].as_array().unwrap().len(),
        2,
        "nothing is half done"
    );
}

#[tokio::test]
async fn an_unverified_address_of_an_identity_has_to_be_confirmed() {
    let (provider, server) = start_with(|settings| settings.providers.anonymous_users = true).await;
    github(&provider, 2, &[("new@hub.example", false)]);
    let anonymous = server.post("/signup", json!({})).await;
    let token = anonymous.text("access_token").to_owned();
    assert_eq!(query(&link(&server, &token).await)["error_code"], "email_not_confirmed");
    let waiting = user(&server, &token).await;
    assert_eq!(
        (waiting["email"].as_str(), waiting["is_anonymous"].as_bool()),
        (Some("new@hub.example"), Some(true))
    );
    assert!(waiting["confirmation_sent_at"].is_string());
}

#[tokio::test]
async fn two_removals_at_once_leave_one_identity() {
    let (_provider, server) = start().await;
    server.user("ada@example.com").await;
    let token = server.sign_in("ada@example.com").await.text("access_token").to_owned();
    let linked = user(&server, &fragment(&link(&server, &token).await)["access_token"]).await;
    let ids = [identity_id(&linked, "email"), identity_id(&linked, "github")];
    let (one, other) = tokio::join!(unlink(&server, &token, &ids[0]), unlink(&server, &token, &ids[1]));
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 422]);
    assert_eq!(server.value("select count(*) from auth.identities").await, 1);
}
