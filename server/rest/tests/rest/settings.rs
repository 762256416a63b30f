//! Settings: in the database, read again, and what each of them changes; and what operators can ask.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use std::io::Write;
use std::sync::{Arc, Mutex};

use poem::Endpoint as _;
use reqwest::Method;
use serde_json::json;

use crate::harness::{League, keys, probe, send, token, token_of};

/// Returns the response of an operator's port to a path.
pub(crate) async fn admin(league: &League, path: &str) -> (u16, String) {
    let request = poem::Request::builder().uri_str(path).finish();
    let response =
        league.rest.admin(probe(true)).call(request).await.unwrap_or_else(|error| error.into_response());
    let status = response.status().as_u16();
    (status, response.into_body().into_string().await.unwrap_or_default())
}

#[tokio::test]
async fn settings_of_the_role_are_read_again() {
    let league = League::start().await;
    let superuser = league.database.client().await;
    assert_eq!(league.get("/ghosts").await.status, 404);
    let sql = "create schema attic; create table attic.ghosts (id int); insert into attic.ghosts values (1), (2);
               grant usage on schema attic to anon; grant select on attic.ghosts to anon;
               create function public.adjust() returns void language sql as $$
                 select set_config('pgrst.db_max_rows', '1', true), set_config('pgrst.db_anon_role', 'nobody', true) $$;
               do $$ begin execute format('alter role authenticator in database %I set pgrst.db_schemas = \"attic\"',
                 current_database());
               execute format('alter role authenticator in database %I set pgrst.db_anon_role = \"anon\"',
                 current_database()); end $$;
               notify pgrst, 'reload config'";
    superuser.batch_execute(&sql.replace("\\\"", "\"")).await.unwrap();
    league.until("/ghosts", 200).await;
    assert_eq!(league.rows("/ghosts").await.as_array().unwrap().len(), 2);
    assert_eq!(league.get("/clubs").await.code(), "PGRST205");
}

#[tokio::test]
async fn a_function_may_configure_the_service() {
    let sql = "create function public.\"select\"() returns void language sql as $$
                 select set_config('pgrst.db_max_rows', '1', true),
                        set_config('pgrst.server_timing_enabled', 'true', true),
                        set_config('pgrst.jwt_secret', 'a secret of the database, 32 bytes long', true) $$";
    let league =
        League::extended(sql, |settings| settings.db_pre_config = Some("public.select".to_owned())).await;
    let clubs = league.get("/clubs").await;
    assert_eq!(clubs.json().as_array().unwrap().len(), 1);
    assert!(clubs.header("server-timing").contains("transaction;dur="), "{clubs:?}");
    let foreign = send(league.request("GET", "/clubs").bearer_auth(token_of("authenticated"))).await;
    assert_eq!((foreign.status, foreign.code()), (401, "PGRST301".to_owned()));
}

