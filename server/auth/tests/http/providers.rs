//! Every provider of the table: where users are sent, what is asked for, and how its profile becomes an identity.

use std::collections::BTreeMap;

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

use crate::harness::Server;
use crate::provider::Provider;
use crate::sign_in_at::{depart, fragment, location, query, settings};

/// A provider as its own documentation shows its responses, and the identity that must become of it.
#[derive(Deserialize)]
struct Sample {
    name: String,
    /// The path that users are sent to.
    authorize: String,
    scope: String,
    /// The path where codes are exchanged.
    token: String,
    /// Claims of the ID token that comes with the access token, if one does.
    id_token: Option<Value>,
    /// What else comes with the access token.
    #[serde(default)]
    beside: Map<String, Value>,
    /// What the provider responds, by path.
    documents: BTreeMap<String, Value>,
    /// The identity's issuer, below the provider's address; text that begins with https stands for itself.
    issuer: String,
    data: Value,
}

/// Returns all providers of the table but twitter, which is of another kind.
fn samples() -> Vec<Sample> {
    serde_json::from_str(include_str!("samples.json")).unwrap()
}

#[tokio::test]
async fn every_provider_becomes_an_identity() {
    let provider = Provider::start().await;
    let samples = samples();
    let names: Vec<_> = samples.iter().map(|sample| sample.name.as_str()).collect();
    assert_eq!(names.len(), 24);
    let mut settings = settings(&provider, &names);
    // Spotify vouches for no address.
    settings.mail.allow_unverified_sign_ins = true;
    let server = Server::with(settings).await;
    for sample in samples {
        server.sql("delete from auth.users").await;
        let name = sample.name.as_str();
        let state = check_departure(&server, &sample).await;
        let mut tokens = sample.beside.clone();
        tokens.extend(
            json!({ "access_token": "provider-access", "refresh_token": "pr" }).as_object().unwrap().clone(),
        );
        if let Some(claims) = &sample.id_token {
            tokens.insert("id_token".to_owned(), provider.id_token(claims).into());
        }
        provider.respond(&sample.token, &tokens.into());
        for (path, document) in &sample.documents {
            provider.respond(path, document);
        }
        let landed = come_back(&server, name, &state).await;
        let members = fragment(&landed);
        assert_eq!(
            members.get("provider_token").map(String::as_str),
            Some("provider-access"),
            "{name}: {landed}"
        );
        assert_eq!(members["provider_refresh_token"], "pr", "{name}");
        let identity = identity(&server, &members["access_token"]).await;
        let mut expected = sample.data.clone();
        let is_whole = sample.issuer.starts_with("https");
        let issuer =
            if is_whole { sample.issuer.clone() } else { format!("{}{}", provider.url, sample.issuer) };
        expected["iss"] = issuer.into();
        expected["provider_id"] = expected["sub"].clone();
        expected["phone_verified"] = false.into();
        assert_eq!(identity["identity_data"], expected, "{name}");
        assert_eq!(identity["provider"], name);
        check_requests(&provider, &sample);
    }
}

/// Checks that users leave for the right place with what the provider wants to know; returns the state.
async fn check_departure(server: &Server, sample: &Sample) -> String {
    let name = &sample.name;
    let at_provider = depart(server, &format!("provider={name}&redirect_to=")).await;
    assert_eq!(at_provider.path(), sample.authorize, "{name}");
    let parameters = query(&at_provider);
    assert_eq!(parameters.get("scope").map_or("", String::as_str), sample.scope, "{name}");
    assert_eq!(parameters["client_id"], "client", "{name}");
    assert_eq!(parameters["response_type"], "code", "{name}");
    assert_eq!(parameters["redirect_uri"], "https://project.example/auth/v1/callback", "{name}");
    assert_eq!(parameters.contains_key("code_challenge"), name == "x", "{name}");
    parameters["state"].clone()
}

async fn come_back(server: &Server, name: &str, state: &str) -> Url {
    let response = if name == "apple" {
        let form = format!("code=abcdefgh&state={state}");
        let content_type = [("content-type", "application/x-www-form-urlencoded")];
        server.send(Method::POST, "/callback", &content_type, form).await
    } else {
        crate::sign_in_at::arrive(server, state).await
    };
    assert_eq!(response.status, 302, "{name}");
    location(&response)
}

async fn identity(server: &Server, access_token: &str) -> Value {
    let user = server.get_as("/user", access_token).await;
    let identities = user.body["identities"].as_array().unwrap();
    assert_eq!(identities.len(), 1);
    identities[0].clone()
}

/// Checks that codes are exchanged with the client's secret, and documents requested with the access token.
fn check_requests(provider: &Provider, sample: &Sample) {
    let name = sample.name.as_str();
    let exchange = provider.requests(&sample.token).pop().unwrap();
    assert_eq!((exchange.method.as_str(), exchange.form["code"].as_str()), ("POST", "abcdefgh"), "{name}");
    assert_eq!(exchange.form["grant_type"], "authorization_code");
    let in_header =
        exchange.headers.get("authorization").is_some_and(|value| value == "Basic Y2xpZW50OnNlK2NyZXQ=");
    let in_body = exchange.form.get("client_secret").is_some_and(|secret| secret == "se cret");
    assert!(in_header != in_body, "{name}");
    assert_eq!(exchange.form.contains_key("code_verifier"), name == "x", "{name}");
    for path in sample.documents.keys() {
        let request = provider.requests(path).pop().unwrap();
        assert_eq!(request.headers["authorization"], "Bearer provider-access", "{name}");
        let proof = "appsecret_proof";
        assert_eq!(request.query.contains_key(proof), name == "facebook", "{name}");
        assert_eq!(request.headers.contains_key("notion-version"), name == "notion", "{name}");
        assert_eq!(request.headers.contains_key("client-id"), name == "twitch", "{name}");
    }
}

