//! Reads on a real streaming standby that is delayed, stopped and promoted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use postgres::{Database, Error, Settings, Transaction};
use testkit::embedded::{Cluster, Options};

const LIMIT: Duration = Duration::from_secs(30);

struct Pair {
    primary: Cluster,
    standby: Cluster,
    database: Database,
    folder: tempfile::TempDir,
}

impl Pair {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let primary = start(folder.path().join("primary"), 0).await;
        // A standby begins as a copy of its primary, made while that is stopped.
        assert!(primary.stop().await);
        copy(&folder.path().join("primary"), &folder.path().join("standby"));
        let primary = start(folder.path().join("primary"), 0).await;
        follow(&primary, &folder.path().join("standby/postgres"));
        let standby = start(folder.path().join("standby"), 0).await;

        let mut settings = Settings::new(primary.login());
        // The standby under two names, and between them a replica that does not exist.
        let named = |name: &str| {
            let mut login = standby.tcp_login(standby.superuser(), standby.password()).unwrap();
            login.set("application_name", name);
            login
        };
        let nowhere = "postgres://nobody@127.0.0.1:1/nowhere".parse().unwrap();
        settings.replicas = vec![named("one"), nowhere, named("two")];
        settings.replica_max_lag = Duration::from_millis(500);
        settings.replica_probe_interval = Duration::from_millis(50);
        let database = Database::connect(settings).await.unwrap();
        Self { primary, standby, database, folder }
    }

    /// Waits until `count` replicas accept reads.
    async fn wait_for_healthy(&self, count: usize) {
        let reached = async {
            while self.database.healthy_replicas() != count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(LIMIT, reached).await.unwrap();
    }

    /// Returns the result of a read.
    async fn query(&self, sql: &'static str) -> String {
        let reply = self.database.run(&read().statement(sql, Vec::new())).await.unwrap();
        reply.row().unwrap().text(0).unwrap().to_owned()
    }

    /// Reports whether a server in recovery runs `transaction`.
    async fn is_on_standby(&self, transaction: Transaction<'_>) -> bool {
        let transaction = transaction.statement("select pg_is_in_recovery()", Vec::new());
        let reply = self.database.run(&transaction).await.unwrap();
        reply.row().unwrap().text(0) == Some("t")
    }

    async fn stop(self) {
        self.database.close().await;
        self.standby.stop().await;
        self.primary.stop().await;
        drop(self.folder);
    }
}

async fn start(data_dir: PathBuf, port: u16) -> Cluster {
    let options = Options { port: Some(port), search: testkit::search(), ..Options::new(data_dir) };
    Cluster::start(options).await.unwrap()
}

fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
    let _ = std::fs::remove_dir_all(to.join("run"));
}

/// Makes the cluster in `data` a standby of `primary`.
fn follow(primary: &Cluster, data: &Path) {
    let config: tokio_postgres::Config = primary.login().to_uri().parse().unwrap();
    let settings = format!(
        "primary_conninfo = 'host={} port={} user={} password={}'\n",
        primary.socket_dir().display(),
        config.get_ports()[0],
        primary.superuser(),
        primary.password(),
    );
    std::fs::write(data.join("standby.signal"), "").unwrap();
    let file = data.join("postgresql.auto.conf");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, before + &settings).unwrap();
}

async fn admin(cluster: &Cluster, sql: &str) {
    let (client, connection) =
        tokio_postgres::connect(&cluster.login().to_uri(), tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    drop(client);
    let _ = connection.await;
}

fn read() -> Transaction<'static> {
    Transaction::anonymous().read_only()
}

