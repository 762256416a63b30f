//! What must hold of any value, any name and any logic tree, tried with generated ones against Postgres.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use proptest::collection::{hash_set, vec};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::harness::{League, percent_encode};

/// How many cases each property is tried with.
const CASES: u32 = 64;

/// Returns the runner of generated cases, which are the same in every run.
fn runner() -> TestRunner {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let random = proptest::test_runner::RngAlgorithm::ChaCha;
    TestRunner::new_with_rng(config, proptest::test_runner::TestRng::deterministic_rng(random))
}

/// Starts a league with what `sql` makes, once `url` is there.
async fn league_with(sql: &str, url: &str) -> League {
    let league = League::start().await;
    let grant = "; grant all on all tables in schema league to anon, authenticated; notify pgrst";
    league.database.client().await.batch_execute(&format!("{sql}{grant}")).await.unwrap();
    league.until(url, 200).await;
    league
}

/// Generates any text that Postgres can hold, often with characters that mean something to some grammar on the way.
fn text() -> impl Strategy<Value = String> {
    let hostile = prop::sample::select(vec![
        "\"",
        "\\",
        "'",
        ",",
        "(",
        ")",
        "{",
        "}",
        ".",
        ":",
        "*",
        "%",
        "&",
        "=",
        "+",
        "#",
        "$1",
        " ",
        "\n",
        "--",
        "null",
        "NULL",
        "列",
        "\u{feff}",
        "é",
        "\u{1f3df}",
        "->",
        "->>",
        "not.",
        "eq.",
        "1",
    ]);
    let characters = prop_oneof![hostile.prop_map(str::to_owned), any::<char>().prop_map(String::from)];
    vec(characters, 0..12).prop_map(|parts| parts.concat().replace('\0', ""))
}

/// Returns `value` in double quotes, as the grammar of values and names has it; an array's elements are written alike.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[test]
fn any_value_is_found_again() {
    let runtime = Runtime::new().unwrap();
    let sql = "create table league.things (id serial primary key, label text, document jsonb, labels text[]);
               grant all on all sequences in schema league to authenticated";
    let league = runtime.block_on(league_with(sql, "/things"));
    let outcome = runner().run(&(text(), text()), |(value, other)| {
        runtime.block_on(async {
            let row = json!({ "label": value, "document": { "key": value }, "labels": [value, other] });
            let inserted = league
                .change("POST", "/things?select=*", &[("prefer", "return=representation")], &row.to_string())
                .await;
            prop_assert_eq!(inserted.status, 201, "{:?}", inserted);
            let mut row = row;
            row["id"] = inserted.json()[0]["id"].clone();
            prop_assert_eq!(&inserted.json()[0], &row);
            let (id, quotes) = (row["id"].clone(), quoted(&value));
            let array = format!("{{{quotes},{}}}", quoted(&other));
            let of = |key: &str, filter: &str| format!("{}={}", percent_encode(key), percent_encode(filter));
            for filter in [
                of("label", &format!("eq.{value}")),
                of("label", &format!("not.isdistinct.{value}")),
                of("label", &format!("in.({quotes},{})", quoted("something else"))),
                of("label", &format!("eq(any).{array}")),
                of("or", &format!("(label.eq.{quotes},label.is.null)")),
                of("and", &format!("(label.in.({quotes},x),document->>key.eq.{quotes})")),
                of("document->>key", &format!("eq.{value}")),
                of("document->key", &format!("eq.{}", Value::from(value.as_str()))),
                of("document", &format!("cs.{}", json!({ "key": value }))),
                of("labels", &format!("eq.{array}")),
                of("labels", &format!("cs.{{{quotes}}}")),
                of("labels->>0", &format!("eq.{value}")),
            ] {
                let found = league.get(&format!("/things?select=id&id=eq.{id}&{filter}")).await;
                prop_assert_eq!((found.status, found.json()), (200, json!([{ "id": id }])), "{}", filter);
            }
            let missed = of("label", &format!("neq.{value}"));
            let missed = league.get(&format!("/things?select=id&id=eq.{id}&{missed}")).await;
            prop_assert_eq!(missed.json(), json!([]));
            Ok(())
        })
    });
    outcome.unwrap();
}

/// Generates names that Postgres takes as they are: not empty, and short enough not to be cut off.
fn name() -> impl Strategy<Value = String> {
    let is_name = |name: &String| !name.is_empty() && name.len() < 60;
    // A path of dots alone is resolved by clients before it is sent.
    text().prop_filter("a name", is_name).prop_map(|name| format!("{name}~"))
}

