//! Identity providers of single sign-on, for administrators.

use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, Object, OpenApi};
use serde::Deserialize;

use super::body::Body;
use super::callers::Callers;
use super::fields;
use crate::Error;
use crate::flows::services::SingleSignOn;
use crate::flows::sso_providers::{self as flow, Definition};
use crate::sso::AttributeMapping;
use crate::store::sso_providers::{self as store, SsoProvider};

pub(super) struct AdminSsoApi {
    pub(super) callers: Callers,
    pub(super) single_sign_on: SingleSignOn,
}

/// The definition of a provider.
#[derive(Object, Deserialize)]
struct SsoProviderFields {
    /// `saml`.
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The URL of its metadata; over `https`.
    metadata_url: Option<String>,
    /// Its metadata as a document.
    metadata_xml: Option<String>,
    /// The e-mail domains whose users sign in with it.
    domains: Option<Vec<String>>,
    /// The claims that its attributes are mapped to.
    attribute_mapping: Option<AttributeMapping>,
    /// The requested kind of name (SAML 2.0 Core, section 8.3). Default: persistent.
    name_id_format: Option<String>,
    /// An id that the administrator chooses.
    resource_id: Option<String>,
    /// Disables sign-in with this provider. Default: false.
    disabled: Option<bool>,
}

impl SsoProviderFields {
    /// Returns the fields in the type that flows use.
    ///
    /// Errors: `validation_failed` for text with a NUL, which Postgres cannot store.
    fn definition(self) -> Result<Definition, Error> {
        let mapping = self.attribute_mapping.unwrap_or_default();
        let texts = [&self.metadata_url, &self.metadata_xml, &self.resource_id].into_iter().flatten();
        let has_nul = texts.chain(self.domains.iter().flatten()).any(|text| text.contains('\0'))
            || serde_json::to_value(&mapping).is_ok_and(|value| fields::has_nul(&value));
        if has_nul {
            return Err(Error::validation("fields must not contain NUL characters"));
        }
        Ok(Definition {
            kind: self.kind.unwrap_or_default(),
            metadata_url: self.metadata_url.unwrap_or_default(),
            metadata_xml: self.metadata_xml.unwrap_or_default(),
            domains: self.domains,
            attribute_mapping: mapping,
            name_id_format: self.name_id_format.unwrap_or_default(),
            resource_id: self.resource_id,
            disabled: self.disabled,
        })
    }
}

/// Identity providers, without their metadata.
#[derive(Object)]
struct SsoProviders {
    items: Vec<SsoProvider>,
}

#[derive(ApiResponse)]
enum CreationResponse {
    #[oai(status = 201)]
    Provider(Json<SsoProvider>),
}

#[OpenApi]
impl AdminSsoApi {
    /// Lists the identity providers of single sign-on. For administrators.
    #[oai(path = "/admin/sso/providers", method = "get")]
    async fn list(
        &self,
        request: &Request,
        /// Returns only the provider with this resource id.
        resource_id: Query<Option<String>>,
        /// Returns only providers whose resource id begins with this text.
        resource_id_prefix: Query<Option<String>>,
    ) -> Result<Json<SsoProviders>, Error> {
        self.callers.admin(request).await?;
        let (id, prefix) = (resource_id.0.unwrap_or_default(), resource_id_prefix.0.unwrap_or_default());
        Ok(Json(SsoProviders { items: store::list(&self.single_sign_on.database, &id, &prefix).await? }))
    }

    /// Adds an identity provider. For administrators.
    #[oai(path = "/admin/sso/providers", method = "post")]
    async fn create(
        &self,
        request: &Request,
        body: Body<SsoProviderFields>,
    ) -> Result<CreationResponse, Error> {
        self.callers.admin(request).await?;
        let definition = body.read()?.definition()?;
        let SingleSignOn { database, settings, saml_remote, .. } = &self.single_sign_on;
        let provider = flow::create(database, settings, saml_remote, definition).await?;
        Ok(CreationResponse::Provider(Json(provider)))
    }

    /// Returns an identity provider by its id, or by `resource_` followed by its resource id. For administrators.
    #[oai(path = "/admin/sso/providers/:idp_id", method = "get")]
    async fn get(&self, request: &Request, idp_id: Path<String>) -> Result<Json<SsoProvider>, Error> {
        self.callers.admin(request).await?;
        flow::find(&self.single_sign_on.database, &idp_id.0).await.map(Json)
    }

    /// Changes an identity provider. For administrators.
    #[oai(path = "/admin/sso/providers/:idp_id", method = "put")]
    async fn update(
        &self,
        request: &Request,
        idp_id: Path<String>,
        body: Body<SsoProviderFields>,
    ) -> Result<Json<SsoProvider>, Error> {
        self.callers.admin(request).await?;
        let definition = body.read()?.definition()?;
        let SingleSignOn { database, settings, saml_remote, .. } = &self.single_sign_on;
        flow::update(database, settings, saml_remote, &idp_id.0, definition).await.map(Json)
    }

    /// Removes an identity provider. For administrators.
    #[oai(path = "/admin/sso/providers/:idp_id", method = "delete")]
    async fn delete(&self, request: &Request, idp_id: Path<String>) -> Result<Json<SsoProvider>, Error> {
        self.callers.admin(request).await?;
        flow::delete(&self.single_sign_on.database, &idp_id.0).await.map(Json)
    }
}
