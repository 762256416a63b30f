//! A server for tests: the service behind its gateway, with a database of its own.

use std::sync::Arc;

use auth::{Handles, Settings};
use gateway::{Gateway, Nodes};
use http::{HeaderMap, Method, StatusCode};
use poem::{Endpoint, Request};
use postgres::Database;
use serde_json::{Value, json};
use testkit::migrations::Migrator;
use tokens::{KeyOverrides, Keys};
use tokio::sync::OnceCell;

use crate::conformity;
use crate::upstream::refuse_unreadable_rows;

const DOCUMENT: &str = "/openapi.json";

pub(crate) const PASSWORD: &str = "correct horse battery";
/// `PASSWORD` at the lowest cost that bcrypt knows.
pub(crate) const PASSWORD_HASH: &str = "$2b$04$abcdefghijklmnopqrstuuqREtd3VJD2QVZbuFskFSLk6eRIrQoOS";

pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Response {
    /// Status and error code.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        let code = self.headers.get("x-sb-error-code").map(|code| code.to_str().unwrap());
        (self.status.as_u16(), code.unwrap_or_default())
    }

    pub(crate) fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_else(|| panic!("no {field} in {}", self.body))
    }
}

/// Returns whether the service declares that `path` needs no API key.
pub(crate) fn is_keyless(path: &str) -> bool {
    auth::keyless_paths().any(|keyless| keyless == path)
}

/// The service behind its gateway, with a database of its own.
#[derive(Clone)]
pub(crate) struct Server {
    endpoint: Arc<dyn poem::endpoint::DynEndpoint<Output = poem::Response>>,
    handles: Handles,
    pub(crate) keys: Keys,
    pub(crate) database: Arc<testkit::Database>,
    settings: Settings,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    /// Starts a server with the cheapest hashes: what is tested is not how slow they are.
    pub(crate) async fn with(mut settings: Settings) -> Self {
        settings.passwords.bcrypt_cost = 4;
        let database = Arc::new(testkit::Database::create().await);
        database.client().await.batch_execute(&refuse_unreadable_rows()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::load_or_create(&folder.path().join("keys.json"), KeyOverrides::default()).unwrap();
        Self::on(settings, database, keys).await
    }

    /// Starts a server on a database that came with the schemas of 2022, brought up to date as every start does.
    pub(crate) async fn on_schemas_of_2022(settings: Settings) -> Self {
        let server = Self::with(settings).await;
        server.sql(include_str!("../../../migrations/tests/migrate/auth_2022.sql")).await;
        let mut client = server.database.client().await;
        Migrator::new(&mut client).platform().await.unwrap();
        // Connections of before know statements of before.
        Self::on(server.settings, server.database, server.keys).await
    }

    /// Returns what a server says of settings that it cannot work with.
    pub(crate) async fn refused(settings: Settings) -> String {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::load_or_create(&folder.path().join("keys.json"), KeyOverrides::default()).unwrap();
        // Connections are made when they are needed, which is never.
        let database = postgres::Settings::new("postgres://nobody@127.0.0.1:1/none".parse().unwrap());
        let database = Database::connect(database).await.unwrap();
        let handles = Handles::new(database, keys, &Nodes::default(), &settings).unwrap();
        let service = auth::service(settings, &handles);
        service.err().map(|error| error.to_string()).unwrap_or_default()
    }

    /// Starts another node on the same database.
    pub(crate) async fn second_node(&self) -> Self {
        self.second_node_with(self.settings.clone()).await
    }

    /// Starts another node on the same database, with other settings.
    pub(crate) async fn second_node_with(&self, settings: Settings) -> Self {
        Self::on(settings, Arc::clone(&self.database), self.keys.clone()).await
    }

    /// Starts another node on the same database, with other keys.
    pub(crate) async fn second_node_with_keys(&self, keys: Keys) -> Self {
        Self::on(self.settings.clone(), Arc::clone(&self.database), keys).await
    }

    /// Starts another node on the same database, behind a proxy that it trusts.
    pub(crate) async fn behind_a_proxy(&self) -> Self {
        let gateway = gateway::Settings { trusted_proxies: 1, ..gateway::Settings::default() };
        Self::on_gateway(self.settings.clone(), Arc::clone(&self.database), self.keys.clone(), gateway).await
    }

    async fn on(settings: Settings, database: Arc<testkit::Database>, keys: Keys) -> Self {
        Self::on_gateway(settings, database, keys, gateway::Settings::default()).await
    }

    async fn on_gateway(
        settings: Settings,
        database: Arc<testkit::Database>,
        keys: Keys,
        gateway: gateway::Settings,
    ) -> Self {
        let uri = database.uri_as("supabase_auth_admin");
        let login = Database::connect(postgres::Settings::new(uri.parse().unwrap())).await.unwrap();
        let handles = Handles::new(login, keys.clone(), &Nodes::default(), &settings).unwrap();
        Self::of(handles, settings, database, keys, gateway)
    }

    /// Makes the service anew with other settings, as a reload of the settings does: on the state that there is.
    pub(crate) fn reloaded(&self, settings: Settings) -> Self {
        let (database, keys) = (Arc::clone(&self.database), self.keys.clone());
        Self::of(self.handles.clone(), settings, database, keys, gateway::Settings::default())
    }

    fn of(
        handles: Handles,
        settings: Settings,
        database: Arc<testkit::Database>,
        keys: Keys,
        gateway: gateway::Settings,
    ) -> Self {
        let service = auth::service(settings.clone(), &handles).unwrap();
        let gateway = Gateway::new(gateway, keys.clone(), None);
        let face = gateway.guarded_except("auth", auth::keyless_paths(), service);
        let endpoint = Arc::new(poem::endpoint::ToDynEndpoint(face));
        Self { endpoint, handles, keys, database, settings }
    }

    /// Sends a request with the public API key, unless `headers` have another.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<poem::Body>,
    ) -> Response {
        let described = path.split('?').next().unwrap_or_default();
        let mut request = Request::builder().method(method.clone()).uri_str(path);
        if headers.iter().all(|(name, _)| *name != "apikey") {
            request = request.header("apikey", self.keys.api_keys().anon());
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.endpoint.call(request.body(body)).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.into_body().into_string().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        if described != DOCUMENT {
            let deviation =
                conformity::deviation(self.document().await, (&method, described), (status, &body));
            assert_eq!(deviation, None, "responses are as the OpenAPI document says");
        }
        Response { status, headers, body }
    }

    /// Returns the OpenAPI document, which is the same for all servers but for their address.
    async fn document(&self) -> &'static Value {
        static READ: OnceCell<Value> = OnceCell::const_new();
        let read = async || Box::pin(self.send(Method::GET, DOCUMENT, &[], ())).await.body;
        READ.get_or_init(read).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.send(Method::POST, path, &[], body.to_string()).await
    }

