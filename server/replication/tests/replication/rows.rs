//! Changed rows: what the stream contains of them, for every replica identity, size and form of values.

use replication::{Event, ReplicaIdentity, Value};

use crate::harness::{Harness, next, transaction, transaction_of};

#[tokio::test]
async fn the_replica_identity_decides_which_old_columns_are_sent() {
    let setup = "create table by_key (id int primary key, code int not null unique, name text);
                 create table by_index (like by_key including all);
                 alter table by_index replica identity using index by_index_code_key;
                 create table whole (like by_key including all);
                 alter table whole replica identity full;
                 create table silent (like by_key including all);
                 alter table silent replica identity nothing";
    let harness = Harness::new(setup).await;
    let mut stream = harness.stream().await;
    for table in ["by_key", "by_index", "whole"] {
        harness
            .run(&format!(
                "begin; insert into {table} values (1, 10, 'a'), (2, 20, null); update {table} set name = 'b';
                 update {table} set id = 3, code = 30 where id = 2; delete from {table}; commit"
            ))
            .await;
    }
    let inserts = |table: &str| [format!("insert {table} (1,10,a)"), format!("insert {table} (2,20,∅)")];
    for (table, changes) in [
        (
            "by_key",
            [
                "update by_key to (1,10,b)",
                "update by_key to (2,20,b)",
                "update by_key key (2,∅,∅) to (3,30,b)",
                "delete by_key key (1,∅,∅)",
                "delete by_key key (3,∅,∅)",
            ],
        ),
        (
            "by_index",
            [
                "update by_index to (1,10,b)",
                "update by_index to (2,20,b)",
                "update by_index key (∅,20,∅) to (3,30,b)",
                "delete by_index key (∅,10,∅)",
                "delete by_index key (∅,30,∅)",
            ],
        ),
        (
            "whole",
            [
                "update whole full (1,10,a) to (1,10,b)",
                "update whole full (2,20,∅) to (2,20,b)",
                "update whole full (2,20,b) to (3,30,b)",
                "delete whole full (1,10,b)",
                "delete whole full (3,30,b)",
            ],
        ),
    ] {
        let events = transaction(&mut stream).await;
        assert_eq!(events[..2], inserts(table));
        assert_eq!(events[2..], changes);
    }
    harness.run("insert into silent values (1, 1, 'a')").await;
    let (events, _) = transaction_of(&mut stream).await;
    let Some(Event::Insert { relation, .. }) = events.first() else { panic!("{events:?}") };
    assert_eq!(relation.replica_identity, ReplicaIdentity::Nothing);
    assert!(relation.columns.iter().all(|column| !column.is_key));
    let refused = harness.admin.batch_execute("delete from silent").await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "55000", "{refused}");
    harness.finish(stream).await;
}

#[tokio::test]
async fn tables_are_described() {
    let setup = "create schema app; create type app.mood as enum ('sad');
                 create table app.\"T é\" (id int8 primary key, name varchar(7), moods app.mood[])";
    let harness = Harness::new(setup).await;
    let mut stream = harness.stream().await;
    harness.run("insert into app.\"T é\" values (1, 'x', '{sad}')").await;
    let (events, _) = transaction_of(&mut stream).await;
    let Some(Event::Insert { relation, new }) = events.first() else { panic!("{events:?}") };
    assert_eq!((relation.schema.as_str(), relation.name.as_str()), ("app", "T é"));
    assert_eq!(relation.oid.to_string(), harness.query("select 'app.\"T é\"'::regclass::oid").await);
    assert_eq!(relation.replica_identity, ReplicaIdentity::Default);
    let columns: Vec<_> = relation
        .columns
        .iter()
        .map(|column| {
            (column.name.as_str(), column.type_oid.to_string(), column.type_modifier, column.is_key)
        })
        .collect();
    let moods = harness.query("select 'app.mood[]'::regtype::oid").await;
    assert_eq!(
        columns,
        [
            ("id", "20".to_owned(), -1, true),
            ("name", "1043".to_owned(), 11, false),
            ("moods", moods, -1, false)
        ]
    );
    assert_eq!(new.bytes(2).as_deref(), Some(&b"{sad}"[..]));
    harness.finish(stream).await;
}

#[tokio::test]
async fn large_values_that_do_not_change_are_not_sent() {
    let setup = "create table t (id int primary key, large text, small text);
                 alter table t alter large set storage external;
                 create table whole (like t including all); alter table whole replica identity full;
                 insert into t values (1, repeat('x', 10000), 'a'); insert into whole table t";
    let harness = Harness::new(setup).await;
    let mut stream = harness.stream().await;
    harness.run("update t set small = 'b'").await;
    assert_eq!(transaction(&mut stream).await, ["update t to (1,…,b)"]);
    let large = "x".repeat(10_000);
    harness.run("update whole set small = 'b'").await;
    assert_eq!(transaction(&mut stream).await, [format!("update whole full (1,{large},a) to (1,…,b)")]);
    harness.run("update t set large = large || 'y', small = null").await;
    assert_eq!(transaction(&mut stream).await, [format!("update t to (1,{large}y,∅)")]);
    harness.finish(stream).await;
}

