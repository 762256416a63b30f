//! Policies against Postgres: whoever sees a row has to be among its candidates.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use postgres::{Database, Settings, Transaction, text};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use replication::Tuple;
use serde_json::{Map, Value, json};

use super::{Requirement, RowValues, expression, load};
use crate::authorize::BECOME;
use crate::changes::queries::{NumberedRow, integers};
use crate::changes::readers::{KnownValues, Readers, Requirements};
use crate::changes::table::{self, Table};
use crate::changes::visibility::Statement;

const SCHEMA: &str = "
  create table public.members (room int, user_id uuid, org text, active bool);
  create table public.rows (
    id bigint primary key, owner uuid, org text, team int, note varchar(40), room int, open bool, people uuid[]);
  alter table public.rows enable row level security;
  grant select on public.rows, public.members to anon, authenticated;
  create view public.teams as select room, user_id from public.members";

const ANNA: &str = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
const BEN: &str = "b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a22";
const CARA: &str = "c0eebc99-9c0b-4ef8-bb6d-6bb9bd380a33";

/// Conditions of policies: those that are understood, then those that are not.
const UNDERSTOOD: [&str; 17] = [
    "owner = auth.uid()",
    "(select auth.uid()) = owner",
    "owner::text = auth.jwt() ->> 'sub'",
    "auth.uid()::text = note",
    "org = auth.jwt() ->> 'org'",
    "org = (select auth.jwt() -> 'app_metadata' ->> 'org')",
    "team = (auth.jwt() ->> 'team')::int",
    "note = auth.email()",
    "auth.role() = org",
    "current_setting('request.jwt.claims', true)::json ->> 'org' = org",
    "current_setting('request.jwt.claim.sub', true)::uuid = owner",
    "exists (select 1 from members m where m.room = rows.room and m.user_id = auth.uid())",
    "room in (select room from members where user_id = auth.uid())",
    "room in (select m.room from members m where m.user_id = (select auth.uid()) and m.active)",
    "auth.uid() in (select user_id from members m where m.room = rows.room and not m.active)",
    "exists (select from members where members.user_id = auth.uid())",
    "false",
];
const OTHERS: [&str; 15] = [
    "true",
    "open",
    "room > 1",
    "not (owner = auth.uid())",
    "owner is distinct from auth.uid()",
    "auth.uid() = any (people)",
    "coalesce(owner, auth.uid()) = auth.uid()",
    "case when open then owner = auth.uid() and room = 1 else org = auth.email() end",
    "not exists (select 1 from members m where m.room = rows.room and m.user_id = auth.uid())",
    "exists (select count(*) from members m where m.room = rows.room and m.user_id = auth.uid())",
    "room in (select room from teams where user_id = auth.uid())",
    "room in (select room from members where user_id = auth.uid() union select 2)",
    "owner = coalesce(auth.uid(), owner)",
    "upper(org) = auth.jwt() ->> 'org'",
    "lower(auth.jwt() ->> 'org') = org",
];

/// The tokens of users, some with claims that are not what they should be.
fn users() -> Vec<Map<String, Value>> {
    let users = [
        json!({ "sub": ANNA, "org": "acme", "email": "anna@example.com", "app_metadata": { "org": "beta" } }),
        json!({ "sub": BEN.to_uppercase(), "org": "beta", "team": 7, "app_metadata": { "org": 5 } }),
        json!({ "sub": CARA, "org": ["acme"], "team": "7", "app_metadata": [] }),
        json!({ "sub": CARA, "org": "authenticated", "team": " 7" }),
        json!({ "sub": "nobody", "org": "acme", "app_metadata": "beta" }),
        json!({ "org": null, "team": 7.0, "email": BEN }),
        json!({ "sub": "", "org": "true", "team": "+7" }),
        json!({ "sub": format!("{{{ANNA}}}"), "org": "" }),
    ];
    let with_role = |user: Value| match user {
        Value::Object(mut user) => {
            user.insert("role".to_owned(), "authenticated".into());
            user
        }
        _ => Map::new(),
    };
    users.into_iter().map(with_role).collect()
}

