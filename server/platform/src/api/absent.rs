//! What hosted Supabase has for its own machines, and this server does not have: its state, or why there is none.

use std::sync::Arc;

use http::StatusCode;
use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use serde_json::{Value, json};

use super::Context;
use super::payload::Done;
use super::projects::described;
use crate::Error;
use crate::access::Scope;
use crate::store::document_of;

/// The databases with their schemas.
const SCHEMAS: &str = "select pg_catalog.json_build_object('databases', pg_catalog.json_build_array( \
       pg_catalog.json_build_object('name', pg_catalog.current_database(), 'schemas', coalesce( \
         pg_catalog.json_agg(pg_catalog.json_build_object('name', nspname) order by nspname), '[]')))) \
     from pg_catalog.pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'";

pub(super) struct AbsentApi(pub(super) Arc<Context>);

#[OpenApi]
impl AbsentApi {
    /// Returns to which versions of Postgres the project can be upgraded over this interface: none.
    #[oai(path = "/projects/:project/upgrade/eligibility", method = "get")]
    async fn eligibility(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        let version = described(&self.0).await?.version().to_owned();
        Ok(Json(json!({
            "eligible": false,
            "current_app_version": version,
            "current_app_version_release_channel": "ga",
            "latest_app_version": version,
            "target_upgrade_versions": [],
            "duration_estimate_hours": 0,
            "legacy_auth_custom_roles": [],
            "objects_to_be_dropped": [],
            "unsupported_extensions": [],
            "user_defined_objects_in_internal_schemas": [],
            "validation_errors": [],
            "warnings": [],
        })))
    }

    /// Refuses to upgrade.
    #[oai(path = "/projects/:project/upgrade", method = "post")]
    async fn upgrade(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        let message = "Upgrade Postgres on the server itself, with `basalt db upgrade`";
        self.refuse(request, &project, Scope::ProjectAdminWrite, message)
    }

    /// Returns the state of the last upgrade over this interface: there was none.
    #[oai(path = "/projects/:project/upgrade/status", method = "get")]
    async fn upgrade_status(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        Ok(Json(json!({ "databaseUpgradeStatus": null })))
    }

    /// Returns to which versions the project can be restored over this interface: none.
    #[oai(path = "/projects/:project/restore", method = "get")]
    async fn restorable(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        Ok(Json(json!({ "available_versions": [] })))
    }

    /// Returns the runs of actions, which belong to branches: none.
    #[oai(path = "/projects/:project/actions", method = "get")]
    async fn actions(&self, request: &Request, project: Path<String>) -> Result<Json<Vec<Value>>, Error> {
        self.0.enter(request, &project, Scope::ActionRunsRead)?;
        Ok(Json(Vec::new()))
    }

    /// Refuses to tell a name of a host that this interface has set: its host is a setting.
    #[oai(path = "/projects/:project/custom-hostname", method = "get")]
    async fn hostname(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::CustomDomainRead)?;
        let message =
            "There is no custom hostname: the server has the name that its DNS gives it (api.external_url)";
        Err(Error::missing(message))
    }

    /// Returns the subdomain of the project: none.
    #[oai(path = "/projects/:project/vanity-subdomain", method = "get")]
    async fn subdomain(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::VanitySubdomainRead)?;
        Ok(Json(json!({ "status": "not-used" })))
    }

    /// Returns whether there are roles for a time: no.
    #[oai(path = "/projects/:project/jit-access", method = "get")]
    async fn temporary_roles(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        Ok(Json(json!({ "state": "disabled" })))
    }

    /// Returns which roles the sender may have for a time: none.
    #[oai(path = "/projects/:project/database/jit", method = "get")]
    async fn own_temporary_roles(
        &self,
        request: &Request,
        project: Path<String>,
    ) -> Result<Json<Value>, Error> {
        let operator = self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        Ok(Json(json!({ "user_id": operator.id(), "user_roles": [] })))
    }

    /// Returns who may have which roles for a time: nobody.
    #[oai(path = "/projects/:project/database/jit/list", method = "get")]
    async fn all_temporary_roles(
        &self,
        request: &Request,
        project: Path<String>,
    ) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::ProjectAdminRead)?;
        Ok(Json(json!({ "items": [] })))
    }

    /// Refuses to describe the disk.
    #[oai(path = "/projects/:project/config/disk", method = "get")]
    async fn disk(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        let message = "The disk is the machine's: this server neither chooses nor changes it";
        self.refuse(request, &project, Scope::InfraDiskConfigRead, message)
    }

    /// Refuses to show the key of pgsodium.
    #[oai(path = "/projects/:project/pgsodium", method = "get")]
    async fn pgsodium(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        let message = "This server has no extension pgsodium; the key of the vault stays on it";
        self.refuse(request, &project, Scope::ProjectAdminWrite, message)
    }

    /// Refuses to change the password of `postgres`, which the server itself logs in with.
    #[oai(path = "/projects/:project/database/password", method = "patch")]
    async fn password(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        let message = "The password of postgres is the server's own: make another role for other programs";
        self.refuse(request, &project, Scope::DatabaseWrite, message)
    }

    /// Returns the schemas of the database.
    #[oai(path = "/projects/:project/database/context", method = "get")]
    async fn schemas(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseRead)?;
        let found = document_of(self.0.inner().reading_database(), SCHEMAS, Vec::new()).await?;
        Ok(Json(found.unwrap_or_else(|| json!({ "databases": [] }))))
    }
}

impl AbsentApi {
    fn refuse(
        &self,
        request: &Request,
        project: &str,
        scope: Scope,
        message: &'static str,
    ) -> Result<Done, Error> {
        self.0.enter(request, project, scope)?;
        Err(Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into()))
    }
}
