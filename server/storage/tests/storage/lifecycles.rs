//! Lifecycles of buckets: their rules, and what expires by them. Times are moved in the database.

use poem::http::{Method, StatusCode};
use serde_json::{Value, json};
use storage::Expiry;

use crate::support::Server;
use crate::versions::versioned;

const PATH: &str = "/bucket/files/lifecycle";

fn rule(days: u64, kept: Option<u64>) -> Value {
    let mut expiration = json!({ "noncurrentDays": days });
    if let Some(kept) = kept {
        expiration["newerNoncurrentVersions"] = kept.into();
    }
    json!({ "id": "old", "status": "Enabled", "filter": {}, "noncurrentVersionExpiration": expiration })
}

async fn set(server: &Server, rules: Value) {
    let response = server.json(Method::PUT, PATH, &json!({ "rules": rules })).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.text());
}

/// Writes versions of `key` that stopped being current so many days ago, the oldest first, and one that is current.
async fn age(server: &Server, key: &str, days: &[u64]) {
    for number in 0..=days.len() {
        server.write(key, &format!("{key}{number}")).await;
    }
    for (number, days) in days.iter().enumerate() {
        let sql = format!(
            "update storage.objects set archived_at = now() - interval '{days} days' - interval '1 minute' \
             where id = (select id from storage.objects where name = '{key}' order by created_at offset {number} limit 1)"
        );
        server.sql(&sql).await;
    }
}

async fn expire(server: &Server) -> usize {
    Expiry::new(&server.handles).expire().await.unwrap()
}

async fn kept(server: &Server, key: &str) -> usize {
    let count = format!("select count(*)::text from storage.objects where name = '{key}'");
    server.row(&count).await[0].parse().unwrap()
}

#[tokio::test]
async fn rules_are_set_read_and_removed() {
    let server = Server::start().await;
    server.bucket("files", true).await;
    let get = async || server.json(Method::GET, PATH, &Value::Null).await.json();
    let missing = get().await;
    assert_eq!(
        (&missing["statusCode"], &missing["code"]),
        (&"404".into(), &"NoSuchLifecycleConfiguration".into())
    );
    let rules = json!({ "rules": [rule(30, Some(2))] });
    assert_eq!(server.json(Method::PUT, PATH, &rules).await.json(), rules);
    assert_eq!(get().await, rules);
    let mut unnamed = rules.clone();
    unnamed["rules"][0].as_object_mut().unwrap().remove("id");
    let stored = server.json(Method::PUT, PATH, &unnamed).await.json();
    assert!(stored["rules"][0]["id"].as_str().unwrap().starts_with("rule-"), "{stored}");
    assert_eq!(server.json(Method::PUT, PATH, &unnamed).await.json(), stored);
    let refused = server.json(Method::PUT, PATH, &json!({ "rules": [] })).await.json();
    assert_eq!((&refused["code"], &refused["statusCode"]), (&"InvalidParameter".into(), &"400".into()));
    assert_eq!(get().await, stored);
    for _ in 0..2 {
        let removed = server.json(Method::DELETE, PATH, &json!({})).await.json();
        assert_eq!(removed["message"], "Successfully deleted");
    }
    assert_eq!(get().await["code"], "NoSuchLifecycleConfiguration");
}

#[tokio::test]
async fn rules_are_set_by_those_who_may_change_the_bucket() {
    let server = versioned().await;
    let user = server.user("00000000-0000-4000-8000-00000000000a");
    let rules = json!({ "rules": [rule(1, None)] });
    let put = async || server.json_as(&user, Method::PUT, PATH, &rules).await;
    let code =
        async |method: Method| server.json_as(&user, method, PATH, &json!({})).await.json()["code"].clone();
    assert_eq!(put().await.json()["code"], "NoSuchBucket");
    assert_eq!(code(Method::GET).await, "NoSuchBucket");
    server.sql("create policy readers on storage.buckets for select to authenticated using (true)").await;
    assert_eq!(put().await.json()["code"], "NoSuchBucket");
    assert_eq!(code(Method::DELETE).await, "NoSuchBucket");
    assert_eq!(code(Method::GET).await, "NoSuchLifecycleConfiguration");
    server.sql("create policy changers on storage.buckets for update to authenticated using (true)").await;
    assert_eq!(put().await.json(), rules);
    let without = server.send(Method::GET, PATH, &[], "").await;
    assert_eq!(without.json()["message"], "headers must have required property 'authorization'");
}

#[tokio::test]
async fn only_what_is_due_expires() {
    let server = versioned().await;
    age(&server, "a", &[12, 10, 9]).await;
    age(&server, "b", &[]).await;
    server
        .sql("update storage.objects set created_at = now() - interval '1 year' where archived_at is null")
        .await;
    assert_eq!(expire(&server).await, 0, "a bucket without rules");
    set(&server, json!([rule(10, None)])).await;
    let files = server.stored_files();
    assert_eq!(expire(&server).await, 2);
    assert_eq!(server.stored_files(), files - 2);
    assert_eq!((kept(&server, "a").await, kept(&server, "b").await), (2, 1));
    assert_eq!(server.read("a", &Value::Null).await, "a3");
    assert_eq!(expire(&server).await, 0);
    let mut off = rule(1, None);
    off["status"] = "Disabled".into();
    set(&server, json!([off])).await;
    assert_eq!(expire(&server).await, 0);
}

