//! Who may connect to the database from other machines, which is in force at the port of the database
//! (`basalt.database.listen`).

use std::net::IpAddr;
use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde_json::{Value, json};

use super::Context;
use super::payload::{Created, Done};
use crate::Error;
use crate::access::{Operator, Scope};
use crate::gate::DatabaseGate;
use crate::store::network::{self, NetworkSettings};

pub(super) struct NetworkApi(pub(super) Arc<Context>);

/// Networks in CIDR notation.
#[derive(Debug, Object)]
#[oai(rename_all = "camelCase")]
struct Networks {
    db_allowed_cidrs: Option<Vec<String>>,
    #[oai(rename = "dbAllowedCidrsV6")]
    db_allowed_cidrs_v6: Option<Vec<String>>,
}

/// Networks to be added and removed.
#[derive(Object)]
struct NetworkChange {
    add: Option<Networks>,
    remove: Option<Networks>,
}

/// Whose bans are to be lifted.
#[derive(Object)]
struct Bans {
    ipv4_addresses: Vec<String>,
    /// Whether that of the operator's own address is lifted, too.
    requester_ip: Option<bool>,
}

/// Whether TLS is to be demanded.
#[derive(Object)]
#[oai(rename_all = "camelCase")]
struct SslChange {
    requested_config: SslConfig,
}

/// Whether TLS is demanded.
#[derive(Object)]
struct SslConfig {
    database: bool,
}

#[OpenApi]
impl NetworkApi {
    /// Returns which networks may connect.
    #[oai(path = "/projects/:project/network-restrictions", method = "get")]
    async fn restrictions(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseNetworkRestrictionsRead)?;
        Ok(Json(self.described().await?))
    }

    /// Makes networks the only ones that may connect; with empty lists, nobody may. Connections that are open go on.
    #[oai(path = "/projects/:project/network-restrictions/apply", method = "post")]
    async fn restrict(
        &self,
        request: &Request,
        project: Path<String>,
        networks: Json<Networks>,
    ) -> Result<Created<Value>, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseNetworkRestrictionsWrite)?;
        let Networks { db_allowed_cidrs: v4, db_allowed_cidrs_v6: v6 } = networks.0;
        let is_asked = v4.is_some() || v6.is_some();
        let (v4, v6) = (v4.unwrap_or_default(), v6.unwrap_or_default());
        let before = self.settings().await?;
        // What tools have read they may send back, also where there is nobody to restrict.
        if self.0.inner().gate.is_none() && before.allowed() == (v4.clone(), v6.clone()) {
            return Ok(Created::of(self.described().await?));
        }
        let nobody = is_asked && v4.is_empty() && v6.is_empty();
        let settings = NetworkSettings { v4, v6, nobody, ..before };
        self.set(&operator, &settings).await?;
        Ok(Created::of(self.described().await?))
    }

    /// Adds networks to those that may connect, and removes others.
    #[oai(path = "/projects/:project/network-restrictions", method = "patch")]
    async fn change(
        &self,
        request: &Request,
        project: Path<String>,
        change: Json<NetworkChange>,
    ) -> Result<Json<Value>, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseNetworkRestrictionsWrite)?;
        let mut settings = self.settings().await?;
        let had_none = settings.has_none();
        if let Some(removed) = &change.remove {
            let is_removed = |list: &Option<Vec<String>>, one: &String| {
                list.as_ref().is_some_and(|list| list.contains(one))
            };
            settings.v4.retain(|one| !is_removed(&removed.db_allowed_cidrs, one));
            settings.v6.retain(|one| !is_removed(&removed.db_allowed_cidrs_v6, one));
        }
        if let Some(added) = change.0.add {
            settings.v4.extend(added.db_allowed_cidrs.unwrap_or_default());
            settings.v6.extend(added.db_allowed_cidrs_v6.unwrap_or_default());
        }
        // Without the last one, nobody may connect, rather than everybody.
        settings.nobody = settings.has_none() && (settings.nobody || !had_none);
        self.set(&operator, &settings).await?;
        let networks = settings.described();
        Ok(Json(json!({
            "entitlement": "allowed", "config": { "dbAllowedCidrs": networks }, "status": "applied",
        })))
    }

    /// Returns the addresses that are banned, because their logins have failed too often.
    #[oai(path = "/projects/:project/network-bans/retrieve", method = "post")]
    async fn bans(&self, request: &Request, project: Path<String>) -> Result<Created<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseNetworkBansRead)?;
        Ok(Created::of(json!({ "banned_ipv4_addresses": self.banned() })))
    }

    /// Returns the addresses that are banned, with the project that they are banned from.
    #[oai(path = "/projects/:project/network-bans/retrieve/enriched", method = "post")]
    async fn bans_in_detail(
        &self,
        request: &Request,
        project: Path<String>,
    ) -> Result<Created<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseNetworkBansRead)?;
        let describe = |address: String| json!({ "banned_address": address, "identifier": project.0, "type": "supabase_project" });
        let banned: Vec<Value> = self.banned().into_iter().map(describe).collect();
        Ok(Created::of(json!({ "banned_ipv4_addresses": banned })))
    }

    /// Lifts bans.
    #[oai(path = "/projects/:project/network-bans", method = "delete")]
    async fn lift_bans(
        &self,
        request: &Request,
        project: Path<String>,
        bans: Json<Bans>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseNetworkBansWrite)?;
        let addresses = bans.ipv4_addresses.iter().map(|address| {
            let wrong = || Error::invalid(format!("ipv4_addresses: {address:?} is no address"));
            address.parse().map_err(|_| wrong())
        });
        let mut addresses = addresses.collect::<Result<Vec<IpAddr>, Error>>()?;
        if bans.requester_ip == Some(true) {
            addresses.push(operator.address().to_canonical());
        }
        if let Some(gate) = &self.0.inner().gate {
            gate.lift(&addresses);
        }
        let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        self.0.audit(&operator, "network_bans.lift", json!({ "addresses": shown })).await?;
        Ok(Done::Ok)
    }

    /// Returns whether connections to the database need TLS.
    #[oai(path = "/projects/:project/ssl-enforcement", method = "get")]
    async fn ssl(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseSslConfigRead)?;
        let is_needed = self.0.inner().gate.as_ref().is_some_and(|gate| gate.is_tls_needed());
        Ok(Json(json!({ "currentConfig": { "database": is_needed }, "appliedSuccessfully": true })))
    }

    /// Demands TLS of connections from other machines, or stops to.
    ///
    /// Errors: 400 beyond a loopback address, where it is always demanded.
    #[oai(path = "/projects/:project/ssl-enforcement", method = "put")]
    async fn enforce_ssl(
        &self,
        request: &Request,
        project: Path<String>,
        change: Json<SslChange>,
    ) -> Result<Json<Value>, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseSslConfigWrite)?;
        let needs_tls = change.requested_config.database;
        if self.0.inner().gate.is_none() && !needs_tls {
            return Ok(Json(json!({ "currentConfig": { "database": false }, "appliedSuccessfully": true })));
        }
        if self.gate()?.is_tls_always_needed() && !needs_tls {
            return Err(Error::invalid(
                "Connections to the database have to be encrypted while other machines reach its port \
                 (basalt.database.listen)",
            ));
        }
        let settings = NetworkSettings { needs_tls, ..self.settings().await? };
        self.set(&operator, &settings).await?;
        let is_needed = self.gate()?.is_tls_needed();
        Ok(Json(json!({
            "currentConfig": { "database": is_needed }, "appliedSuccessfully": is_needed == needs_tls,
        })))
    }
}

