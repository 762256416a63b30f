//! What has connections of its own, and what has a share of them, while callers fill the pool.

use std::time::Duration;

use fairness::{Network, on_behalf_of};
use futures_util::future::join_all;
use postgres::{Database, Error, Settings, Transaction};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::harness::Harness;

/// Less than the callers' statements take.
const SOON: Duration = Duration::from_secs(2);

fn network(last: u8) -> Option<Network> {
    Network::of([192, 0, 2, last].into())
}

fn select() -> Transaction<'static> {
    Transaction::anonymous().statement("select 1", Vec::new())
}

/// Sends `count` statements that take three seconds on behalf of `caller`, and waits until they fill the pool.
async fn fill(database: &Database, caller: Option<Network>, count: usize) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let database = database.clone();
        tasks.spawn(on_behalf_of(caller, async move {
            let slow = Transaction::anonymous().statement("select pg_sleep(3)", Vec::new());
            database.run(&slow).await.unwrap();
        }));
    }
    while database.pool_statistics().waiting == 0 {
        sleep(Duration::from_millis(10)).await;
    }
    tasks
}

#[tokio::test]
async fn the_server_waits_behind_no_caller() {
    let harness = Harness::with(|settings| settings.pool_size = 2).await;
    let _callers = fill(&harness.database, None, 40).await;
    let begun = Instant::now();
    harness.database.ping().await.unwrap();
    harness.database.run_reserved(&select()).await.unwrap();
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn many_checks_at_once_share_one_connection() {
    let harness = Harness::with(|settings| settings.application_name = "checked".to_owned()).await;
    for reply in join_all((0..500).map(|_| harness.database.ping())).await {
        reply.unwrap();
    }
    let opened = "select count(*) from pg_stat_activity where application_name = 'checked'";
    assert_eq!(harness.query(opened).await.as_deref(), Some("1"));
}

/// Postgres refuses more connections of a role as it does when it has none left: with 53300.
#[tokio::test]
async fn without_free_connections_the_pool_decides() {
    let test_database = testkit::Database::create().await;
    let admin = test_database.client().await;
    let role = format!("few_{}", test_database.name());
    let password = testkit::ROLE_PASSWORD;
    let create = format!("create role {role} login password '{password}' connection limit 1");
    admin.batch_execute(&create).await.unwrap();
    let settings = Settings::new(test_database.uri_as(&role).parse().unwrap());
    let database = Database::connect(settings.clone()).await.unwrap();
    let other = Database::connect(settings).await.unwrap();

    other.run(&select()).await.unwrap();
    let refused = database.ping().await;
    assert!(matches!(refused, Err(Error::TooManyConnections(_))), "no statement can be run: {refused:?}");
    other.close().await;
    // A session ends a moment after its connection.
    let connected = async { while database.run(&select()).await.is_err() {} };
    timeout(SOON, connected).await.unwrap();
    database.ping().await.unwrap();
    database.run(&select()).await.unwrap();
    database.close().await;
}

#[tokio::test]
async fn a_network_leaves_connections_to_others() {
    let harness = Harness::with(|settings| {
        settings.pool_size = 10;
        settings.client_pool_size = 4;
    })
    .await;
    let _greedy = fill(&harness.database, network(1), 100).await;
    for last in [2, 3] {
        let outcome = timeout(SOON, on_behalf_of(network(last), harness.database.run(&select()))).await;
        outcome.expect("it waits behind another network").unwrap();
    }
    // Alone, the network has three quarters of the connections, and what is rounded up.
    assert_eq!(harness.database.pool_statistics().busy, 8);

    let mut clients = Vec::new();
    while let Ok(client) =
        timeout(Duration::from_millis(500), on_behalf_of(network(1), harness.database.client())).await
    {
        clients.push(client.unwrap());
    }
    assert_eq!(clients.len(), 3);
    let client = timeout(SOON, on_behalf_of(network(2), harness.database.client())).await;
    client.expect("it waits behind another network").unwrap();
}
