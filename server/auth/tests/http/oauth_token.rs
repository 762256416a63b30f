//! The OAuth server's token and userinfo endpoints, and its metadata.

use auth::{HookName, Settings};
use futures_util::future::join_all;
use http::{Method, StatusCode};
use serde_json::json;
use tokens::{KeyOverrides, Keys};

use crate::harness::{Server, is_keyless};
use crate::oauth::{
    App, CALLBACK, VERIFIER, authorize, basic, claims, client, location, member, oauth_error, settings, token,
};

#[tokio::test]
async fn a_code_becomes_a_session_of_the_client() {
    let app = App::start().await;
    let code = app.code(&[]).await;
    let response = app.exchange(&code).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    assert_eq!((response.text("token_type"), &response.body["expires_in"]), ("bearer", &json!(3600)));
    assert_eq!(response.headers["cache-control"], "no-store");
    assert!(response.body.get("user").is_none() && response.body.get("id_token").is_none());
    let access = claims(response.text("access_token"));
    assert_eq!((&access["client_id"], &access["scope"]), (&json!(app.id), &json!("email")));
    assert_eq!(access["amr"][0]["method"], "oauth_provider/authorization_code");
    let session = app
        .server
        .text("select oauth_client_id::text || ' ' || scopes from auth.sessions where scopes is not null")
        .await;
    assert_eq!(session, format!("{} email", app.id));
    let logged = "select count(*) from auth.audit_log_entries where payload ->> 'action' = 'login'
        and payload -> 'traits' ->> 'provider_type' = 'oauth_provider_authorization_code'";
    assert_eq!(app.server.value(logged).await, 1);
    assert_eq!(oauth_error(&app.exchange(&code).await), "invalid_grant", "a code is good once");
}

#[tokio::test]
async fn a_code_is_its_clients_alone_and_needs_its_verifier() {
    let app = App::start().await;
    let code = app.code(&[("resource", "https://api.example.com")]).await;
    let right = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
        ("resource", "https://api.example.com"),
    ];
    let with = |name: &'static str, value: &'static str| {
        let mut fields = right;
        fields.iter_mut().find(|(known, _)| *known == name).unwrap().1 = value;
        fields
    };
    for (name, value, error) in [
        ("grant_type", "", "invalid_request"),
        ("grant_type", "password", "unsupported_grant_type"),
        ("code", "", "invalid_request"),
        ("code", "unknown", "invalid_grant"),
        ("code", "a\0b", "invalid_grant"),
    ] {
        assert_eq!(oauth_error(&app.token(&with(name, value)).await), error, "{name} {value}");
    }
    let stranger = basic(&app.id, "wrong");
    let refused = token(&app.server, &[("authorization", &stranger)], &right).await;
    assert_eq!(refused.refusal(), (400, "invalid_credentials"));
    assert_eq!(app.token(&right).await.status, StatusCode::OK, "none of that has used the code up");
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
async fn clients_prove_themselves_as_they_are_registered() {
    let app = App::start().await;
    let (server, id, secret) = (&app.server, app.id.as_str(), app.secret.as_str());
    let refusal = async |headers: &[(&str, &str)], fields: &[(&str, &str)]| {
        let response = token(server, headers, fields).await;
        let (status, code) = response.refusal();
        (status, code.to_owned())
    };
    let refused = (400, "invalid_credentials".to_owned());
    let unknown = "00000000-0000-4000-8000-000000000000";
    for header in [
        basic(id, "wrong"),
        basic(id, ""),
        basic(unknown, secret),
        basic("me", secret),
        "Basic !".to_owned(),
        "Basic bWU=".to_owned(),
    ] {
        assert_eq!(refusal(&[("authorization", &header)], &[]).await, refused, "{header}");
    }
    for fields in [
        &[][..],
        &[("client_id", id)],
        &[("client_id", id), ("client_secret", secret)],
        &[("client_id", id), ("client_secret", "wrong")],
    ] {
        assert_eq!(refusal(&[], fields).await, refused, "{fields:?}");
    }

    let poster = client(server, json!({ "token_endpoint_auth_method": "client_secret_post" })).await;
    let fields = [("client_id", poster.text("client_id")), ("client_secret", poster.text("client_secret"))];
    assert_eq!(oauth_error(&token(server, &[], &fields).await), "invalid_request");
    let public = client(server, json!({ "client_type": "public" })).await;
    let fields = [("client_id", public.text("client_id"))];
    assert_eq!(oauth_error(&token(server, &[], &fields).await), "invalid_request");
    let fields = [("client_id", public.text("client_id")), ("client_secret", "any")];
    assert_eq!(refusal(&[], &fields).await, refused);
}

