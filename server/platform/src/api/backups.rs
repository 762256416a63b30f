//! Backups of the project, and the way back to a moment.

use std::sync::Arc;

use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use serde_json::{Value, json};

use super::Context;
use super::payload::{Created, Done};
use crate::Error;
use crate::access::{Operator, Scope};
use crate::backups::Backups;
use crate::project::REGION;
use crate::store::restore_points::{self, LONGEST_NAME, RestorePoint};

pub(super) struct BackupsApi(pub(super) Arc<Context>);

#[OpenApi]
impl BackupsApi {
    /// Returns the backups. Without backups of the server's own, there are none.
    #[oai(path = "/projects/:project/database/backups", method = "get")]
    async fn list(&self, request: &Request, project: Path<String>) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::BackupsRead)?;
        let entries = match &self.0.inner().backups {
            Some(backups) => backups.list().await.map_err(refused)?,
            None => Vec::new(),
        };
        let bounds = match (entries.first(), entries.last()) {
            (Some(first), Some(last)) => json!({
                "earliest_physical_backup_date_unix": first.ended,
                "latest_physical_backup_date_unix": last.ended,
            }),
            _ => json!({}),
        };
        let listed: Vec<Value> = entries
            .iter()
            .map(|entry| {
                let at = time::OffsetDateTime::from_unix_timestamp(entry.ended).unwrap_or(time::OffsetDateTime::UNIX_EPOCH);
                json!({
                    "id": entry.ended,
                    "is_physical_backup": true,
                    "status": if entry.is_damaged { "FAILED" } else { "COMPLETED" },
                    "inserted_at": at.format(&time::format_description::well_known::Rfc3339).unwrap_or_default(),
                })
            })
            .collect();
        let is_on = self.0.inner().backups.is_some();
        Ok(Json(json!({
            "region": REGION,
            "walg_enabled": is_on,
            "pitr_enabled": is_on,
            "backups": listed,
            "physical_backup_data": bounds,
        })))
    }

    /// Brings the project back as it was at a moment; the server does not serve meanwhile.
    #[oai(path = "/projects/:project/database/backups/restore-pitr", method = "post")]
    async fn restore_to_moment(
        &self,
        request: &Request,
        project: Path<String>,
        body: Json<Value>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::BackupsWrite)?;
        let seconds =
            body.0.get("recovery_time_target_unix").and_then(Value::as_i64).filter(|seconds| *seconds >= 0);
        let seconds = seconds.ok_or_else(|| {
            Error::invalid("recovery_time_target_unix: expected seconds since 1970 as a whole number")
        })?;
        let detail = json!({ "recovery_time_target_unix": seconds });
        self.go_back(&operator, "backups.restore", detail, seconds.saturating_mul(1_000_000)).await
    }

    /// Brings the project back as it was when the backup `id` ended.
    #[oai(path = "/projects/:project/database/backups/restore", method = "post")]
    async fn restore_backup(
        &self,
        request: &Request,
        project: Path<String>,
        body: Json<Value>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::BackupsWrite)?;
        let entries = self.backups()?.list().await.map_err(refused)?;
        let id = body.0.get("id").and_then(Value::as_i64);
        let entry = entries.iter().find(|entry| Some(entry.ended) == id);
        let entry = entry.ok_or_else(|| Error::missing("There is no such backup"))?;
        let microseconds = entry.ended.saturating_mul(1_000_000);
        self.go_back(&operator, "backups.restore", json!({ "id": entry.ended }), microseconds).await
    }

    /// Returns the restore point of a name, by default the last one.
    #[oai(path = "/projects/:project/database/backups/restore-point", method = "get")]
    async fn restore_point(
        &self,
        request: &Request,
        project: Path<String>,
        name: Query<Option<String>>,
    ) -> Result<Json<Value>, Error> {
        self.0.enter(request, &project, Scope::BackupsRead)?;
        self.find(name.0.as_deref()).await.map(|point| Json(described(&point)))
    }

    /// Makes a restore point: gives the present moment a name.
    #[oai(path = "/projects/:project/database/backups/restore-point", method = "post")]
    async fn create_restore_point(
        &self,
        request: &Request,
        project: Path<String>,
        body: Json<Value>,
    ) -> Result<Created<Value>, Error> {
        let operator = self.0.enter(request, &project, Scope::BackupsWrite)?;
        let name = name_of(&body.0)?;
        self.backups()?;
        let point = restore_points::create(&self.0.inner().store, &name).await?;
        self.0.audit(&operator, "backups.restore_point", json!({ "name": name })).await?;
        Ok(Created::of(described(&point)))
    }

    /// Brings the project back as it was at a restore point.
    #[oai(path = "/projects/:project/database/backups/undo", method = "post")]
    async fn undo(&self, request: &Request, project: Path<String>, body: Json<Value>) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::BackupsWrite)?;
        let point = self.find(Some(&name_of(&body.0)?)).await?;
        self.go_back(&operator, "backups.undo", json!({ "name": point.name }), point.microseconds).await
    }

    /// Records that `operator` goes back to a moment, in microseconds since 1970, and begins that.
    async fn go_back(
        &self,
        operator: &Operator,
        action: &str,
        detail: Value,
        microseconds: i64,
    ) -> Result<Done, Error> {
        let backups = self.backups()?;
        self.0.audit(operator, action, detail).await?;
        backups.restore(microseconds).await.map_err(refused)?;
        Ok(Done::Created)
    }

    /// Returns what makes backups.
    ///
    /// Errors: 400 without backups.
    fn backups(&self) -> Result<&Arc<dyn Backups>, Error> {
        let inner = self.0.inner();
        inner.backups.as_ref().ok_or_else(|| match &inner.postgres {
            Some(_) => Error::invalid("This server makes no backups: set basalt.backup.target"),
            None => Error::invalid("The database of DATABASE_URL is backed up and restored by its operator"),
        })
    }

    async fn find(&self, name: Option<&str>) -> Result<RestorePoint, Error> {
        let found = restore_points::find(&self.0.inner().store, name).await?;
        found.ok_or_else(|| Error::missing("There is no such restore point"))
    }
}

fn name_of(body: &Value) -> Result<String, Error> {
    let name = body.get("name").and_then(Value::as_str).map(str::trim);
    let name = name.filter(|name| !name.is_empty() && name.chars().count() <= LONGEST_NAME);
    name.map(str::to_owned).ok_or_else(|| Error::invalid("name: expected a text of at most 20 characters"))
}

fn described(point: &RestorePoint) -> Value {
    json!({ "name": point.name, "status": "AVAILABLE", "completed_on": point.created_at })
}

fn refused(reason: String) -> Error {
    Error::invalid(reason)
}
