//! Version 2 of the interface: all settings of a project in one document.

use std::sync::Arc;

use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use serde_json::{Value, json};

use super::{Context, config};
use crate::Error;
use crate::access::Scope;

pub(super) struct Version2Api(pub(super) Arc<Context>);

#[OpenApi]
impl Version2Api {
    /// Returns all settings.
    #[oai(path = "/projects/:project/config", method = "get")]
    async fn get(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        let described = super::projects::described(&self.0).await?;
        let attributes = config::all(&self.0.settings.config, described.engine());
        Ok(Json(json!({
            "data": { "type": "project_config", "id": project.0, "attributes": attributes },
        })))
    }
}
