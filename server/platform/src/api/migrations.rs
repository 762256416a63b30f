//! The history of migrations, which the Supabase CLI and the server itself keep in the same table.

use std::sync::Arc;
use std::time::Duration;

use migrations::{Error as MigrationError, Migrator};
use poem::Request;
use poem_openapi::param::{Header, Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use postgres::{Connection, Database, Limits, text};
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::sync::MutexGuard;

use super::Context;
use super::payload::Done;
use crate::Error;
use crate::access::Scope;
use crate::console::Query as Console;
use crate::store::{document_of, documents, optional};

/// The columns that hosted Supabase has beside those of the CLI.
const MORE_COLUMNS: &str = "alter table supabase_migrations.schema_migrations \
     add column if not exists rollback text[], add column if not exists created_by text, \
     add column if not exists idempotency_key text unique";

/// Waits until no other node applies or records a migration; the end of the connection lets the next one begin.
const ALONE: &str =
    "select pg_catalog.pg_advisory_lock(pg_catalog.hashtext('basalt_platform: migrations of operators'))";
/// How long a migration waits for others.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct MigrationsApi(pub(super) Arc<Context>);

/// A migration in a list.
#[derive(Debug, Clone, Object, Deserialize)]
pub(super) struct ListedMigration {
    version: String,
    #[oai(skip_serializing_if_is_none)]
    name: Option<String>,
}

/// A migration.
#[derive(Object, Deserialize)]
struct Migration {
    version: String,
    #[oai(skip_serializing_if_is_none)]
    name: Option<String>,
    #[oai(skip_serializing_if_is_none)]
    statements: Option<Vec<String>>,
    #[oai(skip_serializing_if_is_none)]
    rollback: Option<Vec<String>>,
    #[oai(skip_serializing_if_is_none)]
    created_by: Option<String>,
    #[oai(skip_serializing_if_is_none)]
    idempotency_key: Option<String>,
}

/// A migration to be applied or recorded.
#[derive(Object)]
struct NewMigration {
    /// Its statements.
    #[oai(validator(min_length = 1))]
    query: String,
    name: Option<String>,
    /// Statements that undo it.
    rollback: Option<String>,
}

/// A change of a record.
#[derive(Object)]
struct MigrationChange {
    name: Option<String>,
    rollback: Option<String>,
}

#[OpenApi]
impl MigrationsApi {
    /// Returns the migrations that the database has, by their versions.
    #[oai(path = "/projects/:project/database/migrations", method = "get")]
    async fn list(
        &self,
        request: &Request,
        project: Path<String>,
    ) -> Result<Json<Vec<ListedMigration>>, Error> {
        self.0.enter(request, &project, Scope::DatabaseMigrationsRead)?;
        Ok(Json(list(&self.0).await?))
    }

    /// Applies a migration, in one transaction, and records it with the current time as its version.
    #[oai(path = "/projects/:project/database/migrations", method = "post")]
    async fn apply(
        &self,
        request: &Request,
        project: Path<String>,
        #[oai(name = "Idempotency-Key")] idempotency_key: Header<Option<String>>,
        body: Json<NewMigration>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseMigrationsWrite)?;
        let _turn = self.turn().await?;
        if self.is_known(idempotency_key.as_deref()).await? {
            return Ok(Done::Ok);
        }
        let version = apply(&self.0, body.name.as_deref().unwrap_or_default(), &body.query).await?;
        self.describe(&version, &body, idempotency_key.as_deref(), operator.name()).await?;
        let detail = json!({ "version": version, "name": body.name });
        self.0.audit(&operator, "database.migrations.apply", detail).await?;
        Ok(Done::Ok)
    }

    /// Records a migration that was applied in another way.
    #[oai(path = "/projects/:project/database/migrations", method = "put")]
    async fn record(
        &self,
        request: &Request,
        project: Path<String>,
        #[oai(name = "Idempotency-Key")] idempotency_key: Header<Option<String>>,
        body: Json<NewMigration>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseMigrationsWrite)?;
        let _turn = self.turn().await?;
        if self.is_known(idempotency_key.as_deref()).await? {
            return Ok(Done::Ok);
        }
        let database = self.database();
        let version = next_version(database).await?;
        let mut client = database.client().await?;
        let recorded = Migrator::new(&mut client)
            .record_one(&version, body.name.as_deref().unwrap_or_default(), &body.query)
            .await;
        recorded.map_err(|error| refused(error, &body.query))?;
        drop(client);
        self.describe(&version, &body, idempotency_key.as_deref(), operator.name()).await?;
        let detail = json!({ "version": version, "name": body.name });
        self.0.audit(&operator, "database.migrations.record", detail).await?;
        Ok(Done::Ok)
    }

    /// Undoes the migrations from a version on, newest first, with their own statements for that, and removes their
    /// records.
    #[oai(path = "/projects/:project/database/migrations", method = "delete")]
    async fn roll_back(
        &self,
        request: &Request,
        project: Path<String>,
        /// The oldest version that is undone.
        gte: Query<String>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseMigrationsWrite)?;
        check_version(&gte)?;
        self.add_columns().await?;
        let sql = "select pg_catalog.to_json(coalesce(pg_catalog.array_to_string(rollback, E';\\n'), '')) \
                    from supabase_migrations.schema_migrations where version >= $1 order by version desc";
        let undo: Vec<String> = documents(self.database(), sql, vec![text(&gte)]).await?;
        let mut statements: Vec<String> = undo.into_iter().filter(|undo| !undo.trim().is_empty()).collect();
        let version = postgres::quote_literal(&gte);
        statements
            .push(format!("delete from supabase_migrations.schema_migrations where version >= {version}"));
        let query = Console {
            sql: &statements.join(";\n"),
            parameters: &[],
            is_read_only: false,
            time: self.0.settings.query_timeout,
        };
        self.0.inner().console.run(&query).await?;
        self.0.audit(&operator, "database.migrations.roll_back", json!({ "gte": gte.0 })).await?;
        Ok(Done::Ok)
    }

    /// Returns a migration.
    #[oai(path = "/projects/:project/database/migrations/:version", method = "get")]
    async fn get(
        &self,
        request: &Request,
        project: Path<String>,
        version: Path<String>,
    ) -> Result<Json<Migration>, Error> {
        self.0.enter(request, &project, Scope::DatabaseMigrationsRead)?;
        check_version(&version)?;
        self.add_columns().await?;
        let sql =
            "select pg_catalog.to_json(m) from supabase_migrations.schema_migrations m where version = $1";
        let found = document_of(self.database(), sql, vec![text(&version)]).await?;
        found.map(Json).ok_or_else(|| Error::missing("Migration not found"))
    }

    /// Changes the name of a migration, or the statements that undo it.
    #[oai(path = "/projects/:project/database/migrations/:version", method = "patch")]
    async fn change(
        &self,
        request: &Request,
        project: Path<String>,
        version: Path<String>,
        body: Json<MigrationChange>,
    ) -> Result<Done, Error> {
        let operator = self.0.enter(request, &project, Scope::DatabaseMigrationsWrite)?;
        check_version(&version)?;
        self.add_columns().await?;
        let sql = "update supabase_migrations.schema_migrations set name = coalesce($2, name), \
                   rollback = case when $3::text is null then rollback else array[$3::text] end \
                   where version = $1 returning 'true'";
        let parameters =
            vec![text(&version), optional(body.name.as_deref()), optional(body.rollback.as_deref())];
        let changed: Option<bool> = document_of(self.database(), sql, parameters).await?;
        changed.ok_or_else(|| Error::missing("Migration not found"))?;
        self.0.audit(&operator, "database.migrations.change", json!({ "version": version.0 })).await?;
        Ok(Done::Ok)
    }
}

