//! A mock HTTP server for unit tests, which records the requests it receives.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use poem::listener::TcpAcceptor;
use poem::{Endpoint, Request, Response, Server};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A request that was received.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl ReceivedRequest {
    /// Returns the value of `name` in a body that is a form.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let mut fields = url::form_urlencoded::parse(self.body.as_bytes());
        fields.find(|(field, _)| field == name).map(|(_, value)| value.into_owned())
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

/// A response to be given.
#[derive(Debug, Clone)]
pub(crate) struct MockResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// Returns a JSON document with this status.
pub(crate) fn json(status: u16, body: serde_json::Value) -> MockResponse {
    MockResponse {
        status,
        headers: vec![("content-type", "application/json".to_owned())],
        body: body.to_string(),
    }
}

/// The server. It stops when it is dropped.
pub(crate) struct Mock {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    task: JoinHandle<()>,
}

impl Mock {
    /// Returns a server that gives `responses` one after the other, and repeats the last one.
    pub(crate) async fn start(responses: Vec<MockResponse>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let received = Arc::new(Mutex::new(Vec::new()));
        let endpoint = MockEndpoint { received: Arc::clone(&received), responses };
        let acceptor = TcpAcceptor::from_tokio(listener).unwrap();
        let task = tokio::spawn(async move {
            Server::new_with_acceptor(acceptor).run(endpoint).await.unwrap();
        });
        Self { url, received, task }
    }

    /// Returns all requests so far.
    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().clone()
    }

    /// Returns the only request so far.
    pub(crate) fn only(&self) -> ReceivedRequest {
        let received = self.received();
        assert_eq!(received.len(), 1, "{received:?}");
        received[0].clone()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct MockEndpoint {
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    responses: Vec<MockResponse>,
}

impl Endpoint for MockEndpoint {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let body = request.take_body().into_string().await.unwrap();
        let path = request.original_uri().path_and_query().unwrap().to_string();
        let index = {
            let mut received = self.received.lock();
            received.push(ReceivedRequest { path, headers: request.headers().clone(), body });
            received.len() - 1
        };
        let mock = &self.responses[index.min(self.responses.len() - 1)];
        let mut response = Response::builder().status(StatusCode::from_u16(mock.status).unwrap());
        for (name, value) in &mock.headers {
            response = response.header(*name, value);
        }
        Ok(response.body(mock.body.clone()))
    }
}