#[tokio::test]
async fn apple_tells_the_name_once_and_posts_it() {
    let provider = Provider::start().await;
    let server = Server::with(settings(&provider, &["apple"])).await;
    let id_token = provider.id_token(&json!({ "sub": "001", "email": "ada@example.com" }));
    provider.respond("/auth/token", &json!({ "access_token": "a", "id_token": id_token }));
    let at_provider = query(&depart(&server, "provider=apple&scopes=more&prompt=login").await);
    assert_eq!(at_provider["response_mode"], "form_post");
    assert_eq!((at_provider["scope"].as_str(), at_provider.get("prompt")), ("email name", None));
    let user = "%7B%22name%22%3A%7B%22firstName%22%3A%22Ada%22%2C%22lastName%22%3A%22Lovelace%22%7D%7D";
    let form = format!("code=abc&state={}&user={user}", at_provider["state"]);
    let response = server.send(Method::POST, "/callback", &[], form).await;
    let members = fragment(&location(&response));
    let identity = identity(&server, &members["access_token"]).await;
    assert_eq!(identity["identity_data"]["full_name"], "Ada Lovelace");
    assert_eq!(provider.requests("/auth/token")[0].form["client_id"], "client");
}

#[tokio::test]
async fn google_without_an_id_token_is_asked_for_its_userinfo() {
    let provider = Provider::start().await;
    let server = Server::with(settings(&provider, &["google"])).await;
    provider.respond("/token", &json!({ "access_token": "a" }));
    let userinfo = json!({ "id": "g", "email": "ada@example.com", "verified_email": true, "name": "Ada" });
    provider.respond("/userinfo/v2/me", &userinfo);
    let landed = crate::sign_in_at::sign_in(&server, "provider=google").await;
    let identity = identity(&server, &fragment(&landed)["access_token"]).await;
    assert_eq!(identity["identity_data"]["email_verified"], true);
    assert_eq!(identity["id"], "g");
}

#[tokio::test]
async fn twitter_speaks_oauth_1() {
    let provider = Provider::start().await;
    let server = Server::with(settings(&provider, &["twitter"])).await;
    provider.respond_with(
        "/oauth/request_token",
        200,
        "oauth_token=req&oauth_token_secret=rs&oauth_callback_confirmed=true",
    );
    provider.respond_with("/oauth/access_token", 200, "oauth_token=acc&oauth_token_secret=as&user_id=1");
    provider.respond(
        "/1.1/account/verify_credentials.json",
        &json!({
            "id_str": "6253282", "screen_name": "ada", "name": "Ada", "email": "ada@example.com",
            "profile_image_url_https": "https://t.example/p",
        }),
    );
    let at_provider = depart(&server, "provider=twitter").await;
    assert_eq!((at_provider.path(), at_provider.query()), ("/oauth/authenticate", Some("oauth_token=req")));
    let request = provider.requests("/oauth/request_token").pop().unwrap();
    let header = request.headers["authorization"].to_str().unwrap().to_owned();
    let state = header.split("state%3D").nth(1).unwrap()[..36].to_owned();
    let path = format!("/callback?state={state}&oauth_token=req&oauth_verifier=v");
    let landed = location(&server.send(Method::GET, &path, &[], ()).await);
    let members = fragment(&landed);
    assert_eq!(members["provider_token"], "acc");
    assert!(!members.contains_key("provider_refresh_token"));
    let identity = identity(&server, &members["access_token"]).await;
    assert_eq!((identity["id"].as_str(), identity["provider"].as_str()), (Some("6253282"), Some("twitter")));
    let profile = provider.requests("/1.1/account/verify_credentials.json").pop().unwrap();
    assert_eq!(profile.query["include_email"], "true");
    let header = profile.headers["authorization"].to_str().unwrap();
    assert!(header.contains("oauth_token=\"acc\"") && header.contains("oauth_signature="), "{header}");
}

#[tokio::test]
async fn settings_are_told_as_they_are() {
    let provider = Provider::start().await;
    let mut settings = settings(&provider, &["google", "workos"]);
    settings.mail.autoconfirm = true;
    let server = Server::with(settings).await;
    let response = server.send(Method::GET, "/settings", &[], ()).await;
    let external: BTreeMap<String, bool> = serde_json::from_value(response.body["external"].clone()).unwrap();
    assert_eq!(external.len(), 26);
    let on: Vec<_> = external.iter().filter(|(_, on)| **on).map(|(name, _)| name.as_str()).collect();
    assert_eq!(on, ["email", "google", "workos"]);
    assert_eq!(response.body["mailer_autoconfirm"], json!(true));
    assert_eq!(response.body["disable_signup"], json!(false));
}
