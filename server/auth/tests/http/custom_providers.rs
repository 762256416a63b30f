//! Providers that administrators define, and sign-in at them.

use auth::{EncryptionKey, Settings};
use http::Method;
use serde_json::{Value, json};

use crate::harness::{Response, Server};
use crate::provider::Provider;
use crate::sign_in_at::{SITE, depart, fragment, location, query, settings, sign_in};

/// Starts a server that may call a provider on this machine, and whose table takes one without TLS.
async fn start() -> (Provider, Server) {
    start_with(|_| {}).await
}

async fn start_with(change: impl FnOnce(&mut Settings)) -> (Provider, Server) {
    let provider = Provider::start().await;
    let mut open = settings(&provider, &[]);
    open.providers.custom_oauth_private_addresses = true;
    change(&mut open);
    let server = Server::with(open).await;
    let checks =
        ["oidc_issuer", "oidc_discovery_url", "authorization_url", "token_url", "userinfo_url", "jwks_uri"];
    for name in checks {
        let constraint = format!("custom_oauth_providers_{name}_https");
        server.sql(&format!("alter table auth.custom_oauth_providers drop constraint {constraint}")).await;
    }
    (provider, server)
}

async fn admin(server: &Server, method: Method, path: &str, body: &Value) -> Response {
    let key = server.keys.api_keys().service_role().to_owned();
    let bearer = format!("Bearer {key}");
    let path = format!("/admin/custom-providers{path}");
    server.send(method, &path, &[("authorization", &bearer)], body.to_string()).await
}

fn oidc(provider: &Provider) -> Value {
    json!({
        "provider_type": "oidc", "identifier": "custom:acme", "name": "Acme", "client_id": "client",
        "client_secret": "very secret", "issuer": provider.url, "scopes": ["email"],
    })
}

fn oauth2(provider: &Provider) -> Value {
    let url = &provider.url;
    json!({
        "provider_type": "oauth2", "identifier": "custom:forge", "name": "Forge", "client_id": "client",
        "client_secret": "very secret", "authorization_url": format!("{url}/a?tenant=1"),
        "token_url": format!("{url}/t"), "userinfo_url": format!("{url}/me"), "pkce_enabled": false,
    })
}

fn with(mut document: Value, name: &str, value: impl Into<Value>) -> Value {
    document[name] = value.into();
    document
}

#[tokio::test]
async fn an_openid_provider_is_defined_by_what_it_publishes() {
    let (provider, server) = start().await;
    let created = admin(&server, Method::POST, "", &oidc(&provider)).await;
    assert_eq!(created.status, 201, "{}", created.body);
    assert_eq!(created.body["scopes"], json!(["openid", "email"]));
    assert_eq!(created.body["discovery_document"]["jwks_uri"], format!("{}/keys", provider.url));
    assert!(!created.body.to_string().contains("very secret"), "{}", created.body);
    let change = json!({ "enabled": false, "acceptable_client_ids": ["app"] });
    let changed = admin(&server, Method::PUT, "/custom:acme", &change).await;
    let found = admin(&server, Method::GET, "/custom:acme", &Value::Null).await;
    assert_eq!((changed.status.as_u16(), &found.body), (200, &changed.body));
    assert_eq!(found.body["issuer"], provider.url.as_str());
}

#[tokio::test]
async fn only_administrators_define_providers_and_only_if_settings_let_them() {
    let (provider, server) = start_with(|settings| settings.providers.custom_oauth = false).await;
    assert_eq!(admin(&server, Method::GET, "", &Value::Null).await.refusal(), (404, "feature_disabled"));
    let anybody = server.post("/admin/custom-providers", oidc(&provider)).await;
    assert_eq!(anybody.refusal(), (401, "no_authorization"));
    let (provider, server) = start_with(|settings| settings.providers.custom_oauth_max = 1).await;
    assert_eq!(admin(&server, Method::POST, "", &oidc(&provider)).await.status, 201);
    let response = admin(&server, Method::POST, "", &oauth2(&provider)).await;
    assert_eq!(response.refusal(), (400, "over_custom_provider_quota"));
}

#[tokio::test]
async fn definitions_that_cannot_work_are_refused() {
    let (provider, server) = start().await;
    let good = oidc(&provider);
    for document in [
        with(good.clone(), "identifier", "custom:Not Good"),
        with(good.clone(), "name", "x".repeat(101)),
        with(good.clone(), "attribute_mapping", json!({ "role": "x" })),
        with(good.clone(), "custom_claims_allowlist", json!([" "])),
        with(good.clone(), "discovery_url", format!("{}/nowhere", provider.url)),
        with(good.clone(), "issuer", format!("{}/other", provider.url)),
    ] {
        let response = admin(&server, Method::POST, "", &document).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{document}: {}", response.body);
    }
    let wrong = admin(&server, Method::POST, "", &with(good.clone(), "scopes", "email")).await;
    assert_eq!(wrong.refusal(), (400, "bad_json"));
    provider
        .respond("/.well-known/openid-configuration", &json!({ "issuer": provider.url, "jwks_uri": "x" }));
    let response = admin(&server, Method::POST, "", &good).await;
    assert!(response.text("msg").ends_with("authorization_endpoint, token_endpoint"), "{}", response.body);
    provider.publish("first");
    assert_eq!(admin(&server, Method::POST, "", &good).await.status, 201);
}

