//! A service, its responses over HTTP, and its sockets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use gateway::Gateway;
use http::{HeaderMap, Method, StatusCode};
use poem::endpoint::BoxEndpoint;
use poem::listener::{Acceptor as _, Listener as _, TcpListener};
use poem::{Body, Endpoint as _, EndpointExt as _, PathPattern, Request, Server};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use realtime::{Handles, Settings};
use serde_json::{Value, json};
use tokens::{KeyOverrides, Keys};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::{WebSocketStream, client_async};
use tungstenite::Message;

/// Longer than any step of a test takes, even on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the service responded with.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// The pattern of the route that responded, from which traces take its name.
    pub(crate) route: Option<Arc<str>>,
}

/// A service behind a gateway.
pub(crate) struct Service {
    handles: Handles,
    gateway: Gateway,
    /// A token that may send broadcasts.
    token: String,
    endpoint: Arc<BoxEndpoint<'static, poem::Response>>,
}

impl Service {
    /// Returns a service with these settings.
    pub(crate) async fn new(settings: Settings) -> Self {
        let secret = "a secret that is long enough for HS256".to_owned();
        let keys = KeyOverrides { jwt_secret: Some(secret), ..KeyOverrides::default() };
        let keys = Keys::from_settings(keys).unwrap();
        let nowhere = postgres::Settings::new("postgresql://127.0.0.1:1/none".parse().unwrap());
        let database = postgres::Database::connect(nowhere).await.unwrap();
        let (replication, verifier) = (database.clone(), keys.verifier());
        let handles = Handles::new(&settings, database, replication, keys.clone(), verifier);
        let gateway = Gateway::new(gateway::Settings::default(), keys.clone(), None);
        let token = keys.sign(&json!({ "role": "anon", "exp": tokens::now() + 3600 })).unwrap();
        Self::of(handles, gateway, token, settings)
    }

    /// Returns a service with other settings and the handles of this one.
    pub(crate) fn with(&self, settings: Settings) -> Self {
        Self::of(self.handles.clone(), self.gateway.clone(), self.token.clone(), settings)
    }

    fn of(handles: Handles, gateway: Gateway, token: String, settings: Settings) -> Self {
        let endpoint = gateway.open("realtime", realtime::service(settings, &handles)).boxed();
        Self { handles, gateway, token, endpoint: Arc::new(endpoint) }
    }

    /// Returns the figure of this name among the service's metrics.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        let mut registry = Registry::default();
        self.handles.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let name = format!("realtime_{name} ");
        text.lines().find_map(|line| line.strip_prefix(&name)).expect(&text).parse().unwrap()
    }

    /// Sends a request without a token and without a body.
    pub(crate) async fn ask(&self, method: Method, path: &str) -> Response {
        self.send(method, path, &[], Body::empty()).await
    }

    /// Sends a request with a token.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        let authorization = format!("Bearer {}", self.token);
        self.send(Method::POST, path, &[("authorization", &authorization)], body.to_string().into()).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Response {
        let mut request = Request::builder().method(method).uri(path.parse().unwrap());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.endpoint.get_response(request.body(body)).await;
        let route = response.data::<PathPattern>().map(|PathPattern(pattern)| Arc::clone(pattern));
        let (parts, body) = response.into_parts();
        let text = body.into_string().await.unwrap();
        Response { status: parts.status, headers: parts.headers, text, route }
    }

    /// Opens a socket.
    pub(crate) async fn open(&self) -> Socket {
        let stream = TcpStream::connect(self.listen().await).await.unwrap();
        let url = format!("ws://localhost/websocket?apikey={}", self.token);
        let (stream, _) = client_async(url, stream).await.unwrap();
        Socket(stream)
    }

    /// Serves requests on a port for as long as the test runs.
    async fn listen(&self) -> SocketAddr {
        let acceptor = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).into_acceptor().await.unwrap();
        let address = *acceptor.local_addr()[0].as_socket_addr().unwrap();
        tokio::spawn(Server::new_with_acceptor(acceptor).run(Arc::clone(&self.endpoint)));
        address
    }
}

/// A client's socket.
pub(crate) struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    /// Joins a public topic, and returns the payload of the reply.
    pub(crate) async fn join(&mut self, topic: &str) -> Value {
        self.send(topic, "phx_join", json!({})).await;
        self.receive(topic, "phx_reply").await
    }

    pub(crate) async fn send(&mut self, topic: &str, event: &str, payload: Value) {
        let topic = format!("realtime:{topic}");
        let message = json!({ "topic": topic, "event": event, "payload": payload, "ref": "1" });
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Waits for the next message of this topic and event, and returns its payload.
    pub(crate) async fn receive(&mut self, topic: &str, event: &str) -> Value {
        let topic = format!("realtime:{topic}");
        let received = async {
            loop {
                let message = self.0.next().await.expect("the socket is open").unwrap();
                let Ok(text) = message.to_text() else { continue };
                let message: Value = serde_json::from_str(text).expect(text);
                if message["topic"] == *topic && message["event"] == event {
                    return message["payload"].clone();
                }
            }
        };
        timeout(PATIENCE, received).await.expect("a message in time")
    }
}
