//! Creates and updates schema `auth` only, as the role that owns it and has no other rights. This is for a server that
//! replaces Supabase Auth, on a database whose platform has been set up by someone else.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use super::age::{self, Age};
use super::apply::{self, Limits};
use super::error::Error;
use super::file::File;
use super::holds;
use super::platform::{self, PlatformFile};
use super::split::Statement;

/// The files that create the tables.
const FILES: [&str; 2] = ["0003_auth.sql", "0004_auth_factors.sql"];
/// The role to which the files grant reading the tables.
const READER: &str = "postgres";

/// The files that add to the tables what later releases of Supabase Auth have added.
const ADDITIONS: [&str; 1] = ["0028_auth_recovery_codes.sql"];

/// The files that update the tables of an older release, and their rows.
const UPDATES: [&str; 3] = ["0012_older_schemas.sql", "0013_auth_rows.sql", ADDITIONS[0]];

/// Returns one row: whether the role exists to which the files grant reading, and whether the schema exists.
const QUERY: &str = "select
  exists (select from pg_catalog.pg_roles where rolname = $1),
  to_regnamespace('auth') is not null";

/// Functions of the schema that belong to other roles, so that the current role may not replace them.
const FOREIGN: &str = "select proname::text from pg_catalog.pg_proc
  where pronamespace = to_regnamespace('auth') and not pg_has_role(proowner, 'usage')";

/// The tables that Supabase's database image contains before Supabase Auth has run for the first time.
const INITIAL_TABLES: [&str; 5] =
    ["users", "refresh_tokens", "instances", "audit_log_entries", "schema_migrations"];

/// Implements [`Migrator::auth_only`](super::Migrator::auth_only).
pub(super) async fn migrate(client: &mut Client, limits: &Limits) -> Result<bool, Error> {
    let transaction = apply::begin(client, limits).await?;
    let age = Age::read(&transaction).await?;
    if age.has_sessions {
        return update(transaction, &age).await;
    }
    let row = transaction.query_typed_one(QUERY, &[(&READER, Type::TEXT)]).await;
    let row = row.map_err(Error::database("read the state of schema auth"))?;
    let (has_reader, has_schema): (bool, bool) = (row.get(0), row.get(1));
    if !has_schema {
        let created = transaction.batch_execute("create schema auth").await;
        created.map_err(Error::database("create schema auth, which the database lacks"))?;
    }
    if age.has_users {
        drop_initial_tables(&transaction).await?;
    }
    let rows = transaction.query_typed(FOREIGN, &[]).await;
    let rows = rows.map_err(Error::database("read the functions of schema auth"))?;
    let foreign: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    for file in files(&FILES) {
        run(&transaction, file, &foreign, has_reader).await?;
    }
    for file in files(&ADDITIONS) {
        run_of_auth(&transaction, file).await?;
    }
    transaction.commit().await.map_err(Error::database("commit the tables of schema auth"))?;
    tracing::info!("created the tables of schema auth");
    Ok(true)
}

/// Updates the tables of an older release. Reports whether there was anything to do.
///
/// Errors: [`Error::OutdatedSchemas`] if they are too old for that, or belong to a role that the current one is not a
/// member of.
async fn update(transaction: Transaction<'_>, age: &Age) -> Result<bool, Error> {
    if age.auth.is_current {
        return Ok(false);
    }
    if let Some(obstacle) = age.obstacle_of_auth() {
        return Err(Error::OutdatedSchemas(obstacle));
    }
    for file in files(&UPDATES) {
        run_of_auth(&transaction, file).await?;
    }
    transaction.commit().await.map_err(Error::database("commit the tables of schema auth"))?;
    tracing::info!("updated the tables of schema auth");
    Ok(true)
}

/// Runs the statements of `file` that are about schema `auth`.
async fn run_of_auth(transaction: &Transaction<'_>, file: &PlatformFile) -> Result<(), Error> {
    let parsed = File::parse(file.file, file.sql)?;
    parsed.run(transaction, before_storage(&parsed.statements), &mut Vec::new()).await
}