#[tokio::test]
async fn an_administrators_token_opens_no_private_network() {
    let provider = Provider::start().await;
    let server = Server::with(settings(&provider, &[])).await;
    let addresses = [
        provider.url.as_str(),
        "http://example.com",
        "https://localhost/x",
        "https://127.0.0.1",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "ftp://example.com",
        "nonsense",
    ];
    for url in addresses {
        let oidc = with(oidc(&provider), "issuer", url);
        assert_eq!(
            admin(&server, Method::POST, "", &oidc).await.refusal(),
            (400, "validation_failed"),
            "{url}"
        );
        let oauth2 = with(oauth2(&provider), "token_url", url);
        assert_eq!(
            admin(&server, Method::POST, "", &oauth2).await.refusal(),
            (400, "validation_failed"),
            "{url}"
        );
    }
    assert!(provider.requests("/.well-known/openid-configuration").is_empty());
    // Not even an address that got into the table some other way is called.
    let insert =
        "alter table auth.custom_oauth_providers drop constraint custom_oauth_providers_oidc_issuer_https";
    server.sql(insert).await;
    server
        .sql(&format!(
            "insert into auth.custom_oauth_providers (provider_type, identifier, name, client_id, client_secret, issuer)
             values ('oidc', 'custom:inside', 'Inside', 'client', 'secret', '{}')",
            provider.url
        ))
        .await;
    let response = server.send(Method::GET, "/authorize?provider=custom:inside", &[], ()).await;
    assert_eq!(response.refusal(), (400, "validation_failed"));
    let token = provider.id_token(&json!({ "sub": "1" }));
    let fields = json!({ "provider": "custom:inside", "id_token": token });
    let response = server.post("/token?grant_type=id_token", fields).await;
    assert_eq!(response.text("error_description"), "Bad ID token");
    assert!(provider.requests("/.well-known/openid-configuration").is_empty());
}

#[tokio::test]
async fn users_sign_in_at_an_openid_provider() {
    let (provider, server) = start().await;
    let definition = with(oidc(&provider), "custom_claims_allowlist", json!(["department", "absent"]));
    let definition = with(definition, "attribute_mapping", json!({ "full_name": "name", "locale": "en" }));
    let definition = with(definition, "authorization_params", json!({ "prompt": "login" }));
    assert_eq!(admin(&server, Method::POST, "", &definition).await.status, 201);
    let at_provider = depart(&server, "provider=custom:acme&prompt=none").await;
    assert!(at_provider.as_str().starts_with(&format!("{}/authorize?", provider.url)));
    let parameters = query(&at_provider);
    assert_eq!((parameters["scope"].as_str(), parameters["prompt"].as_str()), ("openid email", "login"));
    assert_eq!(parameters["code_challenge_method"], "S256");
    assert_eq!(parameters["redirect_uri"], "http://127.0.0.1:54321/auth/v1/callback");
    let id_token = provider.id_token(&json!({
        "sub": "u1", "email": "ada@example.com", "email_verified": true, "name": "Ada", "department": "engines",
    }));
    provider.respond("/token", &json!({ "access_token": "a", "id_token": id_token }));
    let landed = location(&crate::sign_in_at::arrive(&server, &parameters["state"]).await);
    let members = fragment(&landed);
    let user = server.get_as("/user", &members["access_token"]).await;
    let identity = &user.body["identities"][0];
    assert_eq!((identity["provider"].as_str(), identity["id"].as_str()), (Some("custom:acme"), Some("u1")));
    let data = &identity["identity_data"];
    assert_eq!((data["full_name"].as_str(), data["email_verified"].as_bool()), (Some("Ada"), Some(true)));
    assert_eq!(data["custom_claims"], json!({ "department": "engines" }));
    assert!(data.get("department").is_none());
    let foreign = provider.id_token(&json!({ "sub": "u1", "aud": "another", "email": "ada@example.com" }));
    provider.respond("/token", &json!({ "access_token": "a", "id_token": foreign }));
    let landed = sign_in(&server, "provider=custom:acme").await;
    assert_eq!(query(&landed)["error"], "server_error");
    // Without an ID token the userinfo tells.
    provider.respond("/token", &json!({ "access_token": "a" }));
    provider
        .respond("/userinfo", &json!({ "sub": "u2", "email": "grace@example.com", "email_verified": true }));
    let landed = sign_in(&server, "provider=custom:acme").await;
    assert!(fragment(&landed).contains_key("access_token"), "{landed}");
}

