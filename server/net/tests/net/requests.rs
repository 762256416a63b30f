//! The extension pg_net.

use std::time::Duration;

use postgres::{Database, Settings};
use tokio::net::TcpListener;
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::support::{PATIENCE, UNREACHABLE, listen, next, number};

/// Returns a database with the extension and a worker of the server `api`, and its administrator's connection; `None`
/// if the environment says that there is no such extension.
async fn working(api: &str) -> Option<(testkit::Database, Client, CancellationToken)> {
    if !testkit::has_extension("pg_net").await {
        return None;
    }
    let database = testkit::Database::create().await;
    let client = database.client().await;
    client.batch_execute("create extension pg_net with schema extensions").await.unwrap();
    let settings =
        Settings { client_pool_size: 1, pool_size: 1, ..Settings::new(database.uri().parse().unwrap()) };
    let pool = Database::connect(settings).await.unwrap();
    let stop = CancellationToken::new();
    let (api, end) = (api.to_owned(), stop.clone());
    tokio::spawn(async move { net::work(pool, &api, end).await });
    Some((database, client, stop))
}

/// Waits for the row of the request in `net._http_response` and returns it.
async fn response(client: &Client, id: i64) -> tokio_postgres::Row {
    let sql = "select status_code, content_type, headers ->> 'x-made', content, timed_out, error_msg
        from net._http_response where id = $1";
    let wait = async {
        loop {
            if let Some(row) = client.query_opt(sql, &[&id]).await.unwrap() {
                return row;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap()
}

#[tokio::test]
async fn requests_are_sent_after_the_commit_and_responses_kept() {
    let Some((_database, client, stop)) = working(UNREACHABLE).await else { return };
    let (origin, mut requests) = listen().await;
    client.batch_execute("set role authenticated; begin").await.unwrap();
    client.query_one(&format!("select net.http_get('{origin}/undone')"), &[]).await.unwrap();
    client.batch_execute("rollback").await.unwrap();

    let params = r#"{"q": "a b&c", "n": 1}"#;
    let get =
        number(&client, &format!("select net.http_get('{origin}/get', '{params}', '{{\"x-key\":\"k\"}}')"))
            .await;
    let request = next(&mut requests).await;
    assert!(request.starts_with("GET /get?"), "the one that was rolled back is not sent: {request}");
    assert!(request.contains("q=a%20b%26c") && request.contains("n=1"), "{request}");
    assert!(request.contains("x-key: k\r\n"), "{request}");

    let post =
        number(&client, &format!("select net.http_post('{origin}/post', '{{\"name\": \"é\"}}')")).await;
    let request = next(&mut requests).await;
    assert!(request.starts_with("POST /post HTTP/1.1"), "{request}");
    assert!(request.contains("content-type: application/json\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"name\": \"é\"}"), "{request}");

    let delete = number(&client, &format!("select net.http_delete('{origin}/delete')")).await;
    assert!(next(&mut requests).await.starts_with("DELETE /delete"));

    client.batch_execute("reset role").await.unwrap();
    for (id, content) in [(get, "got 0"), (post, "got 14"), (delete, "got 0")] {
        let row = response(&client, id).await;
        assert_eq!(row.get::<_, Option<i32>>(0), Some(201));
        assert_eq!(row.get::<_, Option<String>>(1).as_deref(), Some("text/plain"));
        assert_eq!(row.get::<_, Option<String>>(2).as_deref(), Some("yes"));
        assert_eq!(row.get::<_, Option<String>>(3).as_deref(), Some(content));
        assert_eq!(row.get::<_, Option<bool>>(4), Some(false));
        assert_eq!(row.get::<_, Option<String>>(5), None);
    }
    let collected = "select (c).status::text || (c).message || ((c).response).status_code
        from net.http_collect_response($1) as c";
    let collected: String = client.query_one(collected, &[&get]).await.unwrap().get(0);
    assert_eq!(collected, "SUCCESSok201");
    assert_eq!(number(&client, "select count(*) from net.http_request_queue").await, 0);
    stop.cancel();
}

#[tokio::test]
async fn failures_are_recorded_and_delay_nothing() {
    let Some((_database, client, stop)) = working(UNREACHABLE).await else { return };
    let (origin, _requests) = listen().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let hung =
        number(&client, &format!("select net.http_get('{origin}/slow', timeout_milliseconds => 60000)"))
            .await;
    let slow =
        number(&client, &format!("select net.http_get('{origin}/slow', timeout_milliseconds => 300)")).await;
    let refused = number(&client, &format!("select net.http_get('http://{closed}/?secret=s3cret')")).await;
    let bad =
        number(&client, &format!("select net.http_get('{origin}', headers => '{{\"a b\":\"c\"}}')")).await;

    let row = response(&client, slow).await;
    assert_eq!(row.get::<_, Option<bool>>(4), Some(true));
    assert_eq!(row.get::<_, Option<String>>(5).as_deref(), Some("Timeout of 300 ms reached"));
    for id in [refused, bad] {
        let row = response(&client, id).await;
        assert_eq!((row.get::<_, Option<i32>>(0), row.get::<_, Option<bool>>(4)), (None, Some(false)));
        let error: String = row.get(5);
        assert!(!error.is_empty() && !error.contains("s3cret"), "{error}");
    }
    let waiting = "select count(*) from net._http_response where id = ";
    assert_eq!(number(&client, &format!("{waiting}{hung}")).await, 0, "still under way");
    for wrong in ["file:///etc/passwd", "gopher://h", ""] {
        let error = client.query_one("select net.http_get($1)", &[&wrong]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "22023", "{wrong}");
    }
    stop.cancel();
}

#[tokio::test]
async fn only_the_administrator_and_the_service_see_the_queue() {
    let Some((_database, client, stop)) = working(UNREACHABLE).await else { return };
    client.batch_execute("create role outsider; set role outsider").await.unwrap();
    let refused = client.batch_execute("select net.http_get('http://127.0.0.1:1')").await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "42501");
    client.batch_execute("reset role; drop role outsider").await.unwrap();
    for role in ["anon", "authenticated"] {
        client.batch_execute(&format!("set role {role}")).await.unwrap();
        for table in ["http_request_queue", "_http_response"] {
            let refused = client.batch_execute(&format!("select from net.{table}")).await.unwrap_err();
            assert_eq!(refused.code().unwrap().code(), "42501", "{role}");
        }
    }
    client.batch_execute("set role service_role; select from net._http_response").await.unwrap();
    stop.cancel();
}

#[tokio::test]
async fn requests_have_the_trace_of_the_request_to_the_api() {
    let Some((_database, client, stop)) = working(UNREACHABLE).await else { return };
    let (origin, mut requests) = listen().await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let own = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-00";
    let named = format!(r#"{{"traceparent": "{parent}", "x": "1"}}"#);
    for (headers, argument, expected) in [
        (named.as_str(), "{}".to_owned(), Some(parent)),
        (&named, format!(r#"{{"Traceparent": "{own}"}}"#), Some(own)),
        (r#"{"traceparent": "00-secret"}"#, "{}".to_owned(), None),
        ("no JSON", "{}".to_owned(), None),
        ("", "{}".to_owned(), None),
    ] {
        let sql = format!(
            "begin; select set_config('request.headers', '{headers}', true);
             select net.http_get('{origin}', headers => '{argument}'); commit"
        );
        client.batch_execute(&sql).await.unwrap();
        let request = next(&mut requests).await;
        let sent = request.lines().find_map(|line| line.strip_prefix("traceparent: "));
        assert_eq!(sent, expected, "{headers} {argument}: {request}");
    }
    stop.cancel();
}

#[tokio::test]
async fn hosts_that_only_containers_know_lead_here() {
    let (origin, mut requests) = listen().await;
    let Some((_database, client, stop)) = working(&origin).await else { return };
    let port = origin.rsplit(':').next().unwrap();
    for url in [
        "http://kong:8000/functions/v1/a".to_owned(),
        "http://api.supabase.internal:8000/functions/v1/a".to_owned(),
        "http://supabase_kong_My-Project:8000/functions/v1/a".to_owned(),
        format!("http://host.docker.internal:{port}/functions/v1/a"),
    ] {
        let id = number(&client, &format!("select net.http_get('{url}')")).await;
        assert_eq!(response(&client, id).await.get::<_, Option<i32>>(0), Some(201), "{url}");
        assert!(next(&mut requests).await.starts_with("GET /functions/v1/a "), "{url}");
    }
    stop.cancel();
}

#[tokio::test]
async fn webhooks_of_the_dashboard_send_rows() {
    let (origin, mut requests) = listen().await;
    let Some((_database, client, stop)) = working(&origin).await else { return };
    let sql = format!(
        "create table public.orders (id int primary key, note text);
         create trigger hook after insert or update or delete on public.orders for each row
           execute function supabase_functions.http_request('{origin}/hook', 'POST', '{{\"x-key\":\"k\"}}', '{{}}', '5000');
         grant all on public.orders to service_role; set role service_role;
         insert into public.orders values (1, 'a'); update public.orders set note = 'b'; delete from public.orders"
    );
    client.batch_execute(&sql).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let request = next(&mut requests).await;
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /hook ") && head.contains("x-key: k"), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["schema"], &body["table"]), (&"public".into(), &"orders".into()));
        seen.push(format!(
            "{}: {} {}",
            body["type"].as_str().unwrap(),
            body["old_record"]["note"],
            body["record"]["note"]
        ));
    }
    seen.sort();
    assert_eq!(seen, ["DELETE: \"b\" null", "INSERT: null \"a\"", "UPDATE: \"a\" \"b\""]);
    client.batch_execute("reset role").await.unwrap();
    assert_eq!(
        number(&client, "select count(*) from supabase_functions.hooks where request_id > 0").await,
        3
    );
    stop.cancel();
}
