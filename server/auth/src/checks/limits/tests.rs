//! Rate limits as clients meet them.

use futures_util::future::join_all;
use http::{HeaderMap, HeaderValue};
use uuid::Uuid;

use super::*;
use crate::store::one_time_tokens::Kind;

async fn limits(database: &testkit::Database, settings: LimitSettings) -> Limits {
    let uri = database.uri_as("supabase_auth_admin");
    let database = Database::connect(postgres::Settings::new(uri.parse().unwrap())).await.unwrap();
    Limits::new(settings, Counters::new(database, Nodes::default()))
}

async fn granted(limits: &Limits, bucket: Bucket, client: &str, tries: usize) -> usize {
    let mut granted = 0;
    for _ in 0..tries {
        granted += usize::from(limits.take(bucket, Some(client)).await.is_ok());
    }
    granted
}

/// Returns limits so slow that nothing flows in while a test runs.
fn slow() -> LimitSettings {
    LimitSettings { otp: 1e-6, token: 1e-6, mfa: 1e-6, ..LimitSettings::default() }
}

#[tokio::test]
async fn two_nodes_grant_one_burst_together() {
    let database = testkit::Database::create().await;
    let (one, other) = (limits(&database, slow()).await, limits(&database, slow()).await);
    let (a, b) = tokio::join!(granted(&one, Bucket::Otp, "a", 25), granted(&other, Bucket::Otp, "a", 25));
    assert_eq!(a + b, 30);
    let error = one.take(Bucket::Otp, Some("a")).await.unwrap_err();
    assert_eq!((error.status().as_u16(), error.code()), (429, Some(Code::OverRequestRateLimit)));
    assert_eq!(granted(&one, Bucket::Otp, "b", 1).await, 1);
    assert_eq!(granted(&one, Bucket::Recover, "a", 1).await, 1);
}

#[tokio::test]
async fn challenges_and_verifications_have_an_allowance_each() {
    let database = testkit::Database::create().await;
    let limits = limits(&database, slow()).await;
    assert_eq!(granted(&limits, Bucket::FactorChallenge, "a", 31).await, 30);
    assert_eq!(granted(&limits, Bucket::FactorVerify, "a", 31).await, 30);
}

#[tokio::test]
async fn spent_allowances_are_refilled() {
    let database = testkit::Database::create().await;
    // One in a hundred seconds.
    let limits = limits(&database, LimitSettings { otp: 3.0, ..slow() }).await;
    let first = granted(&limits, Bucket::Otp, "a", 40).await;
    assert!((30..=33).contains(&first), "{first}");
    let client = database.client().await;
    // An hour fills the bucket, and not beyond its brim.
    client
        .batch_execute("update basalt.rate_limits set updated_at = updated_at - interval '1 hour'")
        .await
        .unwrap();
    let granted = granted(&limits, Bucket::Otp, "a", 40).await;
    assert!((30..=33).contains(&granted), "{granted}");
}

#[tokio::test]
async fn a_changed_limit_holds_at_once() {
    let database = testkit::Database::create().await;
    let node = async |settings| limits(&database, settings).await;
    let before = node(slow()).await;
    assert_eq!(granted(&before, Bucket::Otp, "a", 31).await, 30);
    let raised = node(LimitSettings { otp: 2e-6, ..slow() }).await;
    assert_eq!(granted(&raised, Bucket::Otp, "a", 31).await, 30, "nothing is held against the client");
    let mails = async |number, per| {
        let node = node(LimitSettings { mails: Rate { events: number, per }, ..slow() }).await;
        let mut granted = 0;
        for _ in 0..5 {
            granted += usize::from(node.take_mail(None).await.is_ok());
        }
        granted
    };
    for per in [None, Some(Duration::from_secs(100_000))] {
        assert_eq!((mails(2.0, per).await, mails(4.0, per).await, mails(2.0, per).await), (2, 4, 0));
    }
}

