//! Snippets of SQL: the files `*.sql` in the folder `snippets` of the project.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::SystemTime;

use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::Context;
use crate::Error;
use crate::access::Scope;

/// The most snippets of a page.
const PAGE: usize = 100;
/// The longest file that counts as a snippet.
const LONGEST: u64 = 1 << 20;

pub(super) struct SnippetsApi(pub(super) Arc<Context>);

#[OpenApi]
impl SnippetsApi {
    /// Returns the snippets, by their names, without their SQL.
    #[oai(path = "/snippets", method = "get")]
    async fn list(
        &self,
        request: &Request,
        project_ref: Query<Option<String>>,
        /// Where the page begins: that of the page before.
        cursor: Query<Option<String>>,
        limit: Query<Option<usize>>,
    ) -> Result<Json<Value>, Error> {
        self.0.operator(request, Scope::SnippetsRead)?;
        if let Some(reference) = project_ref.as_deref() {
            self.0.inner().project.check(reference)?;
        }
        let begin = cursor.as_deref().and_then(|cursor| cursor.parse::<usize>().ok()).unwrap_or(0);
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE);
        let names = names(&self.0.settings.snippets).await;
        let mut page = Vec::new();
        for name in names.iter().skip(begin).take(limit) {
            page.extend(self.described(name).await.map(|(described, _)| described));
        }
        let mut list = json!({ "data": page });
        if begin + limit < names.len() {
            list["cursor"] = json!((begin + limit).to_string());
        }
        Ok(Json(list))
    }

    /// Returns a snippet with its SQL.
    #[oai(path = "/snippets/:id", method = "get")]
    async fn get(&self, request: &Request, id: Path<String>) -> Result<Json<Value>, Error> {
        self.0.operator(request, Scope::SnippetsRead)?;
        for name in names(&self.0.settings.snippets).await {
            if id_of(&name).to_string() == *id
                && let Some((mut described, sql)) = self.described(&name).await
            {
                described["content"] = json!({ "schema_version": "1.0", "sql": sql, "favorite": false });
                return Ok(Json(described));
            }
        }
        Err(Error::missing("Snippet not found"))
    }
}

impl SnippetsApi {
    /// Returns the description of the snippet `name` and its SQL; `None` if it was removed in the meantime.
    async fn described(&self, name: &str) -> Option<(Value, String)> {
        let path = self.0.settings.snippets.join(format!("{name}.sql"));
        let sql = tokio::fs::read_to_string(&path).await.ok()?;
        let changed = tokio::fs::metadata(&path).await.ok()?.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let changed = OffsetDateTime::from(changed).format(&Rfc3339).unwrap_or_default();
        let owner = json!({ "id": 1, "username": "operator" });
        let described = json!({
            "id": id_of(name).to_string(),
            "inserted_at": changed,
            "updated_at": changed,
            "type": "sql",
            "visibility": "project",
            "name": name,
            "description": null,
            "project": { "id": 1, "name": self.0.inner().project.name() },
            "owner": owner,
            "updated_by": owner,
            "favorite": false,
        });
        Some((described, sql))
    }
}

/// Returns the names of the files in `folder`, sorted, without `.sql`.
async fn names(folder: &FilePath) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(mut entries) = tokio::fs::read_dir(folder).await else { return names };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let is_small = entry.metadata().await.is_ok_and(|file| file.is_file() && file.len() <= LONGEST);
        let name = entry.file_name().into_string().ok();
        names.extend(name.filter(|_| is_small).and_then(|name| name.strip_suffix(".sql").map(str::to_owned)));
    }
    names.sort();
    names
}

/// Returns the id of the snippet `name`, which is always the same (RFC 9562, section 5.8).
fn id_of(name: &str) -> Uuid {
    let digest = Sha256::digest(format!("snippet {name}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
