//! Settings that the database holds: of the login role, and those that a function of the operator's makes.
//!
//! Source: PostgREST's documentation, "In-Database Configuration". What is set for the role in this database wins
//! over what is set for the role anywhere, and that over the function.

use database::{Database, Row, Transaction, quote_identifier};

use super::{InvalidSetting, Settings};

/// What can be set in the database; all else could not be changed while the server runs.
const NAMES: [&str; 28] = [
    "client_error_verbosity",
    "db_aggregates_enabled",
    "db_anon_role",
    "db_extra_search_path",
    "db_hoisted_tx_settings",
    "db_max_rows",
    "db_plan_enabled",
    "db_pre_config",
    "db_pre_request",
    "db_prepared_statements",
    "db_read_sticky_interval",
    "db_root_spec",
    "db_safe_update",
    "db_schemas",
    "db_tx_end",
    "jwt_aud",
    "jwt_cache_max_entries",
    "jwt_cache_max_lifetime",
    "jwt_role_claim_key",
    "jwt_secret",
    "jwt_secret_is_base64",
    "openapi_mode",
    "openapi_security_active",
    "openapi_server_proxy_uri",
    "server_cors_allowed_origins",
    "server_timing_enabled",
    "server_trace_header",
    "url_use_legacy_target_names",
];

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
    Database(#[from] database::Error),
    /// One of them cannot be used.
    #[error("pgrst.{0}")]
    Invalid(#[from] InvalidSetting),
}

/// `base` with what the database adds to it or changes of it.
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
        let names = format!("{{{}}}", NAMES.join(","));
        transaction = transaction
            .statement(format!("select {}()", parts.join(".")), Vec::new())
            .statement(OF_FUNCTION, vec![Some(names.into_bytes().into())]);
    } else {
        transaction = transaction.leaves_nothing();
    }
    let answer = database.run(&transaction.statement(OF_ROLE, Vec::new())).await?;
    let function_and_role = answer.statements().iter().skip(usize::from(base.db_pre_config.is_some()));
    for row in function_and_role.flat_map(|rows| rows.iter()) {
        if let Some((name, value)) = pair(row) {
            settings.set(name, value)?;
        }
    }
    Ok(settings)
}

fn pair(row: &Row) -> Option<(&str, &str)> {
    let (name, value) = (row.text(0)?, row.text(1)?);
    NAMES.contains(&name).then_some((name, value))
}
