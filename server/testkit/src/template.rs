//! Templates: databases that are set up once per run and cloned for each test.

use std::fs;
use std::path::{Path, PathBuf};

use migrations::{Migrator, platform_checksum, set_role_passwords};
use postgres::quote_identifier;
use sha2::{Digest, Sha256};
use tokio_postgres::Client;

use crate::server::Server;
use crate::{ROLE_PASSWORD, connect, repository};

/// Processes that share the cluster hold this advisory lock one after another: Postgres clones a database only while no
/// one else is connected to it.
const LOCK: i64 = 0x0062_6173_616c_7400;

/// The initial content of a test's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Template {
    Empty,
    Platform,
    Site,
}

/// Creates the database `name` from `template`, which is created first if it does not exist.
pub(crate) async fn clone(server: &Server, template: Template, name: &str) {
    let mut client = connect(&server.uri("postgres")).await;
    client.execute("select pg_advisory_lock($1)", &[&LOCK]).await.expect("the cluster's lock can be taken");
    let source = prepare(server, &mut client, template).await;
    create(&client, name, &source).await;
    // The lock is released with the session.
}

/// Returns the name of the database to clone. Creates that database if it does not exist.
async fn prepare(server: &Server, client: &mut Client, template: Template) -> String {
    let name = match template {
        Template::Empty => return "template0".to_owned(),
        Template::Platform => format!("template_platform_{}", fingerprint(&[])),
        Template::Site => format!("template_site_{}", fingerprint(&[migrations(), seed()])),
    };
    let known = client.query_opt("select from pg_database where datname = $1", &[&name]).await;
    if known.expect("the databases can be listed").is_some() {
        return name;
    }
    let parent = match template {
        Template::Site => Box::pin(prepare(server, client, Template::Platform)).await,
        Template::Empty | Template::Platform => "template0".to_owned(),
    };
    // It has another name until it is complete, in case the test run is killed in the meantime.
    let draft = format!("draft_{:016x}", rand::random::<u64>());
    create(client, &draft, &parent).await;
    fill(&server.uri(&draft), template).await;
    set_passwords(client).await;
    let rename = format!("alter database {} rename to {}", quote_identifier(&draft), quote_identifier(&name));
    client.batch_execute(&rename).await.expect("a template can be named");
    name
}

async fn create(client: &Client, name: &str, source: &str) {
    // As the embedded database does, it belongs to `postgres`. To copy files is faster than to write all pages to the
    // log, since this cluster forces nothing to the disk.
    let statement = format!(
        "create database {} template {} owner postgres strategy file_copy",
        quote_identifier(name),
        quote_identifier(source)
    );
    client.batch_execute(&statement).await.unwrap_or_else(|error| panic!("cannot clone {source}: {error:?}"));
}

async fn fill(uri: &str, template: Template) {
    let mut client = connect(uri).await;
    let mut migrator = Migrator::new(&mut client);
    let filled = match template {
        Template::Empty => Ok(()),
        Template::Platform => migrator.platform().await.map(drop),
        Template::Site => match migrator.project(&migrations()).await {
            Ok(_) => migrator.seed(&repository(), &files(&seed())).await.map(drop),
            Err(error) => Err(error),
        },
    };
    filled.unwrap_or_else(|error| panic!("the test template cannot be filled: {error}"));
    // This connection must have ended before the database can be renamed and cloned; Postgres waits for that.
    drop(client);
}

/// Sets the password of each login role, except the superuser, to the one that tests use.
async fn set_passwords(client: &mut Client) {
    let logins =
        client.query("select rolname from pg_roles where rolcanlogin and rolname <> current_user", &[]).await;
    let roles: Vec<String> = logins.expect("the roles can be listed").iter().map(|row| row.get(0)).collect();
    let passwords: Vec<_> = roles.iter().map(|role| (role.as_str(), ROLE_PASSWORD)).collect();
    let set = set_role_passwords(client, &passwords).await;
    set.unwrap_or_else(|error| panic!("the roles' passwords cannot be set: {error}"));
}

fn migrations() -> PathBuf {
    repository().join("schema/site/migrations")
}

fn seed() -> PathBuf {
    repository().join("schema/site/seed")
}

/// Returns the SQL files of `folder` in the order in which they are applied.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "sql")).collect();
    files.sort();
    files
}

/// Returns a hash that differs if the files have changed.
fn fingerprint(folders: &[PathBuf]) -> String {
    let mut hash = Sha256::new();
    hash.update(platform_checksum());
    for file in folders.iter().flat_map(|folder| files(folder)) {
        hash.update(
            fs::read(&file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display())),
        );
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
