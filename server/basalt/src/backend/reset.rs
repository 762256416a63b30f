//! Resets a project's database: drops, creates, migrates and seeds it. Keys and settings stay.
//!
//! A server that runs on it keeps running: its sessions are ended, and it reconnects.

use std::path::Path;
use std::time::Duration;

use migrations::{Migrator, State};
use postgres::{Client, Database, quote_identifier, quote_literal};
use tokio::time::{Instant, sleep};

use super::{Backend, Logins, consent};
use crate::console;
use crate::error::Error;
use crate::settings::{Settings, display_path};
use crate::uri;

/// How long replication of the database may take to end.
const REPLICATION_LIMIT: Duration = Duration::from_secs(10);
const REPLICATION_PAUSE: Duration = Duration::from_millis(50);

/// Drops the roles that the project has created. These roles stay: the platform's, since running servers log in as
/// them, and those that objects of other databases of the cluster depend on.
const DROP_ROLES: &str = r"
do $$
declare
  of_project name;
begin
  for of_project in
    select rolname from pg_catalog.pg_roles
    where rolname !~ '^(pg_|supabase_)'
      and rolname not in (current_user, 'postgres', 'anon', 'authenticated', 'service_role', 'authenticator',
        'dashboard_user', 'pgbouncer', 'pgsodium_keyholder', 'pgsodium_keyiduser', 'pgsodium_keymaker')
  loop
    begin
      execute pg_catalog.format('drop role %I', of_project);
    exception when dependent_objects_still_exist then null;
    end;
  end loop;
end $$";

/// The database to reset.
struct TargetDatabase {
    name: String,
    owner: String,
}

/// Asks whether the database may be deleted, unless `yes` is set, and resets it.
///
/// Errors: for a database that Basalt has not set up itself; without consent; if the server's administrator may not
/// drop or create it; all errors of migrations.
pub(crate) async fn run(
    settings: &Settings,
    backend: &Backend,
    keys: &tokens::Keys,
    yes: bool,
) -> Result<Logins, Error> {
    let target = backend.with_project(async |project| read_target(settings, project).await).await?;
    if !yes {
        confirm(settings).await?;
    }
    let is_embedded = settings.database.url.is_none();
    console::step("resetting the database");
    recreate(backend, &target, is_embedded).await?;
    remove_objects(settings)?;
    super::migrate(&with_adoption(settings), keys, backend).await
}

/// Returns the settings with the consent to set the database up, which the consent to reset it includes.
fn with_adoption(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.database.adopt = true;
    settings
}

async fn confirm(settings: &Settings) -> Result<(), Error> {
    let what = match &settings.database.url {
        None => format!("the embedded database in {}", display_path(&settings.data_dir)),
        Some(url) => uri::describe(url),
    };
    let what = format!(
        "This deletes everything in {what}: tables, users and uploaded files. Keys and settings stay; migrations, \
         seed and buckets are applied again."
    );
    consent::confirm(&what, "Continue?", "Nothing has been changed. To agree beforehand, use --yes").await
}

/// Reads name and owner of the database to reset.
///
/// Errors: for one that Basalt has not set up itself.
async fn read_target(settings: &Settings, admin: &Database) -> Result<TargetDatabase, Error> {
    let mut client: Client = admin.client().await?;
    if let Some(url) = &settings.database.url {
        let mut migrator = Migrator::new(&mut client);
        let status = migrator.status(&settings.migrations.path).await?;
        let is_adopted = status.platform.iter().any(|entry| entry.state == State::Adopted);
        if is_adopted || !migrator.is_own().await? {
            let database = uri::describe(url);
            return Err(Error::Advice(format!(
                "{database} was not set up by Basalt, which therefore does not delete it"
            )));
        }
    }
    let sql = "select datname::text, pg_catalog.pg_get_userbyid(datdba)::text from pg_catalog.pg_database \
               where datname = pg_catalog.current_database()";
    let row = client.query_one(sql, &[]).await.map_err(postgres::Error::from)?;
    Ok(TargetDatabase { name: row.get(0), owner: row.get(1) })
}

async fn recreate(backend: &Backend, target: &TargetDatabase, is_embedded: bool) -> Result<(), Error> {
    // A session cannot drop the database that it is connected to.
    let other = if target.name == "postgres" { "template1" } else { "postgres" };
    let mut server = backend.admin.clone();
    server.set("dbname", other);
    let maintenance = Database::connect(super::settings_of(server)).await?;
    let result = replace(&maintenance, target, is_embedded).await;
    maintenance.close().await;
    result
}

async fn replace(maintenance: &Database, target: &TargetDatabase, is_embedded: bool) -> Result<(), Error> {
    let client = maintenance.client().await?;
    let name = quote_identifier(&target.name);
    let allow = |allowed: bool| format!("alter database {name} with allow_connections {allowed}");
    run_one(&client, &allow(false)).await?;
    let dropped = async {
        end_replication(&client, &target.name).await?;
        run_one(&client, &format!("drop database {name} with (force)")).await
    };
    if let Err(error) = dropped.await {
        run_one(&client, &allow(true)).await?;
        return Err(error);
    }
    if is_embedded {
        run_one(&client, DROP_ROLES).await?;
    }
    run_one(&client, &format!("create database {name} with owner {}", quote_identifier(&target.owner))).await
}

async fn run_one(client: &Client, sql: &str) -> Result<(), Error> {
    Ok(client.batch_execute(sql).await.map_err(postgres::Error::from)?)
}

/// Ends the sessions that use the database's replication slots: Postgres does not drop a database whose slots are in
/// use.
async fn end_replication(client: &Client, name: &str) -> Result<(), Error> {
    let name = quote_literal(name);
    let end = format!(
        "select pg_catalog.pg_terminate_backend(active_pid) from pg_catalog.pg_replication_slots \
         where database = {name} and active_pid is not null"
    );
    let deadline = Instant::now() + REPLICATION_LIMIT;
    loop {
        let ended = client.query(&end, &[]).await.map_err(postgres::Error::from)?;
        if ended.is_empty() || Instant::now() >= deadline {
            return Ok(());
        }
        sleep(REPLICATION_PAUSE).await;
    }
}

/// Removes the files of uploads, whose rows have been deleted, and the pictures that were generated from them, if they
/// are in the data folder.
fn remove_objects(settings: &Settings) -> Result<(), Error> {
    let Some(storage) = &settings.services.storage else { return Ok(()) };
    if !storage.path.starts_with(&settings.data_dir) {
        tracing::warn!(
            "the files of uploads are not deleted, since they are outside of the project's data folder"
        );
    }
    let folders = [&storage.path, &storage.image_cache_path].into_iter();
    folders.filter(|folder| folder.starts_with(&settings.data_dir)).try_for_each(|folder| empty(folder))
}

/// Removes the content of `folder`, which need not exist.
fn empty(folder: &Path) -> Result<(), Error> {
    let removing =
        |error| Error::io(format!("remove the files of uploads in {}", display_path(folder)))(error);
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(removing)?,
    };
    for entry in entries {
        let path = entry.map_err(removing)?.path();
        // A link is removed, not followed.
        let is_folder = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        let removed = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(removing)?;
    }
    Ok(())
}
