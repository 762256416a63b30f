//! What a request's transaction sees and leaves behind.

use serde_json::json;

use crate::harness::{League, send, token_of};

#[tokio::test]
async fn functions_see_who_asked_and_how() {
    let league = League::start().await;
    let request = league.request("GET", "/rpc/context").bearer_auth(token_of("authenticated"));
    let request = request.header("x-probe", "yes").header("cookie", "flavour=oat; other=1");
    let seen = send(request.header("prefer", "timezone=Europe/Lisbon")).await.json();
    assert_eq!(seen["role"], "authenticated");
    assert_eq!(seen["claims"]["sub"], "11111111-1111-1111-1111-111111111111");
    assert_eq!((&seen["method"], &seen["path"]), (&json!("GET"), &json!("/rpc/context")));
    assert_eq!((&seen["header"], &seen["cookie"]), (&json!("yes"), &json!("oat")));
    assert_eq!(seen["search_path"], "\"league\", \"public\"");
    assert_eq!(seen["zone"], "Europe/Lisbon");
    let anonymous = league.get("/rpc/context").await.json();
    assert_eq!((&anonymous["role"], &anonymous["claims"]), (&json!("anon"), &json!({ "role": "anon" })));
    assert_ne!(anonymous["zone"], "Europe/Lisbon", "settings must not outlive their transaction");
}

