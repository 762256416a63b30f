//! An OAuth client and a user, as they meet at this server.

use auth::{OauthServerSettings, Settings};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use crate::harness::{Response, Server};

/// The example of RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub(crate) const CALLBACK: &str = "https://app.example.com/callback?keep=1";

/// Returns settings of a server that is an OAuth server.
pub(crate) fn settings() -> Settings {
    Settings {
        site_url: "https://site.example.com/".to_owned(),
        oauth_server: OauthServerSettings {
            enabled: true,
            allow_dynamic_registration: true,
            ..OauthServerSettings::default()
        },
        ..Settings::default()
    }
}

/// A server with a confidential client and a user who is signed in.
pub(crate) struct App {
    pub(crate) server: Server,
    /// The client's.
    pub(crate) id: String,
    pub(crate) secret: String,
    /// The user's.
    pub(crate) token: String,
}

impl App {
    pub(crate) async fn start() -> Self {
        Self::with(settings()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let server = Server::with(settings).await;
        server.user("ada@example.com").await;
        let token = server.sign_in("ada@example.com").await.text("access_token").to_owned();
        let client = client(&server, json!({})).await;
        let (id, secret) = (client.text("client_id").to_owned(), client.text("client_secret").to_owned());
        Self { server, id, secret, token }
    }

    /// Returns the same client and user at another node.
    pub(crate) async fn on_second_node(&self) -> Self {
        let (id, secret, token) = (self.id.clone(), self.secret.clone(), self.token.clone());
        Self { server: self.server.second_node().await, id, secret, token }
    }

    /// Sends what the browser of a user is sent here with, `changes` made.
    pub(crate) async fn authorize(&self, changes: &[(&str, &str)]) -> Response {
        authorize(&self.server, &self.id, changes).await
    }

    /// Begins a request for access; returns its id, which the consent page knows.
    pub(crate) async fn request(&self, changes: &[(&str, &str)]) -> String {
        let response = self.authorize(changes).await;
        assert_eq!(response.status, StatusCode::FOUND, "{}", response.body);
        let target = Url::parse(location(&response)).unwrap();
        member(&target, "authorization_id").unwrap()
    }

    pub(crate) async fn look(&self, request: &str) -> Response {
        self.server.get_as(&format!("/oauth/authorizations/{request}"), &self.token).await
    }

    pub(crate) async fn decide(&self, request: &str, action: &str) -> Response {
        let body = json!({ "action": action }).to_string();
        let bearer = format!("Bearer {}", self.token);
        let path = format!("/oauth/authorizations/{request}/consent");
        self.server.send(Method::POST, &path, &[("authorization", &bearer)], body).await
    }

    /// Returns a code that the user has agreed to.
    pub(crate) async fn code(&self, changes: &[(&str, &str)]) -> String {
        let request = self.request(changes).await;
        let looked = self.look(&request).await;
        assert_eq!(looked.status, StatusCode::OK, "{}", looked.body);
        let response = match looked.body.get("redirect_url") {
            Some(_) => looked,
            None => self.decide(&request, "approve").await,
        };
        code_in(&response)
    }

    /// Returns what the client gets for these fields.
    pub(crate) async fn token(&self, fields: &[(&str, &str)]) -> Response {
        token(&self.server, &[("authorization", &basic(&self.id, &self.secret))], fields).await
    }

    pub(crate) async fn exchange(&self, code: &str) -> Response {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ])
        .await
    }

    pub(crate) async fn refresh(&self, refresh_token: &str) -> Response {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", refresh_token)]).await
    }
}

/// Registers a client as an administrator does; `fields` beside where it is.
pub(crate) async fn client(server: &Server, fields: Value) -> Response {
    let mut registration = json!({ "redirect_uris": [CALLBACK], "client_name": "Scoreboard" });
    registration.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let response = server.post_as_admin("/admin/oauth/clients", registration).await;
    assert_eq!(response.status, StatusCode::CREATED, "{}", response.body);
    response
}

pub(crate) async fn authorize(server: &Server, client: &str, changes: &[(&str, &str)]) -> Response {
    let mut parameters = vec![
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("state", "s t&te"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    parameters.retain(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
    parameters.extend(changes);
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    server.get(&format!("/oauth/authorize?{query}")).await
}

pub(crate) async fn token(server: &Server, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Response {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let mut headers = headers.to_vec();
    headers.push(("content-type", "application/x-www-form-urlencoded"));
    server.send(Method::POST, "/oauth/token", &headers, body).await
}

pub(crate) fn basic(id: &str, secret: &str) -> String {
    use base64::Engine;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}")))
}

pub(crate) fn location(response: &Response) -> &str {
    response.headers["location"].to_str().unwrap()
}

pub(crate) fn member(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

/// Returns the code that the response sends the browser back with.
fn code_in(response: &Response) -> String {
    let target = Url::parse(response.text("redirect_url")).unwrap();
    assert_eq!(member(&target, "keep").as_deref(), Some("1"), "{target}");
    assert_eq!(member(&target, "state").as_deref(), Some("s t&te"), "{target}");
    member(&target, "code").unwrap()
}

/// Returns the claims of a token, whoever signed it.
pub(crate) fn claims(token: &str) -> Value {
    use base64::Engine;
    let payload = token.split('.').nth(1).unwrap();
    let json = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// Returns the OAuth error of a response, which is always 400.
pub(crate) fn oauth_error(response: &Response) -> &str {
    assert_eq!(response.status, StatusCode::BAD_REQUEST, "{}", response.body);
    response.text("error")
}
