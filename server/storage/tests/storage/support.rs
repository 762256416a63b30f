//! The service on a database and a folder of its own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use gateway::Gateway;
use poem::endpoint::BoxEndpoint;
use poem::http::{HeaderMap, Method, StatusCode};
use poem::{Body, Endpoint, EndpointExt as _, Request};
use serde_json::{Value, json};
use storage::{AccessKeys, BackendKind, BucketDefinition, Handles, SeedReport, Settings};
use tokens::{KeyOverrides, Keys};

use crate::s3_store;

/// The variable that runs all tests on an S3 store if it is `s3`.
const BACKEND_VARIABLE: &str = "BASALT_TEST_STORAGE_BACKEND";

/// A running service.
pub(crate) struct Server {
    pub(crate) settings: Settings,
    pub(crate) handles: Handles,
    service: RwLock<Arc<BoxEndpoint<'static, poem::Response>>>,
    gateway: Gateway,
    keys: Keys,
    /// The service's.
    pub(crate) database: postgres::Database,
    _database: testkit::Database,
    client: tokio_postgres::Client,
    folder: tempfile::TempDir,
}

/// What it responded with.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) body: Vec<u8>,
    headers: HeaderMap,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the refusal: the HTTP status, and `statusCode`, `error`, `message` and `code` of its body.
    pub(crate) fn refusal(&self) -> (u16, [String; 4]) {
        let body = self.json();
        let field = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), [field("statusCode"), field("error"), field("message"), field("code")])
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts it with the settings that `change` makes of the usual ones.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("files")).unwrap();
        let database = testkit::Database::create().await;
        let uri = database.uri_as("supabase_storage_admin");
        let pool = postgres::Database::connect(postgres::Settings {
            channel: Some(storage::CHANNEL.to_owned()),
            ..postgres::Settings::new(uri.parse().unwrap())
        });
        let pool = pool.await.unwrap();
        let keys = Keys::load_or_create(&folder.path().join("keys.json"), KeyOverrides::default()).unwrap();
        let mut settings = Settings { path: folder.path().join("objects"), ..Settings::default() };
        if is_s3() {
            settings.backend = BackendKind::S3;
            settings.s3 = s3_store::start(&folder.path().join("store")).await;
        }
        change(&mut settings);
        let handles = Handles::new(&settings, pool.clone(), keys.clone(), keys.verifier()).await.unwrap();
        let service = RwLock::new(Arc::new(storage::service(settings.clone(), &handles).boxed()));
        // Tests are the proxy, so that they can call from several addresses.
        let behind_proxy = gateway::Settings { trusted_proxies: 1, ..gateway::Settings::default() };
        let gateway = Gateway::new(behind_proxy, keys.clone(), None);
        let client = database.client().await;
        Self {
            settings,
            handles,
            service,
            gateway,
            keys,
            database: pool,
            _database: database,
            client,
            folder,
        }
    }

    /// Makes the service anew with other settings. Requests that run get a response from the earlier one.
    pub(crate) fn change(&self, settings: Settings) {
        *self.service.write().unwrap() = Arc::new(storage::service(settings, &self.handles).boxed());
    }

    fn service(&self) -> Arc<BoxEndpoint<'static, poem::Response>> {
        Arc::clone(&self.service.read().unwrap())
    }

    /// Puts the service behind a gateway with these settings.
    pub(crate) fn behind(&mut self, settings: gateway::Settings) {
        self.gateway = Gateway::new(settings, self.keys.clone(), None);
    }

    /// Returns the folder that is seeded from.
    pub(crate) fn folder(&self) -> &'static Path {
        Box::leak(self.folder.path().join("files").into_boxed_path())
    }

    /// Writes a file into it.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) async fn seed(&self, bucket: &str, public: bool) -> SeedReport {
        let definition = BucketDefinition {
            name: bucket.to_owned(),
            public: Some(public),
            objects_path: Some(self.folder().to_owned()),
            ..BucketDefinition::default()
        };
        self.seed_bucket(&definition).await
    }

    pub(crate) async fn seed_bucket(&self, definition: &BucketDefinition) -> SeedReport {
        storage::seed_bucket(&self.settings, &self.handles, definition).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.ask(Method::GET, path, &[]).await
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
        self.send(method, path, headers, Body::empty()).await
    }

    /// Sends JSON as the service role.
    pub(crate) async fn json(&self, method: Method, path: &str, body: &Value) -> Response {
        let token = self.service_role().to_owned();
        self.json_as(&token, method, path, body).await
    }

    /// Sends JSON with `token`.
    pub(crate) async fn json_as(&self, token: &str, method: Method, path: &str, body: &Value) -> Response {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", &*authorization), ("content-type", "application/json")];
        self.send(method, path, &headers, body.to_string()).await
    }

    /// Uploads `bytes` as a raw body with `token`.
    pub(crate) async fn upload(
        &self,
        token: &str,
        path: &str,
        headers: &[(&str, &str)],
        bytes: &[u8],
    ) -> Response {
        let authorization = format!("Bearer {token}");
        let mut all = vec![("authorization", &*authorization)];
        all.extend_from_slice(headers);
        self.send(Method::POST, &format!("/object/{path}"), &all, bytes.to_vec()).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Response {
        let mut request = Request::builder().method(method).uri_str(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let face = self.gateway.open("storage", self.service());
        let response = face.get_response(request.body(body)).await;
        let (parts, body) = response.into_parts();
        Response { status: parts.status, headers: parts.headers, body: body.into_vec().await.unwrap() }
    }

    /// Asks for `path` as `client` and leaves the response's body unread.
    pub(crate) async fn begin_download(&self, client: &str, path: &str) -> poem::Response {
        let face = self.gateway.open("storage", self.service());
        let request = Request::builder().uri_str(path).header("x-forwarded-for", client);
        face.get_response(request.finish()).await
    }

    /// Returns a token of the user `id`.
    pub(crate) fn user(&self, id: &str) -> String {
        let expires = time::OffsetDateTime::now_utc().unix_timestamp() + 3600;
        self.keys.sign(&json!({ "sub": id, "role": "authenticated", "exp": expires })).unwrap()
    }

    /// Makes a bucket without limits.
    pub(crate) async fn bucket(&self, name: &str, public: bool) {
        let made = self.json(Method::POST, "/bucket", &json!({ "name": name, "public": public })).await;
        assert_eq!(made.status, StatusCode::OK, "{:?}", made.text());
    }

    /// Returns the keys that S3 clients sign with.
    pub(crate) fn access_keys(&self) -> AccessKeys {
        AccessKeys::of(&self.settings, &self.keys)
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn anon(&self) -> &str {
        self.keys.api_keys().anon()
    }

    pub(crate) fn service_role(&self) -> &str {
        self.keys.api_keys().service_role()
    }

    /// Executes statements as a superuser, and waits until the service knows of what they changed.
    pub(crate) async fn sql(&self, statements: &str) {
        self.client.batch_execute(statements).await.unwrap();
        self.database.await_notifications().await;
    }

    /// Returns the only row of a query of texts.
    pub(crate) async fn row(&self, query: &str) -> Vec<String> {
        let row = self.client.query_one(query, &[]).await.unwrap();
        (0..row.len()).map(|index| row.get(index)).collect()
    }

    /// Returns the folder of the store.
    pub(crate) fn objects(&self) -> PathBuf {
        if is_s3() {
            s3_store::objects(&self.folder.path().join("store"))
        } else {
            self.folder.path().join("objects")
        }
    }

    /// Returns the files of rendered pictures.
    pub(crate) fn rendered_files(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().join("rendered");
        if folder.exists() { walk(&folder) } else { Vec::new() }
    }

    pub(crate) fn stored_files(&self) -> usize {
        walk(&self.objects()).len()
    }

    pub(crate) fn lose_stored_files(&self) {
        walk(&self.objects()).iter().for_each(|file| std::fs::remove_file(file).unwrap());
    }
}

/// Reports whether the tests run on an S3 store.
pub(crate) fn is_s3() -> bool {
    std::env::var(BACKEND_VARIABLE).is_ok_and(|backend| backend == "s3")
}

pub(crate) fn walk(folder: &Path) -> Vec<PathBuf> {
    // A store has no folder before its first object.
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