/// Returns the statements before those of schema `storage`, which are the last ones.
fn before_storage<'s, 'a>(statements: &'s [Statement<'a>]) -> &'s [Statement<'a>] {
    let is_storage = |text: &str| text.contains("storage.") && !text.contains("auth.");
    let end = statements.iter().position(|statement| is_storage(statement.text));
    &statements[..end.unwrap_or(statements.len())]
}

fn files(names: &[&str]) -> impl Iterator<Item = &'static PlatformFile> {
    platform::FILES.iter().filter(|file| names.contains(&file.file))
}

/// Drops the tables of Supabase's database image.
///
/// Errors: [`Error::OutdatedSchemas`] if there are accounts, since their rows must not be lost.
async fn drop_initial_tables(transaction: &Transaction<'_>) -> Result<(), Error> {
    if holds(transaction, "exists (select from auth.users)", &[], "check whether there are accounts").await? {
        return Err(Error::OutdatedSchemas(age::too_old()));
    }
    for table in INITIAL_TABLES {
        let dropped = transaction.batch_execute(&format!("drop table if exists auth.{table}")).await;
        dropped.map_err(Error::database("replace the empty tables of the database image"))?;
    }
    Ok(())
}

/// Runs the statements of `file` that the service's own role runs.
async fn run(
    transaction: &Transaction<'_>,
    file: &PlatformFile,
    foreign: &[String],
    has_reader: bool,
) -> Result<(), Error> {
    let parsed = File::parse(file.file, file.sql)?;
    for statement in as_owner(&parsed.statements) {
        let text = adapt(statement.text, has_reader);
        let is_foreign = foreign.iter().any(|name| text.contains(&format!("function auth.{name}()")));
        if !is_foreign {
            let run = transaction.batch_execute(&text).await;
            run.map_err(Error::database("create the tables of schema auth"))?;
        }
    }
    Ok(())
}

/// Returns the statements between `set local role` and `reset role`, which run as the service's role, without those
/// that set default privileges, which are for roles of the platform.
fn as_owner<'s, 'a>(statements: &'s [Statement<'a>]) -> impl Iterator<Item = &'s Statement<'a>> {
    let starts = |statement: &Statement<'_>, words: &[&str]| {
        statement.words.iter().map(String::as_str).take(words.len()).eq(words.iter().copied())
    };
    statements
        .iter()
        .skip_while(move |one| !starts(one, &["SET", "LOCAL", "ROLE"]))
        .skip(1)
        .take_while(move |one| !starts(one, &["RESET", "ROLE"]))
        .filter(move |one| !starts(one, &["ALTER", "DEFAULT", "PRIVILEGES"]))
}

/// Adapts a statement to a database that may have the functions already and may not have the role that reads.
fn adapt(text: &str, has_reader: bool) -> String {
    let text = text.replacen("create function", "create or replace function", 1);
    if has_reader { text } else { text.replace(&format!("to {READER} with"), "to current_user with") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_cut_before_statements_of_storage() {
        for file in files(&UPDATES) {
            let parsed = File::parse(file.file, file.sql).unwrap();
            let statements = before_storage(&parsed.statements);
            assert!(statements.iter().any(|one| one.text.contains("auth.mfa_")), "{}", file.file);
            // The statements after them are of schema storage, or set and reset the role.
            for one in &parsed.statements[statements.len()..] {
                assert!(!one.text.contains("auth."), "{}: {}", file.file, one.text);
            }
        }
    }

    #[test]
    fn statements_as_the_owner_need_no_right_beyond_the_schema() {
        for file in files(&FILES) {
            let parsed = File::parse(file.file, file.sql).unwrap();
            let texts: Vec<String> = as_owner(&parsed.statements).map(|one| adapt(one.text, false)).collect();
            assert!(texts.iter().any(|text| text.contains("create table auth.")), "{}", file.file);
            for text in &texts {
                for word in ["create schema", "alter default privileges", "set local role", "to postgres"] {
                    assert!(!text.contains(word), "{word} in {}: {text}", file.file);
                }
            }
        }
    }
}
