//! The project's API keys.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::types::MaybeUndefined;
use poem_openapi::{Object, OpenApi};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokens::ApiKeyKind;
use uuid::Uuid;

use super::Context;
use super::payload::{Created, id_of};
use crate::Error;
use crate::access::{Operator, Scope};
use crate::store::api_keys::{self, ApiKeyRow, NewApiKey};

/// The number of characters of a key that stay visible.
const VISIBLE: usize = 20;
/// The name of the opaque keys that follow from the server's secret.
const DEFAULT: &str = "default";
/// The kinds of opaque keys.
const PUBLISHABLE: &str = "publishable";
const SECRET: &str = "secret";

pub(super) struct ApiKeysApi(pub(super) Arc<Context>);

/// An API key.
#[derive(Debug, Clone, Object)]
pub(super) struct ApiKeyBody {
    /// The key; masked if it is secret and not to be revealed.
    pub(super) api_key: Option<String>,
    pub(super) id: Option<String>,
    /// `legacy`, `publishable` or `secret`.
    #[oai(rename = "type")]
    pub(super) kind: String,
    /// Its first characters.
    prefix: Option<String>,
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// Its SHA-256, hexadecimal.
    hash: Option<String>,
    secret_jwt_template: Option<Value>,
    inserted_at: Option<String>,
    updated_at: Option<String>,
}

/// A key to be made.
#[derive(Object)]
struct NewKey {
    /// `publishable` or `secret`.
    #[oai(rename = "type")]
    kind: String,
    /// Four to 64 characters: lowercase letters, digits and `_`.
    name: String,
    description: Option<String>,
    /// `{"role": "service_role"}`, which secret keys have.
    secret_jwt_template: Option<Value>,
}

/// A change of a key.
#[derive(Object)]
struct KeyChange {
    name: Option<String>,
    /// `null` removes it.
    description: MaybeUndefined<String>,
}

/// Whether the legacy keys are valid.
#[derive(Object)]
struct Legacy {
    enabled: bool,
}

#[OpenApi]
impl ApiKeysApi {
    /// Returns the keys: the two legacy ones, the two that follow from the server's secret, and those that were made.
    #[oai(path = "/projects/:project/api-keys", method = "get")]
    async fn list(
        &self,
        request: &Request,
        project: Path<String>,
        /// Whether secret keys are shown.
        reveal: Query<Option<bool>>,
    ) -> Result<Json<Vec<ApiKeyBody>>, Error> {
        let operator = self.0.enter(request, &project, Scope::ApiGatewayKeysRead)?;
        let is_revealed = reveals(&operator, *reveal)?;
        Ok(Json(list(&self.0, &operator, is_revealed).await?))
    }

    /// Makes a key.
    #[oai(path = "/projects/:project/api-keys", method = "post")]
    async fn create(
        &self,
        request: &Request,
        project: Path<String>,
        reveal: Query<Option<bool>>,
        body: Json<NewKey>,
    ) -> Result<Created<ApiKeyBody>, Error> {
        let operator = self.0.enter(request, &project, Scope::ApiGatewayKeysWrite)?;
        let is_revealed = reveals(&operator, *reveal)?;
        let kind = match body.kind.as_str() {
            PUBLISHABLE => ApiKeyKind::Publishable,
            SECRET => ApiKeyKind::Secret,
            other => {
                return Err(Error::invalid(format!("type: expected publishable or secret, found {other:?}")));
            }
        };
        check_name(&body.name)?;
        let template = template(kind, body.secret_jwt_template.as_ref())?;
        let key = tokens::new_opaque_key(kind, &project).unwrap_or_default();
        let inner = self.0.inner();
        let new = NewApiKey {
            kind: &body.kind,
            name: &body.name,
            description: body.description.as_deref(),
            prefix: prefix(&key),
            hash: &Sha256::digest(&key),
            sealed: &crate::seal::seal(&inner.seal, &key, "api key")?,
            template: &template,
        };
        let created = api_keys::create(&inner.store, &project, &new).await?;
        let row = created.ok_or_else(|| taken(&body.name))?;
        inner.refresh().await?;
        self.0.audit(&operator, "api_keys.create", json!({ "id": row.id, "name": row.name })).await?;
        Ok(Created::of(of_row(&self.0, row, is_revealed)))
    }