#[tokio::test]
async fn reads_go_to_a_standby_only_while_it_is_healthy() {
    let mut pair = Pair::start().await;
    pair.wait_for_healthy(2).await;
    assert!(pair.is_on_standby(read()).await);
    assert!(!pair.is_on_standby(read().on_primary()).await, "a read that has to be fresh");
    assert!(!pair.is_on_standby(Transaction::anonymous()).await, "a transaction that may write");

    admin(&pair.primary, "create table public.t (v int)").await;
    admin(&pair.standby, "select pg_wal_replay_pause()").await;
    admin(&pair.primary, "insert into public.t values (1)").await;
    pair.wait_for_healthy(0).await;
    assert!(!pair.is_on_standby(read()).await, "a delayed standby");
    admin(&pair.standby, "select pg_wal_replay_resume()").await;
    pair.wait_for_healthy(2).await;

    assert!(pair.standby.stop().await);
    // The reads that were sent to the stopped standby get a reply from the primary.
    for _ in 0..3 {
        assert!(!pair.is_on_standby(read()).await, "a stopped standby");
    }
    pair.wait_for_healthy(0).await;
    let port = pair.standby.tcp_port().unwrap();
    pair.standby = start(pair.folder.path().join("standby"), port).await;
    pair.wait_for_healthy(2).await;
    assert!(pair.is_on_standby(read()).await);

    admin(&pair.standby, "select pg_promote()").await;
    pair.wait_for_healthy(0).await;
    assert!(!pair.is_on_standby(read()).await);
    pair.stop().await;
}

#[tokio::test]
async fn reads_alternate_between_replicas_and_continue_without_the_primary() {
    let pair = Pair::start().await;
    pair.wait_for_healthy(2).await;
    let mut names = Vec::new();
    for _ in 0..6 {
        names.push(pair.query("select current_setting('application_name')").await);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["one", "two"], "reads take turns");
    assert!(pair.primary.stop().await);
    assert!(pair.is_on_standby(read()).await);
    let write = Transaction::anonymous().statement("select 1", Vec::new());
    assert!(pair.database.run(&write).await.is_err());
    pair.stop().await;
}

/// Returns the only value that `sql` finds on `cluster`.
async fn value(cluster: &Cluster, sql: &str) -> String {
    let database = Database::connect(Settings::new(cluster.login())).await.unwrap();
    let reply = database.run(&Transaction::anonymous().statement(sql, Vec::new())).await.unwrap();
    database.close().await;
    reply.row().unwrap().text(0).unwrap().to_owned()
}

#[tokio::test]
async fn a_full_primary_is_not_treated_as_unavailable() {
    let pair = Pair::start().await;
    pair.wait_for_healthy(2).await;
    admin(&pair.primary, "create role reader login password 'reader'").await;
    let mut settings = Settings::new(pair.primary.tcp_login("reader", "reader").unwrap());
    settings.replicas = vec![pair.standby.tcp_login("reader", "reader").unwrap()];
    settings.replica_max_lag = LIMIT;
    settings.replica_probe_interval = Duration::from_millis(50);
    let database = Database::connect(settings).await.unwrap();
    while database.healthy_replicas() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The standby must not learn of the connection limit.
    admin(&pair.standby, "select pg_wal_replay_pause()").await;
    admin(&pair.primary, "alter role reader connection limit 0").await;
    let position = value(&pair.primary, "select pg_current_wal_lsn()::text").await.parse().unwrap();
    let end = "select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = 'reader'";
    admin(&pair.primary, end).await;
    let one = read().statement("select 1", Vec::new());
    assert!(database.run(&one).await.is_ok(), "any read");
    let fresh = read().sees(position).statement("select 1", Vec::new());
    let refused = database.run(&fresh).await;
    assert!(matches!(refused, Err(Error::TooManyConnections(_))), "{:?}", refused.err());
    database.close().await;
    pair.stop().await;
}

#[tokio::test]
async fn reads_go_to_the_standby_while_the_primary_hangs() {
    let pair = Pair::start().await;
    let mut settings = Settings::new(pair.primary.login());
    settings.replicas = vec![pair.standby.login()];
    settings.replica_probe_interval = Duration::from_millis(50);
    settings.pool_size = 1;
    settings.acquisition_timeout = LIMIT;
    let database = Database::connect(settings).await.unwrap();
    while database.healthy_replicas() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let busy = database.clone();
    let occupied = tokio::spawn(async move {
        busy.run(&Transaction::anonymous().statement("select pg_sleep(600)", Vec::new())).await
    });
    while database.pool_statistics().busy == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    admin(&pair.primary, "create table public.t (v int)").await;
    let position = value(&pair.primary, "select pg_current_wal_lsn()::text").await.parse().unwrap();
    // The standby is probed twenty times.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let fresh = read().sees(position).statement("select from public.t", Vec::new());
    assert!(database.run(&fresh).await.is_ok());
    occupied.abort();
    database.close().await;
    pair.stop().await;
}
