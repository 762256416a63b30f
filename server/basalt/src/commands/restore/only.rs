//! Brings one table or one bucket back into the running project, out of a database that is restored beside it.

use std::pin::pin;

use backup::{Moment, Repository};
use embedded::Options;
use futures_util::{SinkExt as _, StreamExt as _};
use postgres::{Client, Database, quote_identifier};

use crate::backend::{self, Backend};
use crate::backups;
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// The schema of tables that were brought back.
const SCHEMA: &str = "restored";

/// The part of an object's row that names its bytes.
#[derive(serde::Deserialize)]
struct Versioned {
    version: uuid::Uuid,
}

/// What is brought back.
pub(super) enum Only {
    /// A table, by its schema and name.
    Table(String, String),
    /// A bucket.
    Bucket(String),
}

impl Only {
    /// Reads the two words of the flag.
    pub(super) fn parse(words: &[String]) -> Result<Self, Error> {
        match words {
            [kind, name] if kind == "table" => {
                let (schema, table) = name.split_once('.').unwrap_or(("public", name));
                Ok(Self::Table(schema.to_owned(), table.to_owned()))
            }
            [kind, name] if kind == "bucket" => Ok(Self::Bucket(name.clone())),
            _ => Err(Error::Advice("expected `--only table NAME` or `--only bucket NAME`".to_owned())),
        }
    }
}

/// Restores the whole database into a scratch folder, and brings `only` from there into the running project.
pub(super) async fn run(
    settings: &Settings,
    repository: &Repository,
    moment: Option<Moment>,
    only: &Only,
) -> Result<(), Error> {
    let folder = repository.scratch();
    let options =
        Options { data_dir: folder.clone(), port: None, progress: None, ..backend::options(settings) };
    let brought = async {
        let restored = repository.restore(moment, options, false).await?;
        let source = Database::connect(postgres::Settings::new(restored.cluster.login())).await?;
        let brought = Backend::attached(settings, async |backend| match only {
            Only::Table(schema, table) => {
                backend.with_project(async |project| bring_table(&source, project, schema, table).await).await
            }
            Only::Bucket(bucket) => {
                backend
                    .with_admin(async |admin| {
                        bring_bucket(settings, repository, &source, admin, bucket).await
                    })
                    .await
            }
        });
        let brought = brought.await;
        source.close().await;
        restored.cluster.stop().await;
        brought
    };
    let brought = brought.await;
    let _ = std::fs::remove_dir_all(&folder);
    brought
}

/// Copies the rows of a table into a new one of the same name in the schema [`SCHEMA`] of `project`.
async fn bring_table(source: &Database, project: &Database, schema: &str, table: &str) -> Result<(), Error> {
    let (from, into) = (source.client().await?, project.client().await?);
    let columns = columns(&from, schema, table).await?;
    if columns.is_empty() {
        return Err(Error::Advice(format!("there was no table {schema}.{table} then")));
    }
    let target = format!("{SCHEMA}.{}", quote_identifier(table));
    let definitions: Vec<String> = columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(", ");
    into.batch_execute(&format!(
        "begin; create schema if not exists {SCHEMA}; revoke all on schema {SCHEMA} from public; \
         create table {target} ({})",
        definitions.join(", ")
    ))
    .await
    .map_err(postgres::Error::from)?;
    let source = format!("{}.{}", quote_identifier(schema), quote_identifier(table));
    let copied = copy(&from, &into, &source, &target, &names).await;
    let end = if copied.is_ok() { "commit" } else { "rollback" };
    into.batch_execute(end).await.map_err(postgres::Error::from)?;
    let rows = copied?;
    console::print(format_args!(
        "{rows} rows of {schema}.{table} are in {target} now. Compare, and move what you need."
    ));
    Ok(())
}

/// Returns the names and types of a table's columns, without those that are generated.
async fn columns(client: &Client, schema: &str, table: &str) -> Result<Vec<(String, String)>, Error> {
    let sql = "select a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod) \
               from pg_catalog.pg_attribute a \
               join pg_catalog.pg_class c on c.oid = a.attrelid \
               join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
               where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p', 'm') \
                 and a.attnum > 0 and not a.attisdropped order by a.attnum";
    let rows = client.query(sql, &[&schema, &table]).await.map_err(postgres::Error::from)?;
    Ok(rows.iter().map(|row| (quote_identifier(row.get(0)), row.get(1))).collect())
}

