//! Long lists are written by the server: the bytes are those that Postgres' `json_agg` would give.
#![expect(clippy::unwrap_used, reason = "a test without its database can only fail")]

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::harness::League;

/// A column for each type, and values of it that are hard to write. `\u{…}` and quotes are left to the generator.
const TYPES: &[(&str, &[&str])] = &[
    ("boolean", &["true", "false"]),
    ("smallint", &["-32768", "32767", "0"]),
    ("integer", &["-2147483648", "2147483647"]),
    ("bigint", &["-9223372036854775808", "9223372036854775807"]),
    ("real", &["NaN", "Infinity", "-Infinity", "-0", "1e38", "1.17549e-38", "0.1", "16777216"]),
    (
        "double precision",
        &["NaN", "Infinity", "-Infinity", "-0", "1e308", "5e-324", "0.1", "1e15", "123456.789"],
    ),
    (
        "numeric",
        &["NaN", "Infinity", "-Infinity", "0.00", "-1e40", "1e-30", "12345678901234567890.123456789"],
    ),
    ("money", &["-1234567.89", "0.01"]),
    ("oid", &["0", "4294967295"]),
    ("uuid", &["11111111-1111-1111-1111-111111111111"]),
    ("date", &["infinity", "-infinity", "0044-03-15 BC", "10000-01-01", "0001-01-01", "1999-12-31"]),
    (
        "timestamp",
        &[
            "infinity",
            "-infinity",
            "0044-03-15 12:00 BC",
            "294276-12-31 23:59:59.999999",
            "2020-02-29 00:00",
            "1999-12-31 23:59:59.5",
        ],
    ),
    (
        "timestamptz",
        &[
            "infinity",
            "-infinity",
            "0044-03-15 12:00 BC",
            "294276-12-31 23:59:59",
            "2020-02-29 00:00:00.000001Z",
            "1880-01-01 00:00Z",
            "2020-07-01 12:00+05:45",
        ],
    ),
    ("time", &["24:00", "00:00:00.000001"]),
    ("timetz", &["12:00+14", "12:00:01-05:30"]),
    ("interval", &["1 year 2 mons -3 days 04:05:06.7", "-1 sec", "0"]),
    ("bytea", &["\\x", "\\x00ff5c22"]),
    ("bit(3)", &["101"]),
    ("bit varying", &["", "0101"]),
    ("inet", &["::1/64", "10.0.0.1"]),
    ("cidr", &["10.0.0.0/8"]),
    ("macaddr", &["08:00:2b:01:02:03"]),
    ("point", &["(1,-2.5)"]),
    ("json", &["{ \"a\" : [1, 2.0e0,\"\\u00e9\"] }", "null", "\"x\"", "[1 ,\n2]"]),
    ("jsonb", &["{ \"a\" : [1, 2.0e0,\"\\u00e9\"] }", "null", "\"x\"", "1.50"]),
    ("xml", &["<a b=\"c\">d</a>"]),
    ("tsvector", &["'it''s':1A 'b\\\\c'"]),
    ("int4range", &["empty", "[1,5)", "(,)"]),
    ("tstzrange", &["[2020-01-01 00:00Z,infinity)"]),
    ("int[]", &["{}", "{1,null,3}", "{{1,2},{3,4}}", "[0:1]={5,6}"]),
    ("text[]", &["{\"a\\\"b\",null,\"\\n\"}"]),
    ("timestamptz[]", &["{infinity,\"2020-01-01 00:00Z\"}"]),
    ("jsonb[]", &["{\"{\\\"a\\\": 1}\",null}"]),
    ("league.mood", &["glad \"indeed\"", "sad"]),
    ("league.place", &["(1,\"a \"\"b\"\"\")", "(,)"]),
    ("league.email", &["a@b\\c"]),
    ("league.scores", &["{1,2}"]),
];

/// Types whose values may be any text.
const TEXTS: &[&str] = &["text", "varchar", "char(5)", "name"];

const SETUP: &str = "
    create type league.mood as enum ('sad', 'glad \"indeed\"');
    create type league.place as (x int, y text);
    create domain league.email as text check (value like '%@%');
    create domain league.scores as int[];";

/// Returns what Postgres writes for `query`.
async fn by_postgres(league: &League, zone: &str, query: &str) -> String {
    let client = league.database.client().await;
    client.batch_execute(&format!("set timezone to '{zone}'")).await.unwrap();
    let sql = format!("select coalesce(json_agg(x.*), '[]')::text from ({query}) x");
    client.query_one(&sql, &[]).await.unwrap().get(0)
}

fn literal(text: &str) -> String {
    postgres::quote_literal(text)
}

