//! The tables that record applied files.
//!
//! A project's history is in the tables of the Supabase CLI, in the CLI's format, so that either tool can continue
//! where the other stopped. What the CLI does not record (checksums, the platform's files) is in schema `basalt`.

use std::borrow::Cow;
use std::collections::HashMap;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{GenericClient, Transaction};

use super::error::Error;
use super::holds;
use crate::extensions::PRIVILEGED;

/// The statements that create the tables of schema `basalt`, each of which does nothing if its object exists.
const OWN_TABLES: &str = "
create schema if not exists basalt;
comment on schema basalt is 'This server''s own records';
create table if not exists basalt.platform_migrations (
  version text primary key,
  name text not null,
  checksum text not null,
  adopted boolean not null default false,
  applied_at timestamptz not null default now()
);
comment on table basalt.platform_migrations is 'Files of the server''s own schema that this database has';
comment on column basalt.platform_migrations.checksum is 'SHA-256 of the file''s text, hexadecimal';
comment on column basalt.platform_migrations.adopted is 'The database had it all before, so nothing was run';
create table if not exists basalt.project_migrations (
  version text primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);
comment on table basalt.project_migrations is 'Checksums of supabase_migrations.schema_migrations';
comment on column basalt.project_migrations.checksum is 'SHA-256 of the file''s text, hexadecimal';
";

/// The same for the tables of the Supabase CLI, which runs these statements before its first migration.
const HISTORY: &str = "
create schema if not exists supabase_migrations;
create table if not exists supabase_migrations.schema_migrations (version text not null primary key);
alter table supabase_migrations.schema_migrations add column if not exists statements text[];
alter table supabase_migrations.schema_migrations add column if not exists name text;
create table if not exists supabase_migrations.seed_files (path text not null primary key, hash text not null);
";

/// The operation in errors of questions about the tables.
const LOOKING: &str = "look for the records of migrations";

/// The record of an applied file.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) name: String,
    /// `None` for a file that the Supabase CLI applied.
    pub(super) checksum: Option<String>,
    pub(super) adopted: bool,
}

/// Applied files by version.
pub(super) type Records = HashMap<String, Record>;

/// Creates the tables that are missing. The caller holds the migrations' lock.
pub(super) async fn create(transaction: &Transaction<'_>) -> Result<(), Error> {
    run(transaction, OWN_TABLES).await?;
    run(transaction, HISTORY).await
}

/// Creates the missing tables of the Supabase CLI, and none of Basalt's own. The caller holds the migrations' lock.
pub(super) async fn create_history(transaction: &Transaction<'_>) -> Result<(), Error> {
    run(transaction, HISTORY).await
}

async fn run(transaction: &Transaction<'_>, statements: &str) -> Result<(), Error> {
    let result = transaction.batch_execute(statements).await;
    result.map_err(Error::database("create the tables that record migrations"))
}

/// Reports whether the database has Basalt's table of platform files, even if the table is empty.
pub(super) async fn has_platform_table(client: &impl GenericClient) -> Result<bool, Error> {
    let condition = "exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
                             where n.nspname = 'basalt' and c.relname = 'platform_migrations')";
    holds(client, condition, &[], "check whether the database is Basalt's").await
}

/// Reports whether all the tables exist.
pub(super) async fn exists(client: &impl GenericClient) -> Result<bool, Error> {
    let condition = "to_regclass('basalt.platform_migrations') is not null \
                     and to_regclass('basalt.project_migrations') is not null";
    Ok(holds(client, condition, &[], LOOKING).await? && has_history(client).await?)
}

/// Reports whether the tables of the Supabase CLI exist.
pub(super) async fn has_history(client: &impl GenericClient) -> Result<bool, Error> {
    let condition = "to_regclass('supabase_migrations.seed_files') is not null \
                     and exists (select from pg_catalog.pg_attribute \
                                  where attrelid = to_regclass('supabase_migrations.schema_migrations') \
                                    and attname = 'name')";
    holds(client, condition, &[], LOOKING).await
}

/// Reports whether the database keeps checksums of a project's files, which the Supabase CLI does not.
async fn has_checksums(client: &impl GenericClient) -> Result<bool, Error> {
    holds(client, "to_regclass('basalt.project_migrations') is not null", &[], LOOKING).await
}

/// Reports whether the session is one of a superuser that is not `postgres`, in a database whose functions do for
/// `postgres` what it may not do itself.
pub(super) async fn has_other_superuser(client: &impl GenericClient) -> Result<bool, Error> {
    let condition = "current_user <> 'postgres' \
                     and (select rolsuper from pg_catalog.pg_roles where rolname = current_user) \
                     and exists (select from pg_catalog.pg_roles where rolname = 'postgres') \
                     and to_regclass('basalt.privileged_extensions') is not null";
    holds(client, condition, &[], "look for the rights of role postgres").await
}