#[tokio::test]
async fn clients_may_choose_the_end_where_they_are_allowed_to() {
    let league = League::with(|settings| settings.db_tx_end = rest::TxEnd::CommitAllowOverride).await;
    let tried = ("prefer", "tx=rollback, return=representation");
    let response = league.change("POST", "/clubs?select=name", &[tried], r#"{"name":"Ghost"}"#).await;
    assert_eq!((response.status, response.json()), (201, json!([{ "name": "Ghost" }])));
    assert_eq!(response.header("preference-applied"), "return=representation, tx=rollback");
    assert_eq!(league.rows("/clubs?name=eq.Ghost").await, json!([]));

    let league = League::start().await;
    let response = league.change("POST", "/clubs", &[("prefer", "tx=rollback")], r#"{"name":"Real"}"#).await;
    assert_eq!(response.header("preference-applied"), "");
    assert_eq!(league.rows("/clubs?name=eq.Real").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn everything_may_be_undone_unless_the_client_wants_to_keep_it() {
    let names = async |league: &League| league.rows("/clubs?select=name&name=like.New*").await;
    let (commit, body) = ([("prefer", "tx=commit")], r#"{"name":"New"}"#);
    let league = League::with(|settings| settings.db_tx_end = rest::TxEnd::Rollback).await;
    let undone = league.change("POST", "/clubs", &commit, body).await;
    assert_eq!((undone.status, undone.header("preference-applied")), (201, ""));
    assert_eq!(names(&league).await, json!([]));

    let league = League::with(|settings| settings.db_tx_end = rest::TxEnd::RollbackAllowOverride).await;
    assert_eq!(league.change("POST", "/clubs", &[], body).await.status, 201);
    assert_eq!(names(&league).await, json!([]));
    let kept = league.change("POST", "/clubs", &commit, body).await;
    assert_eq!((kept.status, kept.header("preference-applied")), (201, "tx=commit"));
    assert_eq!(names(&league).await, json!([{ "name": "New" }]));
}

#[tokio::test]
async fn roles_bring_their_time_limits() {
    let sql = "create role hasty in role anon; grant hasty to authenticator; alter role hasty set statement_timeout = '100ms';
               create function league.doze(seconds float) returns text stable language sql
                 as $$ select current_setting('statement_timeout') from pg_sleep(seconds) $$";
    let league = League::extended(sql, |_| {}).await;
    let ask = async |path: &str| send(league.request("GET", path).bearer_auth(token_of("hasty"))).await;
    assert_eq!(ask("/rpc/doze?seconds=0").await.json(), json!("100ms"));
    let cut = ask("/rpc/doze?seconds=30").await;
    assert_eq!((cut.status, cut.code().as_str()), (500, "57014"), "{cut:?}");
    assert_ne!(league.rows("/rpc/doze?seconds=0").await, json!("100ms"), "others keep theirs");
    league.database.client().await.batch_execute("drop owned by hasty; drop role hasty").await.unwrap();
}

#[tokio::test]
async fn the_search_path_may_be_the_schema_alone() {
    let league = League::with(|settings| assert!(settings.set("db-extra-search-path", "").unwrap())).await;
    assert_eq!(league.rows("/rpc/context").await["search_path"], "\"league\"");
    let other = "create function archive.context() returns text stable language sql
                   as $$ select current_setting('search_path') $$; notify pgrst";
    league.database.client().await.batch_execute(other).await.unwrap();
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let response = league.get_with("/rpc/context", &[("accept-profile", "archive")]).await;
        if response.status == 200 {
            assert_eq!(response.json(), json!("\"archive\""));
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{response:?}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_function_can_be_called_before_every_request() {
    let league = League::with(|settings| settings.db_pre_request = Some("league.check".into())).await;
    let superuser = league.database.client().await;
    let check = "create function league.check() returns void language plpgsql as $$ begin
        if current_setting('request.headers')::json ->> 'x-blocked' is not null then
          raise sqlstate 'PT403' using message = 'blocked';
        end if;
      end $$";
    superuser.batch_execute(check).await.unwrap();
    assert_eq!(league.get("/clubs").await.status, 200);
    let blocked = league.get_with("/clubs", &[("x-blocked", "1")]).await;
    assert_eq!((blocked.status, blocked.json()["message"].as_str()), (403, Some("blocked")));
}

#[tokio::test]
async fn zones_are_names_or_offsets() {
    let sql = "create function league.moment() returns text stable language sql
                 as $$ select to_char(timestamptz '2024-06-01 12:00:00+00', 'HH24:MI') $$;
               create table league.moments (at timestamptz);
               insert into league.moments values ('2024-06-01 12:00:00+00');
               grant select on league.moments to anon, authenticated; grant insert on league.moments to authenticated";
    let league = League::extended(sql, |_| {}).await;
    for (zone, time) in [
        ("America/Los_Angeles", "05:00"),
        ("Asia/Kolkata", "17:30"),
        ("utc", "12:00"),
        ("EST5EDT", "08:00"),
        // As Postgres takes them: a lone number counts to the east, what has POSIX' form to the west.
        ("+5", "17:00"),
        ("-03:30", "15:30"),
        ("UTC-4", "16:00"),
    ] {
        let preference = format!("timezone={zone}");
        let prefer = [("prefer", preference.as_str())];
        let response = league.get_with("/rpc/moment", &prefer).await;
        assert_eq!((response.status, response.json()), (200, json!(time)), "{zone}");
        assert_eq!(response.header("preference-applied"), preference);
        let row = league.get_with("/moments", &prefer).await.json();
        assert!(row[0]["at"].as_str().unwrap().contains(&format!("T{time}:00")), "{zone}: {row}");
    }
    for zone in ["Mars/Olympus", "+999", "interval", "'", "../../etc/passwd"] {
        let preference = format!("timezone={zone}");
        for strictly in ["", ", handling=strict"] {
            let prefer = format!("{preference}{strictly}");
            let response = league.get_with("/moments", &[("prefer", &prefer)]).await;
            assert_eq!((response.status, response.code().as_str()), (400, "22023"), "{prefer}: {response:?}");
        }
        let write = league.change("POST", "/moments", &[("prefer", &preference)], r#"{"at":"now"}"#).await;
        assert_eq!((write.status, write.code().as_str()), (400, "22023"), "{zone}: {write:?}");
    }
    assert_eq!(league.rows("/moments").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn functions_say_their_isolation_and_their_limits() {
    let sql = "create function league.level() returns json stable language sql as $$
                 select json_build_array(current_setting('transaction_isolation'),
                   current_setting('transaction_read_only')) $$;
               create function league.level_of_writing() returns text language sql
                 as $$ select current_setting('transaction_isolation') $$;
               alter function league.level() set default_transaction_isolation = 'serializable';
               alter function league.level_of_writing() set default_transaction_isolation = 'REPEATABLE READ';
               create function league.usual() returns text stable language sql
                 as $$ select current_setting('transaction_isolation') $$;
               create function league.limited() returns text stable language sql
                 as $$ select current_setting('statement_timeout') $$;
               alter function league.limited() set statement_timeout = '7s';
               create function league.sized() returns text stable language sql set work_mem = '5MB'
                 as $$ select current_setting('work_mem') $$";
    let league = League::extended(sql, |_| {}).await;
    assert_eq!(league.rows("/rpc/level").await, json!(["serializable", "on"]));
    assert_eq!(league.call("level", &json!({})).await.json(), json!(["serializable", "on"]));
    assert_eq!(league.call("level_of_writing", &json!({})).await.json(), json!("repeatable read"));
    assert_eq!(league.rows("/rpc/usual").await, json!("read committed"));
    assert_eq!(league.rows("/rpc/limited").await, json!("7s"));
    assert_eq!(league.rows("/rpc/sized").await, json!("5MB"), "other settings are the function's alone");

    // A limit of the transaction holds for its whole statement, also for what is done with the function's rows.
    let league = League::extended(sql, |settings| settings.db_hoisted_tx_settings = Vec::new()).await;
    assert_eq!(league.rows("/rpc/level").await, json!(["read committed", "on"]));
}

#[tokio::test]
async fn what_postgres_gives_up_is_not_tried_again() {
    let sql =
        "create sequence league.attempts; grant usage, select on league.attempts to anon, authenticated;
               create function league.collide() returns void language plpgsql as $$ begin
                 perform nextval('league.attempts'); raise sqlstate '40001' using message = 'collided';
               end $$";
    let league = League::extended(sql, |_| {}).await;
    let collided = league.call("collide", &json!({})).await;
    assert_eq!((collided.status, collided.code().as_str()), (500, "40001"), "{collided:?}");
    let superuser = league.database.client().await;
    let attempts = superuser.query_one("select last_value from league.attempts", &[]).await.unwrap();
    assert_eq!(attempts.get::<_, i64>(0), 1);
}

#[tokio::test]
async fn deferred_constraints_are_looked_at_even_if_all_is_rolled_back() {
    let sql = "create table league.pairs (id int primary key, other int references league.pairs
                 deferrable initially deferred);
               grant all on league.pairs to authenticated";
    let league =
        League::extended(sql, |settings| settings.db_tx_end = rest::TxEnd::CommitAllowOverride).await;
    let each_other = r#"[{"id":1,"other":2},{"id":2,"other":1}]"#;
    let nobody = r#"[{"id":3,"other":9}]"#;
    for (body, prefer, status) in [
        (nobody, "tx=rollback", 409),
        (nobody, "tx=commit", 409),
        (each_other, "tx=rollback", 201),
        (each_other, "tx=commit", 201),
    ] {
        let response = league.change("POST", "/pairs", &[("prefer", prefer)], body).await;
        assert_eq!(response.status, status, "{prefer} {body}: {response:?}");
    }
}
