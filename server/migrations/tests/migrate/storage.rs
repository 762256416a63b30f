//! Compares schema "storage" with that of the Supabase Storage service. Both may run on the same database, one after
//! the other.

use std::path::PathBuf;

use migrations::Migrator;
use testkit::Database;

use crate::support::{Folder, text};

/// The objects in schema "storage", one on each line, without the bodies of functions.
const FACTS: &str = "select string_agg(line, E'\\n' order by line collate \"C\") from (
    select format('column %s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
      case when a.attnotnull then ' not null' end, ' collate ' || nullif(l.collname, 'default'),
      case a.attgenerated when '' then ' default ' else ' generated ' end || pg_get_expr(d.adbin, d.adrelid)) as line
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_collation l on l.oid = a.attcollation
    where c.relnamespace = 'storage'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
    union all
    select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace = 'storage'::regnamespace and contype <> 'n'
    union all
    select 'index ' || pg_get_indexdef(i.indexrelid) from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = 'storage'::regnamespace
    union all
    select format('function %s(%s) returns %s %s%s', proname, pg_get_function_arguments(oid),
      pg_get_function_result(oid), provolatile, case when prosecdef then ' security definer' end)
    from pg_proc where pronamespace = 'storage'::regnamespace
    union all
    select 'trigger ' || pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'storage'::regnamespace and not tgisinternal and tgname not like 'basalt%'
    union all
    select format('policy %s on %s', policyname, tablename) from pg_policies where schemaname = 'storage'
    union all
    select format('table %s of %s, row security %s', relname, relowner::regrole, relrowsecurity) from pg_class
    where relnamespace = 'storage'::regnamespace and relkind = 'r'
    union all
    select format('grant on %s to %s: %s', c.oid::regclass, g.grantee::regrole,
      string_agg(lower(g.privilege_type) || case when g.is_grantable then '*' else '' end, ' ' order by g.privilege_type))
    from pg_class c, aclexplode(c.relacl) g
    where c.relnamespace = 'storage'::regnamespace and c.relkind = 'r' and g.privilege_type <> 'MAINTAIN'
    group by c.oid, g.grantee
    union all
    select format('type %s %s', t.oid::regtype, string_agg(e.enumlabel, ' ' order by e.enumsortorder))
    from pg_enum e join pg_type t on t.oid = e.enumtypid where t.typnamespace = 'storage'::regnamespace group by t.oid
    union all
    select format('migration %s %s %s', lpad(id::text, 2, '0'), name, hash) from storage.migrations
  ) lines";

/// The file was compared with a database that Supabase Storage 1.11.2 alone had set up (see
/// `tests/differential/storage.md`). The differences: triggers that notify Basalt's nodes are left out, functions
/// `list_level` and `prefix_successor` are Basalt's own, `list_multipart_uploads_with_delimiter` is declared stable.
/// What versions of objects need is that of later releases: the columns of lifecycles, the indexes of current versions
/// and of those without an id, no constraint against versions. `refuse_versioned`, `require_version`, `allow_versions`
/// and the index of versions that are no longer current are Basalt's own.
#[tokio::test]
async fn the_schema_is_that_of_supabase_storage() {
    let database = Database::create().await;
    let client = database.client().await;
    let facts = text(&client, FACTS).await + "\n";
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/migrate/storage_facts.txt");
    if std::env::var_os("BASALT_TEST_UPDATE").is_some() {
        std::fs::write(&file, &facts).unwrap();
    }
    let recorded = std::fs::read_to_string(&file).unwrap();
    let foreign = |these: &str, those: &str| -> Vec<String> {
        let lines = these.lines().filter(|line| !those.lines().any(|other| other == *line));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(foreign(&facts, &recorded), Vec::<String>::new(), "there and not recorded");
    assert_eq!(foreign(&recorded, &facts), Vec::<String>::new(), "recorded and not there");
}

/// Checks the names of folders and the times in listings, from which Supabase Storage continues a list.
#[tokio::test]
async fn listings_name_folders_as_supabase_storage_expects() {
    let database = Database::create().await;
    let client = database.client().await;
    client
        .batch_execute(
            "set timezone = 'utc';
             insert into storage.buckets (id, name) values ('b', 'b');
             insert into storage.objects (bucket_id, name, created_at, updated_at)
             select 'b', name, '2026-01-01'::timestamptz + number * interval '1 hour', '2026-02-01'
               from unnest(array['dir/b', 'dir/a', 'dir.txt', 'dir2/x', 'z']) with ordinality names (name, number)",
        )
        .await
        .unwrap();
    for (call, expected) in [
        ("list_objects_with_delimiter('b', '', '/', 100)", "dir.txt dir? dir2? z"),
        ("list_objects_with_delimiter('b', '', '/', 100, 'dir')", "dir2? z"),
        ("list_objects_with_delimiter('b', '', '/', 100, 'dir/')", "dir2? z"),
        ("list_objects_with_delimiter('b', '', '/', 100, 'dir', '', 'desc')", "dir.txt"),
        ("list_objects_with_delimiter('b', 'dir/', '/', 100, 'dir/a')", "dir/b"),
        ("search_v2('', 'b', 100, 1, 'dir')", "dir2? z"),
        ("search_v2('', 'b', 100, 1, '', 'asc', 'created_at')", "dir? dir.txt dir2? z"),
        ("search_v2('', 'b', 100, 1, 'dir', 'asc', 'created_at', '2026-01-01 01:00Z')", "dir.txt dir2? z"),
        // The time of a folder is the creation of its oldest object, even for a list by the time of updates.
        ("search_v2('', 'b', 100, 1, '', 'desc', 'updated_at')", "z dir.txt dir2? dir?"),
        ("search_by_timestamp('dir/', 'b', 1, 2, '', 'desc', 'created_at', '')", "dir/a"),
    ] {
        let query = format!(
            "select string_agg(name || case when id is null then '?' else '' end, ' ') from storage.{call}"
        );
        assert_eq!(text(&client, &query).await, expected, "{call}");
    }
}

/// A bucket that keeps versions ends the index that allows each name only once; until then it is there for statements
/// of users.
#[tokio::test]
async fn names_are_unique_until_a_bucket_keeps_versions() {
    let database = Database::create().await;
    let client = database.client().await;
    let insert = "insert into storage.objects (bucket_id, name) values ('b', 'a') on conflict (bucket_id, name) do nothing";
    client.batch_execute("insert into storage.buckets (id, name) values ('b', 'b')").await.unwrap();
    client.batch_execute(&format!("{insert}; {insert}")).await.unwrap();
    let index = "select coalesce(to_regclass('storage.bucketid_objname')::text, 'none')";
    assert_ne!(text(&client, index).await, "none");
    client
        .batch_execute(
            "set role supabase_storage_admin;
             insert into storage.buckets (id, name, versioning_status) values ('v', 'v', 'ENABLED');
             update storage.buckets set versioning_status = 'SUSPENDED' where id = 'v'",
        )
        .await
        .unwrap();
    assert_eq!(text(&client, index).await, "none");
    let archived = "insert into storage.objects (bucket_id, name, is_versioned, archived_at) values ('b', 'a', true, now())";
    client.batch_execute(&format!("{archived}; {archived}")).await.unwrap();
    let current = "insert into storage.objects (bucket_id, name, is_versioned) values ('b', 'a', true)";
    assert!(client.batch_execute(current).await.is_err(), "one version is the current one");
    let disable = "update storage.buckets set versioning_status = 'DISABLED' where id = 'v'";
    let refused = client.batch_execute(disable).await.unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("23514"));
}

