//! The extension http.

use std::time::{Duration, Instant};

use postgres::{Database, Settings};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_postgres::Client;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::support::{PATIENCE, UNREACHABLE, listen, next, number};

/// Returns a database with the extension and a worker of the server `api`, and its administrator's connection; `None`
/// if the environment says that there is no such extension, or the original one is there.
async fn working(api: &str) -> Option<(testkit::Database, Client, DropGuard)> {
    if !testkit::has_extension("http").await {
        return None;
    }
    let database = testkit::Database::create().await;
    let client = database.client().await;
    let own =
        "select count(*) from pg_available_extensions where name = 'http' and comment like '%(by Basalt)'";
    if number(&client, own).await == 0 {
        return None;
    }
    client.batch_execute("set role postgres; create extension http with schema extensions").await.unwrap();
    let settings =
        Settings { client_pool_size: 1, pool_size: 1, ..Settings::new(database.uri().parse().unwrap()) };
    let pool = Database::connect(settings.clone()).await.unwrap();
    let stop = CancellationToken::new();
    let (api, end) = (api.to_owned(), stop.clone());
    tokio::spawn(async move { net::http::work(pool, settings, &api, end).await });
    Some((database, client, stop.drop_guard()))
}

/// Calls `call`, an expression, and returns the status, the content and the header "x-made", or the SQLSTATE and
/// message.
async fn call(client: &Client, call: &str) -> Result<(i32, String, String), (String, String)> {
    let sql = format!(
        "select r.status, coalesce(r.content, ''),
           coalesce((select h.value from unnest(r.headers) as h where h.field = 'x-made'), '')
         from {call} as r"
    );
    let row = client.query_one(&sql, &[]).await.map_err(|error| {
        let refusal = error.as_db_error().unwrap();
        (refusal.code().code().to_owned(), refusal.message().to_owned())
    })?;
    Ok((row.get(0), row.get(1), row.get(2)))
}

/// Calls and returns the request that the server has received.
async fn received(client: &Client, sql: &str, requests: &mut mpsc::UnboundedReceiver<String>) -> String {
    call(client, sql).await.unwrap();
    next(requests).await
}

#[tokio::test]
async fn calls_wait_for_their_responses_within_the_transaction() {
    let Some((_database, client, _stop)) = working(UNREACHABLE).await else { return };
    let (origin, mut requests) = listen().await;
    client
        .batch_execute("begin; create table public.seen (n int); set local role authenticated")
        .await
        .unwrap();
    let response = call(&client, &format!("extensions.http_get('{origin}/get')")).await;
    assert_eq!(response, Ok((201, "got 0".to_owned(), "yes".to_owned())));
    client.batch_execute("rollback; reset role").await.unwrap();
    assert!(next(&mut requests).await.starts_with("GET /get HTTP/1.1"));

    let data = r#"{"q": "a b&c", "n": 1}"#;
    for (sql, begins, contains) in [
        (format!("http_get('{origin}/', '{data}'::jsonb)"), "GET /?n=1&q=a+b%26c ", ""),
        (format!("http_post('{origin}/', '{data}'::jsonb)"), "POST / ", "\r\n\r\nn=1&q=a+b%26c"),
        (
            format!("http_post('{origin}/', '\"é\"', 'application/json')"),
            "POST / ",
            "content-type: application/json\r\n",
        ),
        (format!("http_put('{origin}/', 'x', 'text/plain')"), "PUT / ", "\r\n\r\nx"),
        (format!("http_patch('{origin}/', 'x', 'text/plain')"), "PATCH / ", "\r\n\r\nx"),
        (format!("http_delete('{origin}/')"), "DELETE / ", ""),
        (format!("http_delete('{origin}/', 'x', 'text/plain')"), "DELETE / ", "\r\n\r\nx"),
        (format!("http_head('{origin}/')"), "HEAD / ", ""),
        (
            format!(
                "http(('GET', '{origin}/', array[http_header('X-Key', 'k'), http_header('X-Key', 'l')], null, null)::http_request)"
            ),
            "GET / ",
            "x-key: k\r\nx-key: l\r\n",
        ),
    ] {
        let request = received(&client, &sql, &mut requests).await;
        assert!(request.starts_with(begins) && request.contains(contains), "{sql}: {request}");
    }
}

