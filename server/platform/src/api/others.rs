//! What tools ask for that this server has in one form only: no branches, no add-ons, no plans.

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

pub(super) struct OthersApi(pub(super) Arc<Context>);

#[OpenApi]
impl OthersApi {
    /// Returns the branches: none.
    #[oai(path = "/projects/:project/branches", method = "get")]
    async fn branches(&self, request: &Request, project: Path<String>) -> Result<Json<Vec<Value>>, Error> {
        self.0.enter(request, &project, Scope::BranchingDevelopmentRead)?;
        Ok(Json(Vec::new()))
    }

    /// Refuses to make a branch.
    #[oai(path = "/projects/:project/branches", method = "post")]
    async fn create_branch(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminWrite)?;
        let message = "This server has no branches: start another server, and bring the migrations to it";
        Err(Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into()))
    }

    /// Returns the add-ons: none.
    #[oai(path = "/projects/:project/billing/addons", method = "get")]
    async fn addons(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::InfraAddOnsRead)?;
        Ok(Json(json!({ "selected_addons": [], "available_addons": [] })))
    }

    /// Refuses to add an add-on, such as another size of the machine.
    #[oai(path = "/projects/:project/billing/addons", method = "patch")]
    async fn add_addon(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminWrite)?;
        let message = "This server has no add-ons, and the size of the machine is its owner's to choose";
        Err(Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into()))
    }

    /// Returns whether the database refuses writes.
    #[oai(path = "/projects/:project/readonly", method = "get")]
    async fn readonly(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseReadonlyConfigRead)?;
        Ok(Json(json!({ "enabled": false, "override_enabled": false, "override_active_until": "" })))
    }

    /// Enables database webhooks, which always are.
    #[oai(path = "/projects/:project/database/webhooks/enable", method = "post")]
    async fn enable_webhooks(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::DatabaseWebhooksConfigWrite)?;
        Ok(Done::Created)
    }
}
