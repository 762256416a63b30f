//! The cluster's roles for administration: its superuser, and `postgres`, whom users' SQL calls the administrator.
//!
//! As on hosted Supabase, the superuser is `supabase_admin`, which owns and runs the platform, and `postgres` is no
//! superuser. In clusters of older releases, and on Postgres 15, `postgres` is the superuser: there, a role that may
//! create roles may also become one that runs programs. See `docs/decisions/0075-postgres-is-no-superuser.md`.

use std::fs;
use std::path::Path;

use postgres_protocol::password::scram_sha_256;
use tokio_postgres::Client;

use super::account::{self, Account};
use super::data_dir::{PASSWORD_FILE, password_of};
use super::error::Error;
use super::files::write_atomically;
use super::layout::cluster_in;
use postgres::conninfo::Conninfo;
use postgres::quote_literal;

/// The role as which projects' migrations and tools log in.
pub const POSTGRES: &str = "postgres";

/// The oldest major version whose `createrole` does not include every role that is no superuser.
/// Source: PostgreSQL 16, release notes.
const SAFE_CREATEROLE: u32 = 16;

/// The file in the cluster's folder with the name of its superuser. Clusters of older releases have none.
pub(super) const FILE: &str = "basalt.superuser";

/// The role that `initdb` made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Superuser {
    /// `postgres`: what projects do is done as the superuser.
    Postgres,
    /// `supabase_admin`: projects use `postgres`, which has fewer rights.
    SupabaseAdmin,
}

impl Superuser {
    /// Returns the superuser of a new cluster of Postgres `major`.
    pub(super) fn of_new(major: u32) -> Self {
        if major >= SAFE_CREATEROLE { Self::SupabaseAdmin } else { Self::Postgres }
    }

    /// Returns the superuser of `cluster`, which exists.
    pub(super) fn of(cluster: &Path) -> Result<Self, Error> {
        let file = cluster.join(FILE);
        match fs::read_to_string(&file) {
            Ok(name) if name.trim() == Self::SupabaseAdmin.name() => Ok(Self::SupabaseAdmin),
            Ok(_) => Ok(Self::Postgres),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::Postgres),
            Err(error) => Err(Error::io("read", &file)(error)),
        }
    }

    /// Writes the name into the folder of a new cluster, for [`Self::of`].
    pub(super) fn record(self, cluster: &Path, account: Option<&Account>) -> Result<(), Error> {
        let file = cluster.join(FILE);
        write_atomically(&file, format!("{}\n", self.name()).as_bytes(), 0o600)?;
        account::give(&file, account)
    }

    /// Returns the role's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Postgres => POSTGRES,
            Self::SupabaseAdmin => "supabase_admin",
        }
    }
}

/// The logins of the administrators of a cluster that another process runs.
#[derive(Debug, Clone)]
pub struct AdministratorLogins {
    /// The superuser's.
    pub superuser: Conninfo,
    /// That of the role `postgres`, which is the same in clusters of older releases.
    pub postgres: Conninfo,
}

impl AdministratorLogins {
    /// Reads them from the files of `data_dir`, for the Postgres at `port` on 127.0.0.1; `None` if they are not there.
    pub fn read(data_dir: &Path, port: u16) -> Option<Self> {
        let superuser = Superuser::of(&cluster_in(data_dir)).ok()?;
        let login = |role: &str| {
            let password = stored_password(data_dir, role)?;
            Some(Conninfo::login("127.0.0.1", port, role, &password, super::DATABASE))
        };
        Some(Self { superuser: login(superuser.name())?, postgres: login(POSTGRES)? })
    }
}

/// Returns the password of `role` that is kept in `data_dir`; `None` if there is none, or this process may not read it.
pub(super) fn stored_password(data_dir: &Path, role: &str) -> Option<String> {
    password_of(role, &fs::read_to_string(data_dir.join(PASSWORD_FILE)).ok()?)
}

/// Creates the role `postgres` of a cluster whose superuser is another one, or sets its rights and its password.
/// Databases that belong to the superuser become its own, as on hosted Supabase: their owner may set their parameters
/// and create schemas.
///
/// Unlike there, it may not replicate: the name of a slot's plugin may be the path of any library, such as an uploaded
/// object, and a base backup has all files of the cluster. A superuser may make other roles that replicate.
///
/// It may have a part of the connections only: what functions and other programs open without end must leave the others
/// to the services.
///
/// With `guards_superuser`, the superuser's sessions run no event triggers and search no schema of a project.
///
/// Sources: Supabase's documentation, "Postgres roles"; supabase/postgres, migration `demote-postgres`.
pub(super) async fn set_up_postgres(
    client: &Client,
    password: &str,
    is_superuser: bool,
    guards_superuser: bool,
) -> Result<(), tokio_postgres::Error> {
    let question = "select pg_is_in_recovery(), current_setting('server_version_num')::int, \
                    current_setting('max_connections')::int";
    let state = client.query_one(question, &[]).await?;
    if state.get(0) {
        // A standby has the roles of its primary.
        return Ok(());
    }
    let has_switch = state.get::<_, i32>(1) >= 170_000;
    let rights = if is_superuser { "superuser" } else { "nosuperuser" };
    let connections = connections_of_postgres(state.get(2));
    let verifier = quote_literal(&scram_sha_256(password.as_bytes()));
    let statements = format!(
        "do $$
        declare
          database name;
        begin
          if not exists (select from pg_catalog.pg_roles where rolname = '{POSTGRES}') then
            create role {POSTGRES};
            comment on role {POSTGRES} is 'Administrator that owns what migrations create';
          end if;
          for database in
            select datname from pg_catalog.pg_database d join pg_catalog.pg_roles r on r.oid = d.datdba
            where r.rolname = current_user and not d.datistemplate
          loop
            execute pg_catalog.format('alter database %I owner to {POSTGRES}', database);
          end loop;
        end $$;
        alter role {POSTGRES} with login {rights} createdb createrole noreplication bypassrls
          connection limit {connections} password {verifier};"
    );
    client.batch_execute(&statements).await?;
    if !guards_superuser {
        return Ok(());
    }
    let mut guards = "alter role current_user set search_path = pg_catalog;".to_owned();
    if has_switch {
        guards.push_str("alter role current_user set event_triggers = off");
    }
    client.batch_execute(&guards).await
}

/// Gives the role `postgres` its part of the connections anew, after their number has changed.
pub(super) async fn limit_postgres(client: &Client) -> Result<(), tokio_postgres::Error> {
    let question = "select pg_catalog.current_setting('max_connections')::int";
    let connections = connections_of_postgres(client.query_one(question, &[]).await?.get(0));
    client.batch_execute(&format!("alter role {POSTGRES} connection limit {connections}")).await
}

/// How many connections the services use at most that log in as other roles: their pools have about 70 together, and
/// the login of the extension http 8.
pub(super) const CONNECTIONS_OF_SERVICES: i32 = 80;

/// Returns how many of `max_connections` connections the role `postgres` may have.
fn connections_of_postgres(max_connections: i32) -> i32 {
    (max_connections - CONNECTIONS_OF_SERVICES).max(max_connections / 3)
}
