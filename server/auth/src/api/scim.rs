//! The discovery endpoints of SCIM (RFC 7644, section 4). As upstream so far, the responses are that there are no
//! resources and no optional features.

use std::sync::Arc;

use poem::error::NotFoundError;
use poem::{Endpoint, Request, Response};
use poem_openapi::param::Query;
use poem_openapi::payload::Json;
use poem_openapi::types::ToJSON;
use poem_openapi::{ApiResponse, Object, OpenApi};

use crate::{Code, Error, Settings};

/// Everything of SCIM is below this path.
const BASE: &str = "/scim/v2/";
const CONTENT_TYPE: &str = "application/scim+json";

pub(super) struct ScimApi {
    pub(super) settings: Arc<Settings>,
}

/// Whether a feature is supported.
#[derive(Object)]
struct Feature {
    supported: bool,
}

#[derive(Object)]
#[oai(rename_all = "camelCase")]
struct BulkFeature {
    supported: bool,
    max_operations: u32,
    max_payload_size: u32,
}

#[derive(Object)]
#[oai(rename_all = "camelCase")]
struct FilterFeature {
    supported: bool,
    max_results: u32,
}

/// A way in which clients authenticate.
#[derive(Object)]
#[oai(rename_all = "camelCase")]
struct AuthenticationScheme {
    #[oai(rename = "type")]
    kind: String,
    name: String,
    description: String,
    spec_uri: String,
    primary: bool,
}

#[derive(Object)]
#[oai(rename_all = "camelCase")]
struct Meta {
    resource_type: String,
    location: String,
}

/// The supported features of SCIM (RFC 7643, section 5).
#[derive(Object)]
#[oai(rename_all = "camelCase")]
struct ServiceProviderConfig {
    schemas: Vec<String>,
    patch: Feature,
    bulk: BulkFeature,
    filter: FilterFeature,
    change_password: Feature,
    sort: Feature,
    etag: Feature,
    authentication_schemes: Vec<AuthenticationScheme>,
    meta: Meta,
}

/// A list of resources (RFC 7644, section 3.4.2).
#[derive(Object)]
#[oai(rename_all = "camelCase")]
struct Resources {
    schemas: Vec<String>,
    total_results: u32,
    start_index: u32,
    items_per_page: u32,
    /// Always empty.
    #[oai(rename = "Resources")]
    resources: Vec<String>,
}

/// An error in the format of SCIM (RFC 7644, section 3.12).
#[derive(Object)]
struct Refusal {
    schemas: Vec<String>,
    detail: String,
    /// The HTTP status.
    status: String,
}

impl Refusal {
    fn new(status: &str, detail: &str) -> Self {
        Self {
            schemas: vec!["urn:ietf:params:scim:api:messages:2.0:Error".to_owned()],
            detail: detail.to_owned(),
            status: status.to_owned(),
        }
    }
}

/// Passes the request on to `routes`. Where they know no such path of SCIM, the response is an error in its format.
pub(super) async fn respond_to_unknown<E: Endpoint<Output = Response>>(
    routes: &E,
    request: Request,
    settings: &Settings,
) -> poem::Result<Response> {
    let is_scim = request.uri().path().starts_with(BASE);
    match routes.call(request).await {
        Err(error) if is_scim && error.is::<NotFoundError>() => {
            require_enabled(settings)?;
            let refusal = Refusal::new("404", "Endpoint or resource does not exist");
            Ok(Response::builder()
                .status(http::StatusCode::NOT_FOUND)
                .content_type(CONTENT_TYPE)
                .body(refusal.to_json_string()))
        }
        outcome => outcome,
    }
}

fn require_enabled(settings: &Settings) -> Result<(), Error> {
    if settings.scim_enabled {
        return Ok(());
    }
    Err(Code::FeatureDisabled.because("SCIM server is disabled"))
}

#[derive(ApiResponse)]
enum ConfigResponse {
    #[oai(status = 200, content_type = "application/scim+json")]
    Config(Json<ServiceProviderConfig>),
}

#[derive(ApiResponse)]
enum ListResponse {
    #[oai(status = 200, content_type = "application/scim+json")]
    Resources(Json<Resources>),
    /// These lists cannot be filtered (RFC 7644, section 4).
    #[oai(status = 403, content_type = "application/scim+json")]
    Refused(Json<Refusal>),
}

#[OpenApi]
impl ScimApi {
    /// Returns the supported features of SCIM.
    #[oai(path = "/scim/v2/ServiceProviderConfig", method = "get")]
    async fn config(&self) -> Result<ConfigResponse, Error> {
        require_enabled(&self.settings)?;
        let off = || Feature { supported: false };
        let base = self.settings.external_url.trim_end_matches('/');
        Ok(ConfigResponse::Config(Json(ServiceProviderConfig {
            schemas: vec!["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig".to_owned()],
            patch: off(),
            bulk: BulkFeature { supported: false, max_operations: 0, max_payload_size: 0 },
            filter: FilterFeature { supported: false, max_results: 0 },
            change_password: off(),
            sort: off(),
            etag: off(),
            authentication_schemes: vec![AuthenticationScheme {
                kind: "oauthbearertoken".to_owned(),
                name: "OAuth Bearer Token".to_owned(),
                description: "Authentication scheme using the OAuth Bearer Token Standard".to_owned(),
                spec_uri: "http://www.rfc-editor.org/info/rfc6750".to_owned(),
                primary: true,
            }],
            meta: Meta {
                resource_type: "ServiceProviderConfig".to_owned(),
                location: format!("{base}/scim/v2/ServiceProviderConfig"),
            },
        })))
    }

    /// Returns the types of resources.
    #[oai(path = "/scim/v2/ResourceTypes", method = "get")]
    async fn resource_types(
        &self,
        /// Not supported.
        filter: Query<Option<String>>,
    ) -> Result<ListResponse, Error> {
        self.list(filter.0.is_some())
    }

    /// Returns the schemas of resources.
    #[oai(path = "/scim/v2/Schemas", method = "get")]
    async fn schemas(
        &self,
        /// Not supported.
        filter: Query<Option<String>>,
    ) -> Result<ListResponse, Error> {
        self.list(filter.0.is_some())
    }
}

impl ScimApi {
    fn list(&self, is_filtered: bool) -> Result<ListResponse, Error> {
        require_enabled(&self.settings)?;
        if is_filtered {
            let refusal = Refusal::new("403", "Filtering is not supported on this endpoint");
            return Ok(ListResponse::Refused(Json(refusal)));
        }
        Ok(ListResponse::Resources(Json(Resources {
            schemas: vec!["urn:ietf:params:scim:api:messages:2.0:ListResponse".to_owned()],
            total_results: 0,
            start_index: 1,
            items_per_page: 0,
            resources: Vec::new(),
        })))
    }
}