    /// Returns whether the legacy keys are valid.
    #[oai(path = "/projects/:project/api-keys/legacy", method = "get")]
    async fn legacy(&self, request: &Request, project: Path<String>) -> Result<Json<Legacy>, Error> {
        self.0.enter(request, &project, Scope::ApiGatewayKeysRead)?;
        Ok(Json(Legacy { enabled: true }))
    }

    /// Refuses to make the legacy keys invalid: they are tokens of the server's own secret.
    #[oai(path = "/projects/:project/api-keys/legacy", method = "put")]
    async fn set_legacy(
        &self,
        request: &Request,
        project: Path<String>,
        enabled: Query<bool>,
    ) -> Result<Json<Legacy>, Error> {
        self.0.enter(request, &project, Scope::ApiGatewayKeysWrite)?;
        if !*enabled {
            return Err(Error::invalid(
                "The legacy keys are tokens that the server's secret signs: a new JWT_SECRET makes them invalid",
            ));
        }
        Ok(Json(Legacy { enabled: true }))
    }

    /// Returns a key.
    #[oai(path = "/projects/:project/api-keys/:id", method = "get")]
    async fn get(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
        reveal: Query<Option<bool>>,
    ) -> Result<Json<ApiKeyBody>, Error> {
        let operator = self.0.enter(request, &project, Scope::ApiGatewayKeysRead)?;
        let is_revealed = reveals(&operator, *reveal)?;
        let all = list(&self.0, &operator, is_revealed).await?;
        let found = all.into_iter().find(|key| key.id.as_deref() == Some(id.as_str()));
        found.map(Json).ok_or_else(missing)
    }

    /// Changes the name or the description of a key.
    #[oai(path = "/projects/:project/api-keys/:id", method = "patch")]
    async fn update(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
        reveal: Query<Option<bool>>,
        body: Json<KeyChange>,
    ) -> Result<Json<ApiKeyBody>, Error> {
        let operator = self.0.enter(request, &project, Scope::ApiGatewayKeysWrite)?;
        let is_revealed = reveals(&operator, *reveal)?;
        if let Some(name) = &body.name {
            check_name(name)?;
        }
        let name = body.name.as_deref();
        let description = match &body.description {
            MaybeUndefined::Undefined => None,
            MaybeUndefined::Null => Some(None),
            MaybeUndefined::Value(text) => Some(Some(text.as_str())),
        };
        let (store, id) = (&self.0.inner().store, changeable(&id)?);
        let Some(row) = api_keys::update(store, &project, id, name, description).await? else {
            let rows = api_keys::list(store, &project).await?;
            let is_there = rows.iter().any(|row| row.id == id);
            return Err(if is_there { taken(name.unwrap_or_default()) } else { missing() });
        };
        self.0.audit(&operator, "api_keys.update", json!({ "id": row.id, "name": row.name })).await?;
        Ok(Json(of_row(&self.0, row, is_revealed)))
    }

    /// Deletes a key, which is valid no more.
    #[oai(path = "/projects/:project/api-keys/:id", method = "delete")]
    async fn delete(
        &self,
        request: &Request,
        project: Path<String>,
        id: Path<String>,
        reveal: Query<Option<bool>>,
    ) -> Result<Json<ApiKeyBody>, Error> {
        let operator = self.0.enter(request, &project, Scope::ApiGatewayKeysWrite)?;
        let is_revealed = reveals(&operator, *reveal)?;
        let inner = self.0.inner();
        let row = api_keys::delete(&inner.store, &project, changeable(&id)?).await?.ok_or_else(missing)?;
        inner.refresh().await?;
        self.0.audit(&operator, "api_keys.delete", json!({ "id": row.id, "name": row.name })).await?;
        Ok(Json(of_row(&self.0, row, is_revealed)))
    }
}

fn taken(name: &str) -> Error {
    Error::invalid(format!("There is a key {name:?} already"))
}

fn missing() -> Error {
    Error::missing("API key not found")
}

/// Returns whether secret keys are to be shown. Errors: 403 if the token may not see them.
fn reveals(operator: &Operator, wanted: Option<bool>) -> Result<bool, Error> {
    if wanted == Some(true) {
        operator.check(Scope::ApiGatewayKeysSecretRead)?;
    }
    Ok(wanted == Some(true))
}

