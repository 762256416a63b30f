//! The OAuth clients that the caller has granted access to.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Query;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use postgres::Database;
use uuid::Uuid;

use super::callers::Callers;
use super::request;
use super::shared_responses::Done;
use crate::Settings;
use crate::flows::oauth_server::{require_enabled, scopes};
use crate::store::oauth_clients::OauthClient;
use crate::store::oauth_consents::{self, Grant};
use crate::{Code, Error};

pub(super) struct OauthGrantsApi {
    pub(super) callers: Callers,
    pub(super) database: Database,
    pub(super) settings: Arc<Settings>,
}

/// The description of a client for its users.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
pub(super) struct ClientDetails {
    id: Uuid,
    name: Option<String>,
    /// The URL of a page about the client.
    uri: Option<String>,
    /// The URL of the client's logo.
    logo_uri: Option<String>,
}

impl From<OauthClient> for ClientDetails {
    fn from(client: OauthClient) -> Self {
        Self {
            id: client.id,
            name: client.client_name.filter(|text| !text.is_empty()),
            uri: client.client_uri.filter(|text| !text.is_empty()),
            logo_uri: client.logo_uri.filter(|text| !text.is_empty()),
        }
    }
}

/// The access that a client was granted.
#[derive(Object)]
struct GrantResponse {
    client: ClientDetails,
    scopes: Vec<String>,
    granted_at: Option<String>,
}

impl From<Grant> for GrantResponse {
    fn from(grant: Grant) -> Self {
        Self {
            client: grant.client.into(),
            scopes: scopes::parse(&grant.scopes).into_iter().map(str::to_owned).collect(),
            granted_at: grant.granted_at,
        }
    }
}

#[OpenApi]
impl OauthGrantsApi {
    /// Returns the clients that the caller has granted access to, the latest first.
    #[oai(path = "/user/oauth/grants", method = "get")]
    async fn list(&self, request: &Request) -> Result<Json<Vec<GrantResponse>>, Error> {
        let bearer = self.callers.bearer(request).await?;
        require_enabled(&self.settings)?;
        let grants = oauth_consents::list(&self.database, bearer.user.id).await?;
        Ok(Json(grants.into_iter().map(GrantResponse::from).collect()))
    }

    /// Revokes the access that the caller has granted to a client, and ends the client's sessions.
    #[oai(path = "/user/oauth/grants", method = "delete")]
    async fn revoke(&self, request: &Request, client_id: Query<Option<String>>) -> Result<Done, Error> {
        let bearer = self.callers.bearer(request).await?;
        require_enabled(&self.settings)?;
        let id = client_id.0.unwrap_or_default();
        if id.is_empty() {
            return Err(Error::validation("client_id query parameter is required"));
        }
        let id = Uuid::parse_str(&id).map_err(|_| Error::validation("invalid client_id format"))?;
        let client = request::client(request)?;
        let revoked =
            oauth_consents::revoke(&self.database, &self.settings, bearer.user.id, id, &client).await?;
        if revoked {
            return Ok(Done::NoContent);
        }
        Err(Code::OauthConsentNotFound.because("No active grant found for this client"))
    }
}
