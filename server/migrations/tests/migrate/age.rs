//! Databases with older schemas "auth" and "storage" of Supabase's own services.

use migrations::{Error, Migrator};
use testkit::Database;

use crate::support::text;

const DOWNGRADE_TO_2022: &str = include_str!("auth_2022.sql");

/// Returns the definition of the two schemas as text, without the order of columns and Basalt's own indexes.
const DEFINITION: &str = "select string_agg(line, E'\\n' order by line) from (
    select format('%s.%s %s %s %s %s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
      a.attnotnull, a.attgenerated, pg_get_expr(d.adbin, d.adrelid)) as line
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
      and c.relnamespace in ('auth'::regnamespace, 'storage'::regnamespace)
    union all
    select format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace = 'auth'::regnamespace
    union all
    select pg_get_indexdef(indexrelid) from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = 'auth'::regnamespace and c.relname not in ('users_phone_change_idx',
      'mfa_challenges_factor_id_idx', 'saml_relay_states_flow_state_id_idx', 'oauth_authorizations_user_id_idx')
    union all
    select format('%s %s', t.oid::regtype, string_agg(e.enumlabel, ' ' order by e.enumlabel))
    from pg_enum e join pg_type t on t.oid = e.enumtypid where t.typnamespace = 'auth'::regnamespace group by t.oid
    union all
    select format('%s belongs to %s, %s', c.oid::regclass, c.relowner::regrole, c.relrowsecurity) from pg_class c
    where c.relkind = 'r' and c.relnamespace = 'auth'::regnamespace
    union all
    select 'migration ' || version from auth.schema_migrations
  ) lines";

#[tokio::test]
async fn schemas_of_2022_are_updated() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let fresh = text(&client, DEFINITION).await;
    client.batch_execute(DOWNGRADE_TO_2022).await.unwrap();
    assert!(text(&client, DEFINITION).await.lines().count() < fresh.lines().count() - 200);

    let report = Migrator::new(&mut client).platform().await.unwrap();
    assert!(report.applied.contains(&"0012_older_schemas.sql".to_owned()), "{report:?}");
    assert_same_lines(&fresh, &text(&client, DEFINITION).await);
    let identity = "select provider_id || ' ' || email from auth.identities";
    let expected = "00000000-0000-4000-8000-000000000001 old@example.com";
    assert_eq!(
        text(&client, identity).await,
        expected,
        "accounts with a password get the identity that they lack"
    );
}

#[tokio::test]
async fn a_database_of_before_recovery_codes_gets_what_it_lacks() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let fresh = text(&client, DEFINITION).await;
    client
        .batch_execute(
            "delete from basalt.platform_migrations where version = '0028';
             delete from auth.schema_migrations where version >= '202608';
             drop table auth.mfa_recovery_codes, auth.scim_tokens;
             drop index auth.scim_users_id_idx;
             alter table auth.one_time_tokens drop column expires_at",
        )
        .await
        .unwrap();
    let report = Migrator::new(&mut client).platform().await.unwrap();
    assert_eq!(report.applied, ["0028_auth_recovery_codes.sql"]);
    assert_same_lines(&fresh, &text(&client, DEFINITION).await);
}

/// Asserts that both have the same lines, in any order.
fn assert_same_lines(expected: &str, actual: &str) {
    let without = |these: &str, those: &str| -> Vec<String> {
        let foreign = these.lines().filter(|line| !those.lines().any(|other| other == *line));
        foreign.map(str::to_owned).collect()
    };
    let (missing, foreign) = (without(expected, actual), without(actual, expected));
    assert_eq!((missing, foreign), (Vec::<String>::new(), Vec::new()), "missing, foreign");
}

#[tokio::test]
async fn the_auth_service_alone_updates_its_schema() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let lines_of_auth = |shape: String| -> String {
        shape.lines().filter(|line| !line.starts_with("storage.")).map(|line| format!("{line}\n")).collect()
    };
    let fresh = lines_of_auth(text(&client, DEFINITION).await);
    client.batch_execute(DOWNGRADE_TO_2022).await.unwrap();
    let storage = "select string_agg(attname, ' ' order by attname) from pg_attribute
        where attrelid = 'storage.objects'::regclass and not attisdropped";
    let before = text(&client, storage).await;

    client.batch_execute("set session authorization supabase_auth_admin").await.unwrap();
    assert!(Migrator::new(&mut client).auth_only().await.unwrap());
    assert!(!Migrator::new(&mut client).auth_only().await.unwrap(), "there is nothing left to do");
    client.batch_execute("reset session authorization; reset all").await.unwrap();
    assert_same_lines(&fresh, &lines_of_auth(text(&client, DEFINITION).await));
    assert_eq!(text(&client, storage).await, before, "the other schema is somebody else's");
}

#[tokio::test]
async fn schemas_that_cannot_be_updated_are_refused_before_anything_is_written() {
    let database = Database::create().await;
    let mut client = database.client().await;
    client.batch_execute(DOWNGRADE_TO_2022).await.unwrap();
    client.batch_execute("create role older_visitor; set role older_visitor").await.unwrap();
    let obstacle = Migrator::new(&mut client).obstacle().await.unwrap().unwrap();
    assert!(
        obstacle.contains("\"older_visitor\"") && obstacle.contains("\"supabase_auth_admin\""),
        "{obstacle}"
    );
    client
        .batch_execute("reset role; drop role older_visitor; drop table auth.mfa_factors cascade")
        .await
        .unwrap();
    match Migrator::new(&mut client).platform().await {
        Err(Error::OutdatedSchemas(advice)) => assert!(advice.contains("October 2022"), "{advice}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(text(&client, "select coalesce(to_regnamespace('basalt')::text, 'none')").await, "none");
}

#[tokio::test]
async fn rows_that_the_auth_service_cannot_read_are_corrected() {
    let database = Database::create().await;
    let mut client = database.client().await;
    client
        .batch_execute(
            "delete from basalt.platform_migrations where version = '0013';
             insert into auth.flow_state (id, provider_type, provider_access_token, authentication_method)
             values (gen_random_uuid(), 'github', null, 'oauth'), (gen_random_uuid(), 'github', 'kept', 'oauth');
             insert into auth.oauth_clients (id, registration_type, redirect_uris, grant_types, token_endpoint_auth_method)
             values (gen_random_uuid(), 'manual', 'https://a.example', 'authorization_code', 'none')",
        )
        .await
        .unwrap();
    Migrator::new(&mut client).platform().await.unwrap();
    let tokens = "select string_agg(format('[%s][%s]', provider_access_token, provider_refresh_token), ' '
        order by provider_access_token) from auth.flow_state where provider_refresh_token is not null";
    assert_eq!(text(&client, tokens).await, "[][] [kept][]");
    assert_eq!(text(&client, "select '[' || client_secret_hash || ']' from auth.oauth_clients").await, "[]");
}
