//! Settings that the database holds: of the login role, and those that a function of the operator's makes.
//!
//! Source: PostgREST's documentation, "In-Database Configuration". What is set for the role in this database wins
//! over what is set for the role anywhere, and that over the function.

use ::settings::{Invalid, Table as _};
use postgres::{Database, Row, Transaction, quote_identifier};

use super::Settings;

/// Settings of the login role, the ones for this database last.
const OF_ROLE: &str = "select substr(split_part(setting, '=', 1), 7), substr(setting, strpos(setting, '=') + 1) \
     from pg_catalog.pg_db_role_setting s cross join lateral unnest(s.setconfig) as setting \
     where s.setrole = (select oid from pg_catalog.pg_roles where rolname = current_user) \
     and s.setdatabase in (0, (select oid from pg_catalog.pg_database where datname = current_database())) \
     and starts_with(setting, 'pgrst.') order by s.setdatabase";

/// What a function has set in this transaction. A setting that once was made on a connection is empty there, not
/// absent.
const OF_FUNCTION: &str =
    "select name, nullif(current_setting('pgrst.' || name, true), '') from unnest($1::text[]) as name";

/// Why the settings could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The database failed, or the function did.
    #[error("the settings in the database could not be read: {0}")]
    Database(#[from] postgres::Error),
    /// One of them cannot be used.
    #[error("in the database: {0}")]
    Invalid(#[from] Invalid),
}

/// Returns `base` with what the database adds to it or changes of it.
///
/// Errors: [`ReadError`].
pub(crate) async fn read(database: &Database, base: &Settings) -> Result<Settings, ReadError> {
    let mut settings = base.clone();
    if !base.db_config {
        return Ok(settings);
    }
    let mut transaction = Transaction::anonymous().read_only().on_primary();
    if let Some(function) = &base.db_pre_config {
        let parts: Vec<String> = function.splitn(2, '.').map(quote_identifier).collect();
        let names = format!("{{{}}}", names().collect::<Vec<_>>().join(","));
        transaction = transaction
            .statement(format!("select {}()", parts.join(".")), Vec::new())
            .statement(OF_FUNCTION, vec![Some(names.into_bytes().into())]);
    } else {
        transaction = transaction.leaves_session_unchanged();
    }
    let reply = database.run_reserved(&transaction.statement(OF_ROLE, Vec::new())).await?;
    let function_and_role = reply.statements().iter().skip(usize::from(base.db_pre_config.is_some()));
    for row in function_and_role.flat_map(|rows| rows.iter()) {
        if let Some((name, value)) = pair(row) {
            settings.set(name, value)?;
        }
    }
    Ok(settings)
}

fn pair(row: &Row) -> Option<(&str, &str)> {
    let (name, value) = (row.text(0)?, row.text(1)?);
    names().any(|known| known == name).then_some((name, value))
}

/// Returns the names of what can be set in the database; all else could not be changed while the server runs.
fn names() -> impl Iterator<Item = String> {
    let reread = Settings::settings().filter(|setting| setting.is_reread);
    let names = reread.flat_map(|setting| setting.variables);
    names.map(|variable| variable.trim_start_matches("PGRST_").to_ascii_lowercase())
}
