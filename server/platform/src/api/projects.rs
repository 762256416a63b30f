//! The project, and how its services are.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde_json::{Value, json};

use super::Context;
use super::payload::Done;
use crate::Error;
use crate::access::Scope;
use crate::project::ProjectBody;
use crate::store::document_of;

/// How long the question for the version of Postgres may take.
const QUESTION_LIMIT: std::time::Duration = std::time::Duration::from_secs(5);

pub(super) struct ProjectsApi(pub(super) Arc<Context>);

/// A change of the project.
#[derive(Object)]
struct ProjectChange {
    /// Its new name.
    #[oai(validator(min_length = 1, max_length = 256))]
    name: String,
}

/// A project, briefly.
#[derive(Object)]
struct BriefProject {
    id: i64,
    #[oai(rename = "ref")]
    reference: String,
    name: String,
}

#[OpenApi]
impl ProjectsApi {
    /// Returns the projects: the one that this server is.
    #[oai(path = "/projects", method = "get")]
    async fn list(&self, request: &Request) -> Result<Json<Vec<ProjectBody>>, Error> {
        self.0.operator(request, Scope::ProjectsRead)?;
        Ok(Json(vec![described(&self.0).await?]))
    }

    /// Refuses to make another project: a server is one.
    #[oai(path = "/projects", method = "post")]
    async fn create(&self, request: &Request) -> Result<Done, Error> {
        self.0.operator(request, Scope::ProjectAdminWrite)?;
        Err(Error::Refused(
            http::StatusCode::NOT_IMPLEMENTED,
            "This server is one project: start another server for another project".into(),
        ))
    }

    /// Returns a project.
    #[oai(path = "/projects/:project", method = "get")]
    async fn get(&self, request: &Request, project: Path<String>) -> Result<Json<ProjectBody>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        Ok(Json(described(&self.0).await?))
    }

    /// Renames a project.
    #[oai(path = "/projects/:project", method = "patch")]
    async fn rename(
        &self,
        request: &Request,
        project: Path<String>,
        change: Json<ProjectChange>,
    ) -> Result<Json<BriefProject>, Error> {
        let operator = self.0.enter(request, &project, Scope::ProjectAdminWrite)?;
        let inner = self.0.inner();
        inner.project.rename(&inner.store, &change.name).await?;
        self.0.audit(&operator, "project.rename", json!({ "name": change.name })).await?;
        Ok(Json(BriefProject { id: 1, reference: project.0, name: change.0.name }))
    }

    /// Refuses to delete a project: the server is it.
    #[oai(path = "/projects/:project", method = "delete")]
    async fn delete(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminWrite)?;
        Err(Error::Refused(
            http::StatusCode::NOT_IMPLEMENTED,
            "This server is the project: stop the server, and remove its data folder on the machine".into(),
        ))
    }

    /// Returns how the services are that `services` names; without it, all of them.
    #[oai(path = "/projects/:project/health", method = "get")]
    async fn health(&self, request: &Request, project: Path<String>) -> Result<Json<Vec<Value>>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        let pairs = url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
        let wanted: Vec<String> = pairs
            .filter(|(name, _)| name == "services" || name == "services[]")
            .flat_map(|(_, value)| value.split(',').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let states = (self.0.inner().health)().await;
        let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
        let describe = |(name, state): &(&'static str, Result<(), String>)| {
            let status = if state.is_ok() { "ACTIVE_HEALTHY" } else { "UNHEALTHY" };
            let mut described = json!({ "name": name, "healthy": state.is_ok(), "status": status });
            if let Err(error) = state {
                described["error"] = json!(error);
            }
            described
        };
        Ok(Json(states.iter().filter(|(name, _)| is_wanted(name)).map(describe).collect()))
    }

    /// Returns what is wrong with the server, since when, and what to do. Upstream has no such endpoint.
    #[oai(path = "/projects/:project/health/problems", method = "get")]
    async fn problems(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        let list = self.0.inner().problems.read().clone();
        let list = list.ok_or_else(|| Error::missing("This server does not look for problems"))?;
        Ok(Json(list().await))
    }
}

/// Returns the description of the project. If the database does not respond, its version is empty.
pub(super) async fn described(context: &Context) -> Result<ProjectBody, Error> {
    let inner = context.inner();
    let sql = "select pg_catalog.to_json(pg_catalog.split_part(pg_catalog.current_setting('server_version'), ' ', 1))";
    let question = document_of::<String>(&inner.store, sql, Vec::new());
    let version = tokio::time::timeout(QUESTION_LIMIT, question).await;
    let version = version.ok().and_then(Result::ok).flatten().unwrap_or_default();
    Ok(inner.project.body(&context.settings, &version))
}
