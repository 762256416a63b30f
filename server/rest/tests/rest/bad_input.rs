//! Requests that no honest client sends: each ends in an error of the interface with the right status.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{League, Response, percent_encode, send, token_of};

/// Sends `body` as it is, as a signed-in user.
async fn post(league: &League, url: &str, content_type: &str, body: &[u8]) -> Response {
    let request = league.request("POST", url).bearer_auth(token_of("authenticated"));
    send(request.header("content-type", content_type).body(body.to_vec())).await
}

#[tokio::test]
async fn nul_bytes_are_refused_everywhere() {
    let league = League::start().await;
    for (url, status, code) in [
        ("/clubs%00", 404, "PGRST125"),
        ("/rpc/add%00", 404, "PGRST125"),
        ("/clubs?select=na%00me", 400, "PGRST100"),
        ("/clubs?na%00me=eq.1", 400, "PGRST100"),
        ("/clubs?name=in.(a,%00)", 400, "PGRST100"),
        ("/clubs?or=(name.eq.%00)", 400, "PGRST100"),
        ("/rpc/add?a=%00", 400, "PGRST100"),
    ] {
        let response = league.get(url).await;
        assert_eq!((response.status, response.code().as_str()), (status, code), "{url}: {response:?}");
    }
    for (url, content_type, body, code) in [
        ("/clubs", "application/json", &b"{\"name\":\"\\u0000\"}"[..], "22P05"),
        ("/clubs", "application/json", b"{\"name\":\"a\0b\"}", "PGRST102"),
        ("/clubs", "application/json", b"{\"na\\u0000me\":1}", "PGRST204"),
        ("/clubs", "text/csv", b"name\na\0b", "22P05"),
        ("/clubs", "application/x-www-form-urlencoded", b"name=%00", "PGRST102"),
        ("/rpc/many", "application/json", b"{\"names\":[\"\\u0000\"]}", "22P05"),
    ] {
        let response = post(&league, url, content_type, body).await;
        assert_eq!(
            (response.status, response.code().as_str()),
            (400, code),
            "{content_type} {body:?}: {response:?}"
        );
    }
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused() {
    let league = League::start().await;
    for (url, content_type, body) in [
        ("/clubs", "application/json", &b"{\"name\":"[..]),
        ("/clubs", "application/json", b"{\"name\":\"x\"}}"),
        ("/clubs", "application/json", b"\xef\xbb\xbf{\"name\":\"x\"}"),
        ("/clubs", "application/json", b"[{\"name\":\"x\"},7]"),
        ("/clubs", "application/json", b""),
        ("/clubs", "text/csv", b"name\n\xff"),
        ("/clubs", "text/csv", b"name,founded\nx"),
        ("/clubs", "application/x-www-form-urlencoded", b"name=%FF"),
        ("/clubs", "text/html", b"<p>"),
        ("/clubs", "application/octet-stream", b"x"),
        ("/clubs", ";;", b"{}"),
        ("/rpc/add", "application/json", b"[1,2"),
        ("/rpc/add", "image/png", b"x"),
    ] {
        let response = post(&league, url, content_type, body).await;
        assert_eq!(
            (response.status, response.code().as_str()),
            (400, "PGRST102"),
            "{content_type} {body:?}: {response:?}"
        );
    }
    // Values are read by Postgres alone, which says so itself.
    let unreadable = post(&league, "/clubs", "application/json", b"{\"name\":\"\xff\"}").await;
    assert_eq!((unreadable.status, unreadable.code().as_str()), (400, "22021"));
    assert_eq!(league.ids("/clubs?select=id&order=id").await, [1, 2, 3]);
}

#[tokio::test]
async fn numbers_out_of_range_are_refused() {
    let league = League::start().await;
    let large = "9".repeat(40);
    for (url, status, code) in [
        (format!("/players?id=eq.{large}"), 400, "22003"),
        (format!("/players?id=in.(1,{large})"), 400, "22003"),
        (format!("/players?select=id,data->{large}&height=eq.1e999999"), 400, "22003"),
        (format!("/rpc/add?a={large}"), 400, "22003"),
        ("/rpc/add?a=2147483647&b=1".to_owned(), 400, "22003"),
        ("/players?shirt=cs.[5,1]".to_owned(), 400, "22000"),
        ("/players?born=gt.2026-02-30".to_owned(), 400, "22008"),
    ] {
        let response = league.get(&url).await;
        assert_eq!((response.status, response.code().as_str()), (status, code), "{url}: {response:?}");
    }
    let beyond = league.get(&format!("/players?offset={large}")).await;
    assert!(beyond.status == 200 || beyond.status == 400 || beyond.status == 416, "{beyond:?}");
    for range in [format!("0-{large}"), format!("{large}-"), "5-2".to_owned(), "nonsense".to_owned()] {
        let response = league.get_with("/players", &[("range", &range)]).await;
        assert!(matches!(response.status, 200 | 206 | 416), "{range}: {response:?}");
    }
    let body = post(&league, "/staff", "application/json", b"{\"id\":1e400,\"name\":\"x\"}").await;
    assert_eq!((body.status, body.code().as_str()), (400, "22P02"), "{body:?}");
    let strict = [("prefer", format!("handling=strict, max-affected={large}"))];
    let response =
        league.change("DELETE", "/lineups?match_id=eq.0", &[(strict[0].0, &strict[0].1)], "").await;
    assert!(matches!(response.status, 204 | 400), "{response:?}");
}

#[tokio::test]
async fn deep_and_long_requests_get_a_response() {
    let league = League::start().await;
    let deep =
        |levels: usize| format!("/players?or=({}id.eq.1{})", "and(".repeat(levels), ")".repeat(levels));
    assert_eq!(league.ids(&deep(50)).await, [1]);
    let refused = league.get(&deep(1000)).await;
    assert_eq!((refused.status, refused.code().as_str()), (400, "PGRST100"));
    let nested = format!("/staff?select={}id{}", "staff(".repeat(1000), ")".repeat(1000));
    assert_eq!(league.get(&nested).await.code(), "PGRST100");
    let json = format!("{{\"id\":9,\"name\":\"x\",\"data\":{}{}}}", "[".repeat(1000), "]".repeat(1000));
    let made = league.change("POST", "/players", &[], &json).await;
    assert_eq!(made.status, 201, "{made:?}");
    // Deeper than Postgres goes: it says so, and nothing else is lost.
    let abyss =
        format!("{{\"id\":10,\"name\":\"x\",\"data\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let refused = league.change("POST", "/players", &[], &abyss).await;
    assert!(matches!(refused.code().as_str(), "54001" | "PGRST102"), "{:.300}", refused.text);
    let argument = format!("{{\"a\":{}{}}}", "{\"a\":".repeat(100_000), "1}".repeat(100_000));
    let refused = league.change("POST", "/rpc/add", &[], &argument).await;
    assert!(matches!(refused.code().as_str(), "22P02" | "54001" | "PGRST102"), "{:.300}", refused.text);
    let filters = format!("/staff?select=id&{}", vec!["id=gt.1"; 7000].join("&"));
    assert_eq!(league.ids(&filters).await, [2, 3]);
    let members = format!("/staff?select=id&or=({})", vec!["id.eq.2"; 7000].join(","));
    assert_eq!(league.ids(&members).await, [2]);
    let values = format!("/staff?select=id&id=in.({})", vec!["3"; 30_000].join(","));
    assert_eq!(league.ids(&values).await, [3]);
    let columns = format!("/staff?select={}", vec!["id"; 5000].join(","));
    let columns = league.get(&columns).await;
    // A row has at most 1664 columns.
    assert_eq!((columns.status, columns.code().as_str()), (500, "54011"), "{columns:?}");
}

/// Returns the response to `request` over a connection of its own, as far as it comes.
async fn raw(league: &League, request: &[u8]) -> String {
    let address = league.base().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may refuse what it has read and hang up before all of it is sent.
    let _refused_early = stream.write_all(request).await;
    let _gone = stream.shutdown().await;
    let mut response = Vec::new();
    let _reset = stream.read_to_end(&mut response).await;
    String::from_utf8_lossy(&response).into_owned()
}

#[tokio::test]
async fn urls_without_end_are_refused() {
    let league = League::start().await;
    let of = |length: usize| format!("GET /clubs?name=eq.{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(length));
    let response = raw(&league, of(60_000).as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    let response = raw(&league, of(70_000).as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 414 "), "{response}");
    let filters = format!("GET /clubs?{} HTTP/1.1\r\nhost: x\r\n\r\n", vec!["id=gt.0"; 10_000].join("&"));
    assert!(raw(&league, filters.as_bytes()).await.starts_with("HTTP/1.1 414 "));
    let response = raw(&league, of(1 << 20).as_bytes()).await;
    assert!(!response.starts_with("HTTP/1.1 2") && !response.starts_with("HTTP/1.1 5"), "{response}");
    assert_eq!(league.get("/clubs").await.status, 200);
}

#[tokio::test]
async fn bodies_that_break_off_change_nothing() {
    let league = League::start().await;
    let head = format!(
        "POST /clubs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer {}\r\n",
        token_of("authenticated")
    );
    let short = raw(&league, format!("{head}content-length: 100\r\n\r\n{{\"name\":\"x\"}}").as_bytes()).await;
    assert!(short.is_empty() || short.starts_with("HTTP/1.1 400 "), "{short}");
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\nc\r\n{{\"name\":\"x\"}}\r\nnonsense\r\n");
    let broken = raw(&league, chunked.as_bytes()).await;
    assert!(broken.starts_with("HTTP/1.1 400 ") && broken.contains("PGRST102"), "{broken}");
    assert_eq!(league.ids("/clubs?select=id&order=id").await, [1, 2, 3]);
}

#[tokio::test]
async fn what_is_said_twice_is_taken_once() {
    let league = League::start().await;
    let representation = [("prefer", "return=representation")];
    let body = r#"{"name":"First","name":"Second"}"#;
    let made = league.change("POST", "/clubs?select=name", &representation, body).await;
    assert_eq!((made.status, made.json()), (201, json!([{ "name": "Second" }])));
    assert_eq!(league.rows("/clubs?select=id&select=name&id=eq.1").await, json!([{ "id": 1 }]));
    // The first order and the last limit, as upstream has it.
    let ordered = league.rows("/clubs?select=id&order=id.desc&order=id.asc&limit=1&limit=2&id=lt.4").await;
    assert_eq!(ordered, json!([{ "id": 3 }, { "id": 2 }]));
    assert_eq!(league.rows("/clubs?select=id,id&id=eq.1").await.as_array().unwrap().len(), 1);
    assert_eq!(league.call("add", &json!({ "a": 1 })).await.json(), json!(11));
    let twice = league.change("POST", "/rpc/add", &[], r#"{"a":1,"a":5}"#).await;
    assert_eq!(twice.json(), json!(15));
}

#[tokio::test]
async fn headers_of_nonsense_are_refused_or_passed_over() {
    let league = League::start().await;
    for (name, value, status, code) in [
        ("accept", "nonsense", 406, "PGRST107"),
        ("accept", ";;,", 406, "PGRST107"),
        ("accept-profile", "\u{ff}", 406, "PGRST106"),
        ("authorization", "Bearer a.b.c", 401, "PGRST301"),
        ("prefer", "timezone='", 400, "22023"),
    ] {
        let response = league.get_with("/clubs", &[(name, value)]).await;
        assert_eq!(
            (response.status, response.code().as_str()),
            (status, code),
            "{name}: {value}: {response:?}"
        );
    }
    for (name, value) in
        [("prefer", "=,;=,count"), ("range", "bytes=a-b"), ("cookie", "=;;\"=\u{ff}"), ("x-\u{2d}", "\u{ff}")]
    {
        assert_eq!(league.get_with("/clubs", &[(name, value)]).await.status, 200, "{name}: {value}");
    }
    let odd = send(league.request("BREW", "/clubs")).await;
    assert_eq!((odd.status, odd.code().as_str()), (405, "PGRST117"));
    let zz = league.get(&format!("/clubs?name=eq.%zz&founded=is.{}", percent_encode("null"))).await;
    assert_eq!((zz.status, zz.json()), (200, json!([])));
}
