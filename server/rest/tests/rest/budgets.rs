//! What one network may hold of the connections to Postgres, and what waits behind no request.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use std::time::Duration;

use gateway::Gateway;
use poem::{Endpoint as _, Request};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::harness::{League, keys};
use crate::settings::admin;

/// A function that takes as long as `anon` may.
const NAP: &str = "create function league.nap() returns int language sql as 'select 1 from pg_sleep(2.9)'";
/// Less than it takes.
const SOON: Duration = Duration::from_secs(2);
/// More callers than there are connections.
const CROWD: usize = 100;

/// Returns the status of the response to a GET from `client`.
fn ask(league: &League, client: &str, path: &str) -> impl Future<Output = u16> + Send + use<> {
    let behind_proxy = gateway::Settings { trusted_proxies: 1, ..gateway::Settings::default() };
    let face = Gateway::new(behind_proxy, keys().clone(), None).open("rest", league.rest.clone());
    let request = Request::builder().uri_str(path).header("x-forwarded-for", client).finish();
    async move { face.call(request).await.unwrap().status().as_u16() }
}

/// Calls the function from `client` a hundred times, and waits until the calls fill the pool.
async fn fill(league: &League, client: &str) -> JoinSet<u16> {
    let mut callers = JoinSet::new();
    for _ in 0..CROWD {
        callers.spawn(ask(league, client, "/rpc/nap"));
    }
    while admin(league, "/metrics").await.1.contains("\npgrst_db_pool_waiting 0\n") {
        sleep(Duration::from_millis(10)).await;
    }
    callers
}

#[tokio::test]
async fn slow_queries_of_one_network_leave_connections_to_others() {
    let league = League::extended(NAP, |_| {}).await;
    let _greedy = fill(&league, "2001:db8:1:1::1").await;
    for client in ["192.0.2.1", "2001:db8:1:2::1", "127.0.0.1"] {
        let responded = timeout(SOON, ask(&league, client, "/clubs")).await;
        assert_eq!(responded.expect("it waits behind another network"), 200, "{client}");
    }
}

#[tokio::test]
async fn a_full_pool_makes_the_service_neither_unready_nor_outdated() {
    let league = League::extended(NAP, |_| {}).await;
    // Callers on this machine may take all connections.
    let _greedy = fill(&league, "127.0.0.1").await;
    for path in ["/ready", "/live", "/metrics"] {
        let responded = timeout(SOON, admin(&league, path)).await;
        assert_eq!(responded.expect("it waits behind the callers").0, 200, "{path}");
    }
    let loads = |metrics: String| metrics.contains("schema_cache_loads_total{status=\"SUCCESS\"} 1\n");
    let reloaded = async {
        league.rest.reload();
        while loads(admin(&league, "/metrics").await.1) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, reloaded).await.expect("the schema cache waits behind the callers");
}
