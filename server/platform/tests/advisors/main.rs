//! Each lint reports what it is for, and nothing else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use std::collections::BTreeSet;

use platform::{Category, Field, Form, ServiceConfig, advise};
use postgres::Database;
use serde_json::{Value, json};

const CASES: &str = include_str!("cases.sql");

/// What every case begins with: a schema that the API shows.
const SET_UP: &str = "
    create schema app;
    grant usage on schema app to anon, authenticated, service_role;
    alter default privileges in schema app grant select on tables to anon, authenticated, service_role;
    alter default privileges in schema app grant execute on functions to anon, authenticated, service_role;";

/// The lint whose case would change the cluster that all tests share.
const OF_THE_CLUSTER: &str = "0031_unused_replication_slot";

/// A case: the name of the lint, what it must report, the schemas of the API, and the SQL of the set-up.
struct Case {
    lint: String,
    expected: BTreeSet<String>,
    schemas: String,
    sql: String,
}

fn cases() -> Vec<Case> {
    let parse = |text: &str| {
        let mut lines = text.lines();
        let mut case = Case {
            lint: lines.next().unwrap().trim().to_owned(),
            expected: BTreeSet::new(),
            schemas: "app".to_owned(),
            sql: String::new(),
        };
        for line in lines {
            if let Some(key) = line.strip_prefix("-- expect: ") {
                case.expected.insert(key.to_owned());
            } else if let Some(schemas) = line.strip_prefix("-- schemas: ") {
                case.schemas = if schemas == "-" { String::new() } else { schemas.to_owned() };
            } else if !line.starts_with("-- undo: ") && !line.starts_with("-- as: ") {
                case.sql.push_str(line);
                case.sql.push('\n');
            }
        }
        case
    };
    CASES.split("\n-- lint: ").skip(1).map(parse).filter(|case| case.lint != OF_THE_CLUSTER).collect()
}

/// Returns the cache keys of what the lint with this name reports.
async fn reported(database: &Database, name: &str, schemas: &str) -> BTreeSet<String> {
    let field = |name: &str, value: Value| vec![Field::new(name, "a.key", Form::Text, value)];
    let config = ServiceConfig {
        auth: field("external_anonymous_users_enabled", json!(true)),
        rest: field("db_schema", json!(schemas)),
        ..ServiceConfig::default()
    };
    let mut keys = BTreeSet::new();
    for category in [Category::Security, Category::Performance] {
        for lint in advise(database, category, &config).await.unwrap() {
            if lint["name"] == name {
                keys.insert(lint["cache_key"].as_str().unwrap().to_owned());
            }
        }
    }
    keys
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_lint_reports_the_bad_examples_and_no_good_one() {
    let mut wrong = Vec::new();
    for Case { lint, expected, schemas, sql } in cases() {
        let created = testkit::Database::create().await;
        let client = created.client().await;
        client.batch_execute(SET_UP).await.unwrap();
        for statement in migrations::split(&sql).unwrap() {
            client.batch_execute(statement.text).await.unwrap_or_else(|error| panic!("{lint}: {error:?}"));
        }
        let database =
            Database::connect(postgres::Settings::new(created.uri().parse().unwrap())).await.unwrap();
        let (_, name) = lint.split_once('_').expect("a number before the name");
        let found = reported(&database, name, &schemas).await;
        if found != expected {
            wrong.push(format!("{lint}: expected {expected:?}, found {found:?}"));
        }
        database.close().await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
