//! A league's database, the service on top of it, and a client.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test without its service can only fail")]

use std::sync::OnceLock;

use poem::listener::{Acceptor as _, Listener as _, TcpListener};
use reqwest::{Method, RequestBuilder, StatusCode};
use rest::{Rest, Settings};
use serde_json::{Value, json};
use tokens::{KeyOverrides, Keys};
use tokio_util::sync::CancellationToken;

/// The service on a database of its own. Everything ends with this value.
pub(crate) struct League {
    pub(crate) database: testkit::Database,
    pub(crate) rest: Rest,
    base: String,
    client: reqwest::Client,
    stop: CancellationToken,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
    pub(crate) bytes: Vec<u8>,
}

impl Response {
    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns a header's value; empty when it is absent.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the error's code.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        Keys::load_or_create(&folder.path().join("keys.json"), KeyOverrides::default()).unwrap()
    })
}

/// Returns a token with `claims`.
pub(crate) fn token(claims: &Value) -> String {
    keys().sign(claims).unwrap()
}

/// Returns a token of `role` that is valid for an hour.
pub(crate) fn token_of(role: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    token(&json!({ "role": role, "sub": "11111111-1111-1111-1111-111111111111", "exp": now + 3600 }))
}

/// Returns an HTTP client. Where the workspace is built as a whole `reqwest` speaks TLS, and needs to know whose.
pub(crate) fn client() -> reqwest::Client {
    // Only the first call of the process has something to do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

impl League {
    /// Returns the service with its schema cache loaded.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Returns the same with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::extended("", change).await
    }

    /// Returns the same with more in its database.
    pub(crate) async fn extended(sql: &str, change: impl FnOnce(&mut Settings)) -> Self {
        Self::on(testkit::Database::create().await, sql, change, |_| {}).await
    }

    /// Returns the same on `database`, reached by another connection.
    pub(crate) async fn on(
        database: testkit::Database,
        sql: &str,
        change: impl FnOnce(&mut Settings),
        reach: impl FnOnce(&mut postgres::Settings),
    ) -> Self {
        let superuser = database.client().await;
        superuser.batch_execute(include_str!("league.sql")).await.unwrap();
        superuser.batch_execute(sql).await.unwrap();
        let mut settings = Settings {
            db_schemas: vec!["league".into(), "archive".into()],
            db_extra_search_path: vec!["public".into()],
            db_anon_role: Some("anon".into()),
            ..Settings::default()
        };
        change(&mut settings);
        let mut connection = postgres::Settings::new(database.uri_as("authenticator").parse().unwrap());
        connection.channel = Some("pgrst".into());
        connection.pool_size = 4;
        reach(&mut connection);
        let pool = postgres::Database::connect(connection).await.unwrap();
        let rest = rest::service(settings, pool, keys().verifier());
        let stop = CancellationToken::new();
        let base = serve(&rest, &stop).await;
        let league = Self { database, rest, base, client: client(), stop };
        league.wait_until_ready().await;
        league
    }

    async fn wait_until_ready(&self) {
        let limit = std::time::Duration::from_secs(20);
        tokio::time::timeout(limit, self.rest.loaded()).await.unwrap();
    }

    /// Asks until the response has this status, for as long as a reload of the schema cache may take.
    pub(crate) async fn until(&self, url: &str, status: u16) {
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
        loop {
            let response = send(self.request("GET", url)).await;
            if response.status == status {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "{url} still responds with {response:?}");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    /// Returns where the service listens.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Returns a request that is yet to be sent.
    pub(crate) fn request(&self, method: &str, url: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        self.client.request(method, format!("{}{url}", self.base))
    }

    /// Sends a GET.
    pub(crate) async fn get(&self, url: &str) -> Response {
        self.get_with(url, &[]).await
    }

    /// Sends a GET with headers, until the response comes from the template of its shape, which must not change it.
    /// Refusals have no template, and how long a statement ran is never the same.
    pub(crate) async fn get_with(&self, url: &str, headers: &[(&str, &str)]) -> Response {
        let ask = || send(with_headers(self.request("GET", url), headers));
        let first = ask().await;
        let is_kept = first.status < 300 && !first.header("content-type").contains("vnd.pgrst.plan");
        for _ in 0..if is_kept { 2 } else { 0 } {
            let repeated = ask().await;
            assert_eq!((repeated.status, &repeated.text), (first.status, &first.text), "{url}");
            for name in ["content-type", "content-range", "content-location", "preference-applied", "warning"]
            {
                assert_eq!(repeated.headers.get(name), first.headers.get(name), "{url}: {name}");
            }
        }
        first
    }

    /// Returns a request with a JSON body, as a signed-in user.
    pub(crate) async fn change(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let request = self.request(method, url).bearer_auth(token_of("authenticated"));
        let request = request.header("content-type", "application/json").body(body.to_owned());
        send(with_headers(request, headers)).await
    }

    /// Sends a POST to a function.
    pub(crate) async fn call(&self, function: &str, arguments: &Value) -> Response {
        self.change("POST", &format!("/rpc/{function}"), &[], &arguments.to_string()).await
    }

    /// Returns the rows of a successful GET.
    pub(crate) async fn rows(&self, url: &str) -> Value {
        let response = self.get(url).await;
        assert_eq!(response.status, StatusCode::OK.as_u16(), "{url}: {response:?}");
        response.json()
    }

    /// Returns the `id`s of the rows of a successful GET.
    pub(crate) async fn ids(&self, url: &str) -> Vec<i64> {
        let rows = self.rows(url).await;
        rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
    }
}

impl Drop for League {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Serves `rest` until `stop` is cancelled, and says where.
pub(crate) async fn serve(rest: &Rest, stop: &CancellationToken) -> String {
    let (keeper, ending) = (rest.clone(), stop.clone());
    tokio::spawn(async move { keeper.keep_fresh(ending).await });
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.unwrap();
    let base = format!("http://{}", acceptor.local_addr()[0].as_socket_addr().unwrap());
    let server = poem::Server::new_with_acceptor(acceptor);
    tokio::spawn(server.run_with_graceful_shutdown(rest.clone(), stop.clone().cancelled_owned(), None));
    base
}

fn with_headers(mut request: RequestBuilder, headers: &[(&str, &str)]) -> RequestBuilder {
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request
}

/// Sends `request`.
pub(crate) async fn send(request: RequestBuilder) -> Response {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let bytes = response.bytes().await.unwrap().to_vec();
    Response { status, headers, text: String::from_utf8_lossy(&bytes).into_owned(), bytes }
}

/// Returns `text` with every byte as `%XX`.
pub(crate) fn percent_encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns what an admin server is told of the service's own socket.
pub(crate) fn probe(is_open: bool) -> rest::Probe {
    std::sync::Arc::new(move || Box::pin(std::future::ready(is_open)))
}
