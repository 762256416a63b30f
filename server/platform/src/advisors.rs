//! The advisors: what could be wrong with the database and the settings, by the names of Supabase's splinter.
//!
//! Each lint is one statement in `advisors/lints/`; those about settings of auth are in `advisors/auth.rs`. What several
//! lints share is in files whose names begin with `_`.

mod auth;

use postgres::{Database, Row, Transaction, text};
use serde_json::Value;

use crate::managed::{Section, ServiceConfig};
use crate::parts::assembled;

/// How long all lints together may take.
const TIME_LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

macro_rules! lints {
    ($($file:literal),* $(,)?) => { [$(($file, include_str!(concat!("advisors/lints/", $file, ".sql")))),*] };
}

/// What several lints share: conditions on the schema of an object, and on where it comes from.
const PARTS: [(&str, &str); 3] = [
    ("api_schemas", include_str!("advisors/lints/_api_schemas.sql")),
    ("not_platform_schemas", include_str!("advisors/lints/_not_platform_schemas.sql")),
    ("not_of_extension", include_str!("advisors/lints/_not_of_extension.sql")),
];

/// The lints about what strangers can read.
const OPEN: [&str; 2] = ["0002_auth_users_exposed", "0013_rls_disabled_in_public"];

/// The lint that is only for projects with anonymous sign-ins.
const ANONYMOUS: &str = "0012_auth_allow_anonymous_sign_ins";

/// All lints, by number.
const LINTS: [(&str, &str); 31] = lints![
    "0001_unindexed_foreign_keys",
    "0002_auth_users_exposed",
    "0003_auth_rls_initplan",
    "0004_no_primary_key",
    "0005_unused_index",
    "0006_multiple_permissive_policies",
    "0007_policy_exists_rls_disabled",
    "0008_rls_enabled_no_policy",
    "0009_duplicate_index",
    "0010_security_definer_view",
    "0011_function_search_path_mutable",
    "0012_auth_allow_anonymous_sign_ins",
    "0013_rls_disabled_in_public",
    "0014_extension_in_public",
    "0015_rls_references_user_metadata",
    "0016_materialized_view_in_api",
    "0017_foreign_table_in_api",
    "0018_unsupported_reg_types",
    "0019_insecure_queue_exposed_in_api",
    "0020_table_bloat",
    "0021_fkey_to_auth_unique",
    "0022_extension_versions_outdated",
    "0023_sensitive_columns_exposed",
    "0024_rls_policy_always_true",
    "0025_public_bucket_allows_listing",
    "0026_pg_graphql_anon_table_exposed",
    "0027_pg_graphql_authenticated_table_exposed",
    "0028_anon_security_definer_function_executable",
    "0029_authenticated_security_definer_function_executable",
    "0030_invalid_index",
    "0031_unused_replication_slot",
];

settings::words! {
    /// What a lint is about.
    pub enum Category: "security or performance" {
        /// Who can read or change what.
        Security = "security",
        /// How fast it is.
        Performance = "performance",
    }
}

/// Returns what the lints of `category` report of `database`, whose login can read everything, and of the settings of
/// auth and REST.
///
/// Errors: those of the database.
pub async fn advise(
    database: &Database,
    category: Category,
    config: &ServiceConfig,
) -> Result<Vec<Value>, postgres::Error> {
    let auth = config.values(Section::Auth);
    let is_on = auth.get("external_anonymous_users_enabled").and_then(Value::as_bool) == Some(true);
    let of_database = run(database, category, config, |name| is_on || name != ANONYMOUS).await?;
    let mut found = Vec::new();
    if category == Category::Security {
        found.extend(auth::advise(&auth));
    }
    found.extend(of_database);
    Ok(found)
}

/// Returns what the lints report of tables and views that strangers can read: each with its name and, in `metadata`,
/// the object's `schema` and `name`.
///
/// Errors: those of the database.
pub async fn open_to_strangers(
    database: &Database,
    config: &ServiceConfig,
) -> Result<Vec<Value>, postgres::Error> {
    run(database, Category::Security, config, |name| OPEN.contains(&name)).await
}

/// Runs the lints of `category` that are `wanted` by their names.
async fn run(
    database: &Database,
    category: Category,
    config: &ServiceConfig,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Value>, postgres::Error> {
    let rest = config.values(Section::Rest);
    let schemas = rest.get("db_schema").and_then(Value::as_str).unwrap_or("public");
    let statements = LINTS.iter().filter(|(name, _)| wanted(name));
    let parts: Vec<String> = statements.map(|(_, sql)| format!("({}\n)", assembled(sql, &PARTS))).collect();
    let sql = format!(
        "select pg_catalog.to_json(lint) from ({}) as lint where pg_catalog.upper($1) = any (lint.categories) \
          order by lint.level = 'ERROR' desc, lint.level = 'WARN' desc, lint.name, lint.cache_key",
        parts.join("\nunion all\n")
    );
    let transaction = Transaction::anonymous()
        .read_only()
        .setting("search_path", "")
        .setting("pgrst.db_schemas", schemas)
        .statement(sql, vec![text(category.name())])
        .timeout(TIME_LIMIT);
    let reply = database.run(&transaction).await?;
    let read = |row: &Row| serde_json::from_slice(row.get(0).unwrap_or_default());
    let reports: Result<Vec<Value>, _> = reply.rows().iter().map(read).collect();
    reports.map_err(|error| postgres::Error::Protocol(error.to_string()))
}