/// Rows in the order of the columns.
fn rows() -> Vec<[Option<&'static str>; 8]> {
    vec![
        [Some("1"), Some(ANNA), Some("acme"), Some("7"), Some(ANNA), Some("1"), Some("t"), Some("{}")],
        [Some("2"), Some(BEN), Some("beta"), Some("7"), Some(BEN), Some("2"), Some("f"), None],
        [Some("3"), Some(CARA), Some("acme"), None, Some("anna@example.com"), Some("1"), None, None],
        [Some("4"), None, Some("5"), Some("8"), None, None, Some("t"), None],
        [Some("5"), Some(ANNA), None, Some("7"), Some(CARA), Some("3"), Some("f"), None],
        [Some("6"), Some(CARA), Some("authenticated"), None, Some(""), Some("4"), Some("t"), None],
        [Some("7"), None, Some("beta"), None, None, Some("2"), Some("t"), None],
        [Some("8"), Some(BEN), Some("true"), Some("7"), None, Some("3"), None, None],
        [Some("9"), Some(ANNA), Some(""), Some("9"), Some("x"), Some("2"), Some("f"), None],
    ]
}

/// A database with the tables, and what is tested with it.
struct Stage {
    _database: testkit::Database,
    client: tokio_postgres::Client,
    database: Database,
    oid: u32,
}

impl Stage {
    async fn new() -> Self {
        let own = testkit::Database::create().await;
        // As realtime logs in.
        let client = own.client_as("postgres").await;
        client.batch_execute(SCHEMA).await.unwrap();
        for row in rows() {
            let value = |value: &Option<&str>| value.map_or("null".to_owned(), |value| format!("'{value}'"));
            let values = row.iter().map(value).collect::<Vec<_>>().join(", ");
            client.batch_execute(&format!("insert into public.rows values ({values})")).await.unwrap();
        }
        client
            .batch_execute(&format!(
                "insert into public.members values (1, '{ANNA}', 'acme', true), (2, '{ANNA}', 'beta', false), \
                 (2, '{BEN}', 'beta', true), (3, '{CARA}', null, null), (null, '{BEN}', 'acme', true)"
            ))
            .await
            .unwrap();
        let settings = Settings { pool_size: 2, ..Settings::new(own.uri_as("postgres").parse().unwrap()) };
        let database = Database::connect(settings).await.unwrap();
        let oid = client.query_one("select 'public.rows'::regclass::oid", &[]).await.unwrap().get(0);
        Self { _database: own, client, database, oid }
    }

    async fn table(&self) -> Table {
        table::load(&self.database, self.oid).await.unwrap().unwrap()
    }

    /// Replaces the policies: the condition of each, and whether it is permissive.
    async fn set_policies(&self, policies: &[(String, bool)]) {
        let mut sql = String::from(
            "do $$ declare name text; begin for name in select polname from pg_policy where polrelid = \
             'public.rows'::regclass loop execute format('drop policy %I on public.rows', name); end loop; end $$;",
        );
        for (number, (condition, is_permissive)) in policies.iter().enumerate() {
            let kind = if *is_permissive { "permissive" } else { "restrictive" };
            sql +=
                &format!("create policy p{number} on public.rows as {kind} for select using ({condition});");
        }
        self.client.batch_execute(&sql).await.unwrap();
    }

    /// Returns which rows a user sees, by their positions; none if a policy fails.
    async fn seen(&self, statement: &Statement, keys: &str, claims: &str) -> HashSet<usize> {
        let transaction = Transaction::anonymous()
            .statement(BECOME, vec![text("authenticated"), text(claims)])
            .statement(statement.sql.as_str(), vec![text(keys)])
            .rollback();
        match self.database.run(&transaction).await {
            Ok(reply) => positions(reply.row().and_then(|row| row.text(0)).unwrap()),
            Err(postgres::Error::Postgres(_)) => HashSet::new(),
            Err(error) => panic!("{error}"),
        }
    }
}

fn positions(seen: &str) -> HashSet<usize> {
    integers(seen).unwrap().into_iter().collect()
}

/// Returns a row as the stream has it.
fn tuple(row: &[Option<&str>]) -> Tuple {
    let mut bytes = BytesMut::new();
    for value in row {
        match value {
            None => bytes.put_u8(b'n'),
            Some(value) => {
                bytes.put_u8(b't');
                bytes.put_u32(value.len() as u32);
                bytes.put_slice(value.as_bytes());
            }
        }
    }
    Tuple::from_bytes(row.len() as u16, &Bytes::from(bytes)).unwrap()
}