async fn copy(from: &Client, into: &Client, source: &str, target: &str, names: &str) -> Result<u64, Error> {
    let output = format!("copy (select {names} from {source}) to stdout");
    let output = from.copy_out(&output).await.map_err(postgres::Error::from)?;
    let input = into.copy_in::<_, bytes::Bytes>(&format!("copy {target} ({names}) from stdin")).await;
    let (mut output, mut input) = (pin!(output), pin!(input.map_err(postgres::Error::from)?));
    while let Some(piece) = output.next().await {
        input.feed(piece.map_err(postgres::Error::from)?).await.map_err(postgres::Error::from)?;
    }
    Ok(input.finish().await.map_err(postgres::Error::from)?)
}

/// Brings the objects of a bucket back that the project does not have any more, rows and bytes, and the bytes of those
/// whose rows it has. Objects that exist stay as they are.
async fn bring_bucket(
    settings: &Settings,
    repository: &Repository,
    source: &Database,
    admin: &Database,
    bucket: &str,
) -> Result<(), Error> {
    let Some(objects) = backups::open_objects(settings).await? else {
        return Err(Error::Advice("storage is switched off".to_owned()));
    };
    let (from, into) = (source.client().await?, admin.client().await?);
    let rows = "select pg_catalog.to_jsonb(b)::text from storage.buckets b where b.id = $1";
    let found = from.query_opt(rows, &[&bucket]).await.map_err(postgres::Error::from)?;
    let row: String =
        found.ok_or_else(|| Error::Advice(format!("there was no bucket {bucket} then")))?.get(0);
    insert(&into, "buckets", &row).await?;
    let current = "select pg_catalog.to_jsonb(o)::text from storage.objects o \
                   where o.bucket_id = $1 and o.archived_at is null and not o.is_delete_marker";
    let rows = from.query(current, &[&bucket]).await.map_err(postgres::Error::from)?;
    let exists = "select from storage.objects where bucket_id = $1 and name = ($2::text::jsonb ->> 'name') \
                  and archived_at is null and not is_delete_marker";
    let (mut brought, mut missing) = (0, 0);
    for row in rows {
        let row: String = row.get(0);
        if into.query_opt(exists, &[&bucket, &row]).await.map_err(postgres::Error::from)?.is_some() {
            continue;
        }
        let version = serde_json::from_str::<Versioned>(&row).ok().map(|row| row.version);
        let Some(version) = version else { continue };
        if repository.bring_back_version(version, objects.clone()).await? {
            insert(&into, "objects", &row).await?;
            brought += 1;
        } else {
            missing += 1;
        }
    }
    let current = "select version from storage.objects \
                   where bucket_id = $1 and archived_at is null and not is_delete_marker";
    let rows = into.query(current, &[&bucket]).await.map_err(postgres::Error::from)?;
    let versions = rows.iter().filter_map(|row| uuid::Uuid::try_parse(row.get(0)).ok()).collect();
    let (of_bytes, without) = repository.bring_back_versions(versions, objects).await?;
    (brought, missing) = (brought + of_bytes, missing + without);
    console::print(format_args!("{brought} objects are in the bucket {bucket} again."));
    if missing > 0 {
        console::note(format_args!("The bytes of {missing} others had not reached the backups."));
    }
    Ok(())
}

/// Inserts a row of `table` in the schema `storage`, given as JSON, unless it is there. Triggers run, as for any other
/// writer.
async fn insert(client: &Client, table: &str, row: &str) -> Result<(), Error> {
    let sql = "select pg_catalog.string_agg(pg_catalog.quote_ident(attname), ', ') \
               from pg_catalog.pg_attribute \
               where attrelid = ('storage.' || $1::text)::pg_catalog.regclass \
                 and attnum > 0 and not attisdropped and attgenerated = ''";
    let columns: String = client.query_one(sql, &[&table]).await.map_err(postgres::Error::from)?.get(0);
    let insert = format!(
        "insert into storage.{table} ({columns}) \
         select {columns} from pg_catalog.jsonb_populate_record(null::storage.{table}, $1::text::jsonb) \
         on conflict do nothing"
    );
    client
        .batch_execute("begin; set local session_replication_role = origin")
        .await
        .map_err(postgres::Error::from)?;
    let inserted = client.execute(&insert, &[&row]).await;
    let end = if inserted.is_ok() { "commit" } else { "rollback" };
    client.batch_execute(end).await.map_err(postgres::Error::from)?;
    inserted.map(drop).map_err(|error| postgres::Error::from(error).into())
}