impl MigrationsApi {
    /// Waits until no other migration is applied or recorded, on this node and on others. What is returned is held
    /// until the end: so the next request sees the key and the version of this one.
    async fn turn(&self) -> Result<(MutexGuard<'_, ()>, Connection), Error> {
        let inner = self.0.inner();
        let turn = inner.migrating.lock().await;
        let mut connection = inner.store.open(None, "basalt-platform").await?;
        let limits = Limits { time: PATIENCE, bytes: 1 << 10 };
        connection.query(ALONE, limits).await?;
        Ok((turn, connection))
    }

    fn database(&self) -> &Database {
        &self.0.inner().project_database
    }

    async fn add_columns(&self) -> Result<(), Error> {
        documents::<Value>(self.database(), MORE_COLUMNS, Vec::new()).await.map(drop)
    }

    /// Reports whether a request with this key was carried out before.
    async fn is_known(&self, key: Option<&str>) -> Result<bool, Error> {
        let Some(key) = key else { return Ok(false) };
        self.add_columns().await?;
        let sql = "select exists (select from supabase_migrations.schema_migrations \
                    where idempotency_key = $1)::text";
        Ok(document_of(self.database(), sql, vec![text(key)]).await?.unwrap_or(false))
    }

    /// Records who has applied a migration, and what undoes it.
    async fn describe(
        &self,
        version: &str,
        migration: &NewMigration,
        key: Option<&str>,
        operator: &str,
    ) -> Result<(), Error> {
        self.add_columns().await?;
        let sql = "update supabase_migrations.schema_migrations set created_by = $2, idempotency_key = $3, \
                   rollback = case when $4::text is null then rollback else array[$4::text] end where version = $1";
        let parameters =
            vec![text(version), text(operator), optional(key), optional(migration.rollback.as_deref())];
        documents::<Value>(self.database(), sql, parameters).await.map(drop)
    }
}

