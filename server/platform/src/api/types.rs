//! Types of the database, for typed clients.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
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
    };
    Ok(typegen::generate(&context.inner().project_database, &options).await?)
}
