//! Guarantees of the platform's schema for users' SQL.

use std::time::Duration;

use testkit::Database;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use crate::support::{count, text};

/// Returns a database with the platform's schema, and a superuser's connection to it.
async fn platform() -> (Database, Client) {
    let database = Database::create().await;
    let client = database.client().await;
    (database, client)
}

/// Runs `sql` as `role`, rolls it back, and returns the SQLSTATE of its error, or "" if there is none.
async fn refusal(client: &mut Client, role: &str, sql: &str) -> String {
    let transaction = client.transaction().await.unwrap();
    transaction.batch_execute(&format!("set local role {role}")).await.unwrap();
    match transaction.batch_execute(sql).await {
        Ok(()) => String::new(),
        Err(error) => error.code().unwrap().code().to_owned(),
    }
}

/// Returns the texts of the first column of `sql`.
async fn texts(client: &Client, sql: &str) -> Vec<String> {
    client.query_typed(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_new_public_table_is_reachable_and_policies_decide() {
    let (_database, mut client) = platform().await;
    client
        .batch_execute(
            "create table notes (id int generated always as identity primary key, owner uuid default auth.uid());
             alter table notes enable row level security;
             create policy own on notes for all to authenticated using (owner = auth.uid());",
        )
        .await
        .unwrap();
    assert_eq!(refusal(&mut client, "anon", "insert into notes default values").await, "42501");
    let as_user = "set local request.jwt.claims = '{\"sub\":\"3f0a4b5e-94d0-4b61-8f0a-111111111111\"}';
                   insert into notes default values";
    assert_eq!(refusal(&mut client, "authenticated", as_user).await, "");
    assert_eq!(refusal(&mut client, "service_role", "insert into notes (owner) values (null)").await, "");
    assert_eq!(refusal(&mut client, "anon", "select from notes").await, "");
}

#[tokio::test]
async fn only_the_service_may_read_accounts() {
    let (_database, mut client) = platform().await;
    for role in ["anon", "authenticated", "service_role"] {
        for table in ["users", "mfa_recovery_codes", "mfa_recovery_code_sets", "scim_users", "scim_tokens"] {
            let sql = format!("select from auth.{table}");
            assert_eq!(refusal(&mut client, role, &sql).await, "42501", "{role}: {table}");
        }
        assert_eq!(
            refusal(&mut client, role, "select from basalt.platform_migrations").await,
            "42501",
            "{role}"
        );
    }
    let insert = "insert into auth.users (id, email) values (gen_random_uuid(), 'a@example.org')";
    assert_eq!(refusal(&mut client, "supabase_auth_admin", insert).await, "");
    let duplicate = format!("{insert}; {insert}");
    assert_eq!(refusal(&mut client, "supabase_auth_admin", &duplicate).await, "23505");
    let without = "select count(*) from pg_class c where relnamespace = 'auth'::regnamespace and relkind = 'r' \
                   and obj_description(c.oid) is null";
    assert_eq!(count(&client, without).await, 0, "every table explains itself");
}

#[tokio::test]
async fn claims_identify_the_caller() {
    let (_database, client) = platform().await;
    assert_eq!(
        text(
            &client,
            "select coalesce(auth.uid()::text, auth.role(), auth.email(), auth.jwt()::text, 'none')"
        )
        .await,
        "none"
    );
    client
        .batch_execute(
            "begin; set local request.jwt.claims = \
             '{\"sub\":\"3f0a4b5e-94d0-4b61-8f0a-111111111111\",\"role\":\"authenticated\",\"email\":\"a@b.c\"}'; \
             set local request.jwt.claim.role = 'service_role'",
        )
        .await
        .unwrap();
    assert_eq!(
        text(&client, "select concat_ws(' ', auth.uid(), auth.role(), auth.email(), auth.jwt() ->> 'role')")
            .await,
        "3f0a4b5e-94d0-4b61-8f0a-111111111111 service_role a@b.c authenticated"
    );
}

#[tokio::test]
async fn the_api_login_may_become_the_three_roles_and_no_other() {
    let (_database, mut client) = platform().await;
    for role in ["anon", "authenticated", "service_role"] {
        let become_role = format!("set local session authorization authenticator; set local role {role}");
        assert_eq!(refusal(&mut client, "none", &become_role).await, "", "{role}");
    }
    for role in ["postgres", "supabase_admin", "supabase_auth_admin", "supabase_storage_admin"] {
        let become_role = format!("set local session authorization authenticator; set local role {role}");
        assert_eq!(refusal(&mut client, "none", &become_role).await, "42501", "{role}");
    }
}

#[tokio::test]
async fn the_storage_login_may_become_the_caller() {
    let (_database, mut client) = platform().await;
    client.batch_execute("insert into storage.buckets (id, name) values ('b', 'b')").await.unwrap();
    let insert = "insert into storage.objects (bucket_id, name) values ('b', 'x')";
    let as_login = format!("set local session authorization supabase_storage_admin; {insert}");
    assert_eq!(refusal(&mut client, "none", &as_login).await, "");
    for (role, refused_with) in [("anon", "42501"), ("authenticated", "42501"), ("service_role", "")] {
        let as_caller = format!(
            "set local session authorization supabase_storage_admin; set local role {role}; {insert}"
        );
        assert_eq!(refusal(&mut client, "none", &as_caller).await, refused_with, "{role}");
    }
    let foreign = "set local session authorization supabase_storage_admin; select from auth.users";
    assert_eq!(refusal(&mut client, "none", foreign).await, "42501");
}

#[tokio::test]
async fn object_names_are_split_into_parts() {
    let (_database, client) = platform().await;
    let parts = "select concat_ws(' ', storage.foldername('a/b/c.tar.gz'), storage.foldername('c'), \
                 storage.filename('a/b/c.tar.gz'), storage.extension('a/b/c.tar.gz'), storage.extension('c'))";
    assert_eq!(text(&client, parts).await, "{a,b} {} c.tar.gz gz c");
    let prefixes = "select concat_ws(' ', storage.get_common_prefix('d/t/f', 'd/', '/'), \
                    coalesce(storage.get_common_prefix('d/f', 'd/', '/'), 'leaf'))";
    assert_eq!(text(&client, prefixes).await, "d/t/ leaf");
    let operation = "select concat_ws(' ', set_config('storage.operation', 'storage.object.list', false), \
                     storage.allow_only_operation('object.list'), storage.allow_any_operation(array['object.copy']))";
    assert_eq!(text(&client, operation).await, "storage.object.list t f");
}

#[tokio::test]
async fn listings_group_objects_of_subfolders() {
    let (_database, client) = platform().await;
    client
        .batch_execute(
            "insert into storage.buckets (id, name) values ('b', 'b');
             insert into storage.objects (bucket_id, name)
             select 'b', unnest(array['a.txt', 'B.txt', 'dir/x', 'dir/y/z', 'Dir/k', 'folder/sub/1', 'zeta', '%odd_', 'dir/_'])",
        )
        .await
        .unwrap();
    let v1 = "select name || case when id is null then ' folder' else '' end from storage.search";
    assert_eq!(
        texts(&client, &format!("{v1}('', 'b')")).await,
        ["%odd_", "a.txt", "B.txt", "dir folder", "folder folder", "zeta"],
        "in the order of lowercased names"
    );
    assert_eq!(texts(&client, &format!("{v1}('dir/', 'b')")).await, ["_", "k", "x", "y folder"]);
    assert_eq!(texts(&client, &format!("{v1}('', 'b', search => 'dir/_')")).await, ["dir/_"]);
    assert_eq!(
        texts(&client, &format!("{v1}('', 'b', limits => 2, offsets => 3)")).await,
        ["dir folder", "folder folder"]
    );

    let v2 = "select name from storage.search_v2";
    let all = ["%odd_", "B.txt", "Dir", "a.txt", "dir", "folder", "zeta"];
    assert_eq!(texts(&client, &format!("{v2}('', 'b')")).await, all, "in the order of bytes");
    let mut backwards = all;
    backwards.reverse();
    assert_eq!(texts(&client, &format!("{v2}('', 'b', sort_order => 'desc')")).await, backwards);
    // With pages of any size, each entry is listed once.
    for (order, expected) in [("asc", all), ("desc", backwards)] {
        let (mut after, mut seen) = (String::new(), Vec::new());
        loop {
            let page = format!("{v2}('', 'b', 2, 1, '{after}', '{order}')");
            let names = texts(&client, &page).await;
            let Some(last) = names.last() else { break };
            after.clone_from(last);
            seen.extend(names);
        }
        assert_eq!(seen, expected, "{order}");
    }
}

#[tokio::test]
async fn storage_rows_cannot_be_deleted_accidentally() {
    let (_database, mut client) = platform().await;
    client
        .batch_execute("insert into storage.buckets (id, name, public) values ('b', 'b', true)")
        .await
        .unwrap();
    assert_eq!(refusal(&mut client, "postgres", "delete from storage.buckets").await, "42501");
    let allowed = "set local storage.allow_delete_query = 'true'; delete from storage.buckets";
    assert_eq!(refusal(&mut client, "service_role", allowed).await, "");
    let long = "insert into storage.buckets (id, name) values ('long', repeat('x', 101))";
    assert_eq!(refusal(&mut client, "service_role", long).await, "P0001");
    assert_eq!(
        refusal(&mut client, "anon", "insert into storage.objects (bucket_id, name) values ('b', 'x')").await,
        "42501"
    );
    let trial = "select storage.can_insert_object('b', 'x', null, '{}')";
    assert_eq!(refusal(&mut client, "service_role", trial).await, "PT200");
    assert_eq!(refusal(&mut client, "anon", trial).await, "42501");
}

#[tokio::test]
async fn broadcasts_are_sent_at_the_commit_and_never_fail_it() {
    let (_database, mut client) = platform().await;
    client
        .batch_execute(
            "create table t (id int primary key);
             create function announce() returns trigger language plpgsql as $$
             begin
               perform realtime.broadcast_changes('room:1', tg_op, tg_op, tg_table_name, tg_table_schema, new, old);
               return null;
             end $$;
             create trigger announce after insert on t for each row execute function announce();
             insert into t values (7);
             select realtime.send('{\"id\":\"own\"}', 'event', 'room:2', false);
             select realtime.send_binary('\\x01', 'event', 'room:3')",
        )
        .await
        .unwrap();
    let sent = "select concat_ws(' ', topic, event, private, extension, payload #>> '{record,id}', payload ->> 'operation', \
                coalesce((payload ->> 'id' = id::text)::text, 'none'), binary_payload) from realtime.messages order by topic";
    assert_eq!(
        texts(&client, sent).await,
        [
            "room:1 INSERT t broadcast 7 INSERT true",
            "room:2 event f broadcast false",
            "room:3 event t broadcast none \\x01",
        ]
    );
    assert_eq!(refusal(&mut client, "anon", "select realtime.send('{}', 'event', 'room:1')").await, "");
    assert_eq!(
        refusal(
            &mut client,
            "anon",
            "insert into realtime.messages (topic, extension) values ('a', 'broadcast')"
        )
        .await,
        "42501"
    );
    let days = "select count(*) from pg_inherits where inhparent = 'realtime.messages'::regclass";
    client.batch_execute("select basalt.keep_message_partitions()").await.unwrap();
    assert_eq!(count(&client, days).await, 5, "yesterday to three days ahead");
}

#[tokio::test]
async fn changes_of_the_catalog_are_notified() {
    let (database, client) = platform().await;
    let (listener, mut connection) = tokio_postgres::connect(&database.uri(), NoTls).await.unwrap();
    let (sender, mut heard) = tokio::sync::mpsc::channel(16);
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message {
                let _ = sender.send(notification.payload().to_owned()).await;
            }
        }
    });
    listener.batch_execute("listen pgrst").await.unwrap();
    for (sql, payload) in [
        ("create temp table silent (id int); drop table silent; select pg_notify('pgrst', 'end')", "end"),
        (
            "create table loud (id int); alter table loud add column name text; comment on table loud is 'x'",
            "reload schema",
        ),
        ("alter table loud drop column name", "reload schema"),
        ("create function f() returns int language sql as 'select 1'", "reload schema"),
        ("drop function f()", "reload schema"),
        ("create domain d as text", "reload schema"),
        ("insert into loud values (1); select pg_notify('pgrst', 'end')", "end"),
    ] {
        client.batch_execute(&format!("begin; {sql}; commit")).await.unwrap();
        let got = tokio::time::timeout(Duration::from_secs(5), heard.recv()).await.expect(sql);
        assert_eq!(got.as_deref(), Some(payload), "{sql}");
    }
}

#[tokio::test]
async fn extensions_are_found_without_naming_their_schema() {
    let (_database, client) = platform().await;
    assert_eq!(
        text(
            &client,
            "select length(gen_random_bytes(4))::text || (crypt('a', gen_salt('bf', 4)) like '$2a$04$%')"
        )
        .await,
        "4true"
    );
    // A new hosted project has no others; migrations choose the schemas of further ones.
    let others = "select count(*) from pg_extension where extname in ('citext', 'pg_trgm')";
    assert_eq!(count(&client, others).await, 0);
    assert_eq!(count(&client, "select count(uuid_generate_v4())").await, 1);
    assert_eq!(
        count(&client, "select count(*) from pg_publication_tables where pubname = 'supabase_realtime'")
            .await,
        0
    );
}