/// What a dump of data has of a bucket that keeps versions.
const VERSIONS: &str = "SET session_replication_role = replica;
COPY storage.buckets (id, name, versioning_status) FROM stdin;
v\tv\tENABLED
\\.
COPY storage.objects (bucket_id, name, is_versioned, archived_at) FROM stdin;
v\ta\tt\t2026-01-01 10:00:00+00
v\ta\tt\t2026-01-02 10:00:00+00
v\ta\tt\t\\N
\\.
RESET ALL;
";

#[tokio::test]
async fn a_dump_of_data_with_older_versions_loads() {
    let database = Database::create().await;
    let folder = Folder::new();
    folder.write("data.sql", VERSIONS);
    // Who administers a project is no superuser.
    let mut client = database.client_as("postgres").await;
    let files = [folder.path().join("data.sql")];
    let report = Migrator::new(&mut client).seed(folder.path(), &files).await.unwrap();
    assert_eq!(report.applied, ["data.sql"]);
    assert_eq!(text(&client, "select count(*)::text from storage.objects").await, "3");
}

/// Where another server has made the schema, it decides when buckets may keep versions.
#[tokio::test]
async fn a_schema_of_another_server_stays_closed_for_versions() {
    let database = Database::create().await;
    let client = database.client().await;
    client
        .batch_execute(
            "drop function storage.list_level;
             drop table basalt.lifecycle_turns;
             drop trigger basalt_allow_versions on storage.buckets;
             drop trigger enforce_versioning_status_transition on storage.buckets;
             drop function storage.allow_versions(), storage.enforce_versioning_status_transition(),
               storage.require_version(text, text, text, boolean);
             drop index storage.idx_objects_bucket_id_name, storage.idx_objects_current_version, storage.idx_objects_null_version, storage.idx_objects_archived;
             alter table storage.objects drop column archived_at, drop column is_delete_marker, drop column is_versioned;
             alter table storage.buckets drop column versioning_status, drop column lifecycle_configuration,
               drop column lifecycle_configuration_generation",
        )
        .await
        .unwrap();
    let file = include_str!("../../../../schema/platform/0033_object_versions.sql");
    client.batch_execute(&format!("begin; {file}; commit")).await.unwrap();
    let columns = "select count(*)::text from pg_attribute where attrelid = 'storage.objects'::regclass
        and attname in ('archived_at', 'is_delete_marker', 'is_versioned') and not attisdropped";
    assert_eq!(text(&client, columns).await, "3", "what statements name is there");
    let index = "select (to_regclass('storage.idx_objects_bucket_id_name') is not null)::text";
    assert_eq!(text(&client, index).await, "true", "older releases had no such index");
    let enabled = "insert into storage.buckets (id, name, versioning_status) values ('v', 'v', 'ENABLED')";
    let refused = client.batch_execute(enabled).await.unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("23514"));
    assert_eq!(
        text(&client, "select to_regclass('storage.bucketid_objname')::text").await,
        "storage.bucketid_objname"
    );
}