#[tokio::test]
async fn what_cannot_be_used_changes_nothing() {
    let sql = "create function public.configure() returns void language sql as $$
                 select set_config('pgrst.db_max_rows', 'many', true) $$";
    let league =
        League::extended(sql, |settings| settings.db_pre_config = Some("public.configure".to_owned())).await;
    assert_eq!(league.rows("/clubs").await.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn the_database_can_be_left_out() {
    let sql = "create function public.configure() returns void language sql as $$
                 select set_config('pgrst.db_max_rows', '1', true) $$";
    let league = League::extended(sql, |settings| {
        settings.db_pre_config = Some("public.configure".to_owned());
        settings.db_config = false;
    })
    .await;
    assert_eq!(league.rows("/clubs").await.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn the_role_is_where_the_path_leads() {
    let league = League::with(|settings| {
        settings.set("jwt-role-claim-key", "$.app.roles[-1]").unwrap();
        settings.set("jwt-aud", "league").unwrap();
        settings.set("jwt-cache-max-entries", "0").unwrap();
        settings.set("app_settings_club", "Row").unwrap();
    })
    .await;
    let claims = json!({ "aud": "league", "app": { "roles": ["x", "authenticated"] } });
    let request = league.request("GET", "/rpc/context").bearer_auth(token(&claims));
    let context = send(request).await.json();
    assert_eq!(context["role"], "authenticated");
    let expected =
        json!({ "aud": "league", "app": { "roles": ["x", "authenticated"] }, "role": "authenticated" });
    assert_eq!(context["claims"], expected, "policies find the role where it always is");
    let wrong = league.request("GET", "/clubs").bearer_auth(token(&json!({ "aud": "another" })));
    assert_eq!(send(wrong).await.code(), "PGRST303");
    let (_, metrics) = admin(&league, "/metrics").await;
    assert!(
        metrics.contains("pgrst_jwt_cache_requests_total 2\npgrst")
            || metrics.contains("_requests_total 2\n")
    );
    assert!(metrics.contains("pgrst_jwt_cache_hits_total 0\n"), "{metrics}");
}

#[tokio::test]
async fn settings_of_transactions_come_from_the_role_and_the_operator() {
    let sql = "create function league.level() returns json stable language sql as $$
                 select json_build_array(current_setting('transaction_isolation'),
                   current_setting('app.settings.club', true)) $$;
               create role careful in role anon; grant careful to authenticator;
               alter role careful set default_transaction_isolation = 'serializable'";
    let league =
        League::extended(sql, |settings| assert!(settings.set("app_settings_club", "Row").unwrap())).await;
    let request = league.request("GET", "/rpc/level").bearer_auth(token_of("careful"));
    assert_eq!(send(request).await.json(), json!(["serializable", "Row"]));
    assert_eq!(league.rows("/rpc/level").await, json!(["read committed", "Row"]));
    league.database.client().await.batch_execute("drop owned by careful; drop role careful").await.unwrap();
}

#[tokio::test]
async fn headers_that_settings_ask_for() {
    let league =
        League::with(|settings| assert!(settings.set("server-trace-header", "X-Trace").unwrap())).await;
    assert_eq!(league.get_with("/clubs", &[("x-trace", "abc")]).await.header("x-trace"), "abc");
    assert_eq!(league.get_with("/nothing", &[("x-trace", "abc")]).await.header("x-trace"), "abc");
    let plain = league.get("/clubs").await;
    assert!(plain.headers.contains_key("x-trace") && plain.header("x-trace").is_empty());
    assert!(!plain.headers.contains_key("server-timing") && !plain.headers.contains_key("warning"));
    let legacy = league.get("/clubs?select=name,sides:teams(name)&teams.order=name").await;
    assert!(legacy.header("warning").starts_with("299 Basalt \"Embedded resource"), "{legacy:?}");
    assert!(legacy.header("warning").contains("Update `teams` to `sides` in"), "{legacy:?}");
}

/// What is logged, one JSON object a line.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Returns the fields of the lines that hold `part`, with their level.
    fn lines(&self, part: &str) -> Vec<(String, serde_json::Value)> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().filter(|line| line.contains(part)).map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["target"], "access", "{line}");
            (line["level"].as_str().unwrap().to_owned(), line["fields"]["sql"].clone())
        });
        lines.collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_sql_of_requests_is_logged_without_their_values() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
    // The service runs on this thread, too.
    let _guard = tracing::subscriber::set_default(subscriber);
    let league = League::with(|settings| assert!(settings.set("log-query", "true").unwrap())).await;
    assert_eq!(league.ids("/clubs?select=id&name=eq.Mill%20Lane").await, [2]);
    let read = log.lines("\\\"clubs\\\".\\\"name\\\" = ");
    assert!(!read.is_empty());
    for (level, sql) in &read {
        assert!(level == "INFO" && sql.as_str().unwrap().ends_with(" = $1"), "{read:?}");
    }

    assert_eq!(league.get("/clubs?id=eq.nonsense").await.status, 400);
    let refused = log.lines("\"WARN\"");
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|(_, sql)| !sql.as_str().unwrap().contains("nonsense")), "{refused:?}");
    assert_eq!(league.call("refuse", &json!({ "how": "slow" })).await.status, 500);
    let failed = log.lines("\"ERROR\"");
    assert!(!failed.is_empty());
    assert!(failed.iter().all(|(_, sql)| sql.as_str().unwrap().contains("\"refuse\"")), "{failed:?}");

    let silent = Log::default();
    let writer = silent.clone();
    let subscriber = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let league = League::start().await;
    assert_eq!(league.ids("/clubs?select=id&id=eq.1").await, [1]);
    assert_eq!(silent.lines("SELECT"), [], "nothing is logged unless that is asked for");
}

#[tokio::test]
async fn embeds_with_an_alias_may_go_by_that_alone() {
    let league =
        League::with(|settings| assert!(settings.set("url-use-legacy-target-names", "false").unwrap())).await;
    let url = "/clubs?select=id,sides:teams(id),squads:teams(name)&id=eq.1&sides.id=eq.1&squads.id=eq.2";
    let both = league.get(url).await;
    assert_eq!(
        both.json(),
        json!([{ "id": 1, "sides": [{ "id": 1 }], "squads": [{ "name": "Row Reserves" }] }])
    );
    assert!(!both.headers.contains_key("warning"), "{both:?}");
    assert_eq!(
        league.rows("/clubs?select=id,teams(id)&id=eq.1&teams.order=id.desc&teams.limit=1").await,
        json!([{ "id": 1, "teams": [{ "id": 2 }] }])
    );
    for parameter in ["teams.id=eq.1", "teams.order=id", "teams.limit=1", "teams.or=(id.eq.1)"] {
        let refused = league.get(&format!("/clubs?select=id,sides:teams(id)&{parameter}")).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "PGRST108".to_owned()),
            "{parameter}: {refused:?}"
        );
        let body = refused.json();
        assert_eq!(body["details"], "Target names are not allowed in filters if they have an alias");
        assert_eq!(body["hint"], "Change 'teams' to 'sides' in filters, orders or limits.");
    }
}

