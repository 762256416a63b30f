//! Secrets: variables of functions, whose values are never shown.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde_json::json;

use super::Context;
use super::payload::Done;
use crate::Error;
use crate::access::Scope;
use crate::store::secrets;

/// The longest name and value, as on hosted Supabase.
const LONGEST_NAME: usize = 256;
const LONGEST_VALUE: usize = 24_576;
/// The most secrets in one request.
const MOST: usize = 100;

pub(super) struct SecretsApi(pub(super) Arc<Context>);

/// A secret, without its value.
#[derive(Object)]
struct ListedSecret {
    name: String,
    /// The SHA-256 of the value, hexadecimal.
    value: String,
    /// When it was set (RFC 3339).
    updated_at: String,
}

/// A secret to be set.
#[derive(Object)]
struct Secret {
    name: String,
    value: String,
}

#[OpenApi]
impl SecretsApi {
    /// Returns the names of the secrets, each with the hash of its value.
    #[oai(path = "/projects/:project/secrets", method = "get")]
    async fn list(&self, request: &Request, project: Path<String>) -> Result<Json<Vec<ListedSecret>>, Error> {
        self.0.enter(request, &project, Scope::EdgeFunctionsSecretsRead)?;
        let rows = secrets::list(&self.0.inner().store, &project).await?;
        let listed = rows.into_iter().map(|row| ListedSecret {
            name: row.name,
            value: row.digest,
            updated_at: row.updated_at,
        });
        Ok(Json(listed.collect()))
    }

    /// Sets secrets, all or none. Functions see them from their next start on, which follows at once.
    #[oai(path = "/projects/:project/secrets", method = "post")]
    async fn set(
        &self,
        request: &Request,
        project: Path<String>,
        body: Json<Vec<Secret>>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::EdgeFunctionsSecretsWrite)?;
        let values: Vec<_> = body.0.into_iter().map(|secret| (secret.name, secret.value)).collect();
        check(&values)?;
        let inner = self.0.inner();
        secrets::set(&inner.store, &project, &values, &inner.seal).await?;
        inner.refresh().await?;
        let names: Vec<_> = values.iter().map(|(name, _)| name).collect();
        self.0.audit(&operator, "secrets.set", json!({ "names": names })).await?;
        Ok(Done::Created)
    }

    /// Deletes secrets by their names.
    #[oai(path = "/projects/:project/secrets", method = "delete")]
    async fn delete(
        &self,
        request: &Request,
        project: Path<String>,
        names: Json<Vec<String>>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::EdgeFunctionsSecretsWrite)?;
        let inner = self.0.inner();
        secrets::delete(&inner.store, &project, &names).await?;
        inner.refresh().await?;
        self.0.audit(&operator, "secrets.delete", json!({ "names": names.0 })).await?;
        Ok(Done::Ok)
    }
}

/// Checks the names and the lengths. Errors: 400.
fn check(secrets: &[(String, String)]) -> Result<(), Error> {
    if secrets.len() > MOST {
        return Err(Error::invalid(format!("At most {MOST} secrets can be set at once")));
    }
    for (name, value) in secrets {
        if name.starts_with("SUPABASE_") {
            return Err(Error::invalid(format!("{name}: name must not start with the SUPABASE_ prefix")));
        }
        let is_name = !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(['=', '\0']);
        if !is_name {
            return Err(Error::invalid(format!("{name:?} cannot be the name of a variable")));
        }
        if value.len() > LONGEST_VALUE || value.contains('\0') {
            return Err(Error::invalid(format!(
                "{name}: the value must be text of at most {LONGEST_VALUE} bytes"
            )));
        }
    }
    Ok(())
}
