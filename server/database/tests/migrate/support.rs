//! Databases without anything in them, and folders to fill with migrations.

use std::path::Path;

use tempfile::TempDir;
use tokio_postgres::{Client, Config, NoTls};

/// An empty database of the tests' cluster.
pub(crate) struct Bare {
    config: Config,
}

impl Bare {
    pub(crate) async fn create() -> Self {
        let uri =
            std::env::var("BASALT_TEST_DATABASE_URL").expect("BASALT_TEST_DATABASE_URL names a superuser");
        let mut config: Config = uri.parse().unwrap();
        let name = format!("migrate_{}", uuid::Uuid::new_v4().simple());
        let client = connect(&config).await;
        client.batch_execute(&format!("create database {name} template template0")).await.unwrap();
        config.dbname(&name);
        Self { config }
    }

    /// How to connect as the superuser.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// A connection as the superuser.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.config).await
    }

    /// A login role of this test's own, since roles belong to the cluster and not to the database.
    pub(crate) async fn role(&self, prefix: &str) -> String {
        let role = format!("{prefix}_{}", uuid::Uuid::new_v4().simple());
        self.client().await.batch_execute(&format!("create role {role} login")).await.unwrap();
        role
    }

    pub(crate) async fn drop_role(&self, role: &str) {
        self.client().await.batch_execute(&format!("drop role {role}")).await.unwrap();
    }
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A folder that goes with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, in place of what is there.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// The single text that `sql` gives.
pub(crate) async fn text(client: &Client, sql: &str) -> String {
    client.query_typed(sql, &[]).await.unwrap()[0].get(0)
}

/// The single number that `sql` gives.
pub(crate) async fn count(client: &Client, sql: &str) -> usize {
    let number: i64 = client.query_typed(&format!("select ({sql})::bigint"), &[]).await.unwrap()[0].get(0);
    usize::try_from(number).unwrap()
}
