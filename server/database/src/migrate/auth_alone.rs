//! Schema `auth` alone, made by the role that owns it and that may do nothing else: for a server in the place of Supabase
//! Auth, on a database whose platform is somebody else's.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use super::age::{self, Age};
use super::apply::{self, Limits};
use super::error::Error;
use super::file::File;
use super::holds;
use super::platform::{self, PlatformFile};
use super::split::Statement;

/// The files that make the tables.
const FILES: [&str; 2] = ["0003_auth.sql", "0004_auth_factors.sql"];
/// Whom the files let read the tables.
const READER: &str = "postgres";

/// The files that bring the tables of an older release up to date, and their rows.
const RAISING: [&str; 2] = ["0012_older_schemas.sql", "0013_auth_rows.sql"];

/// One row: whether there is a role that the files grant reading to, and whether there is a schema.
const LOOK: &str = "select
  exists (select from pg_catalog.pg_roles where rolname = $1),
  to_regnamespace('auth') is not null";

/// Functions of the files that somebody else has made, who alone may replace them.
const FOREIGN: &str = "select proname::text from pg_catalog.pg_proc
  where pronamespace = to_regnamespace('auth') and not pg_has_role(proowner, 'usage')";

/// The tables of the form in which Supabase's database image ships them, before Supabase Auth has run for the first time.
const FIRST_FORM: [&str; 5] =
    ["users", "refresh_tokens", "instances", "audit_log_entries", "schema_migrations"];

/// As [`Migrator::auth_alone`](super::Migrator::auth_alone).
pub(super) async fn migrate(client: &mut Client, limits: &Limits) -> Result<bool, Error> {
    let transaction = apply::begin(client, limits).await?;
    let age = Age::of(&transaction).await?;
    if age.has_sessions {
        return raise(transaction, &age).await;
    }
    let row = transaction.query_typed_one(LOOK, &[(&READER, Type::TEXT)]).await;
    let row = row.map_err(Error::database("look at schema auth"))?;
    let (has_reader, has_schema): (bool, bool) = (row.get(0), row.get(1));
    if !has_schema {
        let created = transaction.batch_execute("create schema auth").await;
        created.map_err(Error::database("create schema auth, which the database lacks"))?;
    }
    if age.has_users {
        drop_first_form(&transaction).await?;
    }
    let rows = transaction.query_typed(FOREIGN, &[]).await;
    let rows = rows.map_err(Error::database("look at the functions of schema auth"))?;
    let foreign: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    for file in files(&FILES) {
        run(&transaction, file, &foreign, has_reader).await?;
    }
    transaction.commit().await.map_err(Error::database("commit the tables of schema auth"))?;
    tracing::info!("made the tables of schema auth");
    Ok(true)
}

/// Brings the tables of an older release up to date. Returns whether there was anything to do.
///
/// Errors: [`Error::Older`] if they are too old for that, or belong to a role that this one may not act as.
async fn raise(transaction: Transaction<'_>, age: &Age) -> Result<bool, Error> {
    if age.auth.is_current {
        return Ok(false);
    }
    if let Some(obstacle) = age.obstacle_of_auth() {
        return Err(Error::Older(obstacle));
    }
    for file in files(&RAISING) {
        let parsed = File::parse(file.file, file.sql)?;
        let of_auth = of_auth_alone(&parsed.statements);
        parsed.run(&transaction, of_auth, &mut Vec::new()).await?;
    }
    transaction.commit().await.map_err(Error::database("commit the tables of schema auth"))?;
    tracing::info!("brought the tables of schema auth up to date");
    Ok(true)
}

/// The statements before those of schema `storage`, which come last.
fn of_auth_alone<'s, 'a>(statements: &'s [Statement<'a>]) -> &'s [Statement<'a>] {
    let end = statements.iter().position(|one| one.text.contains("storage.") && !one.text.contains("auth."));
    &statements[..end.unwrap_or(statements.len())]
}

fn files(names: &[&str]) -> impl Iterator<Item = &'static PlatformFile> {
    platform::FILES.iter().filter(|file| names.contains(&file.file))
}

/// Errors: [`Error::Older`] if anybody has an account: their rows are not worth a guess.
async fn drop_first_form(transaction: &Transaction<'_>) -> Result<(), Error> {
    if holds(transaction, "exists (select from auth.users)", &[], "look whether there are accounts").await? {
        return Err(Error::Older(age::too_old()));
    }
    for table in FIRST_FORM {
        let dropped = transaction.batch_execute(&format!("drop table if exists auth.{table}")).await;
        dropped.map_err(Error::database("replace the empty tables that the database image ships"))?;
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
    for statement in own(&parsed.statements) {
        let text = adapted(statement.text, has_reader);
        let is_foreign = foreign.iter().any(|name| text.contains(&format!("function auth.{name}()")));
        if !is_foreign {
            let ran = transaction.batch_execute(&text).await;
            ran.map_err(Error::database("make the tables of schema auth"))?;
        }
    }
    Ok(())
}

/// What stands between the lines that take the service's role and give it back, but for privileges of objects to come,
/// which go to roles of the platform.
fn own<'s, 'a>(statements: &'s [Statement<'a>]) -> impl Iterator<Item = &'s Statement<'a>> {
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

/// The text for a database that may have the functions already, and may lack the role that reads.
fn adapted(text: &str, has_reader: bool) -> String {
    let text = text.replacen("create function", "create or replace function", 1);
    if has_reader { text } else { text.replace(&format!("to {READER} with"), "to current_user with") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_raises_the_tables_is_of_auth_alone() {
        for file in files(&RAISING) {
            let parsed = File::parse(file.file, file.sql).unwrap();
            let statements = of_auth_alone(&parsed.statements);
            assert!(statements.iter().any(|one| one.text.contains("auth.mfa_")), "{}", file.file);
            // What comes after them belongs to the other schema, but for the roles that it takes and gives back.
            for one in &parsed.statements[statements.len()..] {
                assert!(!one.text.contains("auth."), "{}: {}", file.file, one.text);
            }
        }
    }

    #[test]
    fn what_the_service_runs_itself_asks_for_nothing_but_its_schema() {
        for file in files(&FILES) {
            let parsed = File::parse(file.file, file.sql).unwrap();
            let texts: Vec<String> = own(&parsed.statements).map(|one| adapted(one.text, false)).collect();
            assert!(texts.iter().any(|text| text.contains("create table auth.")), "{}", file.file);
            for text in &texts {
                for word in ["create schema", "alter default privileges", "set local role", "to postgres"] {
                    assert!(!text.contains(word), "{word} in {}: {text}", file.file);
                }
            }
        }
    }
}
