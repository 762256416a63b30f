//! Clients of the OAuth server: those that administrators register, and those that register themselves.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::{Json, Response};
use poem_openapi::{ApiResponse, Object, OpenApi};
use postgres::Database;
use serde::Deserialize;
use uuid::Uuid;

use super::abuse_protection::AbuseProtection;
use super::body::Body;
use super::callers::Callers;
use super::paging::{Page, non_empty};
use super::shared_responses::Done;
use crate::Error;
use crate::Settings;
use crate::checks::limits::Bucket;
use crate::flows::oauth_server::clients::{
    self as flow, ClientChanges, RegisteredClient, Registrar, Registration,
};
use crate::flows::oauth_server::require_enabled;
use crate::store::oauth_clients::{self as store, OauthClient};

pub(super) struct OauthClientsApi {
    pub(super) callers: Callers,
    pub(super) protection: AbuseProtection,
    pub(super) database: Database,
    pub(super) settings: Arc<Settings>,
}

/// The fields of a client at its registration (RFC 7591, section 2).
#[derive(Object, Deserialize)]
struct ClientFields {
    /// The URLs that codes may be sent to, compared exactly; one to ten.
    redirect_uris: Option<Vec<String>>,
    /// `public` or `confidential`; derived from the method if it is missing.
    client_type: Option<String>,
    /// `none`, `client_secret_basic` or `client_secret_post`; derived from the type if it is missing.
    token_endpoint_auth_method: Option<String>,
    /// `authorization_code`, `refresh_token`. Default: both.
    grant_types: Option<Vec<String>>,
    /// The client's name for people.
    client_name: Option<String>,
    /// The URL of a page about the client.
    client_uri: Option<String>,
    /// The URL of the client's logo.
    logo_uri: Option<String>,
}

impl ClientFields {
    fn registration(self) -> Registration {
        Registration {
            redirect_uris: self.redirect_uris.unwrap_or_default(),
            client_type: self.client_type.unwrap_or_default(),
            token_endpoint_auth_method: self.token_endpoint_auth_method.unwrap_or_default(),
            grant_types: self.grant_types.unwrap_or_default(),
            client_name: self.client_name.unwrap_or_default(),
            client_uri: self.client_uri.unwrap_or_default(),
            logo_uri: self.logo_uri.unwrap_or_default(),
        }
    }
}

/// A client.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
struct Client {
    client_id: Uuid,
    /// Only returned when it is created.
    client_secret: Option<String>,
    client_type: String,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: String,
    grant_types: Vec<String>,
    response_types: Vec<String>,
    client_name: Option<String>,
    client_uri: Option<String>,
    logo_uri: Option<String>,
    /// `manual` or `dynamic`.
    registration_type: String,
    created_at: Option<String>,
    updated_at: Option<String>,
}

impl From<OauthClient> for Client {
    fn from(client: OauthClient) -> Self {
        let redirect_uris = client.redirect_uris().map(str::to_owned).collect();
        let grant_types = client.grant_types().map(str::to_owned).collect();
        Self {
            client_id: client.id,
            client_secret: None,
            client_type: client.client_type.name().to_owned(),
            redirect_uris,
            token_endpoint_auth_method: client.token_endpoint_auth_method.name().to_owned(),
            grant_types,
            response_types: vec!["code".to_owned()],
            client_name: client.client_name.filter(|text| !text.is_empty()),
            client_uri: client.client_uri.filter(|text| !text.is_empty()),
            logo_uri: client.logo_uri.filter(|text| !text.is_empty()),
            registration_type: client.registration_type,
            created_at: client.created_at,
            updated_at: client.updated_at,
        }
    }
}

impl From<RegisteredClient> for Client {
    fn from(registered: RegisteredClient) -> Self {
        Self { client_secret: registered.secret, ..Self::from(registered.client) }
    }
}

/// All clients, or a page of them.
#[derive(Object)]
struct Clients {
    clients: Vec<Client>,
}

#[derive(ApiResponse)]
enum CreationResponse {
    #[oai(status = 201)]
    Client(Json<Client>),
}

