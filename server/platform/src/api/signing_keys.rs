//! Who signs users' tokens: the server's keys, and third parties that are trusted.

use std::sync::Arc;

use http::StatusCode;
use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use serde_json::{Value, json};
use tokens::Keys;
use uuid::Uuid;

use super::Context;
use super::payload::{Done, id_of};
use crate::Error;
use crate::access::Scope;

/// What stands for the shared secret where a key is named.
const SHARED: &str = "shared secret";

pub(super) struct SigningKeysApi(pub(super) Arc<Context>);

#[OpenApi]
impl SigningKeysApi {
    /// Returns the keys that sign or have signed users' tokens, without their private parts.
    #[oai(path = "/projects/:project/config/auth/signing-keys", method = "get")]
    async fn list(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::AuthSigningKeysRead)?;
        Ok(Json(json!({ "keys": self.keys().await? })))
    }

    /// Refuses to make a key.
    #[oai(path = "/projects/:project/config/auth/signing-keys", method = "post")]
    async fn create(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::AuthSigningKeysWrite)?;
        Err(in_files())
    }

    /// Returns the shared secret as a key, without the secret.
    #[oai(path = "/projects/:project/config/auth/signing-keys/legacy", method = "get")]
    async fn legacy(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::AuthSigningKeysRead)?;
        self.one(SHARED).await
    }

    /// Returns a key.
    #[oai(path = "/projects/:project/config/auth/signing-keys/:id", method = "get")]
    async fn get(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
    ) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::AuthSigningKeysRead)?;
        self.one(&id).await
    }

    /// Refuses to change a key.
    #[oai(path = "/projects/:project/config/auth/signing-keys/:id", method = "patch")]
    async fn change(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
    ) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::AuthSigningKeysWrite)?;
        self.one(&id).await?;
        Err(in_files())
    }

    /// Returns the other servers whose tokens are accepted.
    #[oai(path = "/projects/:project/config/auth/third-party-auth", method = "get")]
    async fn third_parties(
        &self,
        request: &Request,
        project: Path<String>,
    ) -> Result<Json<Vec<Value>>, Error> {
        self.0.enter(request, &project, Scope::AuthConfigRead)?;
        self.trusted().await.map(Json)
    }

    /// Returns another server whose tokens are accepted.
    #[oai(path = "/projects/:project/config/auth/third-party-auth/:id", method = "get")]
    async fn third_party(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
    ) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::AuthConfigRead)?;
        self.trusted_one(&id).await.map(Json)
    }

    /// Refuses to add another server.
    #[oai(path = "/projects/:project/config/auth/third-party-auth", method = "post")]
    async fn add_third_party(&self, request: &Request, project: Path<String>) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::AuthConfigWrite)?;
        Err(named_in_files())
    }

    /// Refuses to remove another server.
    #[oai(path = "/projects/:project/config/auth/third-party-auth/:id", method = "delete")]
    async fn remove_third_party(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
    ) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::AuthConfigWrite)?;
        self.trusted_one(&id).await?;
        Err(named_in_files())
    }

    /// Refuses to remove a key.
    #[oai(path = "/projects/:project/config/auth/signing-keys/:id", method = "delete")]
    async fn delete(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
    ) -> Result<Done, Error> {
        self.0.enter(request, &project, Scope::AuthSigningKeysWrite)?;
        self.one(&id).await?;
        Err(in_files())
    }
}

impl SigningKeysApi {
    async fn keys(&self) -> Result<Vec<Value>, Error> {
        let inner = self.0.inner();
        let project = super::projects::described(&self.0).await?;
        Ok(listed(&inner.keys, project.identity().2))
    }

    /// Returns the key with this id, or that of this name. Errors: 404.
    async fn one(&self, name: &str) -> Result<Json<Value>, Error> {
        let id = id_of(name).to_string();
        let found = self.keys().await?.into_iter().find(|key| key["id"] == id);
        found.map(Json).ok_or_else(|| Error::missing("There is no such signing key"))
    }
}

impl SigningKeysApi {
    /// Returns the other servers whose tokens are accepted.
    async fn trusted(&self) -> Result<Vec<Value>, Error> {
        let project = super::projects::described(&self.0).await?;
        let (_, _, since) = project.identity();
        let described = |issuer: &String| {
            json!({
                "id": id_of(issuer),
                "type": "oidc",
                "oidc_issuer_url": issuer,
                "jwks_url": null,
                "custom_jwks": null,
                "resolved_jwks": null,
                "inserted_at": since,
                "updated_at": since,
                "resolved_at": null,
            })
        };
        Ok(self.0.settings.config.third_parties.iter().map(described).collect())
    }

    /// Returns the one with this id. Errors: 404.
    async fn trusted_one(&self, id: &str) -> Result<Value, Error> {
        let found = self.trusted().await?.into_iter().find(|one| one["id"] == id);
        found.ok_or_else(|| Error::missing("There is no such server whose tokens are accepted"))
    }
}

/// Returns the keys, the one that signs first. The server does not know when they were made; `since` is when the
/// project was.
fn listed(keys: &Keys, since: &str) -> Vec<Value> {
    let key = |id: Uuid, algorithm: &Value, is_used: bool, public: Value| {
        json!({
            "id": id,
            "algorithm": algorithm,
            "status": if is_used { "in_use" } else { "previously_used" },
            "public_jwk": public,
            "created_at": since,
            "updated_at": since,
        })
    };
    let public = keys.jwks()["keys"].as_array().into_iter().flatten().enumerate().map(|(place, jwk)| {
        let name = jwk["kid"].as_str().map_or_else(|| jwk.to_string(), str::to_owned);
        key(id_of(&name), &jwk["alg"], place == 0 && keys.signs_publicly(), jwk.clone())
    });
    let shared = key(id_of(SHARED), &json!("HS256"), !keys.signs_publicly(), Value::Null);
    match keys.signs_publicly() {
        true => public.chain([shared]).collect(),
        false => [shared].into_iter().chain(public).collect(),
    }
}

fn in_files() -> Error {
    let message = "The keys of this server are in its files: see auth.signing_keys_path of config.toml there";
    Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into())
}

fn named_in_files() -> Error {
    let message =
        "Other servers are named in this server's files: change [auth.third_party] of config.toml there";
    Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into())
}
