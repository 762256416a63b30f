//! Types of the database, for typed clients, and the description of the interface to it.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method};
use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde_json::Value;
use typegen::{Language, Options};

use super::Context;
use crate::Error;
use crate::access::Scope;

pub(super) struct TypesApi(pub(super) Arc<Context>);

/// The text of a source file.
#[derive(Object)]
struct Types {
    types: String,
}

#[OpenApi]
impl TypesApi {
    /// Returns the description of the REST interface, of one of the schemas that it serves.
    #[oai(path = "/projects/:project/database/openapi", method = "get")]
    async fn openapi(
        &self,
        request: &Request,
        project: Path<String>,
        schema: Query<Option<String>>,
    ) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::DatabaseRead)?;
        let mut headers = HeaderMap::new();
        if let Some(schema) = schema.0.as_deref() {
            let profile = HeaderValue::from_str(schema).map_err(|_| Error::invalid("schema is no name"))?;
            headers.insert("accept-profile", profile);
        }
        let inner = self.0.inner();
        inner.rest.send(request, &inner.keys, (Method::GET, "/"), headers, None).await.map(Json)
    }

    /// Returns types for supabase-js.
    #[oai(path = "/projects/:project/types/typescript", method = "get")]
    async fn typescript(
        &self,
        request: &Request,
        project: Path<String>,
        /// The schemas to describe, separated by commas. Default: `public`.
        included_schemas: Query<Option<String>>,
    ) -> Result<Json<Types>, Error> {
        self.0.enter(request, &project, Scope::DatabaseRead)?;
        Ok(Json(Types { types: typescript(&self.0, included_schemas.as_deref()).await? }))
    }
}

/// Returns types of `schemas`, which are separated by commas; without them, of `public`.
pub(super) async fn typescript(context: &Context, schemas: Option<&str>) -> Result<String, Error> {
    let schemas = schemas.filter(|schemas| !schemas.is_empty()).unwrap_or("public");
    let options = Options {
        language: Language::TypeScript,
        schemas: schemas.split(',').map(|schema| schema.trim().to_owned()).collect(),
        one_to_one: true,
        postgrest_version: None,
    };
    Ok(typegen::generate(&context.inner().project_database, &options).await?)
}
