//! A real Postgres for the server's tests: one cluster for each test run, a database of its own for each test.
//!
//! `make test` starts the cluster (`with-cluster`) and passes its URL in `BASALT_TEST_DATABASE_URL`. Without that
//! variable, as with a plain `cargo test`, each test process starts its own cluster, which ends with the process.
//! `BASALT_TEST_POSTGRES_BIN`, else `POSTGRES_BIN`, chooses the version of Postgres.
//!
//! All failures here are panics: a test without a database cannot continue.

// Only tests call this crate, and a test fails by panicking.
#![expect(clippy::expect_used, clippy::panic, reason = "a test without its database can only fail")]

mod cleaner;
mod extensions;
mod server;
mod skip;
mod template;

use std::path::PathBuf;

use embedded::Search;
use tokio_postgres::{Client, NoTls};

// Tests of services that need a cluster of their own, or the migrations.
pub use embedded;
pub use extensions::has_extension;
pub use migrations;
use server::Server;
pub use skip::skip;
use template::Template;

/// The password of every login role in a test's database, except the superuser.
pub const ROLE_PASSWORD: &str = "testkit";

/// The superuser's URL of the cluster that tests share.
pub const DATABASE_URL_VARIABLE: &str = "BASALT_TEST_DATABASE_URL";

/// Returns where to look for the tests' Postgres, as `make test` of this repository does.
pub fn search() -> Search {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = ["BASALT_TEST_POSTGRES_BIN", "POSTGRES_BIN"].into_iter().find_map(set).map(PathBuf::from);
    Search { folder, ..Search::new(Some(&repository())) }
}

/// Returns the repository's root.
pub(crate) fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A separate database for one test. It is dropped in the background when this value is.
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

    /// Returns a database with the platform's schema, and the site's schema and rows.
    pub async fn with_site() -> Self {
        Self::clone_of(Template::Site).await
    }

    /// Returns a database as `create database` creates it, for tests of migrations. Roles belong to the cluster, so
    /// those of the platform may exist already.
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
