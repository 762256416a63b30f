//! The client's side of OAuth 2 (RFC 6749) with PKCE (RFC 7636).

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use url::Url;
use url::form_urlencoded::{self, Serializer};

use super::ProviderError;
use super::table::Authentication;
use crate::Secret;
use crate::http_client::{HttpClient, HttpResponse, Reach};

/// This project as a provider's client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Secret,
    /// Where the provider sends users back to.
    pub(crate) redirect_uri: String,
    pub(crate) authorize_url: String,
    pub(crate) token_url: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) authentication: Authentication,
    pub(crate) reach: Reach,
}

/// What a provider gives for a code.
#[derive(Default)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    /// Empty if the provider gave none.
    pub(crate) refresh: String,
    /// Empty if the provider gave none.
    pub(crate) id: String,
    /// The whole response.
    pub(crate) response: Value,
}

/// Returns a new code verifier of 256 random bits.
pub(crate) fn code_verifier() -> String {
    let bytes: [u8; 32] = rand::random();
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Client {
    /// Returns where to send a user, with `state` to come back with. `parameters` replace those of the same name.
    ///
    /// Errors: a provider whose address is no URL.
    pub(crate) fn authorize_url(
        &self,
        state: &str,
        verifier: Option<&str>,
        parameters: &[(String, String)],
    ) -> Result<String, ProviderError> {
        let mut all = vec![
            ("client_id".to_owned(), self.id.clone()),
            ("redirect_uri".to_owned(), self.redirect_uri.clone()),
            ("response_type".to_owned(), "code".to_owned()),
            ("scope".to_owned(), self.scopes.join(" ")),
            ("state".to_owned(), state.to_owned()),
        ];
        if let Some(verifier) = verifier {
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
            all.push(("code_challenge".to_owned(), challenge));
            all.push(("code_challenge_method".to_owned(), "S256".to_owned()));
        }
        for (name, value) in parameters {
            all.retain(|(known, _)| known != name);
            all.push((name.clone(), value.clone()));
        }
        let mut url = Url::parse(&self.authorize_url).map_err(|error| {
            ProviderError::Unexpected(format!("{:?} is not a URL: {error}", self.authorize_url))
        })?;
        url.query_pairs_mut().extend_pairs(all.iter().filter(|(_, value)| !value.is_empty()));
        Ok(url.into())
    }

    /// Exchanges `code` for tokens.
    pub(crate) async fn exchange(
        &self,
        http: &HttpClient,
        code: &str,
        verifier: Option<&str>,
    ) -> Result<Tokens, ProviderError> {
        let grant = || {
            let mut form = Serializer::new(String::new());
            form.append_pair("grant_type", "authorization_code")
                .append_pair("code", code)
                .append_pair("redirect_uri", &self.redirect_uri);
            if let Some(verifier) = verifier {
                form.append_pair("code_verifier", verifier);
            }
            form
        };
        let in_body = || {
            let mut form = grant();
            form.append_pair("client_id", &self.id).append_pair("client_secret", self.secret.expose());
            Ok(self.request(http)?.body(form.finish()))
        };
        if self.authentication == Authentication::Body {
            return self.read(&self.send(http, in_body()?).await?);
        }
        let in_header = self.request(http)?.header(AUTHORIZATION, self.basic()).body(grant().finish());
        let response = self.send(http, in_header).await?;
        match self.read(&response) {
            // A provider that does not look into the header has not used the code up.
            Err(_) if response.status.is_client_error() => self.read(&self.send(http, in_body()?).await?),
            outcome => outcome,
        }
    }

    fn request(&self, http: &HttpClient) -> Result<RequestBuilder, ProviderError> {
        let request = http.request(Method::POST, &self.token_url, self.reach);
        let request = request.map_err(|cause| ProviderError::Http { url: self.token_url.clone(), cause })?;
        Ok(request
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded"))
    }

    async fn send(&self, http: &HttpClient, request: RequestBuilder) -> Result<HttpResponse, ProviderError> {
        let response = http.send(request).await;
        response.map_err(|cause| ProviderError::Http { url: self.token_url.clone(), cause })
    }

    /// Returns the credentials for header `Authorization`: both are form-encoded before they are joined (RFC 6749,
    /// section 2.3.1).
    fn basic(&self) -> String {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let credentials = format!("{}:{}", encode(&self.id), encode(self.secret.expose()));
        format!("Basic {}", STANDARD.encode(credentials))
    }

    /// Reads JSON, or a form, which is what some providers send whatever they are asked for.
    fn read(&self, response: &HttpResponse) -> Result<Tokens, ProviderError> {
        let document: Map<String, Value> = match response.json() {
            Ok(document) => document,
            Err(_) => form_urlencoded::parse(&response.body)
                .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
                .collect(),
        };
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let error = text("error");
        if !error.is_empty() {
            // The code alone: descriptions may quote what was sent.
            let error = error.chars().take(64).collect();
            return Err(ProviderError::Refused { url: self.token_url.clone(), error });
        }
        if !response.status.is_success() {
            return Err(ProviderError::Status { url: self.token_url.clone(), status: response.status });
        }
        let access = text("access_token");
        if access.is_empty() {
            return Err(ProviderError::Unexpected(format!(
                "{} responded without an access_token",
                self.token_url
            )));
        }
        Ok(Tokens { access, refresh: text("refresh_token"), id: text("id_token"), response: document.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        Client {
            id: "client".to_owned(),
            secret: Secret::from("se cret".to_owned()),
            redirect_uri: "https://project.example/callback".to_owned(),
            authorize_url: "https://provider.example/authorize?fixed=1".to_owned(),
            token_url: "https://provider.example/token".to_owned(),
            scopes: vec!["email".to_owned(), "profile".to_owned()],
            authentication: Authentication::HeaderThenBody,
            reach: Reach::Anywhere,
        }
    }

    #[test]
    fn users_are_sent_with_everything() {
        let url = client().authorize_url("s", None, &[("prompt".into(), "a b".into())]).unwrap();
        assert_eq!(
            url,
            "https://provider.example/authorize?fixed=1&client_id=client\
             &redirect_uri=https%3A%2F%2Fproject.example%2Fcallback&response_type=code&scope=email+profile&state=s\
             &prompt=a+b"
        );
    }

    #[test]
    fn a_parameter_replaces_its_namesake_and_no_scope_is_not_sent() {
        let bare = Client { scopes: Vec::new(), ..client() };
        let url = bare.authorize_url("s", Some("verifier"), &[("state".into(), "other".into())]).unwrap();
        assert!(!url.contains("scope="));
        assert!(url.ends_with("&code_challenge_method=S256&state=other"), "{url}");
        // RFC 7636, appendix B.
        let url = bare.authorize_url("s", Some("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), &[]).unwrap();
        assert!(url.contains("code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
    }

    #[test]
    fn credentials_are_encoded_before_they_are_joined() {
        assert_eq!(client().basic(), format!("Basic {}", STANDARD.encode("client:se+cret")));
    }

    fn read(status: u16, body: &'static str) -> Result<Tokens, ProviderError> {
        let status = http::StatusCode::from_u16(status).unwrap();
        client().read(&HttpResponse { status, headers: http::HeaderMap::new(), body: body.into() })
    }

    #[test]
    fn tokens_come_as_json_or_as_a_form() {
        let json =
            read(200, r#"{"access_token":"a","refresh_token":"r","id_token":"i","profile":{}}"#).unwrap();
        assert_eq!((json.access.as_str(), json.refresh.as_str(), json.id.as_str()), ("a", "r", "i"));
        assert_eq!(read(200, "access_token=a&scope=x").unwrap().access, "a");
    }

    #[test]
    fn refusals_are_distinguished() {
        let refused = read(200, r#"{"error":"bad_verification_code","error_description":"code 123"}"#);
        let message = refused.err().unwrap().to_string();
        assert!(message.contains("bad_verification_code") && !message.contains("123"), "{message}");
        assert!(read(500, r#"{"access_token":"a"}"#).is_err());
        assert!(read(200, "{}").is_err());
        assert!(read(200, "<html>").is_err());
    }
}
