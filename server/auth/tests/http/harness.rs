use std::sync::Arc;

use auth::Settings;
use database::Database;
use gateway::Gateway;
use http::{HeaderMap, Method, StatusCode};
use poem::{Endpoint, Request};
use serde_json::{Value, json};
use tokens::{KeyOverrides, Keys};

pub(crate) const PASSWORD: &str = "correct horse battery";
/// `PASSWORD` at the lowest cost that bcrypt knows.
const PASSWORD_HASH: &str = "$2b$04$abcdefghijklmnopqrstuuqREtd3VJD2QVZbuFskFSLk6eRIrQoOS";

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    /// Status and error code.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        let code = self.headers.get("x-sb-error-code").map(|code| code.to_str().unwrap());
        (self.status.as_u16(), code.unwrap_or_default())
    }

    pub(crate) fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_else(|| panic!("no {field} in {}", self.body))
    }
}

/// The service behind its gateway, with a database of its own.
#[derive(Clone)]
pub(crate) struct Server {
    endpoint: Arc<dyn poem::endpoint::DynEndpoint<Output = poem::Response>>,
    pub(crate) keys: Keys,
    pub(crate) database: Arc<testkit::Database>,
}

impl Server {
    pub(crate) async fn start() -> Server {
        Server::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Server {
        let database = testkit::Database::create().await;
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::load_or_create(&folder.path().join("keys.json"), KeyOverrides::default()).unwrap();
        let uri = database.uri_as("supabase_auth_admin");
        let login = Database::connect(database::Settings::new(uri)).await.unwrap();
        let service = auth::service(settings, login, keys.clone());
        let gateway = Gateway::new(gateway::Settings::default(), keys.clone());
        let face = gateway.guarded_except("auth", auth::is_open, service);
        let endpoint = Arc::new(poem::endpoint::ToDynEndpoint(face));
        Server { endpoint, keys, database: Arc::new(database) }
    }

    /// A request with the public API key.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<poem::Body>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri_str(path);
        request = request.header("apikey", self.keys.api_keys().anon());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.endpoint.call(request.body(body)).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.into_body().into_string().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Answer { status, headers, body }
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, &[], body.to_string()).await
    }

    pub(crate) async fn get_as(&self, path: &str, token: &str) -> Answer {
        self.send(Method::GET, path, &[("authorization", &format!("Bearer {token}"))], ()).await
    }

    pub(crate) async fn post_as(&self, path: &str, token: &str) -> Answer {
        self.send(Method::POST, path, &[("authorization", &format!("Bearer {token}"))], ()).await
    }

    /// Runs SQL as the superuser.
    pub(crate) async fn sql(&self, sql: &str) {
        self.database.client().await.batch_execute(sql).await.unwrap();
    }

    /// The only value that `sql` answers.
    pub(crate) async fn value(&self, sql: &str) -> i64 {
        self.database.client().await.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// A confirmed user with `PASSWORD`; returns the id.
    pub(crate) async fn user(&self, email: &str) -> String {
        let sql = format!(
            "with u as (
               insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                 raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
               values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated',
                 '{email}', '{PASSWORD_HASH}', now(), '{{\"provider\":\"email\",\"providers\":[\"email\"]}}',
                 '{{\"full_name\":\"Ada\"}}', now(), now())
               returning id
             ), i as (
               insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at)
               select id::text, id, json_build_object('sub', id, 'email', '{email}'), 'email', now(), now() from u
             )
             select id::text from u"
        );
        self.database.client().await.query_one(&sql, &[]).await.unwrap().get(0)
    }

    pub(crate) async fn sign_in(&self, email: &str) -> Answer {
        self.post("/token?grant_type=password", json!({ "email": email, "password": PASSWORD })).await
    }

    pub(crate) async fn refresh(&self, token: &str) -> Answer {
        self.post("/token?grant_type=refresh_token", json!({ "refresh_token": token })).await
    }
}
