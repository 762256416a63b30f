//! Domains whose casts say how their values are shown and read.

use serde_json::{Value, json};

use crate::harness::{League, send, token_of};

const KITS: &str = include_str!("domains.sql");

async fn with_kits() -> League {
    League::extended(KITS, |_| {}).await
}

#[tokio::test]
async fn values_are_shown_through_the_cast() {
    let league = with_kits().await;
    let first = json!({ "id": 1, "club_id": 1, "main": "#14294b", "trim": "#ff6b6b", "price": "59.90" });
    for url in ["/kits?id=eq.1", "/kits?select=*&id=eq.1", "/rpc/kits_of?club=1&limit=1"] {
        assert_eq!(league.rows(url).await[0], first, "{url}");
    }
    assert_eq!(
        league.rows("/kits?select=id,shade:main,trim,main::text&id=eq.3").await,
        json!([{ "id": 3, "shade": "#000000", "trim": "#000001", "main": "\"#000000\"" }])
    );
    assert_eq!(
        league.rows("/clubs?select=name,kits(main),kits_of:kit_list(*)&id=eq.2").await,
        json!([{ "name": "Mill Lane", "kits": [{ "main": "#000000" }],
                 "kits_of": [{ "id": 3, "club_id": 2, "main": "#000000" }] }])
    );
    assert_eq!(
        league.rows("/clubs?select=id,...kits(main,trim)&kits.order=id&id=eq.1").await,
        json!([{ "id": 1, "main": ["#14294b", "#ffffff"], "trim": ["#ff6b6b", null] }])
    );
    let csv =
        league.get_with("/kits?select=id,main&id=lt.3&order=main.desc", &[("accept", "text/csv")]).await;
    assert_eq!(csv.text, "id,main\n2,\"\"\"#ffffff\"\"\"\n1,\"\"\"#14294b\"\"\"");
    assert_eq!(league.rows("/rpc/favourite").await, json!(255));
}

#[tokio::test]
async fn filters_are_read_through_the_cast() {
    let league = with_kits().await;
    for (filter, ids) in [
        ("main=eq.%23ffffff", vec![2]),
        ("main=neq.ffffff", vec![1, 3]),
        ("main=gt.%23000000&main=lt.%23ffffff", vec![1]),
        ("main=in.(%23ffffff,000000)", vec![2, 3]),
        ("main=not.in.(%23ffffff)", vec![1, 3]),
        ("main=in.()", vec![]),
        ("main=eq(any).{ffffff,14294b}", vec![1, 2]),
        ("main=lte(all).{ffffff,14294b}", vec![1, 3]),
        ("trim=isdistinct.ff6b6b", vec![2, 3]),
        ("trim=is.null", vec![2]),
        ("or=(main.eq.ffffff,and(id.eq.3,trim.eq.000001))", vec![2, 3]),
        ("price=eq.64.50", vec![2]),
    ] {
        assert_eq!(league.ids(&format!("/kits?{filter}&order=id")).await, ids, "{filter}");
    }
    assert_eq!(league.ids("/rpc/kits_of?club=1&main=eq.ffffff").await, [2]);
    assert_eq!(league.ids("/kit_list?main=eq.%23ffffff").await, [2]);
    let embedded = league.rows("/clubs?select=id,kits!inner(id)&kits.main=eq.ffffff").await;
    assert_eq!(embedded, json!([{ "id": 1, "kits": [{ "id": 2 }] }]));
}