#[tokio::test]
async fn redirections_encodings_and_options_are_as_upstreams() {
    let Some((_database, client, _stop)) = working(UNREACHABLE).await else { return };
    let (origin, mut requests) = listen().await;
    let (status, content, _) = call(&client, &format!("http_get('{origin}/elsewhere')")).await.unwrap();
    assert_eq!((status, content.as_str()), (201, "got 0"));
    assert_eq!(call(&client, &format!("http_head('{origin}/elsewhere')")).await.unwrap().0, 302);
    assert_eq!(call(&client, &format!("http_get('{origin}/latin')")).await.unwrap().1, "é");
    let (code, message) = call(&client, &format!("http_get('{origin}/picture')")).await.unwrap_err();
    assert_eq!(code, "P0001");
    assert!(message.contains("not text"), "{message}");
    for _ in 0..5 {
        next(&mut requests).await;
    }
    client.batch_execute("select http_set_curlopt('curlopt_useragent', 'me/1')").await.unwrap();
    assert!(
        received(&client, &format!("http_get('{origin}/')"), &mut requests)
            .await
            .contains("user-agent: me/1\r\n")
    );
    assert_eq!(number(&client, "select count(*) from http_list_curlopt() where value = 'me/1'").await, 1);
    client.batch_execute("select http_reset_curlopt()").await.unwrap();
    assert!(!received(&client, &format!("http_get('{origin}/')"), &mut requests).await.contains("me/1"));
    let refused = client.batch_execute("select http_set_curlopt('CURLOPT_PROXY', 'x')").await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "0A000");
    let texts = "select concat_ws(' ', urlencode('a b''é~'), urlencode('\\x0041'::bytea), text_to_bytea('é'), bytea_to_text('\\xc3a9'))";
    let texts: String = client.query_one(texts, &[]).await.unwrap().get(0);
    assert_eq!(texts, "a+b%27%C3%A9~ %00A \\xc3a9 é");
}

#[tokio::test]
async fn calls_that_fail_say_why_and_leave_nothing() {
    let Some((_database, client, _stop)) = working(UNREACHABLE).await else { return };
    let (origin, _requests) = listen().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    call(&client, &format!("http_get('{origin}/')")).await.unwrap();
    client.batch_execute("select http_set_curlopt('CURLOPT_TIMEOUT_MS', '300')").await.unwrap();
    let begun = Instant::now();
    let (_, message) = call(&client, &format!("http_get('{origin}/slow')")).await.unwrap_err();
    assert_eq!(message, "Operation timed out after 300 milliseconds");
    assert!(begun.elapsed() < Duration::from_secs(20));
    client.batch_execute("select http_reset_curlopt()").await.unwrap();
    for (sql, code, part) in [
        (format!("http_get('http://{closed}/?secret=s3cret')"), "P0001", "refused"),
        ("http_get('file:///etc/passwd')".to_owned(), "22023", "not supported"),
        ("http_get(null)".to_owned(), "22004", "uri is NULL"),
        (format!("http_post('{origin}/', null, 'text/plain')"), "22004", "content is NULL"),
        (
            format!("http(('GET', '{origin}/', array[http_header('a b', 'c')], null, null)::http_request)"),
            "P0001",
            "not a header",
        ),
    ] {
        let (state, message) = call(&client, &sql).await.unwrap_err();
        assert_eq!(state, code, "{sql}: {message}");
        assert!(message.contains(part) && !message.contains("s3cret"), "{sql}: {message}");
    }
    client.batch_execute("set statement_timeout = 200").await.unwrap();
    let (state, _) = call(&client, &format!("http_get('{origin}/slow')")).await.unwrap_err();
    assert_eq!(state, "57014");
    client.batch_execute("reset statement_timeout; reset role").await.unwrap();
    let left = "select (select count(*) from basalt_http.requests) + (select count(*) from pg_stat_activity
        where application_name = 'basalt-http' and datname = current_database())";
    // A session that was closed ends a moment later.
    let ended = async {
        while number(&client, left).await != 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
}

#[tokio::test]
async fn the_transaction_that_creates_the_extension_is_told_that_it_cannot_call() {
    if working(UNREACHABLE).await.is_none() {
        return;
    }
    let database = testkit::Database::create().await;
    let client = database.client().await;
    client.batch_execute("begin; create extension http with schema extensions").await.unwrap();
    let error = client.query_one("select http_get('http://127.0.0.1:1/')", &[]).await.unwrap_err();
    assert_eq!(error.as_db_error().unwrap().message(), "Basalt cannot be reached");
}

#[tokio::test]
async fn nobody_reaches_the_queue_but_by_calls() {
    let Some((database, client, _stop)) = working(UNREACHABLE).await else { return };
    let login =
        number(&client, "select oid::bigint from pg_database where datname = current_database()").await;
    let login = format!("basalt_http_{login}");
    for role in ["anon", "service_role", "postgres"] {
        client.batch_execute(&format!("reset role; set role {role}")).await.unwrap();
        for sql in [
            "select basalt_http.password()",
            "select basalt_http.exchange('{}', 1)",
            "select basalt_http.prepare()",
            "select basalt_http.connect('a', '')",
            "insert into basalt_http.answers values (gen_random_uuid(), '{}')",
        ] {
            let refused = client.batch_execute(sql).await.unwrap_err();
            assert_eq!(refused.code().unwrap().code(), "42501", "{role}: {sql}");
        }
    }
    client.batch_execute(&format!("reset role; set session authorization {login}")).await.unwrap();
    for sql in [
        "select from basalt_http.requests",
        "select from basalt_http.answers",
        "select basalt_http.password()",
        "select from auth.users",
        "create table public.own ()",
    ] {
        let refused = client.batch_execute(sql).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "42501", "{sql}");
    }
    client.batch_execute("reset session authorization").await.unwrap();

    // A role that somebody has made under this name does not keep it.
    client
        .batch_execute(&format!(
            "drop extension http; drop role {login}; create role {login}; grant {login} to anon"
        ))
        .await
        .unwrap();
    client.batch_execute("create extension http with schema extensions").await.unwrap();
    let members = format!("select count(*) from pg_auth_members where roleid = '{login}'::regrole");
    assert_eq!(number(&client, &members).await, 0);
    let other = database.client_as("postgres").await;
    client.batch_execute("drop extension http").await.unwrap();
    let refused = other.batch_execute("create schema basalt_http").await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "42501");
    client.batch_execute(&format!("drop role {login}")).await.unwrap();
}

