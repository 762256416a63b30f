//! Creates schemas of the platform again that somebody has dropped: a tool, or an administrator.
//!
//! What they held is lost; they are created empty. Of the files that the database has already had, only the statements
//! that name such a schema are run, so that what is there keeps its rights and rows. Only a superuser, or who owns the
//! platform, can drop these schemas: nobody else can cause a repair.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, Transaction};

use super::apply::{self, Limits};
use super::error::Error;
use super::file::File;
use super::ledger::{self, Record, Records};
use super::platform::{FILES, PlatformFile};
use super::split::Statement;
use super::{check_unchanged, holds};

/// The schemas that the files create.
const SCHEMAS: [&str; 10] = [
    "auth",
    "basalt",
    "basalt_platform",
    "extensions",
    "graphql",
    "graphql_public",
    "realtime",
    "storage",
    "storage_vectors",
    "supabase_functions",
];

/// The extension that goes with schema `extensions`, since it needs pgcrypto.
const VAULT: &str = "supabase_vault";

/// Whether function `rights_watch` exists. Only Basalt creates it.
const HAS_WATCH: &str = "to_regproc('extensions.rights_watch') is not null";

/// The version of the file that creates `rights_watch`. A database that has it has had all files up to this one.
const NEWEST_KNOWN: &str = "0023";

/// SQLSTATEs of a statement that creates what is there: schema, table, object, function, column, a primary key, a
/// function with another result, and a row; and of the exception by which a file refuses tables that it has not
/// created.
const EXISTS_ALREADY: [&str; 9] =
    ["42P06", "42P07", "42710", "42723", "42701", "42P16", "42P13", "23505", "P0001"];

/// The result of a repair.
pub(super) enum Repair {
    /// The schemas that have been created again. None, if there was nothing to do.
    Done(Vec<&'static str>),
    /// The records had been dropped, and the schemas that are there are not those that Basalt creates. Nothing has been
    /// changed.
    Foreign(Error),
}

/// Returns the schemas of the platform that are missing in a database that Basalt has set up. A database that has parts
/// of hosted Supabase's platform is not known to lack anything.
pub(super) async fn missing(client: &impl GenericClient) -> Result<Vec<&'static str>, Error> {
    missing_beside(client, records(client).await?.as_ref()).await
}

/// Returns the records of the platform's files; `None` if their table does not exist.
async fn records(client: &impl GenericClient) -> Result<Option<Records>, Error> {
    match ledger::has_platform_table(client).await? {
        true => ledger::platform(client).await.map(Some),
        false => Ok(None),
    }
}

/// Returns what [`missing`] does, for a database that has these records.
async fn missing_beside(
    client: &impl GenericClient,
    records: Option<&Records>,
) -> Result<Vec<&'static str>, Error> {
    let doing = "look for the schemas of the platform";
    let is_own = match records {
        Some(records) => !records.is_empty() && records.values().all(|record| !record.adopted),
        None => holds(client, HAS_WATCH, &[], doing).await?,
    };
    if !is_own {
        return Ok(Vec::new());
    }
    let sql = "select nspname::text from pg_catalog.pg_namespace where nspname = any ($1)";
    let rows = client.query_typed(sql, &[(&SCHEMAS.as_slice(), Type::TEXT_ARRAY)]).await;
    let rows = rows.map_err(Error::database(doing))?;
    let present: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    // Where the file has not been applied yet, it is not missing.
    let is_of_newer_file = |schema: &str| schema == "graphql" && records.is_none();
    let missing = SCHEMAS.into_iter().filter(|schema| !present.iter().any(|name| name == schema));
    Ok(missing.filter(|schema| !is_of_newer_file(schema)).collect())
}

/// Creates what is [`missing`], in one transaction, which also records the files if their records were dropped.
///
/// Errors: [`Error::PlatformChanged`]; [`Error::Statement`] if the records are there, and all errors of the database.
pub(super) async fn run(client: &mut Client, limits: &Limits) -> Result<Repair, Error> {
    let transaction = apply::begin(client, limits).await?;
    let records = records(&transaction).await?;
    let missing = missing_beside(&transaction, records.as_ref()).await?;
    if missing.is_empty() {
        return Ok(Repair::Done(missing));
    }
    if records.is_none() {
        ledger::create(&transaction).await?;
    }
    for file in FILES {
        match apply_again(&transaction, file, &missing, records.as_ref()).await {
            Err(refused @ Error::Statement(_)) if records.is_none() => return Ok(Repair::Foreign(refused)),
            done => done?,
        }
    }
    transaction.commit().await.map_err(Error::database("commit a migration"))?;
    Ok(Repair::Done(missing))
}

