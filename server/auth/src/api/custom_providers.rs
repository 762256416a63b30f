//! Providers that administrators define.

use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, Object, OpenApi};
use serde_json::Value;

use super::body::Body;
use super::callers::Callers;
use super::shared_responses::Done;
use crate::Error;
use crate::flows::custom_providers::{self as flow, Definition};
use crate::flows::services::ProviderSignIns;
use crate::store::custom_providers as store;

pub(super) struct CustomProvidersApi {
    pub(super) callers: Callers,
    pub(super) provider_sign_ins: ProviderSignIns,
}

/// All custom providers.
#[derive(Object)]
struct CustomProviders {
    providers: Vec<Value>,
}

#[derive(ApiResponse)]
enum CreationResponse {
    #[oai(status = 201)]
    Provider(Json<Value>),
}

#[OpenApi]
impl CustomProvidersApi {
    /// Lists custom providers. For administrators.
    #[oai(path = "/admin/custom-providers", method = "get")]
    async fn list(
        &self,
        request: &Request,
        /// Returns only providers of this type: `oauth2` or `oidc`.
        #[oai(name = "type")]
        kind: Query<Option<String>>,
    ) -> Result<Json<CustomProviders>, Error> {
        self.admit(request).await?;
        let kind = flow::filter(kind.0.as_deref())?;
        Ok(Json(CustomProviders { providers: store::list(&self.provider_sign_ins.database, kind).await? }))
    }

    /// Defines a custom provider. For administrators.
    #[oai(path = "/admin/custom-providers", method = "post")]
    async fn create(&self, request: &Request, body: Body<Definition>) -> Result<CreationResponse, Error> {
        self.admit(request).await?;
        let ProviderSignIns { database, settings, providers, .. } = &self.provider_sign_ins;
        let definition = body.read()?;
        Ok(CreationResponse::Provider(Json(flow::create(database, settings, providers, definition).await?)))
    }

    /// Returns a custom provider. For administrators.
    #[oai(path = "/admin/custom-providers/:identifier", method = "get")]
    async fn get(&self, request: &Request, identifier: Path<String>) -> Result<Json<Value>, Error> {
        self.admit(request).await?;
        flow::require_prefix(&identifier.0)?;
        let found = store::view(&self.provider_sign_ins.database, &identifier.0).await?;
        found.map(Json).ok_or_else(flow::not_found)
    }

    /// Changes a custom provider. For administrators.
    #[oai(path = "/admin/custom-providers/:identifier", method = "put")]
    async fn update(
        &self,
        request: &Request,
        identifier: Path<String>,
        body: Body<Definition>,
    ) -> Result<Json<Value>, Error> {
        self.admit(request).await?;
        flow::require_prefix(&identifier.0)?;
        let ProviderSignIns { database, settings, providers, .. } = &self.provider_sign_ins;
        let definition = body.read()?;
        flow::update(database, settings, providers, &identifier.0, definition).await.map(Json)
    }

    /// Removes a custom provider. For administrators.
    #[oai(path = "/admin/custom-providers/:identifier", method = "delete")]
    async fn delete(&self, request: &Request, identifier: Path<String>) -> Result<Done, Error> {
        self.admit(request).await?;
        flow::require_prefix(&identifier.0)?;
        flow::delete(&self.provider_sign_ins.database, &self.provider_sign_ins.providers, &identifier.0)
            .await?;
        Ok(Done::NoContent)
    }
}

impl CustomProvidersApi {
    async fn admit(&self, request: &Request) -> Result<(), Error> {
        self.callers.admin(request).await?;
        flow::require_enabled(&self.provider_sign_ins.settings)
    }
}