#[tokio::test]
async fn only_committed_transactions_are_sent_in_the_order_of_their_commits() {
    let setup = "create table a (id int primary key); create table b (id int primary key, t text)";
    let harness = Harness::new(setup).await;
    let mut stream = harness.stream().await;
    let other = testkit_client(&harness).await;
    other.batch_execute("begin; insert into a values (1); insert into b values (1, '')").await.unwrap();
    harness.run("begin; insert into a values (2); insert into b values (2, null); commit").await;
    harness.run("begin; insert into a values (3); rollback").await;
    harness
        .run(
            "begin; insert into a values (4); savepoint s; insert into b values (4, 'lost'); rollback to s;
             insert into b values (5, 'kept'); commit",
        )
        .await;
    other.batch_execute("delete from a where id = 2; commit").await.unwrap();
    assert_eq!(transaction(&mut stream).await, ["insert a (2)", "insert b (2,∅)"]);
    assert_eq!(transaction(&mut stream).await, ["insert a (4)", "insert b (5,kept)"]);
    assert_eq!(transaction(&mut stream).await, ["insert a (1)", "insert b (1,)", "delete a key (2)"]);
    harness.finish(stream).await;
}

async fn testkit_client(harness: &Harness) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(&harness.uri, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test]
async fn a_table_may_change_between_changes_of_its_rows() {
    let harness = Harness::new("create table t (id int primary key, a text)").await;
    let mut stream = harness.stream().await;
    harness
        .run(
            "insert into t values (1, 'x');
             alter table t add b int default 7;
             insert into t values (2, 'y')",
        )
        .await;
    // In the same transaction: the first row has the columns that the table had before.
    assert_eq!(transaction(&mut stream).await, ["insert t (1,x)", "insert t (2,y,7)"]);
    harness.run("alter table t rename a to c").await;
    harness.run("insert into t values (3, 'z')").await;
    harness.run("alter table t drop c").await;
    harness.run("insert into t values (4)").await;
    harness.run("alter table t rename to u").await;
    harness.run("update u set b = 8 where id = 4").await;
    let mut inserted = Vec::new();
    while inserted.len() < 3 {
        if let Event::Insert { relation, .. } | Event::Update { relation, .. } = next(&mut stream).await {
            let columns: Vec<&str> = relation.columns.iter().map(|column| column.name.as_str()).collect();
            inserted.push(format!("{}({})", relation.name, columns.join(",")));
        }
    }
    assert_eq!(inserted, ["t(id,c,b)", "t(id,b)", "u(id,b)"]);
    harness.finish(stream).await;
}

#[tokio::test]
async fn truncated_tables_are_in_one_event() {
    let setup =
        "create table a (id int primary key); create table b (id int references a); insert into a values (1)";
    let harness = Harness::new(setup).await;
    let mut stream = harness.stream().await;
    harness.run("truncate a cascade").await;
    assert_eq!(transaction(&mut stream).await, ["truncate a,b"]);
    harness.finish(stream).await;
}

#[tokio::test]
async fn large_transactions_and_values_arrive_complete() {
    let harness = Harness::new("create table t (id int primary key, name text)").await;
    let mut stream = harness.stream().await;
    harness.run("insert into t select n, 'row ' || n from generate_series(1, 50000) n").await;
    let (events, _) = transaction_of(&mut stream).await;
    assert_eq!(events.len(), 50_000);
    for (number, event) in (1..).zip(&events) {
        let Event::Insert { new, .. } = event else { panic!("{event:?}") };
        assert_eq!(new.get(0).and_then(Value::text), Some(number.to_string().as_str()));
    }
    harness.run("insert into t values (0, repeat('0123456789', 500000))").await;
    let (events, _) = transaction_of(&mut stream).await;
    let [Event::Insert { new, .. }] = events.as_slice() else { panic!("one row") };
    let value = new.bytes(1).unwrap();
    assert_eq!(value.len(), 5_000_000);
    assert!(value.chunks(10).all(|part| part == b"0123456789"));
    harness.run("delete from t where id = 0").await;
    assert_eq!(transaction(&mut stream).await, ["delete t key (0,∅)"]);
    harness.finish(stream).await;
}

#[tokio::test]
async fn the_form_of_values_does_not_depend_on_the_databases_defaults() {
    let setup = "create table t (id int primary key, d date, i interval, f float8, b bytea, z timestamptz);
                 do $$ begin
                   execute format('alter database %I set datestyle = ''German, DMY''', current_database());
                   execute format('alter database %I set intervalstyle = ''sql_standard''', current_database());
                   execute format('alter database %I set extra_float_digits = -5', current_database());
                   execute format('alter database %I set bytea_output = ''escape''', current_database());
                   execute format('alter database %I set timezone = ''Asia/Tokyo''', current_database());
                 end $$";
    let harness = Harness::new(setup).await;
    let mut stream = harness.stream().await;
    harness
        .run(
            "insert into t values (1, '2026-11-23', '1 day 02:00', 0.1::float8 + 0.2::float8, '\\x00ff',
                                   '2026-11-23 12:00:00+00')",
        )
        .await;
    assert_eq!(
        transaction(&mut stream).await,
        ["insert t (1,2026-11-23,1 day 02:00:00,0.30000000000000004,\\x00ff,2026-11-23 21:00:00+09)"]
    );
    harness.finish(stream).await;
}

#[tokio::test]
async fn rows_of_other_publications_are_not_sent() {
    let setup = "create table a (id int primary key, x int, y int); create table b (id int primary key);
                 create publication part for table a (id, y) where (id > 1)";
    let mut harness = Harness::new(setup).await;
    harness.settings.publications = vec!["part".to_owned()];
    let mut stream = harness.stream().await;
    harness.run("insert into b values (1)").await;
    harness.run("insert into a values (1, 2, 3), (2, 3, 4)").await;
    harness.run("select pg_logical_emit_message(true, 'prefix', 'content')").await;
    harness.run("insert into a values (3, 0, 0)").await;
    assert_eq!(transaction(&mut stream).await, ["insert a (2,4)"]);
    assert_eq!(transaction(&mut stream).await, ["insert a (3,0)"]);
    harness.finish(stream).await;
}
