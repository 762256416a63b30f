//! Single sign-on: where users are sent, who is signed in, what the project learns of them.

use auth::Settings;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra::core::algorithm;
use http::Method;
use serde_json::{Value, json};
use url::Url;

use crate::harness::{Response, Server};
use crate::identity_provider::{
    CONSUMER, ENTITY, EXTERNAL, Encryption, OWN, SamlResponse, Signed, USUAL, encrypt, is_signed, metadata,
    read,
};
use crate::sign_in_at::{SITE, fragment, location, query};

pub(crate) const KEY: &str = include_str!("../../../saml/tests/service_provider.b64");
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

pub(crate) fn settings() -> Settings {
    let mut settings =
        Settings { external_url: EXTERNAL.to_owned(), site_url: SITE.to_owned(), ..Settings::default() };
    settings.uri_allow_list = vec!["https://app.example/**".to_owned()];
    settings.saml.enabled = true;
    settings.saml.private_key = KEY.into();
    settings
}

/// Starts a server that knows the identity provider; returns it and the id that the provider has there.
pub(crate) async fn start(settings: Settings) -> (Server, String) {
    let server = Server::with(settings).await;
    let body = json!({
        "type": "saml",
        "metadata_xml": metadata(ENTITY, &[&OWN]),
        "domains": ["example.com"],
        "attribute_mapping": { "keys": {
            "full_name": { "name": "displayName" },
            "groups": { "name": "group", "array": true },
            "role": { "name": "role", "default": "member" },
        } },
    });
    let created = server.post_as_admin("/admin/sso/providers", body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let id = created.text("id").to_owned();
    (server, id)
}

/// Leaves for the identity provider; returns the URL there.
pub(crate) async fn depart(server: &Server, body: Value) -> Url {
    let response = server.post("/sso", body).await;
    assert_eq!(response.status, 303, "{}", response.body);
    location(&response)
}

/// Posts what the browser posts.
pub(crate) async fn arrive(server: &Server, relay_state: &str, xml: &str) -> Response {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("SAMLResponse", &STANDARD.encode(xml))
        .append_pair("RelayState", relay_state)
        .finish();
    let form = ("content-type", "application/x-www-form-urlencoded");
    server.send(Method::POST, "/sso/saml/acs", &[form], body).await
}

/// Leaves and comes back with what `say` makes of a response to the request.
pub(crate) async fn sign_in(server: &Server, say: impl FnOnce(SamlResponse) -> String) -> Response {
    let request = read(&depart(server, json!({ "domain": "example.com" })).await);
    arrive(server, &request.relay_state, &say(SamlResponse::to(&request.id))).await
}

/// Returns the members of the fragment that a sign-in has ended in.
pub(crate) fn session(response: &Response) -> std::collections::BTreeMap<String, String> {
    assert_eq!(response.status, 302, "{:?}", response.headers);
    fragment(&location(response))
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// Returns the certificates in this service's metadata, in their order.
async fn certificates(server: &Server) -> Vec<String> {
    let response = server.get("/sso/saml/metadata").await;
    let document = response.body.as_str().unwrap().to_owned();
    let parts = document.split("<X509Certificate>").skip(1);
    parts.map(|part| part.split('<').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn users_are_sent_to_their_identity_provider_with_a_signed_request() {
    let (server, id) = start(settings()).await;
    let url = depart(&server, json!({ "domain": "Example.com" })).await;
    assert!(url.as_str().starts_with("https://idp.example/sso?tenant=7&SAMLRequest="), "{url}");
    let certificates = certificates(&server).await;
    assert!(is_signed(&url, &certificates[0]));
    let request = read(&url);
    assert!(uuid::Uuid::parse_str(&request.relay_state).is_ok());
    for part in [
        "<samlp:AuthnRequest ",
        "Destination=\"https://idp.example/sso?tenant=7\"",
        &format!("AssertionConsumerServiceURL=\"{CONSUMER}\""),
        ">https://project.example/auth/v1/sso/saml/metadata</saml:Issuer>",
        "Format=\"urn:oasis:names:tc:SAML:2.0:nameid-format:persistent\" AllowCreate=\"true\"",
    ] {
        assert!(request.xml.contains(part), "{part} in {}", request.xml);
    }
    let second = server.post("/sso", json!({ "provider_id": id, "skip_http_redirect": true })).await;
    assert_eq!(second.status, 200);
    assert_ne!(read(&Url::parse(second.text("url")).unwrap()).id, request.id);
    let bearer = format!("Bearer {}", server.keys.api_keys().service_role());
    let format = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
    let path = format!("/admin/sso/providers/{id}");
    let body = json!({ "name_id_format": format }).to_string();
    server.send(Method::PUT, &path, &[("authorization", &bearer)], body).await;
    let request = read(&depart(&server, json!({ "provider_id": id })).await);
    assert!(request.xml.contains(&format!("Format=\"{format}\"")), "{}", request.xml);
}

#[tokio::test]
async fn nobody_is_sent_to_an_identity_provider_that_is_not_there() {
    let (server, id) = start(settings()).await;
    for (body, refusal) in [
        (json!({ "provider_id": uuid::Uuid::nil() }), (400, "validation_failed")),
        (json!({ "provider_id": "x" }), (400, "bad_json")),
        (json!({ "domain": 1 }), (400, "bad_json")),
        (json!({ "domain": "\0" }), (404, "sso_provider_not_found")),
        (json!({ "domain": "example.com", "code_challenge": CHALLENGE }), (400, "validation_failed")),
    ] {
        let response = server.post("/sso", body.clone()).await;
        assert_eq!(response.refusal(), refusal, "{body}");
    }
    server.sql("update auth.sso_providers set disabled = true").await;
    let response = server.post("/sso", json!({ "provider_id": id })).await;
    assert_eq!(response.refusal(), (404, "sso_provider_disabled"));
    assert_eq!(server.value("select count(*) from auth.saml_relay_states").await, 0);
    server.sql("update auth.sso_providers set disabled = null").await;
    server
        .sql("update auth.saml_providers set metadata_xml = replace(metadata_xml, 'HTTP-Redirect', 'HTTP-POST')")
        .await;
    let response = server.post("/sso", json!({ "provider_id": id })).await;
    assert_eq!(response.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn without_saml_there_is_no_single_sign_on() {
    let server = Server::start().await;
    let disabled = (404, "saml_provider_disabled");
    assert_eq!(server.post("/sso", json!({ "domain": "example.com" })).await.refusal(), disabled);
    assert_eq!(server.get("/sso/saml/metadata").await.refusal(), disabled);
    assert_eq!(arrive(&server, "", "<a/>").await.refusal(), disabled);
}

#[tokio::test]
async fn whatever_is_signed_signs_in() {
    let (server, _) = start(settings()).await;
    let mut tokens = Vec::new();
    for what in [Signed::Response, Signed::Assertion, Signed::Both] {
        let members = session(&sign_in(&server, |said| said.signed(what)).await);
        assert_eq!((members["token_type"].as_str(), members["sb"].as_str()), ("bearer", ""));
        tokens.push(members["access_token"].clone());
    }
    for (method, digest) in
        [(algorithm::RSA_SHA512, algorithm::SHA512), (algorithm::RSA_SHA1, algorithm::SHA1)]
    {
        let response = sign_in(&server, |mut said| {
            (said.signature_method, said.digest_method) = (method, digest);
            said.signed(Signed::Assertion)
        });
        session(&response.await);
    }
    assert_eq!(server.value("select count(*) from auth.users").await, 1, "the same user each time");
    for token in &tokens {
        assert_eq!(server.get_as("/user", token).await.text("email"), "ada@example.com");
    }
}

#[tokio::test]
async fn the_user_is_the_providers_alone() {
    let (server, id) = start(settings()).await;
    let other = server.user("ada@example.com").await;
    let response = sign_in(&server, |mut said| {
        said.attributes = vec![
            ("mail", vec!["Ada@Example.com"]),
            ("displayName", vec!["Ada &amp; Co"]),
            ("GROUP", vec!["staff", "board"]),
        ];
        said.signed(Signed::Response)
    });
    let members = session(&response.await);
    let user = server.get_as("/user", &members["access_token"]).await;
    assert_ne!(user.text("id"), other);
    assert_eq!(user.text("email"), "ada@example.com");
    let provider = format!("sso:{id}");
    assert_eq!(user.body["app_metadata"], json!({ "provider": provider, "providers": [provider] }));
    let identity = &user.body["identities"][0];
    assert_eq!(
        (identity["provider"].as_str(), identity["id"].as_str()),
        (Some(provider.as_str()), Some("user-1"))
    );
    let data = json!({
        "iss": ENTITY,
        "sub": "user-1",
        "email": "ada@example.com",
        "email_verified": true,
        "phone_verified": false,
        "full_name": "Ada & Co",
        "custom_claims": { "groups": ["staff", "board"], "role": "member" },
    });
    assert_eq!(identity["identity_data"], data);
    assert_eq!(user.body["user_metadata"], data);
    let claims = claims(&members["access_token"]);
    assert_eq!(claims["amr"][0]["method"], "sso/saml");
    assert_eq!(claims["amr"][0]["provider"], id);
    assert_eq!((&claims["aal"], &claims["aud"]), (&json!("aal1"), &json!("authenticated")));
    assert_eq!(server.value("select count(*) from auth.users where is_sso_user").await, 1);
    let change = server.put_as("/user", &members["access_token"], json!({ "email": "x@example.com" })).await;
    assert_eq!(change.refusal(), (422, "user_sso_managed"));
    assert_eq!(server.refresh(&members["refresh_token"]).await.status, 200);
    let logged = "select count(*) from auth.audit_log_entries where payload ->> 'action' = 'user_signedup'
        and (payload -> 'traits' ->> 'provider') like 'sso:%'";
    assert_eq!(server.value(logged).await, 1);
}

#[tokio::test]
async fn sessions_end_when_the_provider_says_so() {
    let (server, _) = start(settings()).await;
    let response = sign_in(&server, |mut said| {
        said.session_end = Some("2199-01-02T03:04:05.678+01:00");
        said.signed(Signed::Assertion)
    });
    session(&response.await);
    let end = "select to_char(not_after at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS') from auth.sessions";
    assert_eq!(server.text(end).await, "2199-01-02 02:04:05");
    server.sql("update auth.sessions set not_after = now() - interval '1 second'").await;
    let token = server.text("select token from auth.refresh_tokens").await;
    assert_eq!(server.refresh(&token).await.refusal(), (400, "session_expired"));
}

#[tokio::test]
async fn users_end_where_they_wanted_to_go_if_that_is_allowed() {
    let (server, _) = start(settings()).await;
    for (wish, end) in [
        ("https://app.example/in?a=b", "https://app.example/in?a=b"),
        ("https://evil.example/", SITE),
        ("", SITE),
    ] {
        let body = json!({ "domain": "example.com", "redirect_to": wish });
        let request = read(&depart(&server, body).await);
        let response =
            arrive(&server, &request.relay_state, &SamlResponse::to(&request.id).signed(Signed::Response))
                .await;
        assert_eq!(response.status, 302);
        assert_eq!(location(&response).as_str().split('#').next(), Some(end), "{wish}");
    }
}

#[tokio::test]
async fn with_pkce_it_ends_in_a_code() {
    let (server, id) = start(settings()).await;
    let body = json!({
        "domain": "example.com", "redirect_to": "https://app.example/in?a=b",
        "code_challenge": CHALLENGE, "code_challenge_method": "s256",
    });
    let request = read(&depart(&server, body).await);
    let response =
        arrive(&server, &request.relay_state, &SamlResponse::to(&request.id).signed(Signed::Both)).await;
    assert_eq!(response.status, 302);
    let url = location(&response);
    assert_eq!(url.fragment(), None);
    let code = query(&url)["code"].clone();
    let wrong = json!({ "auth_code": code, "code_verifier": "x".repeat(43) });
    assert_eq!(server.post("/token?grant_type=pkce", wrong).await.refusal(), (400, "bad_code_verifier"));
    let body = json!({ "auth_code": code, "code_verifier": VERIFIER });
    let session = server.post("/token?grant_type=pkce", body.clone()).await;
    assert_eq!(session.status, 200, "{}", session.body);
    let amr = &claims(session.text("access_token"))["amr"][0];
    assert_eq!((&amr["method"], &amr["provider"]), (&json!("sso/saml"), &json!(id)));
    assert_eq!(server.post("/token?grant_type=pkce", body).await.refusal(), (404, "flow_state_not_found"));
}

#[tokio::test]
async fn encrypted_assertions_are_taken_if_settings_say_so() {
    let mut encrypted = settings();
    encrypted.saml.allow_encrypted_assertions = true;
    let (server, _) = start(encrypted).await;
    let certificate = certificates(&server).await[0].clone();
    for how in [
        USUAL,
        Encryption { cipher: algorithm::AES128_CBC, key_beside: true, ..USUAL },
        Encryption { cipher: algorithm::AES256_CBC, transport: algorithm::RSA_OAEP_ENC11, key_beside: false },
    ] {
        let response = sign_in(&server, |said| {
            said.response(&encrypt(&said.assertion(Some(&OWN)), &certificate, how), None)
        });
        session(&response.await);
    }
    let around = async |inner| {
        sign_in(&server, |said| {
            said.response(&encrypt(&said.assertion(inner), &certificate, USUAL), Some(&OWN))
        })
        .await
    };
    session(&around(None).await);
    session(&around(Some(&OWN)).await);
    // A key that is about to go is one that some still encrypt for.
    let mut rolled = settings();
    rolled.saml.allow_encrypted_assertions = true;
    rolled.saml.private_key = include_str!("keys/service_provider_next.b64").into();
    rolled.saml.private_key_next = KEY.into();
    let rolled = server.second_node_with(rolled).await;
    let response = sign_in(&rolled, |said| {
        said.response(&encrypt(&said.assertion(Some(&OWN)), &certificate, USUAL), None)
    });
    session(&response.await);
}

#[tokio::test]
async fn the_project_describes_itself_to_identity_providers() {
    let (server, _) = start(settings()).await;
    let response = server.get("/sso/saml/metadata").await;
    assert_eq!(response.status, 200);
    assert!(response.headers["content-type"].to_str().unwrap().starts_with("application/xml"));
    assert_eq!(response.headers["cache-control"], "public, max-age=600");
    assert!(!response.headers.contains_key("content-disposition"));
    let document = response.body.as_str().unwrap();
    for part in [
        "entityID=\"https://project.example/auth/v1/sso/saml/metadata\"",
        "WantAssertionsSigned=\"true\"",
        "<KeyDescriptor use=\"signing\">",
        "<NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress</NameIDFormat>",
        &format!("Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST\" Location=\"{CONSUMER}\""),
        &format!("Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact\" Location=\"{CONSUMER}\""),
    ] {
        assert!(document.contains(part), "{part} in {document}");
    }
    assert!(!document.contains("encryption") && !document.contains("AuthnRequestsSigned"), "{document}");
    let kept = server.get("/sso/saml/metadata?download=true").await;
    assert_eq!(kept.headers["content-disposition"], "attachment; filename=\"metadata.xml\"");
    let mut rolling = settings();
    rolling.saml.allow_encrypted_assertions = true;
    rolling.saml.external_url = Some("https://sso.example/".to_owned());
    rolling.saml.private_key_next = include_str!("keys/service_provider_next.b64").into();
    let rolling = server.second_node_with(rolling).await;
    let response = rolling.get("/sso/saml/metadata").await;
    assert_eq!(response.headers["cache-control"], "public, max-age=60");
    let document = response.body.as_str().unwrap();
    assert!(
        document.contains("cacheDuration=\"PT1H\"") && document.contains("https://sso.example/sso/saml/acs")
    );
    assert_eq!(document.matches("<KeyDescriptor use=\"encryption\">").count(), 2);
    assert_eq!(document.matches("<KeyDescriptor use=\"signing\">").count(), 2);
}

#[tokio::test]
async fn a_client_has_only_so_many_attempts() {
    let mut limited = settings();
    limited.limits.header = Some("x-client".to_owned());
    limited.limits.saml_assertion = 0.0;
    limited.limits.sso = 0.0;
    let (server, _) = start(limited).await;
    for path in ["/sso", "/sso/saml/acs"] {
        let attempt = async || {
            let response = server.send(Method::POST, path, &[("x-client", "ada")], "{}").await;
            response.status.as_u16()
        };
        for _ in 0..30 {
            assert!(matches!(attempt().await, 303 | 400), "{path}");
        }
        assert_eq!(attempt().await, 429, "{path}");
    }
}