/// Creates a table with a row for each of the values at its place and one of nulls; `any` are the texts.
async fn fill(league: &League, any: &[String]) {
    let client = league.database.client().await;
    let count = TYPES.iter().map(|(_, values)| values.len()).max().unwrap_or_default().max(any.len());
    let names = TYPES.iter().map(|(name, _)| *name).chain(TEXTS.iter().copied());
    let columns: Vec<String> = names.enumerate().map(|(i, name)| format!("\"c \"\"{i}\" {name}")).collect();
    let mut sql = format!(
        "drop table if exists league.everything;
        create table league.everything (row int primary key, {});
        grant select on league.everything to anon;
        insert into league.everything (row) values (-1);",
        columns.join(", ")
    );
    for row in 0..count {
        let given = TYPES.iter().map(|(_, values)| values.get(row).map(|value| literal(value)));
        let texts = TEXTS.iter().map(|name| {
            let cut = if name.starts_with("char") { 5 } else { 15 };
            any.get(row).map(|value| literal(&value.chars().take(cut).collect::<String>()))
        });
        let values = given.chain(texts).map(|value| value.unwrap_or_else(|| "null".into()));
        let values: Vec<String> = values.collect();
        sql.push_str(&format!("insert into league.everything values ({row}, {});", values.join(", ")));
    }
    client.batch_execute(&sql).await.unwrap();
}

/// Names every column, so that those that have to be asked for as JSON are.
fn every_column() -> (String, String) {
    let names = (0..TYPES.len() + TEXTS.len()).map(|index| format!("c \"{index}"));
    let (mut url, mut sql) = (vec!["row".to_owned()], vec!["row".to_owned()]);
    for name in names {
        url.push(
            percent_encoding::utf8_percent_encode(
                &format!("\"{}\"", name.replace('"', "\\\"")),
                percent_encoding::NON_ALPHANUMERIC,
            )
            .to_string(),
        );
        sql.push(postgres::quote_identifier(&name));
    }
    (url.join(","), sql.join(", "))
}