#[tokio::test]
async fn a_public_client_posts_json() {
    let app = App::start().await;
    let public = client(&app.server, json!({ "client_type": "public" })).await;
    let id = public.text("client_id");
    let target = url::Url::parse(location(&authorize(&app.server, id, &[]).await)).unwrap();
    let request = member(&target, "authorization_id").unwrap();
    app.look(&request).await;
    let code = crate::oauth::code_in(&app.decide(&request, "approve").await);
    let post = async |body: String| {
        let json = [("content-type", "application/json; charset=utf-8")];
        app.server.send(Method::POST, "/oauth/token", &json, body).await
    };
    let fields = json!({
        "grant_type": "authorization_code", "client_id": id, "code": code, "code_verifier": VERIFIER,
    });
    assert_eq!(post(fields.to_string()).await.status, StatusCode::OK);
    for body in ["", "{", "[]", "{\"client_id\":7}"] {
        assert_eq!(oauth_error(&post(body.to_owned()).await), "invalid_request", "{body}");
    }
    let huge = "x".repeat((1 << 20) + 1);
    assert_eq!(post(huge).await.refusal(), (413, "request_entity_too_large"));
}

#[tokio::test]
async fn grants_are_limited_to_what_the_client_is_registered_for() {
    let app = App::start().await;
    let limited = client(&app.server, json!({ "grant_types": ["authorization_code"] })).await;
    let header = basic(limited.text("client_id"), limited.text("client_secret"));
    let fields = [("grant_type", "refresh_token"), ("refresh_token", "abcdefghijkl")];
    let response = token(&app.server, &[("authorization", &header)], &fields).await;
    assert_eq!(oauth_error(&response), "unsupported_grant_type");
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
async fn user_info_tells_what_the_scopes_allow() {
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
    assert_eq!(info("openid").await, json!({ "sub": user }));
    assert_eq!(
        info("email").await,
        json!({ "sub": user, "email": "ada@example.com", "email_verified": true })
    );
    assert_eq!(info("phone").await, json!({ "sub": user, "phone": "4912345" }));
    let profile = info("profile").await;
    assert_eq!((&profile["name"], profile.get("email")), (&json!("ada@example.com"), None));
    assert_eq!(profile["user_metadata"], json!({ "picture": "https://a.example/p.png" }));
    assert!(profile["updated_at"].is_i64());

    let own = app.server.get_as("/oauth/userinfo", &app.token).await;
    assert_eq!(own.body, json!({ "sub": user }), "no client's session has no scopes");
    assert_eq!(app.server.get("/oauth/userinfo").await.refusal(), (401, "no_authorization"));
    assert!(is_keyless("/oauth/userinfo") && is_keyless("/oauth/token"));
}

#[tokio::test]
async fn discovery_tells_where_everything_is() {
    let server = Server::with(settings()).await;
    let response = server.get("/.well-known/oauth-authorization-server").await;
    assert_eq!(response.headers["cache-control"], "public, max-age=600");
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
    assert_eq!(response.body["code_challenge_methods_supported"], json!(["S256", "plain"]));
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
        .insert(HookName::CustomAccessToken, auth::Hook { uri: uri.to_owned(), secrets: Vec::new() });
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
