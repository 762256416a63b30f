//! The settings of the services, and of Postgres.
//!
//! Source: the Management API's OpenAPI document; the Supabase CLI 3.1, which insists on keys that the document lacks.

mod change;
mod limits;
mod sections;

use std::sync::Arc;

use http::StatusCode;
use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use serde_json::{Value, json};

use super::Context;
use super::payload::Done;
use crate::Error;
use crate::access::Scope;
use crate::managed::Section;
use crate::postgres_settings::{self, names};

pub(super) use sections::all;

pub(super) struct ConfigApi(pub(super) Arc<Context>);

#[OpenApi]
impl ConfigApi {
    /// Returns the settings of REST.
    #[oai(path = "/projects/:project/postgrest", method = "get")]
    async fn rest(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DataApiConfigRead)?;
        Ok(Json(self.shown(Section::Rest)))
    }

    /// Changes settings of REST, and returns all of them.
    #[oai(path = "/projects/:project/postgrest", method = "patch")]
    async fn change_rest(
        &self,
        request: &Request,
        project: Path<String>,
        change: Json<Value>,
    ) -> Result<Json<Value>, Error> {
        let scope = Scope::DataApiConfigWrite;
        self.change(&self.0.enter(request, &project, scope)?, Section::Rest, &change.0).await.map(Json)
    }

    /// Returns the settings of auth, by GoTrue's names. Secrets are shown as their HMAC, with the reference as the key.
    #[oai(path = "/projects/:project/config/auth", method = "get")]
    async fn auth(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::AuthConfigRead)?;
        Ok(Json(self.shown(Section::Auth)))
    }

    /// Changes settings of auth, by GoTrue's names, and returns all of them.
    #[oai(path = "/projects/:project/config/auth", method = "patch")]
    async fn change_auth(
        &self,
        request: &Request,
        project: Path<String>,
        change: Json<Value>,
    ) -> Result<Json<Value>, Error> {
        let scope = Scope::AuthConfigWrite;
        self.change(&self.0.enter(request, &project, scope)?, Section::Auth, &change.0).await.map(Json)
    }

    /// Returns the settings of storage.
    #[oai(path = "/projects/:project/config/storage", method = "get")]
    async fn storage(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::StorageConfigRead)?;
        Ok(Json(self.shown(Section::Storage)))
    }

    /// Changes settings of storage, and returns all of them.
    #[oai(path = "/projects/:project/config/storage", method = "patch")]
    async fn change_storage(
        &self,
        request: &Request,
        project: Path<String>,
        change: Json<Value>,
    ) -> Result<Json<Value>, Error> {
        let scope = Scope::StorageConfigWrite;
        self.change(&self.0.enter(request, &project, scope)?, Section::Storage, &change.0).await.map(Json)
    }

    /// Returns the settings of realtime.
    #[oai(path = "/projects/:project/config/realtime", method = "get")]
    async fn realtime(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::RealtimeConfigRead)?;
        Ok(Json(self.shown(Section::Realtime)))
    }

    /// Changes settings of realtime.
    #[oai(path = "/projects/:project/config/realtime", method = "patch")]
    async fn change_realtime(
        &self,
        request: &Request,
        project: Path<String>,
        change: Json<Value>,
    ) -> Result<Done, Error> {
        let scope = Scope::RealtimeConfigWrite;
        self.change(&self.0.enter(request, &project, scope)?, Section::Realtime, &change.0).await?;
        Ok(Done::NoContent)
    }

    /// Returns how tools connect to the database. There is no pooler: it is the database itself.
    #[oai(path = "/projects/:project/config/database/pooler", method = "get")]
    async fn pooler(&self, request: &Request, project: Path<String>) -> Result<Json<Vec<Value>>, Error> {
        self.0.enter(request, &project, Scope::DatabasePoolingConfigRead)?;
        let host = self.0.inner().project.database_host(&self.0.settings);
        let uri = format!("postgresql://postgres:[YOUR-PASSWORD]@{host}:5432/postgres");
        Ok(Json(vec![json!({
            "identifier": project.0,
            "database_type": "PRIMARY",
            "is_using_scram_auth": true,
            "db_user": "postgres",
            "db_host": host,
            "db_port": 5432,
            "db_name": "postgres",
            "connection_string": uri,
            // The older name, which tools still read.
            "connectionString": uri,
            "default_pool_size": null,
            "max_client_conn": null,
            "pool_mode": "session",
        })]))
    }

    /// Refuses to change the pooler, which there is none of.
    #[oai(path = "/projects/:project/config/database/pooler", method = "patch")]
    async fn change_pooler(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::DatabasePoolingConfigWrite)?;
        Err(Error::Refused(StatusCode::NOT_IMPLEMENTED, "This server has no pooler".into()))
    }

    /// Returns the settings of the pooler that older tools ask for.
    #[oai(path = "/projects/:project/config/database/pgbouncer", method = "get")]
    async fn pgbouncer(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseRead)?;
        Ok(Json(json!({ "pool_mode": "session" })))
    }

    /// Returns the settings of Postgres that were changed.
    #[oai(path = "/projects/:project/config/database/postgres", method = "get")]
    async fn postgres(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseConfigRead)?;
        match &self.0.inner().postgres {
            Some(settings) => Ok(Json(postgres_settings::shown(&settings.read(&names()).await?))),
            None => Ok(Json(json!({}))),
        }
    }

    /// Changes settings of Postgres, which is restarted if it reads them at its start only: those in the body are
    /// changed, all others are no longer. Returns the settings that are changed then.
    #[oai(path = "/projects/:project/config/database/postgres", method = "put")]
    async fn change_postgres(
        &self,
        request: &Request,
        project: Path<String>,
        change: Json<Value>,
    ) -> Result<Json<Value>, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseConfigWrite)?;
        let settings = self.0.inner().postgres.clone().ok_or_else(postgres_settings::not_ours)?;
        let (values, may_restart) = postgres_settings::asked(&change)?;
        let context = Arc::clone(&self.0);
        // To its end, even if whoever asked has gone: a change is made as a whole, and recorded.
        let changed = tokio::spawn(async move {
            settings.replace(&names(), &values, may_restart).await?;
            let detail = json!({ "names": values.keys().collect::<Vec<_>>() });
            context.audit(&operator, "postgres.set", detail).await?;
            Ok(Json(postgres_settings::shown(&values)))
        });
        changed.await.unwrap_or_else(|failed| Err(Error::Internal(failed.to_string())))
    }
}

impl ConfigApi {
    fn shown(&self, section: Section) -> Value {
        sections::shown(section, &self.0.settings.config, &self.0.inner().project.reference())
    }
}