#[tokio::test]
async fn every_type_is_written_as_postgres_writes_it() {
    let league = League::start().await;
    league.database.client().await.batch_execute(SETUP).await.unwrap();
    let texts = ["\u{1}\u{1f}\u{7f}\u{8}\u{c}\t\r\n", "\"\\/'", "é\u{2028}\u{1F600}", "", "    x "];
    fill(&league, &texts.map(str::to_owned)).await;
    league.until("/everything", 200).await;
    let (url, sql) = every_column();
    for zone in ["UTC", "Asia/Kathmandu", "Europe/Amsterdam", "America/St_Johns"] {
        let expected =
            by_postgres(&league, zone, &format!("select {sql} from league.everything order by row")).await;
        let prefer = format!("timezone={zone}");
        let response =
            league.get_with(&format!("/everything?select={url}&order=row"), &[("prefer", &prefer)]).await;
        assert_eq!(response.text, expected, "{zone}");
        assert_eq!(response.header("content-range"), "0-9/*");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_text_is_written_as_postgres_writes_it() {
    let league = League::start().await;
    league.database.client().await.batch_execute(
        "create table league.texts (id int primary key, a text, b varchar, f float8, n numeric, t timestamptz, d date);
         grant select on league.texts to anon").await.unwrap();
    league.until("/texts", 200).await;
    let row = (
        proptest::option::of("[^\0]{0,40}"),
        proptest::option::of("[\u{1}-\u{7f}]{0,20}"),
        any::<f64>(),
        any::<i64>(),
        0_u32..40,
        -210_000_000_000_i64..9_000_000_000_000,
        -1_500_000_i32..50_000_000,
    );
    let mut runner = TestRunner::new(Config::with_cases(24));
    let runtime = tokio::runtime::Handle::current();
    let rows = proptest::collection::vec(row, 0..40);
    let outcome = tokio::task::block_in_place(|| {
        runner.run(&rows, |rows| {
            let values = rows.iter().enumerate().map(|(id, (a, b, f, n, scale, t, d))| {
                let text = |text: &Option<String>| text.as_deref().map_or_else(|| "null".into(), literal);
                format!(
                    "({id}, {}, {}, '{f:?}', {n}::numeric * 10::numeric ^ (20 - {scale}), \
                timestamptz '2000-01-01Z' + interval '1 second' * {t} / 3, date '2000-01-01' + {d} / 10)",
                    text(a),
                    text(b)
                )
            });
            let values: Vec<String> = values.collect();
            let mut sql = "truncate league.texts;".to_owned();
            if !values.is_empty() {
                sql.push_str(&format!("insert into league.texts values {}", values.join(", ")));
            }
            runtime.block_on(async {
                league.database.client().await.batch_execute(&sql).await.unwrap();
                let expected = by_postgres(&league, "UTC", "select * from league.texts order by id").await;
                let response = league.get_with("/texts?order=id", &[("prefer", "timezone=UTC")]).await;
                prop_assert_eq!(response.text, expected);
                Ok(())
            })
        })
    });
    outcome.unwrap();
}

#[tokio::test]
async fn paths_casts_and_names_keep_their_form() {
    let league = League::start().await;
    let response =
        league.get("/players?select=id,nick:data->>nick,data->phones,id::text,id,tags&order=id").await;
    let sql = "select id, data ->> 'nick' as nick, data -> 'phones' as phones, id::text, id, tags
        from league.players order by players.id";
    assert_eq!(response.text, by_postgres(&league, "UTC", sql).await);
}

#[tokio::test]
async fn other_date_styles_are_left_to_postgres() {
    let league = League::start().await;
    let sql = "create view league.german as select id, founded from league.clubs
            where set_config('datestyle', 'German', true) is not null;
        grant select on league.german to anon";
    league.database.client().await.batch_execute(sql).await.unwrap();
    league.until("/german", 200).await;
    let expected = by_postgres(&league, "UTC", "select id, founded from league.clubs order by id").await;
    let response = league.get("/german?order=id").await;
    assert_eq!(response.text, expected);
    assert_eq!(response.header("content-range"), "0-2/*");
}

#[tokio::test]
async fn counts_and_response_settings_are_those_of_one_statement() {
    let league = League::start().await;
    league
        .database
        .client()
        .await
        .batch_execute(
            "create function league.loud(text) returns text volatile language sql as $$
            select set_config('response.headers', '[{\"x-loud\": \"yes\"}]', true); select upper($1) $$;
         create view league.shouts as select id, league.loud(name) as name from league.players;
         grant select on league.shouts to anon",
        )
        .await
        .unwrap();
    league.until("/shouts", 200).await;
    let response = league.get_with("/shouts?order=id", &[("prefer", "count=exact")]).await;
    assert_eq!(response.header("x-loud"), "yes");
    assert_eq!(response.header("content-range"), "0-3/4");
    let response = league.get_with("/shouts?order=id&limit=20&offset=2", &[("prefer", "count=exact")]).await;
    assert_eq!((response.status, response.header("content-range")), (206, "2-3/4"));
    assert_eq!(league.get("/shouts?id=gt.100").await.text, "[]");
}

/// Rows of changes come when they are committed: nothing about them may turn out to be Postgres' to write.
#[tokio::test]
async fn rows_of_changes_are_what_postgres_would_write() {
    let league = League::extended(SETUP, |_| {}).await;
    let any = ["\"quoted\" \\ \n\u{1}", "é\u{10ffff}", ""].map(str::to_owned);
    fill(&league, &any).await;
    let sql = "grant all on league.everything to public;
        create function league.touched() returns setof league.everything volatile language sql
          as 'update league.everything set row = row returning *';
        create function league.touched_rows() returns table (at timestamp, list int[], short bit(3), padded char(5))
          volatile language sql as 'select timestamp ''2020-01-01'', ''{1}''::int[], B''101'', ''a''::char(5)';
        create table public.elsewhere (id int, list int[]);
        grant all on public.elsewhere to public;
        create function league.touched_elsewhere() returns setof public.elsewhere volatile language sql
          as 'insert into public.elsewhere values (1, ''{2}'') returning *';
        grant execute on all functions in schema league to public";
    let client = league.database.client().await;
    client.batch_execute(sql).await.unwrap();
    league.until("/rpc/touched_rows", 200).await;
    let all = "select * from league.everything order by row";
    let full = [("prefer", "return=representation, count=exact")];
    let styles = ["", "create function league.german() returns trigger language plpgsql as
            $$ begin perform set_config('datestyle', 'German', true); return null; end $$;
        create trigger german before update on league.everything for each statement execute function league.german()"];
    for (style, name) in styles.into_iter().zip(["ISO", "German"]) {
        client.batch_execute(style).await.unwrap();
        let response = league.change("PATCH", "/everything?row=gt.-9", &full, r#"{"c \"0":true}"#).await;
        assert_eq!(response.text, in_style(&league, name, all).await, "{name}");
        assert_eq!(response.header("content-range"), "0-9/10");
        let response = league.call("touched", &serde_json::json!({})).await;
        assert_eq!(response.text, in_style(&league, name, all).await, "{name}");
    }
    let response = league.call("touched_elsewhere", &serde_json::json!({})).await;
    assert_eq!(response.text, r#"[{"id":1,"list":[2]}]"#, "of a type in another schema");
    let response = league.call("touched_rows", &serde_json::json!({})).await;
    assert_eq!(response.text, by_postgres(&league, "UTC", "select * from league.touched_rows()").await);
    let response =
        league.change("POST", "/everything?select=again:row,row", &full, r#"[{"row":90},{"row":91}]"#).await;
    assert_eq!(response.text, "[{\"again\":90,\"row\":90}, \n {\"again\":91,\"row\":91}]");
    let response = league.change("DELETE", "/everything?row=gte.90", &full, "").await;
    assert_eq!(response.text.matches("\"row\":9").count(), 2, "{}", response.text);
}

/// Returns as [`by_postgres`], where dates are written in another style.
async fn in_style(league: &League, style: &str, query: &str) -> String {
    let client = league.database.client().await;
    client.batch_execute(&format!("set timezone to 'UTC'; set datestyle to '{style}'")).await.unwrap();
    let sql = format!("select json_agg(x.*)::text from ({query}) x");
    client.query_one(&sql, &[]).await.unwrap().get(0)
}