/// Returns the migrations that the database has, by their versions.
pub(super) async fn list(context: &Context) -> Result<Vec<ListedMigration>, Error> {
    let database = &context.inner().project_database;
    if !has_history(database).await? {
        return Ok(Vec::new());
    }
    let sql = "select pg_catalog.json_build_object('version', version, 'name', name) \
                from supabase_migrations.schema_migrations order by version";
    documents(database, sql, Vec::new()).await
}

/// Applies a migration, and returns the version under which it is recorded.
pub(super) async fn apply(context: &Context, name: &str, sql: &str) -> Result<String, Error> {
    let database = &context.inner().project_database;
    let version = next_version(database).await?;
    let mut client = database.client().await?;
    let applied = Migrator::new(&mut client).apply(&version, name, sql).await;
    match applied.map_err(|error| refused(error, sql))? {
        true => Ok(version),
        // Another request has had the same second and the same version.
        false => Err(Error::Refused(
            http::StatusCode::CONFLICT,
            "Another migration was applied at the same time".into(),
        )),
    }
}

/// Reports whether the table of migrations exists: without any migration it does not.
async fn has_history(database: &Database) -> Result<bool, Error> {
    let sql = "select (pg_catalog.to_regclass('supabase_migrations.schema_migrations') is not null)::text";
    Ok(document_of(database, sql, Vec::new()).await? == Some(true))
}

/// Returns the version of a migration that is applied now: the time, or a second after the newest.
async fn next_version(database: &Database) -> Result<String, Error> {
    let form = format_description!("[year][month][day][hour][minute][second]");
    let now = OffsetDateTime::now_utc().format(form);
    let now = now.map_err(|error| Error::Internal(error.to_string()))?;
    if !has_history(database).await? {
        return Ok(now);
    }
    let sql = "select pg_catalog.to_json(greatest($1::numeric, 1 + coalesce( \
                 (select max(version::numeric) from supabase_migrations.schema_migrations \
                   where version ~ '^[0-9]{14}$'), 0))::text)";
    Ok(document_of(database, sql, vec![text(&now)]).await?.unwrap_or(now))
}

/// Checks the form of a version. Errors: 400.
fn check_version(version: &str) -> Result<(), Error> {
    let is_valid =
        !version.is_empty() && version.len() <= 64 && version.bytes().all(|byte| byte.is_ascii_digit());
    if is_valid { Ok(()) } else { Err(Error::invalid("version: expected digits")) }
}

/// Returns the response to a migration that failed.
fn refused(error: MigrationError, sql: &str) -> Error {
    match error {
        MigrationError::Database { source, .. } => match postgres::Error::from(source) {
            postgres::Error::Postgres(refusal) => Error::Sql(refusal, sql.to_owned()),
            other => Error::Database(other),
        },
        MigrationError::Statement(refusal) => {
            let server = postgres::ServerError {
                severity: "ERROR".to_owned(),
                code: refusal.code.clone(),
                message: format!("{} (line {})", refusal.message, refusal.line),
                detail: refusal.detail.clone(),
                hint: refusal.hint.clone(),
                context: refusal.context.clone(),
                ..Default::default()
            };
            Error::Sql(Box::new(server), sql.to_owned())
        }
        other => Error::invalid(format!("Failed to run sql query: {other}")),
    }
}
