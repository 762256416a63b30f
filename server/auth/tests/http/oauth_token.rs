//! The OAuth server's token and userinfo endpoints, and its metadata.

use auth::{HookName, Settings};
use futures_util::future::join_all;
use http::{Method, StatusCode};
use serde_json::json;
use tokens::{KeyOverrides, Keys};

use crate::harness::Server;
use crate::oauth::{App, VERIFIER, basic, claims, client, oauth_error, settings, token};

#[tokio::test]
async fn a_session_keeps_its_client_and_scopes() {
    let app = App::start().await;
    let code = app.code(&[]).await;
    let response = app.exchange(&code).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    assert_eq!(response.headers["cache-control"], "no-store");
    let session = app
        .server
        .text("select oauth_client_id::text || ' ' || scopes from auth.sessions where scopes is not null")
        .await;
    assert_eq!(session, format!("{} email", app.id));
    let logged = "select count(*) from auth.audit_log_entries where payload ->> 'action' = 'login'
        and payload -> 'traits' ->> 'provider_type' = 'oauth_provider_authorization_code'";
    assert_eq!(app.server.value(logged).await, 1);
}

#[tokio::test]
async fn codes_expire_and_are_worth_nothing_to_the_banned() {
    let app = App::start().await;
    let code = app.code(&[]).await;
    app.server.sql("update auth.users set banned_until = now() + interval '1 hour'").await;
    assert_eq!(oauth_error(&app.exchange(&code).await), "access_denied");
    app.server.sql("update auth.users set banned_until = null").await;
    app.server
        .sql("update auth.oauth_authorizations set created_at = now() - interval '1 hour', expires_at = now() - interval '1 second'")
        .await;
    let expired = app.exchange(&code).await;
    assert_eq!(
        (oauth_error(&expired), expired.text("error_description")),
        ("invalid_grant", "Authorization code has expired")
    );
}

