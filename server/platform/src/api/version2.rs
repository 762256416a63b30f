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
use crate::store::network;

pub(super) struct Version2Api(pub(super) Arc<Context>);

#[OpenApi]
impl Version2Api {
    /// Returns all settings.
    #[oai(path = "/projects/:project/config", method = "get")]
    async fn get(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        let described = super::projects::described(&self.0).await?;
        let inner = self.0.inner();
        let is_ssl_enforced = inner.gate.as_ref().is_some_and(|gate| gate.is_tls_needed());
        let reference = inner.project.reference();
        let networks = network::read(&inner.store, &reference).await?.described();
        let config = (&self.0.settings.config, reference.as_str());
        let attributes = config::all(config, described.engine(), &networks, is_ssl_enforced);
        Ok(Json(json!({
            "data": { "type": "project_config", "id": project.0, "attributes": attributes },
        })))
    }
}
