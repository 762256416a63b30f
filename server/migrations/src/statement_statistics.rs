//! The extension pg_stat_statements, which every hosted project has from its beginning: the Supabase CLI's `inspect`,
//! for example, reads it.
//!
//! It is looked for at each start: whether the server preloads its library is a matter of its settings, which change.
//! Without the library, whatever reads the extension would fail, so that it is not created there.

use tokio_postgres::Client;

use super::apply::{self, Limits};
use super::error::Error;
use super::holds;

/// The functions of the extension that do not belong to role `postgres` itself, as `p`, and that role, as `r`.
const FUNCTIONS: &str = "pg_catalog.pg_proc p
    join pg_catalog.pg_depend d
      on d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = p.oid and d.deptype = 'e'
    join pg_catalog.pg_extension e
      on d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass and d.refobjid = e.oid
    join pg_catalog.pg_roles r on r.rolname = 'postgres' and r.oid <> p.proowner
    where e.extname = 'pg_stat_statements'";

/// Returns the condition that the extension can be created here, is missing or has lost its grants in an upgrade of
/// Postgres, and that the database is not one of hosted Supabase.
fn is_wanted() -> String {
    format!(
        r"(select rolsuper from pg_catalog.pg_roles where rolname = current_user)
        and pg_catalog.to_regnamespace('extensions') is not null
        and exists (
          select from pg_catalog.pg_available_extensions a
          where a.name = 'pg_stat_statements' and (a.installed_version is null or exists (
            select from {FUNCTIONS} and not pg_catalog.has_function_privilege(r.oid, p.oid, 'execute')
          ))
        )
        and exists (
          select from pg_catalog.pg_settings where name = 'shared_preload_libraries' and setting ~ '\mpg_stat_statements\M'
        )
        and not exists (select from basalt.platform_migrations where version = '0002' and adopted)"
    )
}

/// Returns the statement that grants `postgres` the execution of the extension's functions, as on hosted Supabase.
fn grant() -> String {
    change_rights("grant execute on function %s to postgres")
}

/// Returns the statement that takes back what [`ensure`] has granted.
pub fn revoke() -> String {
    change_rights("revoke execute on function %s from postgres")
}

/// Returns the statement that runs `change`, a format, for each of the extension's functions.
fn change_rights(change: &str) -> String {
    format!(
        "do $$
        declare
          statement text;
        begin
          for statement in select pg_catalog.format('{change}', p.oid::pg_catalog.regprocedure) from {FUNCTIONS} loop
            execute statement;
          end loop;
        end $$"
    )
}

/// Creates the extension, or grants what is missing of it, if the server preloads its library. That Postgres refuses is
/// only logged.
pub(super) async fn ensure(client: &mut Client, limits: &Limits) -> Result<(), Error> {
    if !holds(&*client, &is_wanted(), &[], "look for the extension pg_stat_statements").await? {
        return Ok(());
    }
    let transaction = apply::begin(client, limits).await?;
    let create = "create extension if not exists pg_stat_statements schema extensions";
    match transaction.batch_execute(&format!("{create}; {}", grant())).await {
        Ok(()) => transaction.commit().await.map_err(Error::database("create an extension"))?,
        Err(error) => tracing::warn!(%error, "the extension pg_stat_statements cannot be created"),
    }
    Ok(())
}