    pub(crate) async fn get_as(&self, path: &str, token: &str) -> Response {
        self.send(Method::GET, path, &[("authorization", &format!("Bearer {token}"))], ()).await
    }

    pub(crate) async fn post_as(&self, path: &str, token: &str) -> Response {
        self.send(Method::POST, path, &[("authorization", &format!("Bearer {token}"))], ()).await
    }

    pub(crate) async fn put_as(&self, path: &str, token: &str, body: Value) -> Response {
        let bearer = format!("Bearer {token}");
        self.send(Method::PUT, path, &[("authorization", &bearer)], body.to_string()).await
    }

    /// Sends a request with the key that administers users.
    pub(crate) async fn post_as_admin(&self, path: &str, body: Value) -> Response {
        let bearer = format!("Bearer {}", self.keys.api_keys().service_role());
        self.send(Method::POST, path, &[("authorization", &bearer)], body.to_string()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, &[], ()).await
    }

    /// Returns the only value that `sql` returns, as text; empty for null.
    pub(crate) async fn text(&self, sql: &str) -> String {
        let row = self.database.client().await.query_one(sql, &[]).await.unwrap();
        row.get::<_, Option<String>>(0).unwrap_or_default()
    }

    /// Returns what a link in the last mail would carry: the stored hash in `column` of the only user.
    pub(crate) async fn hash(&self, column: &str) -> String {
        let hash = self.text(&format!("select {column}::text from auth.users")).await;
        assert!(!hash.is_empty(), "{column} is empty: no code was sent");
        hash
    }

    /// Makes `code` the one that was sent to `address`, in place of the one in `column` of the only user. The
    /// service keeps hashes alone, so that the real one cannot be read here.
    pub(crate) async fn plant(&self, column: &str, address: &str, code: &str) {
        self.hash(column).await;
        let hash = format!(
            "case when {column} like 'pkce\\_%' then 'pkce_' else '' end || encode(sha224('{address}{code}'), 'hex')"
        );
        self.sql(&format!(
            "update auth.one_time_tokens set token_hash = (select {hash} from auth.users) where token_type = '{column}';
             update auth.users set {column} = {hash}"
        ))
        .await;
    }

    /// Makes everything that was sent long ago, so that it may be sent again.
    pub(crate) async fn let_time_pass(&self) {
        let columns = ["confirmation", "recovery", "email_change", "phone_change", "reauthentication"];
        for column in columns {
            let sql =
                format!("update auth.users set {column}_sent_at = {column}_sent_at - interval '2 minutes'");
            self.sql(&sql).await;
        }
    }

    /// Runs SQL as the superuser.
    pub(crate) async fn sql(&self, sql: &str) {
        self.database.client().await.batch_execute(sql).await.unwrap();
    }

    /// Returns the only value that `sql` returns.
    pub(crate) async fn value(&self, sql: &str) -> i64 {
        self.database.client().await.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Creates a confirmed user with `PASSWORD`; returns the id.
    pub(crate) async fn user(&self, email: &str) -> String {
        let sql = format!(
            "with u as (
               insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                 raw_app_meta_data, raw_user_meta_data, created_at, updated_at, confirmation_token, recovery_token,
                 email_change_token_new, email_change)
               values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated',
                 '{email}', '{PASSWORD_HASH}', now(), '{{\"provider\":\"email\",\"providers\":[\"email\"]}}',
                 '{{\"full_name\":\"Ada\"}}', now(), now(), '', '', '', '')
               returning id
             ), i as (
               insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at)
               select id::text, id, json_build_object('sub', id, 'email', '{email}'), 'email', now(), now() from u
             )
             select id::text from u"
        );
        self.database.client().await.query_one(&sql, &[]).await.unwrap().get(0)
    }

    pub(crate) async fn sign_in(&self, email: &str) -> Response {
        self.post("/token?grant_type=password", json!({ "email": email, "password": PASSWORD })).await
    }

    pub(crate) async fn refresh(&self, token: &str) -> Response {
        self.post("/token?grant_type=refresh_token", json!({ "refresh_token": token })).await
    }
}