/// Paths that need no API key: clients that register have no key yet.
pub(super) const KEYLESS: &[&str] = &["/oauth/clients/register"];

#[OpenApi]
impl OauthClientsApi {
    /// Registers a client. Available to all callers, if the settings allow it.
    #[oai(path = "/oauth/clients/register", method = "post")]
    async fn register(&self, request: &Request, body: Body<ClientFields>) -> Result<CreationResponse, Error> {
        require_enabled(&self.settings)?;
        self.protection.limit(request, Bucket::OauthClientRegistration).await?;
        flow::require_dynamic(&self.settings)?;
        let registration = body.read()?.registration();
        let registered = flow::register(&self.database, Registrar::Dynamic, registration).await?;
        Ok(CreationResponse::Client(Json(registered.into())))
    }

    /// Registers a client. For administrators.
    #[oai(path = "/admin/oauth/clients", method = "post")]
    async fn create(&self, request: &Request, body: Body<ClientFields>) -> Result<CreationResponse, Error> {
        self.admit(request).await?;
        let registration = body.read()?.registration();
        let registered = flow::register(&self.database, Registrar::Manual, registration).await?;
        Ok(CreationResponse::Client(Json(registered.into())))
    }

    /// Returns clients, newest first: all, or a page of them. For administrators.
    #[oai(path = "/admin/oauth/clients", method = "get")]
    async fn list(
        &self,
        request: &Request,
        /// The number of the page, from 1. Without this and `per_page`, all clients are returned.
        page: Query<Option<String>>,
        /// Clients on a page. Default: 50.
        per_page: Query<Option<String>>,
    ) -> Result<Response<Json<Clients>>, Error> {
        self.admit(request).await?;
        let (number, size) = (non_empty(&page), non_empty(&per_page));
        let page = (number.is_some() || size.is_some()).then(|| Page::parse(number, size)).transpose()?;
        let part = page.map(|page| (page.limit(), page.offset()));
        let found = store::page(&self.database, part).await?;
        let clients = found.clients.into_iter().map(Client::from).collect();
        let response = Response::new(Json(Clients { clients }));
        Ok(match page {
            Some(page) => response
                .header("link", page.links(request, found.total))
                .header("x-total-count", found.total.to_string()),
            None => response,
        })
    }

    /// Returns a client. For administrators.
    #[oai(path = "/admin/oauth/clients/:client_id", method = "get")]
    async fn get(&self, request: &Request, client_id: Path<String>) -> Result<Json<Client>, Error> {
        self.admit(request).await?;
        Ok(Json(flow::find(&self.database, &client_id.0).await?.into()))
    }

    /// Changes a client. For administrators.
    #[oai(path = "/admin/oauth/clients/:client_id", method = "put")]
    async fn update(
        &self,
        request: &Request,
        client_id: Path<String>,
        body: Body<ClientChanges>,
    ) -> Result<Json<Client>, Error> {
        self.admit(request).await?;
        let client = flow::find(&self.database, &client_id.0).await?;
        Ok(Json(flow::update(&self.database, &client, body.read()?).await?.into()))
    }

    /// Deletes a client. It cannot get tokens any more. For administrators.
    #[oai(path = "/admin/oauth/clients/:client_id", method = "delete")]
    async fn delete(&self, request: &Request, client_id: Path<String>) -> Result<Done, Error> {
        self.admit(request).await?;
        let client = flow::find(&self.database, &client_id.0).await?;
        store::delete(&self.database, client.id).await?;
        Ok(Done::NoContent)
    }

    /// Creates a new secret for a confidential client. For administrators.
    #[oai(path = "/admin/oauth/clients/:client_id/regenerate_secret", method = "post")]
    async fn regenerate_secret(
        &self,
        request: &Request,
        client_id: Path<String>,
    ) -> Result<Json<Client>, Error> {
        self.admit(request).await?;
        let client = flow::find(&self.database, &client_id.0).await?;
        Ok(Json(flow::regenerate_secret(&self.database, &client).await?.into()))
    }
}

impl OauthClientsApi {
    async fn admit(&self, request: &Request) -> Result<(), Error> {
        self.callers.admin(request).await?;
        require_enabled(&self.settings)
    }
}