#[tokio::test]
async fn as_a_drop_in_each_process_counts_alone_and_by_header_only() {
    let nothing_there = postgres::Settings::new("postgres://nobody@127.0.0.1:1/none".parse().unwrap());
    let database = Database::connect(nothing_there).await.unwrap();
    let settings = LimitSettings { per_process: true, mails: Rate { events: 2.0, per: None }, ..slow() };
    let limits = Limits::new(settings.clone(), Counters::new(database.clone(), Nodes::default()));
    assert_eq!(granted(&limits, Bucket::Otp, "a", 40).await, 30);
    assert_eq!(granted(&limits, Bucket::Recover, "a", 40).await, 30);
    let network = Network::of("192.0.2.1".parse().unwrap());
    assert!(limits.take_mail(network).await.is_ok() && limits.take_mail(network).await.is_ok());
    assert!(limits.take_mail(None).await.is_err());
    let user = Uuid::new_v4();
    for _ in 0..10 {
        assert!(limits.take_code_try(user, Kind::Recovery).await.unwrap());
    }
    assert!(!limits.take_code_try(user, Kind::Recovery).await.unwrap());
    assert!(limits.take_code_try(user, Kind::Confirmation).await.unwrap());
    let window = Duration::from_secs(100);
    assert!(
        limits.is_first_use("x", window).await.unwrap() && !limits.is_first_use("x", window).await.unwrap()
    );
    let headers = HeaderMap::from_iter([(
        http::HeaderName::from_static("x-client"),
        HeaderValue::from_static("198.51.100.1"),
    )]);
    let gateway = "203.0.113.7".parse().unwrap();
    assert_eq!(limits.client(&headers, gateway), None);
    let named = LimitSettings { header: Some("x-client".to_owned()), ..settings };
    assert_eq!(
        Limits::new(named, Counters::new(database, Nodes::default())).client(&headers, gateway).as_deref(),
        Some("198.51.100.1")
    );
}

#[tokio::test]
async fn refreshes_are_counted_in_memory_and_sent_to_other_nodes() {
    let database = testkit::Database::create().await;
    let (one, other) = (limits(&database, slow()).await, limits(&database, slow()).await);
    let mut carried = one.counters.nodes.outgoing().unwrap();
    assert_eq!(granted(&one, Bucket::Refresh, "a", 20).await, 20);
    while let Ok(note) = carried.try_recv() {
        other.counters.nodes.receive(&note);
    }
    assert_eq!(granted(&other, Bucket::Refresh, "a", 40).await, 10);
    assert_eq!(granted(&other, Bucket::Refresh, "b", 40).await, 30);
    let rows = database.client().await.query("select from basalt.rate_limits", &[]).await.unwrap();
    assert!(rows.is_empty());
}

#[tokio::test]
async fn mails_are_counted_by_the_hour_or_flow_back() {
    let database = testkit::Database::create().await;
    let mails = async |rate: Rate| {
        let limits = limits(&database, LimitSettings { mails: rate, ..slow() }).await;
        let mut granted = 0;
        for _ in 0..4 {
            granted += usize::from(limits.take_mail(None).await.is_ok());
        }
        granted
    };
    assert_eq!(mails(Rate { events: 3.0, per: None }).await, 3);
    let client = database.client().await;
    client
        .batch_execute("update basalt.rate_limits set full_at = now() - interval '1 second'")
        .await
        .unwrap();
    assert_eq!(mails(Rate { events: 3.0, per: None }).await, 3);
    client.batch_execute("delete from basalt.rate_limits").await.unwrap();
    assert_eq!(mails(Rate { events: 2.0, per: Some(Duration::from_secs(100_000)) }).await, 2);
    client.batch_execute("delete from basalt.rate_limits").await.unwrap();
    assert_eq!(mails(Rate { events: 0.0, per: None }).await, 0);
}

/// Returns limits of `number` mails and text messages, an hour or with a pause so long that none flows back.
fn shared_number(number: f64, per: Option<Duration>) -> LimitSettings {
    let rate = Rate { events: number, per };
    LimitSettings { mails: rate, text_messages: rate, ..slow() }
}

async fn mails(limits: &Limits, address: &str, tries: usize) -> usize {
    let network = Network::of(address.parse().unwrap());
    let taken = join_all((0..tries).map(|_| limits.take_mail(network))).await;
    taken.into_iter().filter(Result::is_ok).count()
}