/// Returns the id of the opaque key of this kind that follows from the server's secret. It is a UUID: some clients read
/// nothing else.
fn default_id(kind: &str) -> String {
    id_of(&format!("{DEFAULT}_{kind}")).to_string()
}

/// Returns the id of a key that was made. Errors: 400 for the id of one that follows from the server's secret, 404.
fn changeable(id: &str) -> Result<Uuid, Error> {
    if matches!(id, "anon" | "service_role")
        || [PUBLISHABLE, SECRET].map(default_id).iter().any(|one| one == id)
    {
        return Err(Error::invalid("This key follows from the server's secret and cannot be changed"));
    }
    id.parse().map_err(|_| missing())
}

/// Checks the name of a key. Source: the Management API's OpenAPI document. Errors: 400.
fn check_name(name: &str) -> Result<(), Error> {
    let is_valid = (4..=64).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    match is_valid {
        true => Ok(()),
        false => Err(Error::invalid("name: expected 4 to 64 lowercase letters, digits and _")),
    }
}

/// Returns the claims of the token that a secret key stands for. Errors: 400 for a role other than `service_role`.
fn template(kind: ApiKeyKind, wanted: Option<&Value>) -> Result<Value, Error> {
    if kind != ApiKeyKind::Secret {
        return Ok(Value::Null);
    }
    let role = wanted.and_then(|template| template.get("role"));
    match role.and_then(Value::as_str).unwrap_or("service_role") {
        "service_role" => Ok(json!({ "role": "service_role" })),
        other => {
            Err(Error::invalid(format!("secret_jwt_template: a key with the role {other:?} cannot be made")))
        }
    }
}

/// Returns all keys. Secret ones are masked unless `is_revealed`; the legacy one is shown to whoever may see secrets.
pub(super) async fn list(
    context: &Context,
    operator: &Operator,
    is_revealed: bool,
) -> Result<Vec<ApiKeyBody>, Error> {
    let inner = context.inner();
    let keys = inner.keys.api_keys();
    let may_see = is_revealed || operator.has(Scope::ApiGatewayKeysSecretRead);
    let shown = |key: &str, is_shown: bool| if is_shown { key.to_owned() } else { masked(key) };
    let fixed =
        |id: &str, kind: &str, name: &str, key: &str, is_shown: bool, template: Option<Value>| ApiKeyBody {
            api_key: Some(shown(key, is_shown)),
            id: Some(id.to_owned()),
            kind: kind.to_owned(),
            prefix: Some(prefix(key).to_owned()),
            name: name.to_owned(),
            description: None,
            hash: Some(crate::seal::digest(key)),
            secret_jwt_template: template,
            inserted_at: None,
            updated_at: None,
        };
    let template = Some(json!({ "role": "service_role" }));
    let mut all = vec![
        fixed("anon", "legacy", "anon", keys.anon(), true, None),
        fixed("service_role", "legacy", "service_role", keys.service_role(), may_see, None),
        fixed(&default_id(PUBLISHABLE), PUBLISHABLE, DEFAULT, keys.publishable(), true, None),
        fixed(&default_id(SECRET), SECRET, DEFAULT, keys.secret(), is_revealed, template),
    ];
    let rows = api_keys::list(&inner.store, &inner.project.reference()).await?;
    all.extend(rows.into_iter().map(|row| of_row(context, row, is_revealed)));
    Ok(all)
}

fn of_row(context: &Context, row: ApiKeyRow, is_revealed: bool) -> ApiKeyBody {
    let key = context.inner().seal.open_base64(&row.sealed, "api key");
    let is_shown = is_revealed || row.kind == PUBLISHABLE;
    ApiKeyBody {
        api_key: key.map(|key| if is_shown { key } else { masked(&key) }),
        id: Some(row.id.to_string()),
        kind: row.kind,
        prefix: Some(row.prefix),
        name: row.name,
        description: row.description,
        hash: Some(row.hash),
        secret_jwt_template: row.template.filter(|template| !template.is_null()),
        inserted_at: Some(row.inserted_at),
        updated_at: Some(row.updated_at),
    }
}

/// Returns the first characters of a key, by which its owner recognizes it.
fn prefix(key: &str) -> &str {
    key.get(..VISIBLE).unwrap_or_default()
}

/// Returns `key` with all but its first characters replaced by dots.
fn masked(key: &str) -> String {
    format!("{}{}", prefix(key), "·".repeat(16))
}
