//! Login roles for the command line, which expire. The name of each says which token has made it.

use postgres::Database;
use uuid::Uuid;

use super::tokens;
use crate::{Error, READER};

/// The beginning of the names, by which the Supabase CLI knows that it has to become `postgres`.
const PREFIX: &str = "cli_login_";
/// How long a role can log in after it was made, in seconds.
pub(crate) const LIFETIME: i64 = 300;
/// How many connections a role may have.
const CONNECTIONS: u32 = 10;

/// Makes a role for the holder of `token`, which works as `group` from the beginning of each session, and returns its
/// name. Roles that have expired are removed.
///
/// Errors: those of the database.
pub(crate) async fn create(
    database: &Database,
    token: Uuid,
    password: &str,
    group: &str,
) -> Result<String, Error> {
    let random = data_encoding::HEXLOWER.encode(&rand::random::<[u8; 8]>());
    let role = format!("{PREFIX}{}_{random}", token.simple());
    run(database, &statements(&role, password, group)).await?;
    Ok(role)
}

/// Removes all of these roles. Who is logged in stays.
///
/// Errors: those of the database.
pub(crate) async fn remove(database: &Database) -> Result<(), Error> {
    run(database, &removal("true")).await
}

/// Removes the roles whose tokens were revoked or have expired, and ends their sessions.
///
/// Errors: those of the database.
pub(crate) async fn remove_revoked(database: &Database) -> Result<(), Error> {
    let is_revoked = format!(
        "r.rolname::text ~ '^{PREFIX}[0-9a-f]{{32}}_' and not exists (\
           select from basalt_platform.access_tokens where {} and \
           pg_catalog.starts_with(r.rolname::text, '{PREFIX}' || pg_catalog.replace(id::text, '-', '') || '_'))",
        tokens::VALID
    );
    // Nobody may log in any more once the sessions are looked for.
    run(database, &for_each(&is_revoked, "execute pg_catalog.format('alter role %I nologin', name);"))
        .await?;
    let end = "begin
          perform pg_catalog.pg_terminate_backend(a.pid, 2000)
            from pg_catalog.pg_stat_activity a where a.usename = name;
        exception when insufficient_privilege then
          raise warning 'sessions of the role % go on: %', name, sqlerrm;
        end;";
    run(database, &for_each(&is_revoked, &format!("{end}{REMOVE}"))).await
}

async fn run(database: &Database, sql: &str) -> Result<(), Error> {
    Ok(database.client().await?.batch_execute(sql).await.map_err(postgres::Error::from)?)
}

/// Returns the statements that make `role`. Only the verifier of its password is sent, so that no log has the password.
fn statements(role: &str, password: &str, group: &str) -> String {
    let verifier = postgres::quote_literal(&postgres::password_verifier(password));
    let role = postgres::quote_identifier(role);
    let read_only = if group == READER { "on" } else { "off" };
    format!(
        "{removal}
        create role {role} login noinherit password {verifier} connection limit {CONNECTIONS} in role {group};
        alter role {role} set role = '{group}';
        alter role {role} set default_transaction_read_only = {read_only};
        do $$ begin execute pg_catalog.format('alter role {role} valid until %L',
          pg_catalog.now() + interval '{LIFETIME} seconds'); end $$;",
        removal = removal("r.rolvaliduntil < pg_catalog.now() - interval '1 hour'"),
    )
}

/// Removes the role `name`. What it owns becomes the administrator's.
const REMOVE: &str = "
        execute pg_catalog.format('reassign owned by %I to postgres', name);
        execute pg_catalog.format('drop owned by %I', name);
        execute pg_catalog.format('drop role %I', name);";

/// Returns the statement that removes the roles for which `condition` is true.
fn removal(condition: &str) -> String {
    for_each(condition, REMOVE)
}

/// Returns the statement that does `what` with the `name` of each role for which `condition` is true. Nodes do it one
/// after the other.
fn for_each(condition: &str, what: &str) -> String {
    format!(
        "do $$ declare name text; begin
          perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('basalt login roles'));
          for name in select r.rolname from pg_catalog.pg_roles r
            where pg_catalog.starts_with(r.rolname::text, '{PREFIX}') and ({condition}) loop
            {what}
          end loop;
        end $$;"
    )
}
