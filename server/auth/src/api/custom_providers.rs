//! Providers that administrators define.

use std::collections::BTreeMap;
use std::sync::Arc;

use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, Object, OpenApi};
use serde::Deserialize;
use serde_json::Value;

use super::body::Body;
use super::request;
use crate::flows::custom_providers::{self as flow, Definition};
use crate::store::custom_providers as store;
use crate::{Auth, Error};

pub(super) struct CustomProvidersApi {
    pub(super) auth: Arc<Auth>,
}

/// A provider as an administrator defines it.
#[derive(Object, Deserialize)]
struct ProviderFields {
    /// `oauth2` or `oidc`.
    provider_type: Option<String>,
    /// What clients and identities call it: `custom:…`.
    identifier: Option<String>,
    /// What people call it.
    name: Option<String>,
    client_id: Option<String>,
    /// Never told again.
    client_secret: Option<String>,
    /// Further audiences of ID tokens.
    acceptable_client_ids: Option<Vec<String>>,
    scopes: Option<Vec<String>>,
    /// Whether a code challenge is sent (RFC 7636). Default true.
    pkce_enabled: Option<bool>,
    /// Claims that take another claim's value, by name, or a fixed one.
    attribute_mapping: Option<BTreeMap<String, Value>>,
    /// Claims that identities keep beside the usual ones.
    custom_claims_allowlist: Option<Vec<String>>,
    /// Parameters that users are always sent with.
    authorization_params: Option<BTreeMap<String, Value>>,
    /// Default true.
    enabled: Option<bool>,
    /// Whether users without an e-mail address are taken. Default false.
    email_optional: Option<bool>,
    /// oidc: claim `iss` of ID tokens.
    issuer: Option<String>,
    /// oidc: where the document is, if not below the issuer.
    discovery_url: Option<String>,
    /// oidc: takes ID tokens without looking at their nonce. Default false.
    skip_nonce_check: Option<bool>,
    /// oauth2: where users are sent.
    authorization_url: Option<String>,
    /// oauth2: where codes are exchanged.
    token_url: Option<String>,
    /// oauth2: what describes the user.
    userinfo_url: Option<String>,
    /// oauth2: the provider's keys.
    jwks_uri: Option<String>,
}

impl ProviderFields {
    fn definition(self) -> Definition {
        Definition {
            provider_type: self.provider_type.unwrap_or_default(),
            identifier: self.identifier.unwrap_or_default(),
            name: self.name.unwrap_or_default(),
            client_id: self.client_id.unwrap_or_default(),
            client_secret: self.client_secret.unwrap_or_default(),
            acceptable_client_ids: self.acceptable_client_ids,
            scopes: self.scopes,
            pkce_enabled: self.pkce_enabled,
            attribute_mapping: self.attribute_mapping,
            custom_claims_allowlist: self.custom_claims_allowlist,
            authorization_params: self.authorization_params,
            enabled: self.enabled,
            email_optional: self.email_optional,
            issuer: self.issuer.unwrap_or_default(),
            discovery_url: self.discovery_url.unwrap_or_default(),
            skip_nonce_check: self.skip_nonce_check,
            authorization_url: self.authorization_url.unwrap_or_default(),
            token_url: self.token_url.unwrap_or_default(),
            userinfo_url: self.userinfo_url.unwrap_or_default(),
            jwks_uri: self.jwks_uri.unwrap_or_default(),
        }
    }
}

/// All custom providers.
#[derive(Object)]
struct Listed {
    providers: Vec<Value>,
}

#[derive(ApiResponse)]
enum Created {
    #[oai(status = 201)]
    Provider(Json<Value>),
}

#[derive(ApiResponse)]
enum DeletedProvider {
    #[oai(status = 204)]
    NoContent,
}

#[OpenApi]
impl CustomProvidersApi {
    /// Lists custom providers. For administrators.
    #[oai(path = "/admin/custom-providers", method = "get")]
    async fn list(
        &self,
        request: &Request,
        /// `oauth2` or `oidc`: only those.
        #[oai(name = "type")]
        kind: Query<Option<String>>,
    ) -> Result<Json<Listed>, Error> {
        self.admit(request).await?;
        let kind = flow::filter(kind.0.as_deref())?;
        Ok(Json(Listed { providers: store::list(&self.auth.database, kind).await? }))
    }

    /// Defines a custom provider. For administrators.
    #[oai(path = "/admin/custom-providers", method = "post")]
    async fn create(&self, request: &Request, body: Body<ProviderFields>) -> Result<Created, Error> {
        self.admit(request).await?;
        let Auth { database, settings, providers, .. } = &*self.auth;
        let definition = body.read()?.definition();
        Ok(Created::Provider(Json(flow::create(database, settings, providers, definition).await?)))
    }

    /// A custom provider. For administrators.
    #[oai(path = "/admin/custom-providers/:identifier", method = "get")]
    async fn get(&self, request: &Request, identifier: Path<String>) -> Result<Json<Value>, Error> {
        self.admit(request).await?;
        flow::require_prefix(&identifier.0)?;
        let found = store::view(&self.auth.database, &identifier.0).await?;
        found.map(Json).ok_or_else(flow::not_found)
    }

    /// Changes a custom provider. For administrators.
    #[oai(path = "/admin/custom-providers/:identifier", method = "put")]
    async fn update(
        &self,
        request: &Request,
        identifier: Path<String>,
        body: Body<ProviderFields>,
    ) -> Result<Json<Value>, Error> {
        self.admit(request).await?;
        flow::require_prefix(&identifier.0)?;
        let Auth { database, settings, providers, .. } = &*self.auth;
        let definition = body.read()?.definition();
        flow::update(database, settings, providers, &identifier.0, definition).await.map(Json)
    }

    /// Removes a custom provider. For administrators.
    #[oai(path = "/admin/custom-providers/:identifier", method = "delete")]
    async fn delete(&self, request: &Request, identifier: Path<String>) -> Result<DeletedProvider, Error> {
        self.admit(request).await?;
        flow::require_prefix(&identifier.0)?;
        flow::delete(&self.auth.database, &self.auth.providers, &identifier.0).await?;
        Ok(DeletedProvider::NoContent)
    }
}

impl CustomProvidersApi {
    async fn admit(&self, request: &Request) -> Result<(), Error> {
        request::admin(&self.auth, request).await?;
        flow::require_enabled(&self.auth.settings)
    }
}