impl NetworkApi {
    /// Returns what is in force at the port. Errors: 400 if there is none.
    fn gate(&self) -> Result<&Arc<dyn DatabaseGate>, Error> {
        self.0.inner().gate.as_ref().ok_or_else(|| {
            Error::invalid(
                "The database of this server listens on this machine only (basalt.database.listen): there is nobody to \
                 restrict",
            )
        })
    }

    async fn settings(&self) -> Result<NetworkSettings, Error> {
        let inner = self.0.inner();
        network::read(&inner.store, &inner.project.reference()).await
    }

    /// Keeps settings and puts them in force. Errors: 400 for what is no network.
    async fn set(&self, operator: &Operator, settings: &NetworkSettings) -> Result<(), Error> {
        self.gate()?;
        settings
            .rules()
            .map_err(|wrong| Error::invalid(format!("{wrong:?} is no network in CIDR notation")))?;
        let inner = self.0.inner();
        network::write(&inner.store, &inner.project.reference(), settings).await?;
        inner.refresh().await?;
        self.0.audit(operator, "network.set", json!(settings)).await
    }

    fn banned(&self) -> Vec<String> {
        let banned = self.0.inner().gate.as_ref().map(|gate| gate.banned());
        banned.into_iter().flatten().map(|address| address.to_string()).collect()
    }

    async fn described(&self) -> Result<Value, Error> {
        let (v4, v6) = self.settings().await?.allowed();
        let config = json!({ "dbAllowedCidrs": v4, "dbAllowedCidrsV6": v6 });
        let entitlement = if self.0.inner().gate.is_some() { "allowed" } else { "disallowed" };
        Ok(json!({ "entitlement": entitlement, "config": config, "status": "applied" }))
    }
}
