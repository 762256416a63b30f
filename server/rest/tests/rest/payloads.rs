//! A payload means what Postgres' `json_to_record` and `json_to_recordset` make of it, however it gets there.
#![expect(clippy::unwrap_used, reason = "a test without its database can only fail")]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::runtime::Runtime;

use crate::harness::{League, Response};

const CASES: u32 = 256;

/// A column for each type, and JSON that it might be given.
const TYPES: &[(&str, &[&str])] = &[
    ("smallint", &["32767", "\"-32768\"", "32768", "1.0"]),
    ("integer", &["1", "\" 12 \"", "1e3", "\"0x1f\"", "2147483648"]),
    ("bigint", &["9223372036854775807", "\"-5\"", "-0", "1_0"]),
    ("real", &["0.1", "\"NaN\"", "1e39", "\"-infinity\""]),
    ("double precision", &["0.1", "1E-400", "\"1e308\"", "-0.0"]),
    ("numeric", &["1.50", "1e3", "\"NaN\"", "123456789012345678901234567890.5"]),
    ("numeric(6,2)", &["1.555", "99999", "\"Infinity\"", "12"]),
    ("boolean", &["true", "false", "\"yes\"", "1", "\"t\""]),
    ("text", &["\"it's\"", "\"\\\"\\\\\\b\\f\\n\\r\\t\\/\"", "\"{a,\\\"b\\\"}\"", "\"NULL\"", "\"\""]),
    ("character varying(3)", &["\"abc\"", "\"abc   \"", "\"abcd\"", "1234"]),
    ("character varying", &["\"abc \"", "\"\\\\\""]),
    ("character(3)", &["\"a\"", "\"abcd\""]),
    ("bit(3)", &["\"101\"", "\"1\""]),
    (
        "uuid",
        &["\"11111111-1111-1111-1111-111111111111\"", "\"{22222222222222222222222222222222}\"", "\"x\""],
    ),
    ("date", &["\"2020-02-29\"", "\"infinity\"", "\"2021-02-29\"", "\"today\"", "20200101"]),
    ("timestamp", &["\"2020-01-01 12:00\"", "\"2020-01-01T12:00:00.123456Z\""]),
    ("timestamp(0)", &["\"2020-01-01 12:00:00.5\""]),
    ("timestamptz", &["\"2020-01-01T12:00:00.5+05:45\"", "\"epoch\"", "\"2020-01-01 00:00 Mars\""]),
    ("time", &["\"24:00\"", "\"12:30:01.5\""]),
    ("timetz", &["\"12:00+02\""]),
    ("interval", &["\"1 day 02:00\"", "\"P1Y\""]),
    ("interval year", &["\"1\"", "\"13 months\""]),
    ("bytea", &["\"\\\\x00ff\"", "\"\\\\001\"", "\"\\\\x0\""]),
    ("inet", &["\"::1/64\"", "\"10.0.0.1\"", "\"10.0.0.256\""]),
    ("cidr", &["\"10.0.0.0/8\"", "\"10.0.0.1/8\""]),
    ("macaddr", &["\"08:00:2b:01:02:03\""]),
    ("json", &["{ \"a\" : [1 , \"\\n\"] }", "\"a\\/b\"", "\"x\"", "[]", "1.0", "{\"a\":1,\"a\":2}"]),
    ("jsonb", &["{ \"a\" : [1 , \"\\n\"] }", "\"a\\/b\"", "\"x\"", "[]", "1.0", "{\"a\":1,\"a\":2}"]),
    ("integer[]", &["[1,null,3]", "\"{1,2}\"", "[[1],[2]]"]),
    ("text[]", &["[\"a,b\",\"\\\"\"]", "\"{a}\""]),
    ("league.mood", &["\"sad\"", "\"glad \\\"indeed\\\"\"", "\"other\""]),
    ("league.email", &["\"a@b\"", "\"a\"", "null"]),
    ("league.place", &["{\"x\":1}", "\"(1,2)\""]),
];

