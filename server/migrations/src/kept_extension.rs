//! Statements about extensions whose SQL the database itself keeps: those that Basalt's `pg_tle` has installed.
//!
//! Upstream's `pg_tle` has Postgres find them. Without its module, `create extension` knows only the files of the
//! server, so that the statements of migrations and seeds are run by functions of schema `pgtle`, with the rights of
//! the session.

use tokio_postgres::GenericClient;
use tokio_postgres::types::{ToSql, Type};

use super::error::Error;
use super::holds;
use super::privileged::Privileged;

/// The function by which Basalt's own `pg_tle` is known.
const CREATE: &str = "pgtle.create_extension(text,text,text,boolean,boolean)";

/// Reports whether the statement is about an extension that the database keeps: one that can be created from there, or
/// that has been.
pub(super) async fn is_kept(client: &impl GenericClient, statement: &Privileged) -> Result<bool, Error> {
    let (names, condition) = match statement {
        Privileged::CreateExtension { name, .. } => (
            std::slice::from_ref(name),
            "exists (select from pgtle.controls where name = any ($1)) \
               and not exists (select from pg_catalog.pg_available_extensions where name = any ($1))",
        ),
        Privileged::ChangeExtension { names, change: "drop" | "drop cascade" | "version", .. } => (
            &names[..],
            "pg_catalog.cardinality($1) = (select count(*) from pgtle.created where name = any ($1))",
        ),
        _ => return Ok(false),
    };
    let doing = "look for an extension that the database keeps";
    let has_functions = "pg_catalog.to_regprocedure($1) is not null";
    if !holds(client, has_functions, &[(&CREATE, Type::TEXT)], doing).await? {
        return Ok(false);
    }
    holds(client, condition, &[(&names, Type::TEXT_ARRAY)], doing).await
}

/// Has the statement carried out.
pub(super) async fn run(
    client: &impl GenericClient,
    statement: &Privileged,
) -> Result<(), tokio_postgres::Error> {
    match statement {
        Privileged::CreateExtension { name, schema, version, cascade, if_not_exists } => {
            let sql = "select pgtle.create_extension($1, $2, $3, $4, $5)";
            let parameters: [(&(dyn ToSql + Sync), Type); 5] = [
                (name, Type::TEXT),
                (schema, Type::TEXT),
                (version, Type::TEXT),
                (cascade, Type::BOOL),
                (if_not_exists, Type::BOOL),
            ];
            client.query_typed(sql, &parameters).await.map(drop)
        }
        Privileged::ChangeExtension { names, change: "version", value } => {
            let sql = "select pgtle.update_extension(name, $2) from pg_catalog.unnest($1) as name";
            client.query_typed(sql, &[(names, Type::TEXT_ARRAY), (value, Type::TEXT)]).await.map(drop)
        }
        Privileged::ChangeExtension { names, change, .. } => {
            let sql = "select pgtle.drop_extension(name, $2) from pg_catalog.unnest($1) as name";
            let with_dependents = *change == "drop cascade";
            let parameters: [(&(dyn ToSql + Sync), Type); 2] =
                [(names, Type::TEXT_ARRAY), (&with_dependents, Type::BOOL)];
            client.query_typed(sql, &parameters).await.map(drop)
        }
        _ => Ok(()),
    }
}