#[tokio::test]
async fn a_call_waits_while_as_many_as_may_be_are_under_way() {
    let Some((database, client, _stop)) = working(UNREACHABLE).await else { return };
    let (origin, _requests) = listen().await;
    let limit = "select sum(rolconnlimit) from pg_roles
        where rolname = 'basalt_http_' || (select oid from pg_database where datname = current_database())";
    let limit = number(&client, limit).await;
    assert!(
        (1..=10).contains(&limit),
        "what the role postgres may not have is for the services, too: {limit}"
    );
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..=limit {
        let (client, sql) = (database.client().await, format!("extensions.http_get('{origin}/later')"));
        calls.spawn(async move { call(&client, &sql).await.map(|response| response.0) });
    }
    while let Some(response) = calls.join_next().await {
        assert_eq!(response.unwrap(), Ok(201));
    }
}

#[tokio::test]
async fn calls_take_five_seconds_unless_an_option_says_otherwise() {
    let Some((_database, client, _stop)) = working(UNREACHABLE).await else { return };
    client.batch_execute("reset role").await.unwrap();
    let limit = "select basalt_http.timeout()::bigint";
    assert_eq!(number(&client, limit).await, 5000);
    for (option, milliseconds) in [("CURLOPT_TIMEOUT', '2", 2000), ("CURLOPT_TIMEOUT_MS', '300", 300)] {
        client.batch_execute(&format!("select extensions.http_set_curlopt('{option}')")).await.unwrap();
        assert_eq!(number(&client, limit).await, milliseconds);
    }
}

#[tokio::test]
async fn requests_under_way_outlive_failures_of_the_database() {
    let Some((database, client, _stop)) = working(UNREACHABLE).await else { return };
    let (origin, mut requests) = listen().await;
    let caller = database.client().await;
    let sql = format!("extensions.http_get('{origin}/later')");
    let calling = tokio::spawn(async move { call(&caller, &sql).await });
    assert!(next(&mut requests).await.starts_with("GET /later "));
    let fail = "reset role; create function public.fail() returns trigger language plpgsql
          as $$ begin raise exception 'failing'; end $$;
        create trigger fail before delete on basalt_http.requests for each statement execute function public.fail();
        notify basalt_http";
    client.batch_execute(fail).await.unwrap();
    // The worker takes requests at each notification, and once a second at least.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    client.batch_execute("drop trigger fail on basalt_http.requests").await.unwrap();
    assert_eq!(calling.await.unwrap(), Ok((201, "got 0".to_owned(), "yes".to_owned())));
    call(&client, &format!("extensions.http_get('{origin}/')")).await.unwrap();
}

/// Whoever owns the schema of the extension can put another one of its name in its place.
#[tokio::test]
async fn nothing_of_a_renamed_schemas_owner_runs_as_the_superuser() {
    let Some((_database, client, _stop)) = working(UNREACHABLE).await else { return };
    let (origin, mut requests) = listen().await;
    client
        .batch_execute(
            "drop extension http; create schema mine; create extension http schema mine;
             alter schema mine rename to former; create schema mine;
             create type mine.pair as (field varchar, value varchar);
             create function mine.tell(anyelement) returns boolean language plpgsql
             as $$ begin raise exception using message = 'ran as ' || current_user; end $$;
             create function mine.urlencode(string varchar) returns text language sql return mine.tell(string)::text;
             create domain mine.http_header as mine.pair check (mine.tell(value));
             create type mine.http_response as (
               status integer, content_type varchar, headers mine.http_header[], content varchar
             )",
        )
        .await
        .unwrap();
    received(&client, &format!("former.http_get('{origin}/')"), &mut requests).await;
    let with_data = format!("former.http_get('{origin}/', '{{\"a\": 1}}'::jsonb)");
    let request = received(&client, &with_data, &mut requests).await;
    assert!(request.starts_with("GET /?a=1 "), "{request}");
}

#[tokio::test]
async fn hosts_that_only_containers_know_lead_here() {
    let (origin, mut requests) = listen().await;
    let Some((_database, client, _stop)) = working(&origin).await else { return };
    for host in ["kong", "supabase_kong_shop"] {
        let sql = format!("http_get('http://{host}:8000/functions/v1/a')");
        assert!(received(&client, &sql, &mut requests).await.starts_with("GET /functions/v1/a "), "{host}");
    }
}