#[tokio::test]
async fn credentials_that_name_no_client_are_refused() {
    let app = App::start().await;
    let (id, secret) = (app.id.as_str(), app.secret.as_str());
    let refused = (400, "invalid_credentials");
    for header in [basic(id, ""), basic("me", secret), "Basic !".to_owned(), "Basic bWU=".to_owned()] {
        let response = token(&app.server, &[("authorization", &header)], &[]).await;
        assert_eq!(response.refusal(), refused, "{header}");
    }
    let public = client(&app.server, json!({ "client_type": "public" })).await;
    for fields in [
        &[][..],
        &[("client_id", id)],
        &[("client_id", id), ("client_secret", "wrong")],
        &[("client_id", public.text("client_id")), ("client_secret", "any")],
    ] {
        assert_eq!(token(&app.server, &[], fields).await.refusal(), refused, "{fields:?}");
    }
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused() {
    let app = App::start().await;
    let post = async |body: String| {
        let json = [("content-type", "application/json; charset=utf-8")];
        app.server.send(Method::POST, "/oauth/token", &json, body).await
    };
    for body in ["", "{", "[]", "{\"client_id\":7}"] {
        assert_eq!(oauth_error(&post(body.to_owned()).await), "invalid_request", "{body}");
    }
    let huge = "x".repeat((1 << 20) + 1);
    assert_eq!(post(huge).await.refusal(), (413, "request_entity_too_large"));
    assert_eq!(oauth_error(&app.exchange("a\0b").await), "invalid_grant");
}

#[tokio::test]
async fn refresh_tokens_rotate_and_are_bound_to_their_client() {
    for algorithm in [1, 2] {
        let mut settings = settings();
        settings.security.refresh_token_algorithm = algorithm;
        let app = App::with(settings).await;
        let code = app.code(&[("scope", "email profile")]).await;
        let first = app.exchange(&code).await.text("refresh_token").to_owned();
        let second = app.refresh(&first).await;
        assert_eq!(second.status, StatusCode::OK, "{}", second.body);
        let access = claims(second.text("access_token"));
        assert_eq!((&access["client_id"], &access["scope"]), (&json!(app.id), &json!("email profile")));
        assert_ne!(second.text("refresh_token"), first);

        let other = client(&app.server, json!({})).await;
        let header = basic(other.text("client_id"), other.text("client_secret"));
        let fields = [("grant_type", "refresh_token"), ("refresh_token", second.text("refresh_token"))];
        let stolen = token(&app.server, &[("authorization", &header)], &fields).await;
        assert_eq!(oauth_error(&stolen), "invalid_client");
        let users = app.server.refresh(second.text("refresh_token")).await;
        assert_eq!(oauth_error(&users), "invalid_client", "not by way of the user's own sessions");
        let own = app.server.sign_in("ada@example.com").await;
        assert_eq!(oauth_error(&app.refresh(own.text("refresh_token")).await), "invalid_client");

        let third = app.refresh(second.text("refresh_token")).await;
        assert_eq!(third.status, StatusCode::OK, "none of that has used it up");
        app.refresh(third.text("refresh_token")).await;
        let replayed = app.refresh(&first).await;
        assert_eq!(replayed.refusal(), (400, "refresh_token_already_used"));
        assert_eq!(oauth_error(&app.refresh("").await), "invalid_request");
        assert_eq!(app.refresh("rubbish").await.refusal(), (400, "validation_failed"));
    }
}

#[tokio::test]
async fn of_many_exchanges_on_two_nodes_one_wins() {
    let app = App::start().await;
    let node = app.on_second_node().await;
    let code = app.code(&[]).await;
    let responses = join_all((0..8).map(|n| {
        let app = if n % 2 == 0 { &app } else { &node };
        app.exchange(&code)
    }))
    .await;
    let won = responses.iter().filter(|response| response.status == StatusCode::OK).count();
    assert_eq!(won, 1);
    let lost = responses.iter().filter(|response| response.status != StatusCode::OK);
    lost.for_each(|response| assert_eq!(oauth_error(response), "invalid_grant"));
    let left = "select count(*) from auth.sessions where oauth_client_id is not null";
    assert_eq!(app.server.value(left).await, 0, "a code that many have gives nothing that lasts");
}

#[tokio::test]
async fn of_many_decisions_on_two_nodes_one_counts() {
    let app = App::start().await;
    let node = app.on_second_node().await;
    let request = app.request(&[]).await;
    app.look(&request).await;
    let responses = join_all((0..8).map(|n| {
        let (app, action) = if n % 2 == 0 { (&app, "approve") } else { (&node, "deny") };
        app.decide(&request, action)
    }))
    .await;
    let counted = responses.iter().filter(|response| response.status == StatusCode::OK).count();
    assert_eq!(counted, 1);
}

#[tokio::test]
async fn id_tokens_tell_what_the_scopes_allow() {
    let app = App::start().await;
    app.server
        .sql("update auth.users set phone = '4912345', phone_confirmed_at = now(),
            raw_user_meta_data = '{\"name\":\"Ada\",\"avatar_url\":\"https://a.example/p.png\",\"username\":\"ada\"}'")
        .await;
    let id_token = async |scope: &str| {
        let code = app.code(&[("scope", scope), ("nonce", "n-0S6_WzA2Mj")]).await;
        claims(app.exchange(&code).await.text("id_token"))
    };
    let user = app.server.text("select id::text from auth.users").await;
    let bare = id_token("openid").await;
    assert_eq!(
        (&bare["sub"], &bare["aud"], &bare["nonce"]),
        (&json!(user), &json!(app.id), &json!("n-0S6_WzA2Mj"))
    );
    assert_eq!(bare["iss"], "http://127.0.0.1:54321/auth/v1");
    assert_eq!(bare["exp"].as_i64().unwrap() - bare["iat"].as_i64().unwrap(), 3600);
    assert!((bare["iat"].as_i64().unwrap() - bare["auth_time"].as_i64().unwrap()).abs() < 60);
    assert_eq!((bare.get("email"), bare.get("name"), &bare["email_verified"]), (None, None, &json!(false)));
    let full = id_token("openid email phone profile").await;
    assert_eq!((&full["email"], &full["email_verified"]), (&json!("ada@example.com"), &json!(true)));
    assert_eq!((&full["phone_number"], &full["phone_number_verified"]), (&json!("4912345"), &json!(true)));
    assert_eq!((&full["name"], &full["picture"]), (&json!("Ada"), &json!("https://a.example/p.png")));
    assert_eq!(full["preferred_username"], "ada");
    assert!(full["updated_at"].as_i64().unwrap() > 0);
}

#[tokio::test]
async fn anybody_can_verify_an_id_token() {
    let app = App::start().await;
    let code = app.code(&[("scope", "openid")]).await;
    let token = app.exchange(&code).await.text("id_token").to_owned();
    let keys = app.server.get("/.well-known/jwks.json").await.body;
    let verifier = tokens::Verifier::from_published(&keys);
    assert!(verifier.verify(&token).is_ok());
}

#[tokio::test]
async fn no_id_token_is_signed_with_a_secret_and_the_code_stays() {
    let folder = tempfile::tempdir().unwrap();
    let overrides = KeyOverrides {
        jwt_secret: Some("a secret of more than thirty-two bytes".to_owned()),
        ..KeyOverrides::default()
    };
    let keys = Keys::load_or_create(&folder.path().join("keys.json"), overrides).unwrap();
    let app = App::start().await;
    let code = app.code(&[("scope", "openid")]).await;
    let symmetric = app.server.second_node_with_keys(keys).await;
    let fields = [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", VERIFIER)];
    let header = basic(&app.id, &app.secret);
    let response = token(&symmetric, &[("authorization", &header)], &fields).await;
    assert_eq!(response.refusal(), (500, "unexpected_failure"));
    assert_eq!(app.exchange(&code).await.status, StatusCode::OK);
}

#[tokio::test]
async fn user_info_tells_what_the_scopes_allow_whatever_the_method() {
    let app = App::start().await;
    app.server
        .sql("update auth.users set phone = '4912345', raw_user_meta_data = '{\"picture\":\"https://a.example/p.png\"}'")
        .await;
    let info = async |scope: &str| {
        let code = app.code(&[("scope", scope)]).await;
        let access = app.exchange(&code).await.text("access_token").to_owned();
        let userinfo = app.server.get_as("/oauth/userinfo", &access).await.body;
        assert_eq!(app.server.post_as("/oauth/userinfo", &access).await.body, userinfo);
        userinfo
    };
    let user = app.server.text("select id::text from auth.users").await;
    assert_eq!(info("phone").await, json!({ "sub": user, "phone": "4912345" }));
    let profile = info("profile").await;
    assert_eq!((&profile["name"], profile.get("phone")), (&json!("ada@example.com"), None));
    assert_eq!(profile["user_metadata"], json!({ "picture": "https://a.example/p.png" }));
    assert!(profile["updated_at"].is_i64());
}

#[tokio::test]
async fn discovery_tells_where_everything_is() {
    let server = Server::with(settings()).await;
    let response = server.get("/.well-known/oauth-authorization-server").await;
    let base = "http://127.0.0.1:54321/auth/v1";
    for (member, path) in [
        ("issuer", ""),
        ("authorization_endpoint", "/oauth/authorize"),
        ("token_endpoint", "/oauth/token"),
        ("jwks_uri", "/.well-known/jwks.json"),
        ("userinfo_endpoint", "/oauth/userinfo"),
        ("registration_endpoint", "/oauth/clients/register"),
    ] {
        assert_eq!(response.text(member), format!("{base}{path}"));
    }
    assert_eq!(server.get("/.well-known/openid-configuration").await.body, response.body);
    let off = server.second_node_with(Settings::default()).await;
    let document = off.get("/.well-known/openid-configuration").await;
    assert_eq!((document.status, document.body.get("registration_endpoint")), (StatusCode::OK, None));
}

#[tokio::test]
async fn the_hook_of_access_tokens_sees_clients_sessions() {
    let mut settings = settings();
    let uri = "pg-functions://postgres/public/shape";
    settings
        .hooks
        .0
        .insert(HookName::CustomAccessToken, auth::Hook { uri: uri.to_owned(), ..auth::Hook::default() });
    let app = App::start().await;
    app.server
        .sql("create function public.shape(event jsonb) returns jsonb language sql as
            $$ select jsonb_build_object('claims', event -> 'claims' || jsonb_build_object('seen', event -> 'claims' -> 'client_id')) $$;
            grant execute on function public.shape to supabase_auth_admin;
            grant usage on schema public to supabase_auth_admin")
        .await;
    let app = App { server: app.server.second_node_with(settings).await, ..app };
    let code = app.code(&[]).await;
    assert_eq!(claims(app.exchange(&code).await.text("access_token"))["seen"], json!(app.id));
}