#[tokio::test]
async fn the_latest_versions_are_kept_whatever_their_age() {
    let server = versioned().await;
    age(&server, "a", &[50, 40, 30, 20]).await;
    age(&server, "b", &[50]).await;
    age(&server, "c", &[50, 1]).await;
    set(&server, json!([rule(5, Some(1))])).await;
    assert_eq!(expire(&server).await, 4);
    let left = [kept(&server, "a").await, kept(&server, "b").await, kept(&server, "c").await];
    assert_eq!(left, [2, 2, 2]);
    assert_eq!(server.list(json!({ "prefix": "a", "exactMatch": true })).await, ["a*", "a"]);
    // Rules are carried out one by one: what one lets expire, another does not keep.
    set(
        &server,
        json!([rule(5, Some(1)), { "status": "Enabled", "filter": {},
        "noncurrentVersionExpiration": { "noncurrentDays": 25 } }]),
    )
    .await;
    assert_eq!(expire(&server).await, 1);
    assert_eq!(kept(&server, "b").await, 1);
}

#[tokio::test]
async fn markers_expire_like_versions_and_current_ones_never() {
    let server = versioned().await;
    server.write("a", "one").await;
    server.remove("a", &Value::Null).await;
    server.write("a", "two").await;
    server.remove("a", &Value::Null).await;
    server.sql("update storage.objects set archived_at = archived_at - interval '2 days'").await;
    set(&server, json!([rule(1, None)])).await;
    assert_eq!(expire(&server).await, 3);
    assert_eq!(server.list(json!({})).await, ["a-*"]);
    assert_eq!(server.stored_files(), 0);
}

#[tokio::test]
async fn a_pass_gets_through_more_than_one_batch() {
    let server = versioned().await;
    server
        .sql(
            "insert into storage.objects (bucket_id, name, version, is_versioned, archived_at) \
             select 'files', 'many/' || n % 7, gen_random_uuid()::text, true, now() - interval '3 days' - n * interval '1 second' \
             from generate_series(1, 1203) n",
        )
        .await;
    set(&server, json!([rule(2, Some(100))])).await;
    assert_eq!(expire(&server).await, 1203 - 700);
    assert_eq!(expire(&server).await, 0);
    set(&server, json!([rule(2, None)])).await;
    assert_eq!(expire(&server).await, 700);
}

#[tokio::test]
async fn rules_that_nobody_could_have_sent_are_left_alone() {
    let server = versioned().await;
    age(&server, "a", &[10]).await;
    server
        .sql(
            "update storage.buckets set lifecycle_configuration = '{\"rules\": [{\"status\": \"Enabled\"}]}', \
             lifecycle_configuration_generation = gen_random_uuid()",
        )
        .await;
    assert_eq!(expire(&server).await, 0);
    assert_eq!(kept(&server, "a").await, 2);
}

#[tokio::test]
async fn one_node_an_hour_looks_for_what_is_due() {
    let server = versioned().await;
    age(&server, "a", &[10]).await;
    set(&server, json!([rule(1, None)])).await;
    let nodes = [Expiry::new(&server.handles), Expiry::new(&server.handles)];
    let turns = futures_util::future::join_all(nodes.iter().map(Expiry::take_turn)).await;
    let mut removed: Vec<_> = turns.into_iter().map(Result::unwrap).collect();
    removed.sort();
    assert_eq!(removed, [None, Some(1)]);
    assert_eq!(nodes[0].take_turn().await.unwrap(), None);
    server.sql("update basalt.lifecycle_turns set begun_at = begun_at - interval '1 hour'").await;
    assert_eq!(nodes[1].take_turn().await.unwrap(), Some(0));
}

#[tokio::test]
async fn rules_that_are_removed_or_changed_meanwhile_remove_nothing() {
    let server = versioned().await;
    age(&server, "a", &[20, 10]).await;
    for change in [Value::Null, json!([rule(15, None)])] {
        set(&server, json!([rule(5, None)])).await;
        server.sql("select pg_advisory_lock(hashtextextended('files/a', 0))").await;
        let other = async {
            tokio::time::sleep(std::time::Duration::from_millis(700)).await;
            if change.is_null() {
                server.json(Method::DELETE, PATH, &json!({})).await;
            } else {
                set(&server, change).await;
            }
            server.sql("select pg_advisory_unlock(hashtextextended('files/a', 0))").await;
        };
        assert_eq!(tokio::join!(expire(&server), other).0, 0);
        assert_eq!(kept(&server, "a").await, 3);
    }
    assert_eq!(expire(&server).await, 1, "the new rule");
}

#[tokio::test]
async fn a_trigger_that_fails_keeps_only_its_bucket() {
    let server = versioned().await;
    age(&server, "a", &[10]).await;
    set(&server, json!([rule(5, None)])).await;
    server
        .sql(
            "insert into storage.buckets (id, name, versioning_status, lifecycle_configuration, lifecycle_configuration_generation) \
             select 'broken', 'broken', 'ENABLED', lifecycle_configuration, gen_random_uuid() from storage.buckets; \
             insert into storage.objects (bucket_id, name, version, is_versioned, archived_at) \
             values ('broken', 'b', gen_random_uuid()::text, true, now() - interval '9 days'); \
             create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'never'; end $$; \
             create trigger refuse before delete on storage.objects for each row \
             when (old.bucket_id = 'broken') execute function public.refuse()",
        )
        .await;
    assert_eq!(expire(&server).await, 1);
    assert_eq!((kept(&server, "a").await, kept(&server, "b").await), (1, 1));
}