/// Makes `postgres` the owner of the project's history, since the Supabase CLI, which logs in with this role, alters
/// its tables, and renews the list of extensions that it may create.
pub(super) async fn share_with_postgres(transaction: &Transaction<'_>) -> Result<(), Error> {
    let doing = "share the records of migrations";
    let owners = "
        alter schema supabase_migrations owner to postgres;
        alter table supabase_migrations.schema_migrations owner to postgres;
        alter table supabase_migrations.seed_files owner to postgres";
    transaction.batch_execute(owners).await.map_err(Error::database(doing))?;
    let names: Vec<&str> = PRIVILEGED.to_vec();
    for sql in [
        "delete from basalt.privileged_extensions where name <> all ($1)",
        "insert into basalt.privileged_extensions select pg_catalog.unnest($1) on conflict do nothing",
    ] {
        let written = transaction.query_typed(sql, &[(&names, Type::TEXT_ARRAY)]).await;
        written.map_err(Error::database(doing))?;
    }
    Ok(())
}

/// Returns the records of the platform's files.
pub(super) async fn platform(client: &impl GenericClient) -> Result<Records, Error> {
    let sql = "select version, name, checksum, adopted from basalt.platform_migrations";
    read(client, sql).await
}

/// Returns the records of the project's files, including those that the Supabase CLI applied. A database without the
/// CLI's table has none.
pub(super) async fn project(client: &impl GenericClient) -> Result<Records, Error> {
    let has_names = "exists (select from pg_catalog.pg_attribute \
                      where attrelid = to_regclass('supabase_migrations.schema_migrations') and attname = 'name')";
    if !holds(client, has_names, &[], LOOKING).await? {
        return Ok(Records::new());
    }
    let sql = match has_checksums(client).await? {
        true => {
            "select m.version, coalesce(m.name, ''), p.checksum, false \
               from supabase_migrations.schema_migrations m left join basalt.project_migrations p using (version)"
        }
        false => {
            "select version, coalesce(name, ''), null::text, false from supabase_migrations.schema_migrations"
        }
    };
    read(client, sql).await
}

async fn read(client: &impl GenericClient, sql: &str) -> Result<Records, Error> {
    let rows =
        client.query_typed(sql, &[]).await.map_err(Error::database("read the records of migrations"))?;
    let record =
        |row: &tokio_postgres::Row| Record { name: row.get(1), checksum: row.get(2), adopted: row.get(3) };
    Ok(rows.iter().map(|row| (row.get(0), record(row))).collect())
}

/// Returns the hashes of the seed files that were run, by path. A database without the CLI's table has none.
pub(super) async fn seeds(client: &impl GenericClient) -> Result<HashMap<String, String>, Error> {
    let has_table = "to_regclass('supabase_migrations.seed_files') is not null";
    if !holds(client, has_table, &[], LOOKING).await? {
        return Ok(HashMap::new());
    }
    let sql = "select path, hash from supabase_migrations.seed_files";
    let rows =
        client.query_typed(sql, &[]).await.map_err(Error::database("read the records of seed files"))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Records a file of the platform.
pub(super) async fn record_platform(
    transaction: &Transaction<'_>,
    version: &str,
    record: &Record,
) -> Result<(), Error> {
    let sql =
        "insert into basalt.platform_migrations (version, name, checksum, adopted) values ($1, $2, $3, $4)";
    let checksum = record.checksum.as_deref().unwrap_or_default();
    write(
        transaction,
        sql,
        &[
            (&version, Type::TEXT),
            (&record.name, Type::TEXT),
            (&checksum, Type::TEXT),
            (&record.adopted, Type::BOOL),
        ],
    )
    .await
}

/// Records a file of the project as the Supabase CLI does, and its checksum in Basalt's table, if there is one.
pub(super) async fn record_project(
    transaction: &Transaction<'_>,
    version: &str,
    name: &str,
    statements: &[Cow<'_, str>],
    checksum: &str,
) -> Result<(), Error> {
    let history =
        "insert into supabase_migrations.schema_migrations (version, name, statements) values ($1, $2, $3)";
    write(
        transaction,
        history,
        &[(&version, Type::TEXT), (&name, Type::TEXT), (&statements, Type::TEXT_ARRAY)],
    )
    .await?;
    if !has_checksums(transaction).await? {
        return Ok(());
    }
    // There may be an old row of a version that was removed from the history (supabase migration repair).
    let checksum_sql = "insert into basalt.project_migrations (version, checksum) values ($1, $2) \
                  on conflict (version) do update set checksum = excluded.checksum, applied_at = now()";
    write(transaction, checksum_sql, &[(&version, Type::TEXT), (&checksum, Type::TEXT)]).await
}

/// Records that a seed file was run.
pub(super) async fn record_seed(transaction: &Transaction<'_>, path: &str, hash: &str) -> Result<(), Error> {
    let sql = "insert into supabase_migrations.seed_files (path, hash) values ($1, $2) \
               on conflict (path) do update set hash = excluded.hash";
    write(transaction, sql, &[(&path, Type::TEXT), (&hash, Type::TEXT)]).await
}

async fn write(
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
) -> Result<(), Error> {
    transaction.query_typed(sql, parameters).await.map(drop).map_err(Error::database("record a migration"))
}