/// Drops what tells Basalt of changes to the catalog, so that the files create it again.
pub(super) async fn remove_watches(client: &impl GenericClient) -> Result<(), Error> {
    let sql = "drop function if exists extensions.publication_watch(), extensions.rights_watch(), \
               extensions.pgrst_ddl_watch(), extensions.pgrst_drop_watch() cascade";
    client.batch_execute(sql).await.map_err(Error::database("drop what Basalt had created"))
}

/// Runs the statements of `file` that concern the schemas that are `missing`, or all of a file that the database may
/// not have had, except those that create what is there.
async fn apply_again(
    transaction: &Transaction<'_>,
    file: &PlatformFile,
    missing: &[&str],
    records: Option<&Records>,
) -> Result<(), Error> {
    let was_applied = match records {
        None => file.version() <= NEWEST_KNOWN,
        Some(records) => {
            // A file without a record is applied afterwards, as a new one.
            let Some(record) = records.get(file.version()) else { return Ok(()) };
            check_unchanged(file, record)?;
            true
        }
    };
    let parsed = File::parse(file.file, file.sql)?;
    let mut found_something = false;
    for statement in &parsed.statements {
        if was_applied && !concerns(statement, missing) {
            continue;
        }
        // It has no name by which Postgres could find it.
        if found_something && is_unnamed_index(statement) {
            continue;
        }
        found_something |= !is_created(transaction, &parsed, statement).await?;
    }
    apply::restore_session(transaction).await?;
    if records.is_none() {
        let record = Record { name: file.name().to_owned(), checksum: Some(file.checksum()), adopted: false };
        ledger::record_platform(transaction, file.version(), &record).await?;
    }
    Ok(())
}

/// Reports whether a statement has to be run because the schemas are `missing`: it names one of them, or is a setting
/// of the statements after it. What it says about schema `public` is the project's matter by now.
fn concerns(statement: &Statement<'_>, missing: &[&str]) -> bool {
    let first = statement.words.first().map(String::as_str);
    if matches!(first, Some("SET" | "RESET")) {
        return true;
    }
    let names = |name: &str| {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        statement.text.split(|character| !is_part(character)).any(|word| word == name)
    };
    let is_vault = || missing.contains(&"extensions") && names(VAULT);
    let is_of_new_projects = names("citext") || names("pg_trgm") || statement.text.contains("schema public");
    !is_of_new_projects && (missing.iter().any(|schema| names(schema)) || is_vault())
}

/// Runs a statement of `file`. Reports whether what it creates was not there already.
async fn is_created(
    transaction: &Transaction<'_>,
    file: &File<'_>,
    statement: &Statement<'_>,
) -> Result<bool, Error> {
    let doing = "create a part of the platform again";
    transaction.batch_execute("savepoint before_statement").await.map_err(Error::database(doing))?;
    let is_created = match file.run(transaction, std::slice::from_ref(statement), &mut Vec::new()).await {
        Ok(()) => true,
        Err(Error::Statement(refused)) if EXISTS_ALREADY.contains(&refused.code.as_str()) => false,
        Err(error) => return Err(error),
    };
    let end = if is_created {
        "release before_statement"
    } else {
        "rollback to before_statement; release before_statement"
    };
    transaction.batch_execute(end).await.map_err(Error::database(doing))?;
    Ok(is_created)
}

/// Reports whether Postgres chooses the name of the index that the statement creates, so that it can be created twice.
fn is_unnamed_index(statement: &Statement<'_>) -> bool {
    let words: Vec<&str> = statement.words.iter().take(4).map(String::as_str).collect();
    matches!(words.as_slice(), ["CREATE", "INDEX", "ON", ..] | ["CREATE", "UNIQUE", "INDEX", "ON"])
}

#[cfg(test)]
mod tests {
    use super::super::split::split;
    use super::*;

    #[test]
    fn indexes_without_a_name_are_recognized() {
        let is_unnamed = |sql| is_unnamed_index(&split(sql).unwrap()[0]);
        assert!(is_unnamed("create index on a (b)") && is_unnamed("create unique index on a (b)"));
        assert!(!is_unnamed("create index a_b on a (b)") && !is_unnamed("create table a (b int)"));
    }

    #[test]
    fn statements_concern_the_schemas_that_they_name() {
        let concerns = |sql, missing: &[&str]| concerns(&split(sql).unwrap()[0], missing);
        assert!(concerns("create table auth.users (id uuid)", &["auth"]));
        assert!(!concerns("grant usage on schema auth to supabase_storage_admin", &["storage"]));
        assert!(concerns("set local role supabase_auth_admin", &["storage"]));
        assert!(!concerns("grant all on all tables in schema public to anon", &["auth", "public"]));
        assert!(concerns("create extension supabase_vault cascade", &["extensions"]));
        assert!(!concerns("create extension citext with schema extensions", &["extensions"]));
    }
}