#[tokio::test]
async fn a_network_leaves_mails_and_messages_to_others() {
    for per in [None, Some(Duration::from_secs(100_000))] {
        let database = testkit::Database::create().await;
        let (one, other) = (
            limits(&database, shared_number(30.0, per)).await,
            limits(&database, shared_number(30.0, per)).await,
        );
        let greedy = "192.0.2.1";
        let taken = tokio::join!(mails(&one, greedy, 30), mails(&other, greedy, 30));
        assert_eq!(taken.0 + taken.1, 15, "{per:?}");
        assert_eq!(mails(&one, "192.0.2.2", 30).await, 8);
        assert_eq!(mails(&one, "2001:db8::1", 30).await, 4);
        assert_eq!((mails(&one, greedy, 1).await, mails(&one, "192.0.2.3", 1).await), (0, 1));
        assert_eq!(mails(&one, "127.0.0.1", 30).await, 2, "this machine gets what is left");
        assert_eq!(mails(&one, "192.0.2.4", 1).await, 0);
        let network = Network::of(greedy.parse().unwrap());
        let mut texts = 0;
        while one.take_sms(network).await.is_ok() {
            texts += 1;
        }
        assert_eq!(texts, 15);
        let later = "update basalt.rate_limits set updated_at = updated_at - interval '1000 days',
            full_at = now() - interval '1 second'";
        database.client().await.batch_execute(later).await.unwrap();
        assert_eq!(mails(&one, greedy, 30).await, 15, "all are there again");
    }
}

#[tokio::test]
async fn the_networks_of_a_site_leave_mails_to_others() {
    let database = testkit::Database::create().await;
    let limits = limits(&database, shared_number(30.0, None)).await;
    let mut taken = 0;
    for network in 0..20 {
        taken += mails(&limits, &format!("2001:db8:1:{network}::1"), 10).await;
    }
    assert_eq!(taken, 27);
    assert_eq!(mails(&limits, "2001:db8:2::1", 10).await, 3);
}

#[tokio::test]
async fn whoever_is_alone_gets_all_of_a_small_number_of_mails() {
    for (number, expected) in [(0.0, 0), (1.0, 1), (2.0, 2), (4.0, 4), (5.0, 4), (8.0, 4), (10.0, 5)] {
        let database = testkit::Database::create().await;
        let limits = limits(&database, shared_number(number, None)).await;
        assert_eq!(mails(&limits, "192.0.2.1", 12).await, expected, "{number}");
    }
}

#[tokio::test]
async fn long_and_odd_names_of_clients_are_no_way_around() {
    let database = testkit::Database::create().await;
    let limits = limits(&database, slow()).await;
    for name in ["x".repeat(10_000), "é\0".to_owned(), "'; drop table basalt.rate_limits; --".to_owned()] {
        assert_eq!(granted(&limits, Bucket::Verify, &name, 1).await, 1);
    }
    let longest = "select max(length(client))::int8 from basalt.rate_limits";
    let longest: i64 = database.client().await.query_one(longest, &[]).await.unwrap().get(0);
    assert_eq!(longest, 64);
}

#[test]
fn clients_are_distinguished_by_header_or_address() {
    let headers = HeaderMap::from_iter([(
        http::HeaderName::from_static("x-forwarded-for"),
        HeaderValue::from_static(" 198.51.100.1, 10.0.0.1"),
    )]);
    let by = |header, address: &str| client(header, &headers, address.parse().unwrap());
    assert_eq!(by(Some("X-Forwarded-For"), "10.0.0.1").as_deref(), Some("198.51.100.1"));
    assert_eq!(by(Some("X-Real-Ip"), "203.0.113.7"), None);
    assert_eq!(by(None, "203.0.113.7").as_deref(), Some("203.0.113.7"));
    assert_eq!(by(None, "2001:db8:1:2:3::4").as_deref(), Some("2001:db8:1:2::/64"));
    assert_eq!(by(None, "::ffff:203.0.113.7").as_deref(), Some("203.0.113.7"));
    assert_eq!((by(None, "127.0.0.1"), by(None, "::1"), by(None, "0.0.0.0")), (None, None, None));
}

#[tokio::test]
async fn counters_outlive_a_change_of_limits() {
    let database = testkit::Database::create().await;
    let old = limits(&database, slow()).await;
    assert_eq!(granted(&old, Bucket::Refresh, "a", 20).await, 20);
    let new = Limits::new(LimitSettings { otp: 1.0, ..slow() }, Arc::clone(&old.counters));
    assert_eq!(granted(&new, Bucket::Refresh, "a", 40).await, 10);
    // What other nodes have granted is counted by the new limits.
    let new = Limits::new(LimitSettings { token: 2e-6, ..slow() }, Arc::clone(&old.counters));
    old.counters.nodes.receive(b"refreshes\na");
    assert_eq!(granted(&new, Bucket::Refresh, "a", 40).await, 29);
}