/// Returns a random condition, of up to three of those above.
fn condition(random: &mut StdRng) -> String {
    let mut one = || {
        let list: &[&str] = if random.random_ratio(4, 5) { &UNDERSTOOD } else { &OTHERS };
        (*list.choose(random).unwrap()).to_owned()
    };
    let (first, second, third) = (one(), one(), one());
    match random.random_range(0..8) {
        0 => format!("({first}) and ({second})"),
        1 => format!("({first}) or ({second})"),
        2 => format!("(({first}) or ({second})) and ({third})"),
        3 => format!("({first}) or ({second}) and ({third})"),
        _ => first,
    }
}

#[tokio::test]
async fn whoever_sees_a_row_is_among_its_candidates() {
    let stage = Stage::new().await;
    let table = stage.table().await;
    let shared: Vec<(usize, usize)> = (0..table.columns.len()).map(|column| (column, column)).collect();
    let statement = Statement::new(&table, &shared).unwrap();
    let (users, texts) = (users(), rows());
    let tuples: Vec<Tuple> = texts.iter().map(|row| tuple(row)).collect();
    let row = |(number, tuple)| NumberedRow { number, tuple, before: None };
    let numbered: Vec<NumberedRow<'_>> = tuples.iter().enumerate().map(row).collect();
    let keys = statement.keys(&numbered);
    let mut random = StdRng::seed_from_u64(30);
    let (mut pairs, mut asked, mut seen_pairs) = (0, 0, 0);
    for _ in 0..140 {
        let count = random.random_range(1..3);
        let mut policies: Vec<(String, bool)> = (0..count).map(|_| (condition(&mut random), true)).collect();
        if random.random_ratio(1, 4) {
            policies.push((condition(&mut random), false));
        }
        stage.set_policies(&policies).await;
        let requirement = load(&stage.database, "authenticated", &table).await.unwrap();
        let requirements: Requirements =
            requirement.into_iter().map(|known| ("authenticated".into(), Arc::new(known))).collect();
        let members = users.iter().map(|claims| ("authenticated", claims));
        let readers = Readers::new(requirements, std::iter::once(members));
        let mut related = Vec::new();
        for values in readers.values() {
            related.push(match values {
                RowValues::Related(related) => {
                    related.values(&stage.database, &table, &shared, &numbered).await.unwrap()
                }
                RowValues::Column(_) => Default::default(),
            });
        }
        let mut seen = Vec::new();
        for claims in &users {
            seen.push(stage.seen(&statement, &keys, &Value::Object(claims.clone()).to_string()).await);
        }
        for (number, row) in texts.iter().enumerate() {
            let column = |name: &str| table.columns.iter().position(|column| column.name == name).unwrap();
            let known = readers.values().zip(&related).map(|(values, related)| match values {
                RowValues::Column(name) => KnownValues::One(row[column(name)]),
                RowValues::Related(_) => {
                    related.get(&number).map_or(KnownValues::Unknown, |values| KnownValues::Many(values))
                }
            });
            let candidates = readers.candidates(0, &known.collect::<Vec<_>>());
            for (user, seen) in seen.iter().enumerate() {
                let (sees, is_asked) = (seen.contains(&(number + 1)), candidates.contains(&user));
                assert!(is_asked || !sees, "{policies:?} show row {number} to user {user}");
                pairs += 1;
                asked += usize::from(is_asked);
                seen_pairs += usize::from(sees);
            }
        }
        // All users in one statement get the same answers.
        let claims: Vec<String> = users.iter().map(|user| Value::Object(user.clone()).to_string()).collect();
        let (sets, of) = (vec![keys.clone()], vec![1; users.len()]);
        let together = stage
            .client
            .query(
                "select coalesce(seen, '{}') from basalt.visible_rows('authenticated', $1, $2, $3, $4) as seen",
                &[&claims, &sets, &of, &statement.sql],
            )
            .await
            .unwrap();
        let together: Vec<HashSet<usize>> = together.iter().map(|row| positions(row.get(0))).collect();
        assert_eq!(together, seen, "{policies:?}");
    }
    assert_eq!(pairs, 140 * 9 * 8);
    assert!(seen_pairs > 500, "policies show {seen_pairs} rows: too few to tell anything");
    assert!(asked * 3 < pairs * 2, "{asked} of {pairs} pairs are asked about, and {seen_pairs} are visible");
}

