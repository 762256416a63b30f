//! Whether new tables are reachable through the API without a grant: the default privileges of schema `public`.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::apply::{self, Limits};
use super::error::Error;
use postgres::quote_identifier;

/// The setting's name in `basalt.applied_settings`.
const NAME: &str = "api.auto_expose_new_tables";
/// Whether the value `$2` of the setting is the one that was applied last.
const IS_APPLIED: &str =
    "select exists (select from basalt.applied_settings where name = $1::text and value = $2::text)";
const RECORD: &str = "insert into basalt.applied_settings (name, value) values ($1::text, $2::text)
   on conflict (name) do update set value = excluded.value";

/// Reports whether what `creator` creates in schema `public` is reachable by the API's roles without a grant.
///
/// Errors: [`Error::Database`].
pub async fn exposes_new_tables(client: &Client, creator: &str) -> Result<bool, Error> {
    let sql = "select exists (
                 select from pg_catalog.pg_default_acl d cross join pg_catalog.aclexplode(d.defaclacl) a
                   join pg_catalog.pg_roles r on r.oid = a.grantee
                 where d.defaclrole = (select oid from pg_catalog.pg_roles where rolname = $1::text)
                   and d.defaclnamespace = pg_catalog.to_regnamespace('public') and d.defaclobjtype = 'r'
                   and r.rolname in ('anon', 'authenticated') and a.privilege_type = 'SELECT')";
    let rows = client.query_typed(sql, &[(&creator, Type::TEXT)]).await;
    let rows = rows.map_err(Error::database("read the default privileges"))?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}

/// Makes what `creator` creates in schema `public` from now on reachable by the API's roles without a grant, or not
/// (`api.auto_expose_new_tables` of the Supabase CLI), if that was not what was set last. Tables that exist keep their
/// rights, and so does what migrations have changed since then.
///
/// As on hosted Supabase, functions remain open to everybody, since Postgres lets everybody call new ones; and what is
/// no access to rows is not taken away.
///
/// Errors: [`Error::Busy`], [`Error::Database`].
pub async fn expose_new_tables(client: &mut Client, creator: &str, exposed: bool) -> Result<(), Error> {
    let doing = "change the default privileges";
    let value = exposed.to_string();
    let transaction = apply::begin(client, &Limits::default()).await?;
    let setting: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
        [(&NAME, Type::TEXT), (&value, Type::TEXT)];
    let rows = transaction.query_typed(IS_APPLIED, &setting).await.map_err(Error::database(doing))?;
    if rows.first().is_some_and(|row| row.get(0)) {
        return Ok(());
    }
    let changes = match exposed {
        true => "grant all on tables to|grant all on sequences to|grant all on routines to",
        false => {
            "revoke select, insert, update, delete on tables from|revoke usage, select on sequences from|\
             revoke execute on routines from"
        }
    };
    let creator = quote_identifier(creator);
    let statements = changes.split('|').map(|change| {
        format!(
            "alter default privileges for role {creator} in schema public {change} anon, authenticated, service_role;"
        )
    });
    transaction.batch_execute(&statements.collect::<String>()).await.map_err(Error::database(doing))?;
    transaction.query_typed(RECORD, &setting).await.map_err(Error::database(doing))?;
    transaction.commit().await.map_err(Error::database(doing))
}