#[tokio::test]
async fn users_of_custom_providers_may_come_back_to_a_url_of_their_own() {
    let own = "https://auth.row.example/auth/v1/".to_owned();
    let (provider, server) = start_with(|settings| settings.providers.custom_oauth_external_url = own).await;
    assert_eq!(admin(&server, Method::POST, "", &oidc(&provider)).await.status, 201);
    let parameters = query(&depart(&server, "provider=custom:acme").await);
    assert_eq!(parameters["redirect_uri"], "https://auth.row.example/auth/v1/callback");
}

#[tokio::test]
async fn users_sign_in_at_an_oauth_provider() {
    let (provider, server) = start().await;
    let mapping = json!({ "sub": "id", "email": "contact", "name": "login" });
    let definition = with(oauth2(&provider), "attribute_mapping", mapping);
    let definition = with(definition, "email_optional", true);
    assert_eq!(admin(&server, Method::POST, "", &definition).await.status, 201);
    let at_provider = depart(&server, "provider=custom:forge&scopes=one%20two").await;
    let parameters = query(&at_provider);
    assert_eq!((parameters["tenant"].as_str(), parameters["scope"].as_str()), ("1", "one two"));
    assert!(!parameters.contains_key("code_challenge"));
    provider.respond("/t", &json!({ "access_token": "a" }));
    provider.respond("/me", &json!({ "sub": "7", "name": "Ada", "email": "ada@example.com" }));
    let landed = location(&crate::sign_in_at::arrive(&server, &parameters["state"]).await);
    assert_eq!(query(&landed)["error_code"], "provider_email_needs_verification", "{landed}");
    provider.respond("/me", &json!({ "sub": "8", "name": "Grace" }));
    let landed = sign_in(&server, "provider=custom:forge").await;
    assert!(fragment(&landed).contains_key("access_token"), "{landed}");
    assert_eq!(admin(&server, Method::PUT, "/custom:forge", &json!({ "enabled": false })).await.status, 200);
    let response = server.send(Method::GET, "/authorize?provider=custom:forge", &[], ()).await;
    assert_eq!(response.text("msg"), "Unsupported provider: custom provider custom:forge is disabled");
    assert!(landed.as_str().starts_with(SITE));
}

#[tokio::test]
async fn id_tokens_of_custom_providers_sign_in() {
    let (provider, server) = start().await;
    let definition = with(oidc(&provider), "acceptable_client_ids", json!(["app"]));
    assert_eq!(admin(&server, Method::POST, "", &definition).await.status, 201);
    assert_eq!(admin(&server, Method::POST, "", &oauth2(&provider)).await.status, 201);
    let token = |audience: &str| {
        let claims =
            json!({ "sub": "1", "aud": audience, "email": "ada@example.com", "email_verified": true });
        provider.id_token(&claims)
    };
    let show = async |name: &str, audience: &str| {
        let fields = json!({ "provider": name, "id_token": token(audience) });
        server.post("/token?grant_type=id_token", fields).await
    };
    for audience in ["client", "app"] {
        let session = show("custom:acme", audience).await;
        assert_eq!(session.status, 200, "{}", session.body);
        assert_eq!(session.body["user"]["app_metadata"]["provider"], "custom:acme");
    }
    let other = show("custom:acme", "another").await;
    assert!(other.text("error_description").starts_with("Unacceptable audience"));
    assert_eq!(show("custom:forge", "client").await.refusal(), (400, "validation_failed"));
    assert_eq!(show("custom:nobody", "client").await.refusal(), (400, "validation_failed"));
    admin(&server, Method::PUT, "/custom:acme", &json!({ "enabled": false })).await;
    assert_eq!(show("custom:acme", "client").await.refusal(), (400, "provider_disabled"));
}

#[tokio::test]
async fn secrets_are_stored_encrypted_if_the_project_has_a_key() {
    let key = EncryptionKey::parse(&"A".repeat(43)).unwrap();
    let (provider, server) =
        start_with(|settings| settings.encryption.current = Some(("k1".to_owned(), key))).await;
    let definition = with(oauth2(&provider), "email_optional", true);
    assert_eq!(admin(&server, Method::POST, "", &definition).await.status, 201);
    let plain = "select count(*) from auth.custom_oauth_providers where client_secret like '%very secret%'";
    assert_eq!(server.value(plain).await, 0);
    provider.respond("/t", &json!({ "access_token": "a" }));
    provider.respond("/me", &json!({ "sub": "8" }));
    let landed = sign_in(&server, "provider=custom:forge").await;
    assert!(fragment(&landed).contains_key("access_token"), "{landed}");
    // "client:very+secret"
    assert_eq!(provider.requests("/t")[0].headers["authorization"], "Basic Y2xpZW50OnZlcnkrc2VjcmV0");
}