/// JSON that any column might be given.
const ANY: &[&str] = &[
    "null",
    "true",
    "0",
    "-1.5e2",
    "\"\"",
    "\"null\"",
    "\"\\u00e9\"",
    "\"\\u0000\"",
    "\"\\ud83d\"",
    "\"é\\n\"",
    "{}",
    "[]",
    "{\"a\":\"\\u0000\"}",
    " \"a\" ",
];

const SETUP: &str = "
    create type league.mood as enum ('sad', 'glad \"indeed\"');
    create type league.place as (x int, y text);
    create domain league.email as text check (value like '%@%');";

/// A payload: the columns, and whether it is one object, and the values of each row.
type Payload = (Vec<usize>, bool, Vec<Vec<String>>);

fn payload() -> impl Strategy<Value = Payload> {
    let columns = prop::sample::subsequence((0..TYPES.len()).collect::<Vec<_>>(), 1..4);
    (columns, any::<bool>(), 1..4_usize).prop_flat_map(|(columns, is_object, rows)| {
        let row: Vec<_> = columns
            .iter()
            .map(|column| {
                let own = prop::sample::select(TYPES[*column].1);
                let any = prop::sample::select(ANY);
                prop_oneof![6 => own, 1 => any].prop_map(str::to_owned)
            })
            .collect();
        (Just(columns), Just(is_object), vec(row, if is_object { 1 } else { rows }))
    })
}

fn text((columns, is_object, rows): &Payload) -> String {
    let objects = rows.iter().map(|row| {
        let fields = columns.iter().zip(row).map(|(column, value)| format!("\"c{column:02}\": {value}"));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(" ,"))
    });
    let objects = objects.collect::<Vec<_>>().join(", ");
    if *is_object { objects } else { format!("[{objects}]") }
}

/// Returns the text of a successful response, or the code and message of an error.
fn by_service(response: &Response) -> Result<String, (String, String)> {
    if response.status < 300 {
        return Ok(response.text.clone());
    }
    Err((response.code(), response.json()["message"].as_str().unwrap().to_owned()))
}

#[test]
fn any_payload_is_read_as_postgres_reads_it() {
    let runtime = Runtime::new().unwrap();
    let columns: Vec<String> =
        TYPES.iter().enumerate().map(|(index, (name, _))| format!("c{index:02} {name}")).collect();
    let sql = format!(
        "{SETUP} create table league.anything ({0});
         create table league.one (row int default 1, {0}); insert into league.one default values;
         grant all on league.anything, league.one to authenticated; grant select on league.one to anon",
        columns.join(", ")
    );
    let league = runtime.block_on(League::extended(&sql, |_| {}));
    let client = runtime.block_on(league.database.client());
    runtime.block_on(client.batch_execute("set search_path to league")).unwrap();
    // The text of the only value that Postgres gives, or the code and message of its error. Nothing is kept.
    let by_postgres = async |sql: &str, body: &str| {
        client.batch_execute("begin").await.unwrap();
        let reply = client.query_one(sql, &[&body]).await;
        client.batch_execute("rollback").await.unwrap();
        reply.map(|row| row.get::<_, String>(0)).map_err(|error| {
            let error = error.as_db_error().unwrap();
            (error.code().code().to_owned(), error.message().to_owned())
        })
    };
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let outcome = TestRunner::new_with_rng(config, random).run(&payload(), |payload| {
        let body = text(&payload);
        let (columns, is_object, _) = &payload;
        let names = columns.iter().map(|column| format!("c{column:02}")).collect::<Vec<_>>().join(",");
        let typed: Vec<String> =
            columns.iter().map(|column| format!("c{column:02} {}", TYPES[*column].0)).collect();
        let typed = typed.join(", ");
        let function = if *is_object { "json_to_record" } else { "json_to_recordset" };
        let as_json = "select coalesce(json_agg(x.*), '[]')::text from x";
        let insert = format!(
            "with x as (insert into league.anything ({names}) select * from {function}($1::text::json) as y ({typed})
             returning {names}) {as_json}"
        );
        let sets = columns.iter().map(|column| format!("c{column:02} = y.c{column:02}")).collect::<Vec<_>>().join(",");
        let own = columns.iter().map(|column| format!("one.c{column:02}")).collect::<Vec<_>>().join(",");
        let update = format!(
            "with x as (update league.one set {sets} from json_to_record($1::text::json) as y ({typed})
             returning {own}) {as_json}"
        );
        let full = [("prefer", "return=representation")];
        runtime.block_on(async {
            // `columns` keeps the payload from being looked into before.
            let url = format!("/anything?select={names}&columns={names}");
            let inserted = league.change("POST", &url, &full, &body).await;
            prop_assert_eq!(by_service(&inserted), by_postgres(&insert, &body).await, "{}", body);
            if *is_object {
                let url = format!("/one?select={names}&columns={names}&row=eq.1");
                let updated = league.change("PATCH", &url, &full, &body).await;
                prop_assert_eq!(by_service(&updated), by_postgres(&update, &body).await, "{}", body);
            }
            Ok(())
        })
    });
    outcome.unwrap();
}

