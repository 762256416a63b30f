//! SAML artifacts: a browser brings a reference, and Auth gets the response from the identity provider.

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra::keys::loader;
use bergshamra::{DsigContext, KeysManager};
use http::Method;
use poem::endpoint::make_sync;
use poem::listener::{Acceptor, Listener, TcpListener};
use serde_json::json;

use crate::harness::{Response, Server};
use crate::identity_provider::{ENTITY, OTHER, OWN, SamlResponse, Signed, metadata, read};
use crate::sign_in_at::{location, query};
use crate::sso::{depart, session, settings};

/// What the identity provider's server responds to the message with an id; `{id}` in it stands for that.
type Responses = Arc<Mutex<String>>;

/// A server of an identity provider that resolves artifacts.
struct Resolver {
    url: String,
    responses: Responses,
    /// The last message.
    request: Arc<Mutex<String>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Resolver {
    async fn start() -> Self {
        let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.unwrap();
        let address = acceptor.local_addr()[0].as_socket_addr().copied().unwrap();
        let (responses, request) = (Responses::default(), Arc::new(Mutex::new(String::new())));
        let (shared_responses, shared_request) = (Arc::clone(&responses), Arc::clone(&request));
        let resolve = poem::endpoint::make(move |mut request| {
            let (shared_responses, shared_request) =
                (Arc::clone(&shared_responses), Arc::clone(&shared_request));
            async move {
                let message = request.take_body().into_string().await?;
                let id = message
                    .split(" ID=\"")
                    .nth(1)
                    .and_then(|rest| rest.split('"').next())
                    .unwrap_or_default();
                let response = shared_responses.lock().unwrap().replace("{id}", id);
                *shared_request.lock().unwrap() = message;
                Ok::<_, poem::Error>(response)
            }
        });
        let broken = make_sync(|_| http::StatusCode::INTERNAL_SERVER_ERROR);
        let routes = poem::Route::new().at("/artifact", resolve).at("/broken", broken);
        let task = tokio::spawn(async move {
            let _ = poem::Server::new_with_acceptor(acceptor).run(routes).await;
        });
        Self { url: format!("http://{address}"), responses, request, task }
    }

    /// Returns the provider's metadata, with artifacts resolved at `path`.
    fn metadata(&self, path: &str) -> String {
        let service = format!(
            "<ArtifactResolutionService Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:SOAP\" index=\"0\" \
             Location=\"{}{path}\"/><SingleSignOnService",
            self.url
        );
        metadata(ENTITY, &[&OWN]).replace("<SingleSignOnService", &service)
    }
}

async fn start() -> (Resolver, Server) {
    let resolver = Resolver::start().await;
    let mut settings = settings();
    settings.saml.private_addresses = true;
    let server = Server::with(settings).await;
    let body =
        json!({ "type": "saml", "metadata_xml": resolver.metadata("/artifact"), "domains": ["example.com"] });
    assert_eq!(server.post_as_admin("/admin/sso/providers", body).await.status, 201);
    (resolver, server)
}

/// Leaves and comes back with a reference to what `say` makes of a response to the request.
async fn sign_in(resolver: &Resolver, server: &Server, say: impl FnOnce(SamlResponse) -> String) -> Response {
    let request = read(&depart(server, json!({ "domain": "example.com" })).await);
    *resolver.responses.lock().unwrap() = say(SamlResponse::to(&request.id));
    let body = format!("SAMLart=AAQAAMFbLin%26&RelayState={}", request.relay_state);
    server.send(Method::POST, "/sso/saml/acs", &[], body).await
}

async fn refuse(resolver: &Resolver, server: &Server, what: &str, say: impl FnOnce(SamlResponse) -> String) {
    let response = sign_in(resolver, server, say).await;
    assert_eq!(response.status, 303, "{what}");
    assert_eq!(query(&location(&response))["error_code"], "validation_failed", "{what}");
}

#[tokio::test]
async fn a_reference_is_resolved_with_a_signed_message() {
    let (resolver, server) = start().await;
    session(
        &sign_in(&resolver, &server, |response| {
            response.resolved(&response.signed(Signed::Response), "{id}")
        })
        .await,
    );
    session(
        &sign_in(&resolver, &server, |response| response.resolved(&response.signed(Signed::Both), "{id}"))
            .await,
    );
    let message = resolver.request.lock().unwrap().clone();
    assert!(message.contains("<samlp:Artifact>AAQAAMFbLin&amp;</samlp:Artifact>"), "{message}");
    let document = server.get("/sso/saml/metadata").await.body.as_str().unwrap().to_owned();
    let certificate =
        document.split("<X509Certificate>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let mut keys = KeysManager::new();
    keys.add_key(loader::load_x509_cert_der(&STANDARD.decode(certificate).unwrap()).unwrap());
    assert!(bergshamra::verify(&DsigContext::new(keys), &message).unwrap().is_valid());
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
}

#[tokio::test]
async fn what_was_resolved_is_judged_like_what_is_posted() {
    let (resolver, server) = start().await;
    let check =
        async |what: &str, say: fn(SamlResponse) -> String| refuse(&resolver, &server, what, say).await;
    check("unsigned", |response| response.resolved(&response.signed(Signed::Nothing), "{id}")).await;
    check("by somebody else", |response| {
        response.resolved(&response.signed_by(Signed::Both, &OTHER), "{id}")
    })
    .await;
    check("a response to another message", |response| {
        response.resolved(&response.signed(Signed::Both), "id-0")
    })
    .await;
    check("no envelope", |response| response.signed(Signed::Both)).await;
    check("nothing", |response| response.resolved("", "{id}")).await;
    check("no XML", |_| "no XML".to_owned()).await;
    check("a failure", |response| {
        let text = response.resolved(&response.signed(Signed::Both), "{id}");
        text.replacen("status:Success", "status:Requester", 1)
    })
    .await;
    check("another audience", |mut response| {
        response.audience = "https://other.example".to_owned();
        response.resolved(&response.signed(Signed::Both), "{id}")
    })
    .await;
    for document in [resolver.metadata("/broken"), metadata(ENTITY, &[&OWN])] {
        server.sql(&format!("update auth.saml_providers set metadata_xml = '{document}'")).await;
        check("a provider that cannot be reached", |response| {
            response.resolved(&response.signed(Signed::Both), "{id}")
        })
        .await;
    }
    let response = server.send(Method::POST, "/sso/saml/acs", &[], "SAMLart=AAQ").await;
    assert_eq!(query(&location(&response))["error_code"], "validation_failed");
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
}
