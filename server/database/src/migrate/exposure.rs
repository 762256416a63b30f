//! Whether new tables are reachable through the API without a grant: the default privileges of schema `public`.

use tokio_postgres::Client;

use super::apply::{self, Limits};
use super::error::Error;

/// Reports whether what the client's role creates in schema `public` is reachable by the API's roles without a grant.
///
/// Errors: [`Error::Database`].
pub async fn exposes_new_tables(client: &Client) -> Result<bool, Error> {
    let sql = "select exists (
                 select from pg_catalog.pg_default_acl d cross join pg_catalog.aclexplode(d.defaclacl) a
                   join pg_catalog.pg_roles r on r.oid = a.grantee
                 where d.defaclrole = (select oid from pg_catalog.pg_roles where rolname = current_user)
                   and d.defaclnamespace = 'public'::pg_catalog.regnamespace and d.defaclobjtype = 'r'
                   and r.rolname in ('anon', 'authenticated') and a.privilege_type = 'SELECT')";
    let rows = client.query_typed(sql, &[]).await.map_err(Error::database("read the default privileges"))?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}

/// Makes what the client's role creates in schema `public` from now on reachable by the API's roles without a grant, or not
/// (`api.auto_expose_new_tables` of the Supabase CLI). Tables that exist keep their rights.
///
/// As on hosted Supabase, functions remain open to everybody, since Postgres lets everybody call new ones; and what is no
/// access to rows is not taken away.
///
/// Errors: [`Error::Busy`], [`Error::Database`].
pub async fn expose_new_tables(client: &mut Client, exposed: bool) -> Result<(), Error> {
    if exposes_new_tables(client).await? == exposed {
        return Ok(());
    }
    let changes = match exposed {
        true => "grant all on tables to|grant all on sequences to|grant all on routines to",
        false => {
            "revoke select, insert, update, delete on tables from|revoke usage, select on sequences from|\
             revoke execute on routines from"
        }
    };
    let statements = changes.split('|').map(|change| {
        format!("alter default privileges in schema public {change} anon, authenticated, service_role;")
    });
    let transaction = apply::begin(client, &Limits::default()).await?;
    let doing = "change the default privileges";
    transaction.batch_execute(&statements.collect::<String>()).await.map_err(Error::database(doing))?;
    transaction.commit().await.map_err(Error::database(doing))
}
