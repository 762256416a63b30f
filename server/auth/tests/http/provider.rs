//! A provider that these tests run: it responds as it is told, signs ID tokens, and remembers what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Method, StatusCode};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::{Endpoint, Request, Response};
use serde_json::{Value, json};

/// Keys that were made for these tests and protect nothing, with their moduli.
const FIRST: (&[u8], &str) = (
    include_bytes!("keys/first.pem"),
    "t2EczEua0S_4Y2nkGU0Fu_Qsya5FLFqZEB5LzLOdta46WKyGl3YSNj4_cJR5gc9MtNFXrDDgJKODYda4Mksx7UtcxZPHGnCFmCP0zylvHw3WhmW29JE87pJm1Gie8QFyoMpxMDg_dBbfUJPN_4T1WK5-6_0yPzgP6IyM9XTYgBHpdZ4LvDLi9WnL4sp65mSJ6hjEFPev3Qmp2jACd6SHXeySAcMb8fSNdnm3vxWoEu9tBhB-BWOYXsAoNlMRPIodmxEcc4zfzNjkhBDP02XxaS9M2WW9rPN-UYx9OvNUmjBuJl1lQV_7lx1XbTvTXuAp0wL0wjban3lZwNHVPj1jrw",
);
const SECOND: (&[u8], &str) = (
    include_bytes!("keys/second.pem"),
    "wVIHdRkfIHbmOePSUPJ19pwaiFowFVCkTfQ2grmq6tzZg85Nj9oEpysjjgcaOQgKvOm-eZwXm3saFXHVDgZ77Xzrn32pBsdg7iKrPyHxXcUUT8rJcv1xVRmnV-YumUn30plP-Jbl2IEU5VfPlysgKc0KALkHTKcJI2geO63N4uqyKo4yXaecVVsnXPqipTV6_ZpWb5mGYLo4QwFHAw9xJHVw71En-Ikvs7LdlY-oT9TO3rtAsGTsKBwWZjx5qVq16bFIMK3TrYxx7uHHK4hMfW7i6jqw2e0kNadfzThELYo7qkujFLEVV0TD4HnYc_BvBbUfHePpCkJ4VWMET74N4Q",
);

/// A request that the provider has received.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) form: BTreeMap<String, String>,
}

#[derive(Default)]
struct State {
    responses: BTreeMap<String, (u16, String)>,
    requests: Vec<ReceivedRequest>,
}

/// The provider; it ends with the test.
pub(crate) struct Provider {
    /// Its address, without a slash at the end.
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Responder(Arc<Mutex<State>>);

impl Endpoint for Responder {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let body = request.take_body().into_string().await.unwrap_or_default();
        let pairs = |text: &str| {
            url::form_urlencoded::parse(text.as_bytes())
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let path = request.uri().path().to_owned();
        let mut state = self.0.lock().unwrap();
        state.requests.push(ReceivedRequest {
            method: request.method().clone(),
            path: path.clone(),
            query: pairs(request.uri().query().unwrap_or_default()),
            headers: request.headers().clone(),
            form: pairs(&body),
        });
        let (status, body) = state.responses.get(&path).cloned().unwrap_or((404, "{}".to_owned()));
        let status = StatusCode::from_u16(status).unwrap();
        Ok(Response::builder().status(status).content_type("application/json").body(body))
    }
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.unwrap();
        let address = acceptor.local_addr()[0].as_socket_addr().copied().unwrap();
        let server = poem::Server::new_with_acceptor(acceptor);
        let responder = Responder(Arc::clone(&state));
        let task = tokio::spawn(async move {
            let _ = server.run(responder).await;
        });
        let provider = Self { url: format!("http://{address}"), state, task };
        provider.publish("first");
        provider
    }

    /// Responds to `path` with `document` from now on.
    pub(crate) fn respond(&self, path: &str, document: &Value) {
        self.respond_with(path, 200, &document.to_string());
    }

    pub(crate) fn respond_with(&self, path: &str, status: u16, body: &str) {
        self.state.lock().unwrap().responses.insert(path.to_owned(), (status, body.to_owned()));
    }

    /// Returns the requests to `path`, oldest first.
    pub(crate) fn requests(&self, path: &str) -> Vec<ReceivedRequest> {
        let state = self.state.lock().unwrap();
        state.requests.iter().filter(|request| request.path == path).cloned().collect()
    }

    /// Publishes itself as an issuer that signs with the key of this name, `first` or `second`.
    pub(crate) fn publish(&self, key: &str) {
        let url = &self.url;
        self.respond(
            "/.well-known/openid-configuration",
            &json!({
                "issuer": url,
                "authorization_endpoint": format!("{url}/authorize"),
                "token_endpoint": format!("{url}/token"),
                "userinfo_endpoint": format!("{url}/userinfo"),
                "jwks_uri": format!("{url}/keys"),
            }),
        );
        let (_, modulus) = key_of(key);
        let jwk =
            json!({ "kty": "RSA", "use": "sig", "alg": "RS256", "kid": key, "n": modulus, "e": "AQAB" });
        self.respond("/keys", &json!({ "keys": [{ "kty": "oct", "k": "c2VjcmV0" }, jwk] }));
    }

    /// Returns an ID token of this issuer for client `client` that is good for an hour. `claims` replace the usual
    /// ones.
    pub(crate) fn id_token(&self, claims: &Value) -> String {
        self.id_token_by("first", claims)
    }

    /// Returns the same as [`id_token`](Self::id_token), signed by another key.
    pub(crate) fn id_token_by(&self, key: &str, claims: &Value) -> String {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let mut all = json!({ "iss": self.url, "aud": "client", "iat": now, "exp": now + 3600 });
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        let (pem, _) = key_of(key);
        let header = Header { kid: Some(key.to_owned()), ..Header::new(Algorithm::RS256) };
        jsonwebtoken::encode(&header, &all, &EncodingKey::from_rsa_pem(pem).unwrap()).unwrap()
    }
}

fn key_of(name: &str) -> (&'static [u8], &'static str) {
    if name == "first" { FIRST } else { SECOND }
}
