//! Reads on a real streaming standby, and readers who have just written.
#![expect(clippy::unwrap_used, reason = "a test without its database can only fail")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway::Nodes;
use postgres::{Database, Transaction};
use reqwest::Method;
use rest::Settings;
use rest::freshness::POSITION;
use serde_json::json;
use testkit::embedded::{Cluster, Options};
use tokio_util::sync::CancellationToken;

use crate::harness::{Response, client, keys, send, serve, token, token_of};

const SETUP: &str = "
    create role anon; create role authenticated; grant anon, authenticated to current_user;
    create table public.notes (id int primary key);
    create view public.place as select pg_is_in_recovery() as is_standby;
    create function public.stable_place() returns bool stable language sql as 'select pg_is_in_recovery()';
    create function public.volatile_place() returns bool volatile language sql as 'select pg_is_in_recovery()';
    create function public.write() returns void language sql as 'delete from public.notes';
    grant select on public.place to anon, authenticated;
    grant select, insert, delete on public.notes to authenticated;";

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

    let mut connection = postgres::Settings::new(primary.login());
    connection.replicas = vec![standby.tcp_login(standby.superuser(), standby.password()).unwrap()];
    connection.replica_probe_interval = Duration::from_millis(50);
    let database = Database::connect(connection).await.unwrap();
    database.client().await.unwrap().batch_execute(SETUP).await.unwrap();
    let settings = Settings { db_anon_role: Some("anon".into()), ..Settings::default() };
    // Two nodes on the same servers.
    let nodes = [(); 2].map(|()| rest::service(settings.clone(), database.clone(), keys().verifier()));
    let stop = CancellationToken::new();
    let (base, other) = (serve(&nodes[0], &stop).await, serve(&nodes[1], &stop).await);
    let ready = async {
        while !nodes.iter().all(rest::Rest::is_ready) || !has_copied(&database).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, ready).await.unwrap();

    let client = client();
    let ask = async |method: Method, path: &str, bearer: &str| -> Response {
        let request = client.request(method, format!("{base}{path}")).bearer_auth(bearer);
        send(request.header("content-type", "application/json").body("{\"id\":1}")).await
    };
    let is_on_standby =
        async |bearer: &str| ask(Method::GET, "/place", bearer).await.json()[0]["is_standby"] == json!(true);
    let (writer, reader) = (token_of("authenticated"), token(&json!({ "role": "anon" })));
    assert!(is_on_standby(&writer).await);
    assert_eq!(ask(Method::GET, "/rpc/stable_place", &writer).await.text, "true");
    let by_post = client.post(format!("{base}/rpc/stable_place")).bearer_auth(&writer);
    assert_eq!(send(by_post).await.text, "true");
    assert!(ask(Method::GET, "/place", &writer).await.headers.get(POSITION).is_none(), "of a read");

    replay(&standby, "pause").await;
    let written = ask(Method::POST, "/notes", &writer).await;
    assert_eq!(written.status, 201);
    assert!(!is_on_standby(&writer).await, "whoever wrote sees what was written");
    assert!(is_on_standby(&reader).await, "others have no need to");

    // The other node knows nothing of it, until the client or the first node says so.
    let position = written.header(POSITION).to_owned();
    let cookie = written.header("set-cookie").split(';').next().unwrap().to_owned();
    assert_eq!(cookie, format!("{POSITION}={position}"));
    let is_there = async |header: &str, value: &str| {
        let request = client.get(format!("{other}/place")).bearer_auth(&writer).header(header, value);
        send(request).await.json()[0]["is_standby"] == json!(true)
    };
    assert!(is_there("x-nothing", "").await);
    assert!(!is_there(POSITION, &position).await, "a header");
    assert!(!is_there("cookie", &cookie).await, "a cookie");
    let (notes, other_notes) = (Nodes::default(), Nodes::default());
    nodes[0].share_writes_with(&notes);
    nodes[1].share_writes_with(&other_notes);
    let mut carried = notes.outgoing().unwrap();
    let change = client.delete(format!("{base}/notes?id=eq.1")).bearer_auth(&writer);
    assert_eq!(send(change).await.status, 204);
    other_notes.receive(&carried.recv().await.unwrap());
    assert!(!is_there("x-nothing", "").await, "told by the first node");

    replay(&standby, "resume").await;
    let catches_up = async {
        while !is_on_standby(&writer).await || !is_there(POSITION, &position).await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LIMIT, catches_up).await.unwrap();

    replay(&standby, "pause").await;
    let called = client.post(format!("{base}/rpc/volatile_place")).bearer_auth(&writer);
    assert_eq!(send(called).await.text, "false");
    assert_eq!(ask(Method::POST, "/notes", &writer).await.status, 201);
    let by_function = client.post(format!("{base}/rpc/write")).bearer_auth(&writer);
    assert_eq!(send(by_function).await.status, 204);
    assert!(!is_on_standby(&writer).await, "a volatile function may have written");

    primary.stop().await;
    assert!(is_on_standby(&writer).await, "while there is no primary, standbys respond to everybody");
    assert_eq!(ask(Method::POST, "/notes", &writer).await.status, 503);

    stop.cancel();
    database.close().await;
    standby.stop().await;
}

/// Has the standby pause or resume the replay of what it receives.
async fn replay(standby: &Cluster, what: &str) {
    let login = standby.tcp_login(standby.superuser(), standby.password()).unwrap();
    let database = Database::connect(postgres::Settings::new(login)).await.unwrap();
    let sql = format!("select pg_wal_replay_{what}()");
    database.client().await.unwrap().batch_execute(&sql).await.unwrap();
    database.close().await;
}

/// Reports whether the standby has what the test set up.
async fn has_copied(database: &Database) -> bool {
    let sql = "select pg_is_in_recovery() and to_regprocedure('public.volatile_place()') is not null";
    let transaction = Transaction::anonymous().read_only().statement(sql, Vec::new());
    let reply = database.run(&transaction).await.unwrap();
    reply.row().unwrap().text(0) == Some("t")
}
