//! Reads on a real streaming standby, and readers who have just written.
#![expect(clippy::unwrap_used, reason = "a test without its database can only fail")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use database::cluster::{Cluster, Options};
use database::{Database, Transaction};
use reqwest::Method;
use rest::Settings;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::harness::{Answer, client, keys, send, serve, token_of};

const SETUP: &str = "
    create role anon; create role authenticated; grant anon, authenticated to current_user;
    create table public.notes (id int primary key);
    create view public.place as select pg_is_in_recovery() as is_standby;
    create function public.stable_place() returns bool stable language sql as 'select pg_is_in_recovery()';
    create function public.volatile_place() returns bool volatile language sql as 'select pg_is_in_recovery()';
    grant select on public.place to anon, authenticated;
    grant insert on public.notes to authenticated;";

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(30);

async fn start(data_dir: PathBuf) -> Cluster {
    let options = Options { port: Some(0), search: testkit::search(), ..Options::new(data_dir) };
    Cluster::start(options).await.unwrap()
}

/// Makes the cluster in `standby`, a copy, follow `primary`.
fn follow(primary: &Cluster, standby: &Path) {
    let uri = primary.tcp_login(primary.superuser(), primary.password()).unwrap().to_uri();
    let file = standby.join("postgresql.auto.conf");
    let settings = std::fs::read_to_string(&file).unwrap() + &format!("primary_conninfo = '{uri}'\n");
    std::fs::write(&file, settings).unwrap();
    std::fs::write(standby.join("standby.signal"), "").unwrap();
}

#[tokio::test]
async fn reads_go_to_the_standby_but_for_those_who_just_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("primary"), folder.path().join("standby"));
    let primary = start(one.clone()).await;
    // A standby begins as a copy of its primary, taken while that is down.
    assert!(primary.stop().await);
    assert!(std::process::Command::new("cp").arg("-a").args([&one, &two]).status().unwrap().success());
    let _ = std::fs::remove_dir_all(two.join("run"));
    let primary = start(one).await;
    follow(&primary, &two.join("postgres"));
    let standby = start(two).await;

    let mut connection = database::Settings::new(primary.login());
    connection.replicas = vec![standby.tcp_login(standby.superuser(), standby.password()).unwrap()];
    connection.replica_probe_interval = Duration::from_millis(50);
    let database = Database::connect(connection).await.unwrap();
    database.client().await.unwrap().batch_execute(SETUP).await.unwrap();
    let settings = Settings {
        db_anon_role: Some("anon".into()),
        db_read_sticky_interval: Duration::from_secs(3),
        ..Settings::default()
    };
    let rest = rest::service(settings, database.clone(), keys().verifier());
    let stop = CancellationToken::new();
    let base = serve(&rest, &stop).await;
    let ready = async {
        while !rest.is_ready() || !has_copied(&database).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, ready).await.unwrap();

    let client = client();
    let ask = async |method: Method, path: &str, bearer: &str| -> Answer {
        let request = client.request(method, format!("{base}{path}")).bearer_auth(bearer);
        send(request.header("content-type", "application/json").body("{\"id\":1}")).await
    };
    let is_on_standby =
        async |bearer: &str| ask(Method::GET, "/place", bearer).await.json()[0]["is_standby"] == json!(true);
    let (writer, reader) = (token_of("authenticated"), token_of("anon"));
    assert!(is_on_standby(&writer).await);
    assert_eq!(ask(Method::GET, "/rpc/stable_place", &writer).await.text, "true");
    let by_post = client.post(format!("{base}/rpc/stable_place")).bearer_auth(&writer);
    assert_eq!(send(by_post).await.text, "true");

    assert_eq!(ask(Method::POST, "/notes", &writer).await.status, 201);
    assert!(!is_on_standby(&writer).await, "whoever wrote sees what was written");
    assert!(is_on_standby(&reader).await, "others have no need to");
    let interval_ends = async {
        while !is_on_standby(&writer).await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LIMIT, interval_ends).await.unwrap();

    let called = client.post(format!("{base}/rpc/volatile_place")).bearer_auth(&writer);
    assert_eq!(send(called).await.text, "false");
    assert!(!is_on_standby(&writer).await, "a volatile function may have written");

    stop.cancel();
    database.close().await;
    standby.stop().await;
    primary.stop().await;
}

/// Whether the standby has what the test set up.
async fn has_copied(database: &Database) -> bool {
    let sql = "select pg_is_in_recovery() and to_regprocedure('public.volatile_place()') is not null";
    let transaction = Transaction::anonymous().read_only().statement(sql, Vec::new());
    let answer = database.run(&transaction).await.unwrap();
    answer.last().unwrap().first().unwrap().text(0) == Some("t")
}