#[tokio::test]
async fn what_policies_require_is_understood() {
    let stage = Stage::new().await;
    let table = stage.table().await;
    for (conditions, is_understood) in [(&UNDERSTOOD[..], true), (&OTHERS[..], false)] {
        for condition in conditions {
            stage.set_policies(&[((*condition).to_owned(), true)]).await;
            let requirement = load(&stage.database, "authenticated", &table).await.unwrap();
            assert_eq!(requirement.is_some(), is_understood, "{condition}: {requirement:?}");
        }
    }
    // Without a policy, nobody sees anything.
    stage.set_policies(&[]).await;
    assert_eq!(load(&stage.database, "authenticated", &table).await.unwrap(), Some(Requirement(Vec::new())));
    // Of the conditions that all have to hold, the cheapest one counts.
    let both =
        ["(open and room in (select room from members where user_id = auth.uid())) and owner = auth.uid()"];
    stage.set_policies(&both.map(|condition| (condition.to_owned(), true))).await;
    let requirement = load(&stage.database, "authenticated", &table).await.unwrap().unwrap();
    let [alternative] = &requirement.0[..] else { panic!("{requirement:?}") };
    assert_eq!(alternative.values, RowValues::Column("owner".to_owned()));
}

#[tokio::test]
async fn another_auth_uid_and_members_that_may_not_be_read_are_noticed() {
    let stage = Stage::new().await;
    let table = stage.table().await;
    let policies = |condition: &str| [(condition.to_owned(), true)];
    stage
        .client
        .batch_execute(
            "create schema if not exists auth; create or replace function auth.email() returns text language sql \
             stable as $$ select 'boss@example.com' $$",
        )
        .await
        .unwrap();
    stage.set_policies(&policies("note = auth.email()")).await;
    assert_eq!(load(&stage.database, "authenticated", &table).await.unwrap(), None);
    // A policy on the other table does not count: it could only show less.
    stage.client.batch_execute("alter table public.members enable row level security").await.unwrap();
    stage.set_policies(&policies(UNDERSTOOD[11])).await;
    assert!(load(&stage.database, "authenticated", &table).await.unwrap().is_some());
}

#[tokio::test]
async fn what_a_policy_does_it_does_to_no_other_user() {
    let stage = Stage::new().await;
    let table = stage.table().await;
    stage
        .client
        .batch_execute(
            "create function public.remembers() returns boolean language plpgsql as $$ begin \
               if auth.jwt() ->> 'org' = 'fails' then raise exception 'no'; end if; \
               if coalesce(current_setting('app.before', true), '') <> '' then return false; end if; \
               perform set_config('app.before', 'x', true), set_config('request.jwt.claims', '{}', true); \
               return true; end $$; grant execute on function public.remembers() to authenticated",
        )
        .await
        .unwrap();
    stage.set_policies(&[("id <> 1 or public.remembers()".to_owned(), true)]).await;
    let statement = Statement::new(&table, &[(0, 0)]).unwrap();
    let claims: Vec<String> =
        ["a", "fails", "b"].map(|org| json!({ "org": org, "role": "authenticated" }).to_string()).into();
    let found = stage
        .client
        .query(
            "select basalt.visible_rows('authenticated', $1, array['{1,2,99}', '{1}'], array[1, 1, 2], $2)",
            &[&claims, &statement.sql],
        )
        .await
        .unwrap();
    let found: Vec<Option<String>> = found.iter().map(|row| row.get(0)).collect();
    assert_eq!(found, [Some("{1,2}".to_owned()), None, Some("{1}".to_owned())]);
    let left =
        stage.client.query_one("select count(*) from pg_prepared_statements where name ~ 'basalt'", &[]);
    assert_eq!(left.await.unwrap().get::<_, i64>(0), 0);
    // A role that clients may not have sees nothing.
    let refused = stage
        .client
        .query_one(
            "select basalt.visible_rows('postgres', $1, array['{1}'], array[1, 1, 1], $2) limit 1",
            &[&claims, &statement.sql],
        )
        .await
        .unwrap();
    assert_eq!(refused.get::<_, Option<String>>(0), None);
}

#[test]
fn conditions_that_cannot_be_read_require_nothing() {
    let table = Table {
        oid: 1,
        schema: "public".to_owned(),
        name: "rows".to_owned(),
        columns: Vec::new(),
        has_row_security: true,
    };
    for condition in ["", "(", "a = b)", "'open", "(x = E'\\'')", "\"open", &"(".repeat(1000)] {
        assert_eq!(expression::requirement(condition, &table), None, "{condition}");
    }
}
