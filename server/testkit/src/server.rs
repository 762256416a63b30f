//! The cluster that the tests of this process use.

use std::env;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use embedded::Cluster;
use postgres::conninfo::Conninfo;
use tokio::sync::OnceCell;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::cleaner::Cleaner;
use crate::{DATABASE_URL_VARIABLE, search};

static SHARED: OnceCell<Server> = OnceCell::const_new();

/// A cluster, and the login of its superuser.
#[derive(Debug)]
pub(crate) struct Server {
    host: String,
    port: u16,
    superuser: String,
    password: String,
    cleaner: Cleaner,
}

/// Returns the cluster in the environment variable, else one that only this process uses.
pub(crate) async fn shared() -> &'static Server {
    SHARED
        .get_or_init(|| async {
            let url = env::var(DATABASE_URL_VARIABLE).ok().filter(|url| !url.is_empty());
            let url = match url {
                Some(url) => url,
                None => tokio::task::spawn_blocking(start_own)
                    .await
                    .expect("the thread that starts Postgres ends"),
            };
            Server::new(&url)
        })
        .await
}

/// Starts a cluster that ends with this process, and returns the superuser's URL.
///
/// It runs on a separate thread: each test has its own runtime, and the end of the first one must not end the cluster.
fn start_own() -> String {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime for the test's Postgres can be made");
        runtime.block_on(async move {
            let cluster = Cluster::ephemeral(search(), None).await;
            let url = cluster.as_ref().map(|cluster| cluster.login().to_uri()).map_err(ToString::to_string);
            // The receiver waits until something is sent.
            let _ = sender.send(url);
            if cluster.is_ok() {
                // The cluster's watchdog ends Postgres when this process ends.
                std::future::pending::<()>().await;
            }
        });
    });
    match receiver.recv() {
        Ok(Ok(url)) => url,
        Ok(Err(error)) => panic!("the tests' Postgres does not start: {error}"),
        Err(_) => panic!("the thread of the tests' Postgres ended early"),
    }
}

impl Server {
    fn new(url: &str) -> Self {
        let config: Config =
            url.parse().unwrap_or_else(|error| panic!("{DATABASE_URL_VARIABLE} is no URL: {error}"));
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(folder)) => Path::to_string_lossy(folder).into_owned(),
            None => "localhost".to_owned(),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let superuser = config.get_user().unwrap_or("postgres").to_owned();
        let password = String::from_utf8_lossy(config.get_password().unwrap_or_default()).into_owned();
        let administration = Conninfo::login(&host, port, &superuser, &password, "postgres").to_uri();
        Self { host, port, superuser, password, cleaner: Cleaner::start(administration) }
    }

    /// Returns the superuser's URL of `database`.
    pub(crate) fn uri(&self, database: &str) -> String {
        self.uri_as(&self.superuser, &self.password, database)
    }

    /// Returns the URL of `database` for `role`.
    pub(crate) fn uri_as(&self, role: &str, password: &str, database: &str) -> String {
        Conninfo::login(&self.host, self.port, role, password, database).to_uri()
    }

    /// Drops `database` in the background.
    pub(crate) fn discard(&self, database: &str) {
        self.cleaner.discard(database);
    }
}
