//! Changes of the catalog under load: a request that is valid before and after gets a response meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::harness::{League, send, token_of};

const CLIENTS: usize = 6;
/// How many requests get a response after each change before the next.
const BETWEEN: usize = 80;

const TABLES: &str = "
    create type league.mood as enum ('glad');
    create table league.tt (code text, kept int default 1, mood league.mood);
    insert into league.tt select n::text from generate_series(1, 9) as n;
    create view league.vv as select code, kept from league.tt;
    create function league.double(a text) returns text language sql as 'select a || a';
    create function league.list() returns setof league.tt language sql as 'select * from league.tt limit 3';
    grant all on league.tt, league.vv to authenticated";

/// (method, path, body)
const REQUESTS: &[(&str, &str, &str)] = &[
    ("GET", "/tt?code=eq.7", ""),
    ("GET", "/tt?select=code,kept,mood&code=in.(7,8)&order=code", ""),
    ("GET", "/tt?or=(code.eq.7,kept.eq.1)&limit=2", ""),
    ("GET", "/vv?code=eq.7", ""),
    ("GET", "/vv?select=code::text&limit=1", ""),
    ("PATCH", "/tt?code=eq.7", r#"{"kept":1}"#),
    ("PATCH", "/tt?code=in.(7,8)&select=code", r#"{"code":"7","kept":1}"#),
    ("POST", "/tt", r#"{"code":"11"}"#),
    ("POST", "/tt?columns=code,kept", r#"[{"code":"11","kept":2},{"code":"12","kept":3}]"#),
    ("DELETE", "/tt?code=eq.11", ""),
    ("POST", "/rpc/double", r#"{"a":"7"}"#),
    ("GET", "/rpc/double?a=7", ""),
    ("GET", "/rpc/list?select=code", ""),
];

const CHANGES: &[&str] = &[
    "drop view league.vv; alter table league.tt alter code type int using code::int;
     create view league.vv as select code, kept from league.tt; grant all on league.vv to authenticated",
    "alter table league.tt add column more text default 'x'",
    "drop function league.double; create function league.double(a int) returns int language sql as 'select 2 * a'",
    "drop view league.vv; alter table league.tt alter code type bigint;
     create view league.vv as select kept, code from league.tt; grant all on league.vv to authenticated",
    "alter table league.tt drop column more",
    "alter type league.mood add value 'sad'",
    "alter table league.tt rename code to other; alter table league.tt rename other to code",
    "alter table league.tt rename to uu; alter table league.uu rename to tt",
    "create or replace view league.vv as select kept, code, 1 as one from league.tt",
    "alter table league.tt set schema archive; alter table archive.tt set schema league",
    "do $$ begin
       execute format('alter role authenticator in database %I set pgrst.db_extra_search_path = archive', current_database());
       execute format('alter role authenticator in database %I set work_mem = ''5MB''', current_database());
     end $$; notify pgrst",
    "drop function league.double; create function league.double(a text) returns text language sql as 'select a || a'",
    "drop view league.vv; alter table league.tt alter code type text;
     create view league.vv as select code, kept from league.tt; grant all on league.vv to authenticated",
];

/// Sends one request after the other until `is_over`, and returns what was refused.
async fn ask_on(
    league: Arc<League>,
    from: usize,
    responded: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
) -> Vec<String> {
    let mut refused = Vec::new();
    let token = token_of("authenticated");
    for (method, path, body) in REQUESTS.iter().cycle().skip(from) {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let request = league.request(method, path).bearer_auth(&token);
        let request = request.header("content-type", "application/json").body(*body);
        let response = send(request).await;
        if response.status >= 300 {
            refused.push(format!("{method} {path}: {} {}", response.status, response.text));
        }
        responded.fetch_add(1, Ordering::Relaxed);
    }
    refused
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_of_a_thousand_requests_fails_at_changes_that_leave_them_valid() {
    let league = Arc::new(League::extended(TABLES, |_| {}).await);
    let superuser = league.database.client().await;
    let (responded, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            tokio::spawn(ask_on(
                Arc::clone(&league),
                2 * number,
                Arc::clone(&responded),
                Arc::clone(&is_over),
            ))
        })
        .collect();
    let some_more = async || {
        let enough = responded.load(Ordering::Relaxed) + BETWEEN;
        while responded.load(Ordering::Relaxed) < enough {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    for change in CHANGES {
        some_more().await;
        superuser.batch_execute(change).await.unwrap();
    }
    some_more().await;
    is_over.store(true, Ordering::Relaxed);
    let mut refused = Vec::new();
    for client in clients {
        refused.extend(client.await.unwrap());
    }
    assert!(responded.load(Ordering::Relaxed) > 1000);
    assert!(
        refused.is_empty(),
        "{} of {responded:?}: {:#?}",
        refused.len(),
        &refused[..refused.len().min(12)]
    );
}

#[tokio::test]
async fn a_reload_reaches_sessions_that_are_open() {
    let function = "create function league.work_mem() returns text language sql as $$ select current_setting('work_mem') $$";
    // Without a channel, as with a signal to the process.
    let league = League::on(
        testkit::Database::create().await,
        function,
        |_| {},
        |connection| {
            connection.channel = None;
        },
    )
    .await;
    assert_eq!(league.rows("/rpc/work_mem").await, "4MB");
    let superuser = league.database.client().await;
    let set = "do $$ begin
       execute format('alter role authenticator in database %I set work_mem = ''5MB''', current_database());
     end $$";
    superuser.batch_execute(set).await.unwrap();
    assert_eq!(league.rows("/rpc/work_mem").await, "4MB");
    league.rest.reload();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while send(league.request("GET", "/rpc/work_mem")).await.json() != "5MB" {
        assert!(tokio::time::Instant::now() < deadline, "the old sessions go on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
