//! Who may connect to the database from elsewhere.

use std::sync::Arc;

use http::StatusCode;
use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use serde_json::{Value, json};

use super::Context;
use super::payload::{Created, Done};
use crate::Error;
use crate::access::Scope;

pub(super) struct NetworkApi(pub(super) Arc<Context>);

#[OpenApi]
impl NetworkApi {
    /// Returns which addresses may connect: all that reach the port of the database.
    #[oai(path = "/projects/:project/network-restrictions", method = "get")]
    async fn restrictions(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseNetworkRestrictionsRead)?;
        Ok(Json(json!({
            "entitlement": "disallowed",
            "config": { "dbAllowedCidrs": ["0.0.0.0/0"], "dbAllowedCidrsV6": ["::/0"] },
            "status": "applied",
        })))
    }

    /// Refuses to restrict addresses.
    #[oai(path = "/projects/:project/network-restrictions/apply", method = "post")]
    async fn restrict(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::DatabaseNetworkRestrictionsWrite)?;
        let message = "Restrict addresses in pg_hba.conf of the server's data folder, or in its firewall";
        Err(Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into()))
    }

    /// Returns the addresses that are banned: none.
    #[oai(path = "/projects/:project/network-bans/retrieve", method = "post")]
    async fn bans(&self, request: &Request, project: Path<String>) -> Result<Created<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseNetworkBansRead)?;
        Ok(Created::of(json!({ "banned_ipv4_addresses": [] })))
    }

    /// Returns the addresses that are banned, with more about each: none.
    #[oai(path = "/projects/:project/network-bans/retrieve/enriched", method = "post")]
    async fn bans_in_detail(
        &self,
        request: &Request,
        project: Path<String>,
    ) -> Result<Created<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseNetworkBansRead)?;
        Ok(Created::of(json!({ "banned_ipv4_addresses": [] })))
    }

    /// Lifts bans, which there are none of.
    #[oai(path = "/projects/:project/network-bans", method = "delete")]
    async fn lift_bans(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::DatabaseNetworkBansWrite)?;
        Ok(Done::Ok)
    }

    /// Returns whether connections to the database need TLS.
    #[oai(path = "/projects/:project/ssl-enforcement", method = "get")]
    async fn ssl(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseSslConfigRead)?;
        Ok(Json(json!({ "currentConfig": { "database": false }, "appliedSuccessfully": true })))
    }

    /// Refuses to demand TLS.
    #[oai(path = "/projects/:project/ssl-enforcement", method = "put")]
    async fn enforce_ssl(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::DatabaseSslConfigWrite)?;
        let message = "The database of this server listens on this machine only";
        Err(Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into()))
    }
}
