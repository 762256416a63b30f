//! A real Postgres for the server's tests: one cluster per test run, a database of its own for each test.
//!
//! `make test` starts the cluster (`with-cluster`) and names it in `BASALT_TEST_DATABASE_URL`. Without that variable,
//! as under a plain `cargo test`, each test process starts its own, which ends with the process.
//! `BASALT_TEST_POSTGRES_BIN`, else `POSTGRES_BIN`, chooses the version of Postgres.
//!
//! Whatever fails here panics: a test that has no database cannot go on.

// Only tests call this crate, and a test fails by panicking.
#![expect(clippy::expect_used, clippy::panic, reason = "a test without its database can only fail")]

mod cleaner;
mod extensions;
mod server;
mod template;

use std::path::PathBuf;

use database::cluster::Search;
use tokio_postgres::{Client, NoTls};

pub use extensions::has_extension;
use server::Server;
use template::Template;

/// The password that every login role has in a test's database, but for the superuser.
pub const ROLE_PASSWORD: &str = "testkit";

/// The superuser's URL of the cluster that tests share.
pub const DATABASE_URL_VARIABLE: &str = "BASALT_TEST_DATABASE_URL";

/// Returns the Postgres that tests run on, as a `make test` of this repository finds it.
pub fn search() -> Search {
    let mut search = Search::new(Some(&repository()));
    if let Some(folder) = std::env::var_os("BASALT_TEST_POSTGRES_BIN").filter(|value| !value.is_empty()) {
        search.folder = Some(PathBuf::from(folder));
    }
    search
}

/// Returns the repository's root.
pub(crate) fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A database of its own for one test. Dropped in the background when this value is.
#[derive(Debug)]
pub struct Database {
    server: &'static Server,
    name: String,
}

impl Database {
    /// Returns a database with the platform's schema.
    pub async fn create() -> Self {
        Self::clone_of(Template::Platform).await
    }

    /// Returns a database with the platform's schema and the site's, seeded.
    pub async fn with_site() -> Self {
        Self::clone_of(Template::Site).await
    }

    /// Returns a database as `create database` makes it, for tests of migrations. The roles are the cluster's, so those
    /// of the platform may be there already.
    pub async fn empty() -> Self {
        Self::clone_of(Template::Empty).await
    }

    async fn clone_of(template: Template) -> Self {
        let server = server::shared().await;
        let name = format!("test_{:016x}", rand::random::<u64>());
        template::clone(server, template, &name).await;
        Self { server, name }
    }

    /// Returns the database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the superuser's URL.
    pub fn uri(&self) -> String {
        self.server.uri(&self.name)
    }

    /// Returns the URL of a login role, such as `authenticator`.
    pub fn uri_as(&self, role: &str) -> String {
        self.server.uri_as(role, ROLE_PASSWORD, &self.name)
    }

    /// Returns a connection of the superuser.
    pub async fn client(&self) -> Client {
        connect(&self.uri()).await
    }

    /// Returns a connection of a login role.
    pub async fn client_as(&self, role: &str) -> Client {
        connect(&self.uri_as(role)).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.server.discard(&self.name);
    }
}

/// Connects to `uri`; the connection runs on the calling test's runtime.
pub(crate) async fn connect(uri: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(uri, NoTls).await.expect("the test's Postgres takes connections");
    tokio::spawn(connection);
    client
}
