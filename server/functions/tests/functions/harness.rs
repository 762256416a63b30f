//! A project of functions behind a gateway, and a listener for what functions send.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use functions::{Function, Functions, Limits, Secrets, Settings};
use gateway::Gateway;
use http::{HeaderMap, Method, StatusCode};
use poem::endpoint::BoxEndpoint;
use poem::listener::{Acceptor as _, Listener as _, TcpListener};
use poem::{Body, Endpoint as _, EndpointExt as _, Request, Server};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokens::{KeyOverrides, Keys};
use tokio::io::AsyncReadExt as _;
use tokio::net;
use tokio::time::timeout;

/// Longer than any step of a test takes, even on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A response that was read to its end.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Response {
    pub(crate) async fn read(response: poem::Response) -> Self {
        let (parts, body) = response.into_parts();
        let text = body.into_string().await.unwrap_or_else(|error| format!("broken: {error}"));
        Self { status: parts.status, headers: parts.headers, text }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect(&self.text)
    }

    /// Returns the status and the code of a refusal. Checks that its body and its header name the same code.
    pub(crate) fn refusal(&self) -> (u16, String) {
        let code = self.json()["code"].as_str().unwrap_or_default().to_owned();
        assert_eq!(self.header("sb-error-code"), code);
        (self.status.as_u16(), code)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// A port of this machine to which functions send messages.
pub(crate) struct Listener(net::TcpListener);

impl Listener {
    pub(crate) async fn open() -> Self {
        Self(net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap())
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// Waits for the next connection and returns its first bytes.
    pub(crate) async fn read(&self) -> String {
        let message = async {
            let (mut connection, _) = self.0.accept().await.unwrap();
            let mut bytes = [0; 64];
            let length = connection.read(&mut bytes).await.unwrap();
            String::from_utf8_lossy(&bytes[..length]).into_owned()
        };
        timeout(PATIENCE, message).await.expect("a message in time")
    }
}

/// A project whose functions are served.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    pub(crate) keys: Keys,
    pub(crate) functions: Functions,
    endpoint: Arc<BoxEndpoint<'static, poem::Response>>,
}

impl Project {
    /// Returns a project with files of these names and texts below the functions folder, callable without a token.
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, |_| {}).await
    }

    /// Returns a project as [`Self::new`] does, with other settings.
    pub(crate) async fn with(files: &[(&str, &str)], adjust: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings {
            folder: folder.path().join("functions"),
            projects: vec![Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()],
            cache: folder.path().join("cache"),
            root: folder.path().to_owned(),
            data_dir: folder.path().join(".basalt"),
            // Under the load of many tests, a process may take seconds to start.
            limits: Limits { boot: PATIENCE, ..Limits::default() },
            ..Settings::default()
        };
        std::fs::create_dir_all(&settings.folder).unwrap();
        for (name, text) in files {
            write(&settings.folder, name, text);
            let function = name.split('/').next().unwrap().to_owned();
            settings.functions.insert(function, Function { verify_jwt: false, ..Function::default() });
        }
        adjust(&mut settings);
        let keys = Keys::load_or_create(&folder.path().join("keys.json"), KeyOverrides::default()).unwrap();
        let platform = Secrets([("SUPABASE_URL".to_owned(), "http://127.0.0.1:54321".to_owned())].into());
        let functions = Functions::start(settings, platform, keys.verifier(), None).unwrap();
        // Tests are the proxy, so that they can call from several addresses.
        let behind_proxy = gateway::Settings { trusted_proxies: 1, ..gateway::Settings::default() };
        let gateway = Gateway::new(behind_proxy, keys.clone(), None);
        let endpoint = gateway.open("functions", functions.endpoint()).without_cors().boxed();
        Self { folder, keys, functions, endpoint: Arc::new(endpoint) }
    }

    /// Returns the folder of the project, in which the functions folder is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file below the functions folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.folder.path().join("functions"), name, text);
    }

    /// Returns the head of the response to `request`. Its body has not been read.
    pub(crate) async fn send(&self, request: Request) -> poem::Response {
        let response = tokio::time::timeout(2 * PATIENCE, self.endpoint.get_response(request));
        response.await.expect("a response in time")
    }

    /// Serves the project on a port for as long as the test runs, for tests that need a separate connection.
    pub(crate) async fn listen(&self) -> SocketAddr {
        let acceptor = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).into_acceptor().await.unwrap();
        let address = *acceptor.local_addr()[0].as_socket_addr().unwrap();
        tokio::spawn(Server::new_with_acceptor(acceptor).run(Arc::clone(&self.endpoint)));
        address
    }

    /// Returns the number of calls that the process of `function` has, according to the metrics.
    pub(crate) fn calls_under_way(&self, function: &str) -> usize {
        let mut registry = Registry::default();
        self.functions.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let name = format!("functions_calls_under_way{{function=\"{function}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)).expect(&text).parse().unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        Response::read(self.send(Request::builder().uri(path.parse().unwrap()).finish()).await).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<Body>) -> Response {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path.parse().unwrap())
            .header("transfer-encoding", "chunked")
            .body(body);
        Response::read(self.send(request).await).await
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
