//! What the advisors report.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde_json::Value;

use super::Context;
use crate::Error;
use crate::access::Scope;
use crate::advisors::{self, Category};

pub(super) struct AdvisorsApi(pub(super) Arc<Context>);

/// What lints report.
#[derive(Object)]
struct Lints {
    lints: Vec<Value>,
}

#[OpenApi]
impl AdvisorsApi {
    /// Returns what could let somebody read or change what he should not.
    #[oai(path = "/projects/:project/advisors/security", method = "get")]
    async fn security(&self, request: &Request, project: Path<String>) -> Result<Json<Lints>, Error> {
        self.lints(request, &project, Category::Security).await
    }

    /// Returns what could make the database slow.
    #[oai(path = "/projects/:project/advisors/performance", method = "get")]
    async fn performance(&self, request: &Request, project: Path<String>) -> Result<Json<Lints>, Error> {
        self.lints(request, &project, Category::Performance).await
    }
}

impl AdvisorsApi {
    async fn lints(
        &self,
        request: &Request,
        project: &str,
        category: Category,
    ) -> Result<Json<Lints>, Error> {
        self.0.enter(request, project, Scope::AdvisorsRead)?;
        let database = self.0.inner().reading_database();
        let lints = advisors::advise(database, category, &self.0.settings.config).await?;
        Ok(Json(Lints { lints }))
    }
}
