//! Tables that are published to subscribers of changes.

use testkit::Database;

use crate::harness::League;

/// A table as realtime's documentation has it, with a column that Postgres computes, whose rows belong to users.
const PUBLISHED: &str = "
    create table league.trips (
      id int primary key,
      owner uuid references auth.users on delete cascade,
      metres int not null,
      kilometres numeric generated always as (metres / 1000.0) stored
    );
    alter table league.trips replica identity full;
    grant all on league.trips to authenticated;
    insert into auth.users (id, email) values ('11111111-1111-1111-1111-111111111111', 'ada@example.org');
    insert into league.trips (id, owner, metres) values
      (1, '11111111-1111-1111-1111-111111111111', 1500), (2, null, 2500), (3, null, 3500);";

#[tokio::test]
async fn published_rows_with_generated_columns_are_changed_and_deleted() {
    let replacement = "drop publication supabase_realtime; create publication supabase_realtime;";
    for before in ["", replacement] {
        let sql = format!("{before}{PUBLISHED} alter publication supabase_realtime add table league.trips;");
        let league = League::extended(&sql, |_| {}).await;
        let headers = [("prefer", "return=representation")];
        let changed = league.change("PATCH", "/trips?id=eq.2", &headers, r#"{"metres":4000}"#).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        assert_eq!(changed.json()[0]["kilometres"].as_f64(), Some(4.0));
        let deleted = league.change("DELETE", "/trips?id=eq.3", &[], "").await;
        assert_eq!(deleted.status, 204, "{deleted:?}");

        // What the auth service does for `auth.admin.deleteUser`, whose rows go with the user.
        let service = league.database.client().await;
        service.batch_execute("set role supabase_auth_admin").await.unwrap();
        service.batch_execute("delete from auth.users where email = 'ada@example.org'").await.unwrap();
        service.batch_execute("reset role").await.unwrap();
        let left = service.query_one("select count(*) from league.trips", &[]).await.unwrap();
        assert_eq!(left.get::<_, i64>(0), 1);
    }
}

#[tokio::test]
async fn whoever_owns_the_publication_may_make_it_anew() {
    let database = Database::create().await;
    let client = database.client().await;
    let owner = "create role publisher; grant create on database current to publisher;";
    let owner = owner.replace("database current", &format!("database {}", database.name()));
    client.batch_execute(&format!("begin; {owner}")).await.unwrap();
    client
        .batch_execute(
            "drop publication supabase_realtime;
             set local role publisher;
             create publication supabase_realtime;
             reset role;",
        )
        .await
        .unwrap();
    let major = client.query_one("select current_setting('server_version_num')::int", &[]).await.unwrap();
    if major.get::<_, i32>(0) >= 180_000 {
        let sql = "select pubgencols::text from pg_publication where pubname = 'supabase_realtime'";
        let published = client.query_one(sql, &[]).await.unwrap();
        assert_eq!(published.get::<_, String>(0), "s");
    }
    client.batch_execute("rollback").await.unwrap();
}