#[tokio::test]
async fn verified_tokens_are_kept_up_to_a_limit() {
    let league = League::with(|settings| assert!(settings.set("jwt-cache-max-entries", "2").unwrap())).await;
    // There is room for two of a usual length.
    let tokens: Vec<String> = (0..8)
        .map(|n| token(&json!({ "role": "authenticated", "sub": format!("{n}{}", "x".repeat(900)) })))
        .collect();
    for bearer in tokens.iter().chain([&tokens[7]]) {
        let response = send(league.request("GET", "/rpc/add?a=1").bearer_auth(bearer)).await;
        assert_eq!(response.status, 200, "{response:?}");
    }
    let (_, metrics) = admin(&league, "/metrics").await;
    let figure = |name: &str| -> u64 {
        let line =
            metrics.lines().find_map(|line| line.strip_prefix(&format!("pgrst_jwt_cache_{name}_total ")));
        line.unwrap().parse().unwrap()
    };
    assert_eq!(figure("requests"), 9);
    assert!(figure("hits") <= 1 && figure("evictions") >= 5, "{metrics}");
}

#[tokio::test]
async fn bodies_have_a_largest_size() {
    let league = League::with(|settings| assert!(settings.set("server-max-body-size", "100").unwrap())).await;
    let of = |length: usize| format!("{{\"name\":\"{}\"}}", "x".repeat(length - 11));
    assert_eq!(league.change("POST", "/clubs", &[], &of(100)).await.status, 201);
    let large = league.change("POST", "/clubs", &[], &of(101)).await;
    assert_eq!((large.status, large.code()), (413, "PGRST102".to_owned()));
    assert_eq!(large.json()["details"], "The body has more than 100 bytes.");
}

#[tokio::test]
async fn the_admin_server_reports_an_unreachable_database() {
    let nowhere = postgres::Settings::new("postgres://authenticator@127.0.0.1:1/postgres".parse().unwrap());
    let database = postgres::Database::connect(nowhere).await.unwrap();
    let rest = rest::service(rest::Settings::default(), database, keys().verifier());
    let admin = rest.admin(probe(false));
    let ask = async |path: &str, method: Method| {
        let request = poem::Request::builder().method(method).uri_str(path).finish();
        let response = admin.call(request).await.unwrap();
        (response.status().as_u16(), response.into_body().into_string().await.unwrap())
    };
    assert_eq!(ask("/live", Method::GET).await, (500, String::new()), "nobody is let in");
    assert_eq!(ask("/ready", Method::GET).await, (503, String::new()));
    assert_eq!(ask("/ready", Method::HEAD).await.0, 503);
    assert_eq!(ask("/schema_cache", Method::GET).await, (200, String::new()));
    assert_eq!(ask("/live", Method::POST).await.0, 405);
    assert!(
        ask("/metrics", Method::GET)
            .await
            .1
            .contains("pgrst_schema_cache_loads_total{status=\"SUCCESS\"} 0\n")
    );
}

#[tokio::test]
async fn operators_see_how_the_service_does() {
    let league = League::with(|settings| assert!(settings.set("db-max-rows", "7").unwrap())).await;
    league.ids("/clubs").await;
    assert_eq!(admin(&league, "/live").await, (200, String::new()));
    assert_eq!(admin(&league, "/ready").await, (200, String::new()));
    let request = poem::Request::builder().uri_str("/ready").finish();
    assert_eq!(
        league.rest.admin(probe(false)).call(request).await.unwrap().status(),
        500,
        "nobody is let in"
    );
    assert_eq!(admin(&league, "/elsewhere").await.0, 404);
    let (status, metrics) = admin(&league, "/metrics").await;
    assert_eq!(status, 200);
    for line in [
        "# TYPE pgrst_schema_cache_query_time_seconds gauge",
        "pgrst_schema_cache_loads_total{status=\"FAIL\"} 0",
        "pgrst_db_pool_max 4",
        "pgrst_db_pool_timeouts_total 0",
        "pgrst_db_pool_waiting 0",
        "# TYPE pgrst_jwt_cache_evictions_total counter",
    ] {
        assert!(metrics.contains(&format!("{line}\n")), "{line}: {metrics}");
    }
    let (_, cache) = admin(&league, "/schema_cache").await;
    let cache: serde_json::Value = serde_json::from_str(&cache).unwrap();
    assert_eq!(cache["league"]["tables"]["clubs"]["primary_key"], json!(["id"]));
    let (_, config) = admin(&league, "/config").await;
    assert!(
        config.contains("db-max-rows = 7\n") && config.contains("db-schemas = \"league,archive\"\n"),
        "{config}"
    );
}