#[tokio::test]
async fn payloads_are_read_through_the_cast() {
    let league = with_kits().await;
    let full = [("prefer", "return=representation")];
    let changed_rows = |method: &'static str, url: &'static str, body: Value| {
        let (league, full) = (&league, &full);
        async move {
            let response = league.change(method, url, full, &body.to_string()).await;
            assert!(response.status < 300, "{method} {url}: {response:?}");
            response.json()
        }
    };
    let url = "/kits?select=id,main,trim,price";
    let new = json!({ "id": 4, "main": "#0000ff", "trim": null, "price": 7.25 });
    let cast = json!([{ "id": 4, "main": "#0000ff", "trim": null, "price": "7.25" }]);
    assert_eq!(changed_rows("POST", url, new).await, cast);
    let several = json!([{ "id": 5, "main": "#00ff00" }, { "id": 6, "main": "#ff0000" }]);
    let mains = json!([{ "main": "#00ff00" }, { "main": "#ff0000" }]);
    assert_eq!(changed_rows("POST", "/kits?select=main&order=id", several).await, mains);
    assert_eq!(
        changed_rows("PATCH", "/kits?main=eq.ff0000&select=main", json!({ "main": "#ff00ff" })).await,
        json!([{ "main": "#ff00ff" }])
    );
    let put = json!({ "id": 6, "club_id": null, "main": "#aaaaaa", "trim": "#bbbbbb", "price": null });
    assert_eq!(changed_rows("PUT", "/kits?id=eq.6", put.clone()).await, json!([put]));
    assert_eq!(
        changed_rows("DELETE", "/kits?main=eq.aaaaaa&select=main", json!({})).await,
        json!([{ "main": "#aaaaaa" }])
    );
    assert_eq!(
        changed_rows("POST", "/kit_list?select=main", json!({ "id": 7, "main": "#777777" })).await,
        json!([{ "main": "#777777" }])
    );
    let bad = league.change("POST", "/kits", &[], r##"{"id":9,"main":"#mauve"}"##).await;
    assert_eq!((bad.status, bad.code()), (400, "22P02".to_owned()));
}

#[tokio::test]
async fn upserts_and_defaults_go_the_same_way() {
    let league = with_kits().await;
    let merge = [("prefer", "return=representation, resolution=merge-duplicates")];
    let merged =
        league.change("POST", "/kits?select=id,main", &merge, r##"[{"id":1,"main":"#010203"}]"##).await;
    assert_eq!(merged.json(), json!([{ "id": 1, "main": "#010203" }]));
    let defaults = [("prefer", "return=representation, missing=default")];
    for body in [r#"{"id":8}"#, r#"[{"id":9}]"#] {
        let new = league.change("POST", "/kits?columns=id,main,trim&select=main,trim", &defaults, body).await;
        assert_eq!(new.json(), json!([{ "main": "#0000ff", "trim": null }]), "{body}");
    }
    let request = league.request("POST", "/kits?select=id,main").bearer_auth(token_of("authenticated"));
    let request = request.header("content-type", "text/csv").header("prefer", "return=representation");
    let from_csv = send(request.body("id,main\n20,#222222\n")).await;
    assert_eq!(from_csv.json(), json!([{ "id": 20, "main": "#222222" }]));
}

#[tokio::test]
async fn handlers_of_whole_rows_see_values_as_they_are_kept() {
    let league = with_kits().await;
    let handled = league.get_with("/kits?order=id&id=gt.1", &[("accept", "text/x-kit")]).await;
    assert_eq!((handled.status, handled.text.as_str()), (200, "16777215 0 "));
}

#[tokio::test]
async fn groups_of_domain_values_may_be_ordered() {
    let league = League::extended(KITS, |settings| settings.db_aggregates_enabled = true).await;
    assert_eq!(
        league.rows("/kits?select=shade:main,trim,price.sum()&order=main&id=neq.2").await,
        json!([
            { "shade": "#000000", "trim": "#000001", "sum": null },
            { "shade": "#14294b", "trim": "#ff6b6b", "sum": 59.90 },
        ])
    );
    assert_eq!(
        league.rows("/clubs?select=name,kits(main.max(),price.sum()::text)&id=eq.1").await,
        json!([{ "name": "Harbour Row", "kits": [{ "max": 16_777_215, "sum": "124.40" }] }])
    );
}
