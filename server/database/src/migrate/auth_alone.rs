//! Schema `auth` alone, made by the role that owns it and that may do nothing else: for a server in the place of Supabase
//! Auth, on a database whose platform is somebody else's.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use super::apply::{self, Limits};
use super::error::Error;
use super::file::File;
use super::platform::{self, PlatformFile};
use super::split::Statement;

/// The files that make the tables.
const FILES: [&str; 2] = ["0003_auth.sql", "0004_auth_factors.sql"];
/// Whom the files let read the tables.
const READER: &str = "postgres";

/// One row: whether there are sessions, whether the tables are up to date, whether there is a table of users, and whether
/// there is a role that the files grant reading to.
const LOOK: &str = "select
  to_regclass('auth.sessions') is not null,
  exists (select from pg_catalog.pg_attribute
    where attrelid = to_regclass('auth.custom_oauth_providers') and attname = 'custom_claims_allowlist'),
  to_regclass('auth.users') is not null,
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
    let rows = transaction.query_typed(LOOK, &[(&READER, Type::TEXT)]).await;
    let rows = rows.map_err(Error::database("look at schema auth"))?;
    let Some(row) = rows.first() else { return Ok(false) };
    let (has_sessions, is_current, has_users): (bool, bool, bool) = (row.get(0), row.get(1), row.get(2));
    let (has_reader, has_schema): (bool, bool) = (row.get(3), row.get(4));
    if has_sessions {
        return if is_current { Ok(false) } else { Err(older()) };
    }
    if !has_schema {
        let created = transaction.batch_execute("create schema auth").await;
        created.map_err(Error::database("create schema auth, which the database lacks"))?;
    }
    if has_users {
        drop_first_form(&transaction).await?;
    }
    let rows = transaction.query_typed(FOREIGN, &[]).await;
    let rows = rows.map_err(Error::database("look at the functions of schema auth"))?;
    let foreign: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    for file in platform::FILES.iter().filter(|file| FILES.contains(&file.file)) {
        run(&transaction, file, &foreign, has_reader).await?;
    }
    transaction.commit().await.map_err(Error::database("commit the tables of schema auth"))?;
    tracing::info!("made the tables of schema auth");
    Ok(true)
}

/// Errors: [`Error::Older`] if anybody has an account: their rows are not worth a guess.
async fn drop_first_form(transaction: &Transaction<'_>) -> Result<(), Error> {
    let rows = transaction.query_typed("select exists (select from auth.users)", &[]).await;
    let rows = rows.map_err(Error::database("look whether there are accounts"))?;
    if rows.first().is_none_or(|row| row.get(0)) {
        return Err(older());
    }
    for table in FIRST_FORM {
        let dropped = transaction.batch_execute(&format!("drop table if exists auth.{table}")).await;
        dropped.map_err(Error::database("replace the empty tables that the database image ships"))?;
    }
    Ok(())
}

fn older() -> Error {
    Error::Older(
        "schema \"auth\" of this database is older than this release needs. Let a current release of Supabase Auth \
         (GoTrue, `auth migrate`) migrate this database once, then start again"
            .to_owned(),
    )
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
    fn what_the_service_runs_itself_asks_for_nothing_but_its_schema() {
        for file in platform::FILES.iter().filter(|file| FILES.contains(&file.file)) {
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