#[test]
fn any_name_is_quoted_right() {
    let runtime = Runtime::new().unwrap();
    let names =
        hash_set((name(), name()), CASES as usize).prop_map(|names| names.into_iter().collect::<Vec<_>>());
    let names = names.new_tree(&mut runner()).unwrap().current();
    let identifier = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let sql: String = names
        .iter()
        .map(|(table, column)| {
            format!(
                "drop table if exists league.{0}; create table league.{0} ({1} text);",
                identifier(table),
                identifier(column)
            )
        })
        .collect();
    // Of tables that share a name the last counts.
    let names: std::collections::HashMap<String, String> = names.into_iter().collect();
    runtime.block_on(async {
        let league = league_with(&format!("{sql} create table league.last_one ()"), "/last_one").await;
        let columns =
            "select table_name, column_name from information_schema.columns where table_schema = 'league'";
        let columns = league.database.client().await.query(columns, &[]).await.unwrap();
        for (table, _) in names {
            let column = columns.iter().find(|row| row.get::<_, String>(0) == table).unwrap();
            let column: String = column.get(1);
            let (path, quoted) = (percent_encode(&table), percent_encode(&quoted(&column)));
            let row = json!({ &column: "x" });
            let made =
                league.change("POST", &format!("/{path}?columns={quoted}"), &[], &row.to_string()).await;
            assert_eq!(made.status, 201, "{table:?} {column:?} {made:?}");
            let url = format!(
                "/{path}?select={quoted}&{quoted}=eq.x&or=({quoted}.eq.x,{quoted}.is.null)&order={quoted}"
            );
            assert_eq!(league.rows(&url).await, json!([row]), "{table:?} {column:?}");
            let renamed = format!("/{path}?select={quoted}:{quoted}::text");
            assert_eq!(league.rows(&renamed).await, json!([row]), "{table:?} {column:?}");
            let changed = format!("/{path}?{quoted}=eq.x&select={quoted}");
            let representation = [("prefer", "return=representation")];
            let body = json!({ &column: "y" });
            let changed = league.change("PATCH", &changed, &representation, &body.to_string()).await;
            assert_eq!((changed.status, changed.json()), (200, json!([body])), "{table:?} {column:?}");
        }
    });
}

/// A logic tree on the columns `a` and `b`.
#[derive(Debug, Clone)]
enum Tree {
    Leaf { column: char, negated: bool, operator: &'static str, value: i64 },
    Group { negated: bool, is_or: bool, members: Vec<Self> },
}

fn tree() -> impl Strategy<Value = Tree> {
    let operators =
        prop::sample::select(vec!["eq", "neq", "gt", "gte", "lt", "lte", "is", "isdistinct", "in"]);
    let leaf = (prop::sample::select(vec!['a', 'b']), any::<bool>(), operators, 0..4_i64)
        .prop_map(|(column, negated, operator, value)| Tree::Leaf { column, negated, operator, value });
    leaf.prop_recursive(5, 40, 4, |inner| {
        (any::<bool>(), any::<bool>(), vec(inner, 1..4)).prop_map(|(negated, is_or, members)| Tree::Group {
            negated,
            is_or,
            members,
        })
    })
}

impl Tree {
    /// Returns the text, as `or=(…)` has its members.
    fn text(&self) -> String {
        let not = |negated: bool| if negated { "not." } else { "" };
        match self {
            Self::Leaf { column, negated, operator, value } => {
                let value = match *operator {
                    "is" => "null".to_owned(),
                    "in" => format!("({value},7)"),
                    _ => value.to_string(),
                };
                format!("{column}.{}{operator}.{value}", not(*negated))
            }
            Self::Group { negated, is_or, members } => {
                let members: Vec<String> = members.iter().map(Self::text).collect();
                let operator = if *is_or { "or" } else { "and" };
                format!("{}{operator}({})", not(*negated), members.join(","))
            }
        }
    }

    /// Returns what it says of a row, in the three-valued logic of SQL.
    fn holds(&self, row: (Option<i64>, Option<i64>)) -> Option<bool> {
        let (negated, holds) = match self {
            Self::Leaf { column, negated, operator, value } => {
                let left = if *column == 'a' { row.0 } else { row.1 };
                let holds = match *operator {
                    "is" => Some(left.is_none()),
                    "isdistinct" => Some(left != Some(*value)),
                    "eq" | "in" => left.map(|left| left == *value),
                    "neq" => left.map(|left| left != *value),
                    "gt" => left.map(|left| left > *value),
                    "gte" => left.map(|left| left >= *value),
                    "lt" => left.map(|left| left < *value),
                    _ => left.map(|left| left <= *value),
                };
                (*negated, holds)
            }
            Self::Group { negated, is_or, members } => {
                let members: Vec<Option<bool>> = members.iter().map(|member| member.holds(row)).collect();
                // One member that is true decides an OR, one that is false an AND; else one that is unknown does.
                let holds = if members.contains(&Some(*is_or)) {
                    Some(*is_or)
                } else if members.contains(&None) {
                    None
                } else {
                    Some(!is_or)
                };
                (*negated, holds)
            }
        };
        holds.map(|holds| holds != negated)
    }
}

#[test]
fn any_logic_tree_means_what_sql_means() {
    let runtime = Runtime::new().unwrap();
    let sql = "create table league.pairs (id serial primary key, a int, b int);
               insert into league.pairs (a, b) select a, b from
               (values (null), (0), (1), (2), (3)) as left_side (a), (values (null), (0), (1), (2), (3)) as right_side (b)";
    let league = runtime.block_on(league_with(sql, "/pairs"));
    let pairs = runtime.block_on(league.rows("/pairs?order=id"));
    let config = Config { cases: CASES * 4, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(
        &(vec(tree(), 1..4), any::<bool>(), any::<bool>()),
        |(members, negated, is_or)| {
            let root = Tree::Group { negated, is_or, members };
            let text = root.text();
            let (operator, members) = text.split_once('(').unwrap();
            let url =
                format!("/pairs?select=id&order=id&{operator}={}", percent_encode(&format!("({members}")));
            let expected: Vec<i64> = pairs
                .as_array()
                .unwrap()
                .iter()
                .filter(|pair| root.holds((pair["a"].as_i64(), pair["b"].as_i64())) == Some(true))
                .map(|pair| pair["id"].as_i64().unwrap())
                .collect();
            prop_assert_eq!(runtime.block_on(league.ids(&url)), expected, "{}", text);
            Ok(())
        },
    );
    outcome.unwrap();
}
