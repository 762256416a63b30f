//! Identity providers of single sign-on, which the auth service has.

use std::sync::Arc;

use http::{HeaderMap, Method};
use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Context;
use super::payload::{Created, id_of};
use crate::Error;
use crate::access::Scope;

/// Where the auth service has them.
const PROVIDERS: &str = "/admin/sso/providers";

pub(super) struct SsoApi(pub(super) Arc<Context>);

#[OpenApi]
impl SsoApi {
    /// Returns the identity providers, without their metadata.
    #[oai(path = "/projects/:project/config/auth/sso/providers", method = "get")]
    async fn list(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::AuthConfigRead)?;
        let mut list = self.send(request, Method::GET, PROVIDERS, None).await?;
        list["items"].as_array_mut().into_iter().flatten().for_each(identify);
        Ok(Json(list))
    }

    /// Adds an identity provider.
    #[oai(path = "/projects/:project/config/auth/sso/providers", method = "post")]
    async fn create(
        &self,
        request: &Request,
        project: Path<String>,
        body: Json<Value>,
    ) -> Result<Created<Value>, Error> {
        self.change(request, &project, "auth.sso.create", json!({ "domains": body["domains"] })).await?;
        Ok(Created::of(self.provider(request, Method::POST, PROVIDERS, Some(&body)).await?))
    }

    /// Returns an identity provider.
    #[oai(path = "/projects/:project/config/auth/sso/providers/:id", method = "get")]
    async fn get(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
    ) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::AuthConfigRead)?;
        self.provider(request, Method::GET, &path(&id)?, None).await.map(Json)
    }

    /// Changes an identity provider.
    #[oai(path = "/projects/:project/config/auth/sso/providers/:id", method = "put")]
    async fn update(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
        body: Json<Value>,
    ) -> Result<Json<Value>, Error> {
        let path = path(&id)?;
        self.change(request, &project, "auth.sso.update", json!({ "id": *id })).await?;
        self.provider(request, Method::PUT, &path, Some(&body)).await.map(Json)
    }

    /// Removes an identity provider.
    #[oai(path = "/projects/:project/config/auth/sso/providers/:id", method = "delete")]
    async fn delete(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
    ) -> Result<Json<Value>, Error> {
        let path = path(&id)?;
        self.change(request, &project, "auth.sso.delete", json!({ "id": *id })).await?;
        self.provider(request, Method::DELETE, &path, None).await.map(Json)
    }
}

impl SsoApi {
    /// Checks that the operator may change providers, and records that he is about to.
    async fn change(
        &self,
        request: &Request,
        project: &str,
        action: &str,
        detail: Value,
    ) -> Result<(), Error> {
        let operator = self.0.enter(request, project, Scope::AuthConfigWrite)?;
        self.0.audit(&operator, action, detail).await
    }

    /// Does what [`Self::send`] does, for a response that is one provider.
    async fn provider(
        &self,
        request: &Request,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Error> {
        let mut provider = self.send(request, method, path, body).await?;
        identify(&mut provider);
        Ok(provider)
    }

    async fn send(
        &self,
        request: &Request,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Error> {
        let inner = self.0.inner();
        inner.auth.send(request, &inner.keys, (method, path), HeaderMap::new(), body).await
    }
}

/// Returns the path of a provider. Errors: 404 for what is no id.
fn path(id: &str) -> Result<String, Error> {
    match Uuid::parse_str(id) {
        Ok(id) => Ok(format!("{PROVIDERS}/{id}")),
        Err(_) => Err(Error::missing("There is no such identity provider")),
    }
}

/// Adds the ids that the auth service does not tell, and nothing takes.
fn identify(provider: &mut Value) {
    let id = provider["id"].as_str().unwrap_or_default().to_owned();
    if provider["saml"].is_object() {
        provider["saml"]["id"] = json!(id);
    }
    for domain in provider["domains"].as_array_mut().into_iter().flatten() {
        let name = domain["domain"].as_str().unwrap_or_default();
        domain["id"] = json!(id_of(&format!("{id} {name}")));
    }
}