#[tokio::test]
async fn who_may_not_write_learns_nothing_of_the_types() {
    let league = League::start().await;
    let request = league.request("POST", "/clubs").header("content-type", "application/json");
    let refused = crate::harness::send(request.body(r#"{"id":"no number"}"#)).await;
    assert_eq!((refused.status, refused.code()), (401, "42501".to_owned()));
}

#[tokio::test]
async fn triggers_set_headers_of_rows_that_they_keep_and_that_they_drop() {
    let sql = "create function league.tell() returns trigger language plpgsql as $$ begin
          perform set_config('response.headers', format('[{\"x-told\": \"%s\"}]', new.name), true);
          return case when new.name <> 'dropped' then new end;
        end $$;
        create trigger tell before insert or update on league.clubs for each row execute function league.tell()";
    let league = League::extended(sql, |_| {}).await;
    for (body, count) in [(r#"{"name":"kept"}"#, "*/1"), (r#"{"name":"dropped"}"#, "*/0")] {
        let response = league.change("POST", "/clubs", &[("prefer", "count=exact")], body).await;
        assert_eq!((response.status, response.header("content-range")), (201, count));
        assert!(body.contains(response.header("x-told")), "{response:?}");
    }
    let merge = [("prefer", "resolution=merge-duplicates, count=exact")];
    for (body, status) in [
        (r#"{"id":70,"name":"new"}"#, 201),
        (r#"{"id":70,"name":"changed"}"#, 200),
        (r#"{"id":71,"name":"dropped"}"#, 201),
        (r#"[{"id":70,"name":"again"},{"id":72,"name":"newer"}]"#, 201),
        (r#"[{"id":70,"name":"again"},{"id":72,"name":"and again"}]"#, 200),
    ] {
        let response = league.change("POST", "/clubs", &merge, body).await;
        assert_eq!(response.status, status, "{body}: {response:?}");
    }
    let names = league.rows("/clubs?select=name&id=gte.70&order=id").await;
    assert_eq!(names, serde_json::json!([{ "name": "again" }, { "name": "and again" }]));
}

#[tokio::test]
async fn triggers_after_a_change_can_set_headers_too() {
    let sql = "create function league.tell() returns trigger language plpgsql as $$ begin
          perform set_config('response.headers', '[{\"x-told\": \"after\"}]', true);
          return null;
        end $$;
        create trigger tell after delete on league.lineups for each statement execute function league.tell()";
    let league = League::extended(sql, |_| {}).await;
    let response = league.change("DELETE", "/lineups?match_id=eq.1", &[], "").await;
    assert_eq!((response.status, response.header("x-told")), (204, "after"));
    let response = league.change("POST", "/clubs", &[], r#"{"name":"silent"}"#).await;
    assert_eq!(
        (response.status, response.header("x-told")),
        (201, ""),
        "no setting outlives its transaction"
    );
}
