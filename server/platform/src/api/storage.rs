//! Buckets.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;

use super::Context;
use crate::Error;
use crate::access::Scope;
use crate::store::documents;

pub(super) struct StorageApi(pub(super) Arc<Context>);

/// A bucket.
#[derive(Debug, Clone, Object, Deserialize)]
pub(super) struct Bucket {
    id: String,
    name: String,
    owner: String,
    created_at: String,
    updated_at: String,
    public: bool,
}

#[OpenApi]
impl StorageApi {
    /// Returns the buckets, by their names.
    #[oai(path = "/projects/:project/storage/buckets", method = "get")]
    async fn buckets(&self, request: &Request, project: Path<String>) -> Result<Json<Vec<Bucket>>, Error> {
        self.0.enter(request, &project, Scope::StorageRead)?;
        Ok(Json(buckets(&self.0).await?))
    }
}

/// Returns the buckets, by their names.
pub(super) async fn buckets(context: &Context) -> Result<Vec<Bucket>, Error> {
    let sql = "select pg_catalog.json_build_object('id', id, 'name', name, 'owner', coalesce(owner::text, ''), \
                 'created_at', created_at, 'updated_at', updated_at, 'public', coalesce(public, false)) \
                from storage.buckets order by name";
    documents(context.inner().reading_database(), sql, Vec::new()).await
}
