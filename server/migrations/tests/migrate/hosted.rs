//! Migrations and seeds of projects of hosted Supabase: the session in which they run, and files that `pg_dump` and
//! users of the Supabase CLI write.

use migrations::{Migrator, State};
use testkit::Database;

use super::support::{Folder, count, names, statement_error, text};

/// Applies the platform's files and then `files`, over the same connection.
async fn first_start(files: &[(&str, &str)]) -> (Database, tokio_postgres::Client) {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    for (name, sql) in files {
        folder.write(name, sql);
    }
    let mut migrator = Migrator::new(&mut client);
    migrator.platform().await.unwrap();
    let report = migrator.project(folder.path()).await.unwrap();
    assert_eq!(report.applied.len(), files.len(), "{report:?}");
    (database, client)
}

#[tokio::test]
async fn the_first_start_finds_extensions_unqualified() {
    let (database, mut client) = first_start(&[
        (
            "1_tables.sql",
            "create extension if not exists \"uuid-ossp\" with schema extensions;
             create extension if not exists pgcrypto;
             create table public.notes (
               id uuid primary key default uuid_generate_v4(),
               token text default encode(gen_random_bytes(8), 'hex'),
               secret text default crypt('x', gen_salt('bf', 4)));",
        ),
        // The beginning of a dump of pg_dump, whose setting must not affect the next file.
        (
            "2_dumped.sql",
            "SET statement_timeout = 0; SET transaction_timeout = 0; SET row_security = off;
             SELECT pg_catalog.set_config('search_path', '', false);
             CREATE TABLE IF NOT EXISTS \"public\".\"dumped\" (\"id\" \"uuid\" DEFAULT \"extensions\".\"uuid_generate_v4\"());
             ALTER TABLE \"public\".\"dumped\" OWNER TO \"postgres\";",
        ),
        (
            "3_after.sql",
            "insert into notes default values; insert into dumped default values;
             create table seen as select current_setting('search_path') as path, current_setting('row_security') as rows;",
        ),
    ])
    .await;
    let seen = text(&client, "select path || ' ' || rows from seen").await;
    assert_eq!(seen, "\"$user\", public, extensions on");

    let folder = Folder::new();
    folder
        .write("seed.sql", "update notes set secret = crypt('y', gen_salt('bf', 4)); set search_path = '';");
    let files = [folder.path().join("seed.sql")];
    Migrator::new(&mut client).seed(folder.path(), &files).await.unwrap();
    let left = "select current_setting('search_path')";
    assert_ne!(text(&client, left).await, "", "a seed's settings do not outlive it");
    let new = database.client().await;
    assert_eq!(text(&new, left).await, "\"$user\", public, extensions");
}

#[tokio::test]
async fn a_configured_search_path_stays() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write("1_seen.sql", "create table public.seen as select current_setting('search_path') as path;");
    let choose = format!("alter database {} set search_path = 'public', 'app'", database.name());
    client.batch_execute(&format!("create schema app; {choose}")).await.unwrap();
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    let path = text(&client, "select path from public.seen").await;
    // The role's own setting, which another test's platform may have made, precedes the database's.
    let of_role = count(
        &client,
        "select count(*) from pg_db_role_setting where setrole <> 0 and setdatabase = 0 \
                                  and setrole = (select oid from pg_roles where rolname = session_user) \
                                  and array_to_string(setconfig, ' ') like '%search_path%'",
    );
    let expected = if of_role.await == 0 { "public, app" } else { "\"$user\", public, extensions" };
    assert_eq!(path, expected);

    let own = format!("{}?options=-csearch_path%3Dapp", database.uri());
    let (mut named, connection) = tokio_postgres::connect(&own, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    folder.write("2_named.sql", "create table here (id int);");
    Migrator::new(&mut named).project(folder.path()).await.unwrap();
    assert_eq!(text(&client, "select to_regclass('app.here')::text").await, "app.here");
}

#[tokio::test]
async fn projects_may_use_objects_of_the_platform() {
    let (_database, client) = first_start(&[
        (
            "1_profiles.sql",
            "create table public.profiles (id uuid references auth.users on delete cascade primary key, name text);
             alter table public.profiles enable row level security;
             create policy \"Own profile\" on profiles for all to authenticated using ((select auth.uid()) = id);
             create function public.handle_new_user() returns trigger language plpgsql security definer
             set search_path = '' as $$
             begin
               insert into public.profiles (id, name) values (new.id, new.raw_user_meta_data ->> 'name');
               return new;
             end $$;
             create trigger on_auth_user_created after insert on auth.users
               for each row execute procedure public.handle_new_user();
             grant all on table public.profiles to anon, authenticated, service_role;",
        ),
        (
            "2_storage.sql",
            "insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
               values ('avatars', 'avatars', true, 1048576, array['image/*']);
             create policy \"Avatars are public\" on storage.objects for select using (bucket_id = 'avatars');
             create policy \"Own avatar\" on storage.objects for insert to authenticated
               with check (bucket_id = 'avatars' and (storage.foldername(name))[1] = (select auth.uid())::text);",
        ),
        (
            "3_realtime.sql",
            "begin;\ndrop publication if exists supabase_realtime;\ncreate publication supabase_realtime;\ncommit;
             alter publication supabase_realtime add table public.profiles;",
        ),
        ("4_empty.sql", ""),
        ("5_comment.sql", "\u{feff}-- supabase: nothing yet\r\n"),
        (
            "6_extensions.sql",
            "create extension if not exists \"citext\" with schema \"public\";
             create extension pg_trgm;
             create extension if not exists \"pg_graphql\" with schema \"graphql\";
             create extension if not exists ltree with schema extensions;
             create table public.people (email public.citext unique, path ltree);
             create index people_email_idx on public.people using gin ((email::text) public.gin_trgm_ops);",
        ),
        (
            "7_user.sql",
            "insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                 raw_app_meta_data, raw_user_meta_data, created_at, updated_at, confirmation_token,
                 email_change, email_change_token_new, recovery_token)
               values ('00000000-0000-0000-0000-000000000000', '11111111-1111-1111-1111-111111111111',
                 'authenticated', 'authenticated', 'ada@example.com', crypt('password123', gen_salt('bf')), now(),
                 '{\"provider\":\"email\",\"providers\":[\"email\"]}', '{\"name\":\"Ada\"}', now(), now(), '', '', '', '');
             insert into auth.identities (id, user_id, identity_data, provider, provider_id, last_sign_in_at,
                 created_at, updated_at)
               select gen_random_uuid(), id, format('{\"sub\":\"%s\",\"email\":\"%s\"}', id, email)::jsonb, 'email',
                 id, now(), now(), now() from auth.users;",
        ),
    ])
    .await;
    assert_eq!(text(&client, "select name from public.profiles").await, "Ada");
    let published = "select count(*) from pg_publication_tables where pubname = 'supabase_realtime'";
    assert_eq!(count(&client, published).await, 1);
}

#[tokio::test]
async fn dumps_of_data_can_be_seeds() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    client.batch_execute("create table public.t (id int, name text)").await.unwrap();
    let folder = Folder::new();
    folder.write(
        "seed.sql",
        "--\n-- PostgreSQL database dump\n--\n\n\\restrict k3y\n\nSET session_replication_role = replica;\n\
         SET client_encoding = 'UTF8';\nSELECT pg_catalog.set_config('search_path', '', false);\n\n\
         COPY public.t (id, name) FROM stdin;\n1\tsemi;colon 'quote\n2\t\\N\n\\.\n\n\
         COPY public.t (id, name) FROM stdin WITH (FORMAT csv);\n3,\"a \"\"b\"\"\"\n\\.\n\n\
         SELECT 1;\n\\unrestrict k3y\nRESET ALL;\n",
    );
    let files = [folder.path().join("seed.sql")];
    let report = Migrator::new(&mut client).seed(folder.path(), &files).await.unwrap();
    assert_eq!(report.applied, ["seed.sql"]);
    let rows = "select string_agg(id || coalesce(name, '-'), '|' order by id) from public.t";
    assert_eq!(text(&client, rows).await, "1semi;colon 'quote|2-|3a \"b\"");

    folder.write("bad.sql", "select 1;\ncopy public.t from stdin;\nnone\tx\n\\.\nselect 2;\n");
    let files = [folder.path().join("bad.sql")];
    let error = statement_error(Migrator::new(&mut client).seed(folder.path(), &files).await);
    assert_eq!((error.line, error.code.as_str()), (2, "22P02"), "{error}");
    assert!(error.context.as_deref().is_some_and(|context| context.contains("line 1")), "{error}");
}

/// What a dump of a hosted project's data has in the tables that Supabase Auth has added since its release 2.197.
/// Columns that are generated are in none.
const AUTH_DATA: &str = "SET session_replication_role = replica;
SELECT pg_catalog.set_config('search_path', '', false);
COPY auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret, phone, \
     last_challenged_at, web_authn_credential, web_authn_aaguid, last_webauthn_challenge_data) FROM stdin;
00000000-0000-4000-8000-0000000000f1\t00000000-0000-4000-8000-000000000001\tRecovery codes\trecovery_code\tverified\t\
     2026-09-17 10:00:00+00\t2026-09-17 10:00:00+00\t\t\\N\t\\N\t\\N\t\\N\t\\N
\\.
COPY auth.mfa_recovery_code_sets (id, user_id, mfa_factor_id, failed_verification_count, verification_locked_until, \
     created_at, updated_at) FROM stdin;
00000000-0000-4000-8000-0000000000a1\t00000000-0000-4000-8000-000000000001\t00000000-0000-4000-8000-0000000000f1\t2\t\\N\t\
     2026-09-17 10:00:00+00\t2026-09-17 10:00:00+00
\\.
COPY auth.mfa_recovery_codes (id, mfa_recovery_code_set_id, code_hash, consumed_at, created_at) FROM stdin;
00000000-0000-4000-8000-0000000000c1\t00000000-0000-4000-8000-0000000000a1\t$argon2id$v=19$m=19456,t=1,p=1$c2FsdA$aGFzaA\t\
     \\N\t2026-09-17 10:00:00+00
\\.
COPY auth.sso_providers (id, resource_id, created_at, updated_at, disabled) FROM stdin;
00000000-0000-4000-8000-0000000000b1\t\\N\t2026-09-17 10:00:00+00\t2026-09-17 10:00:00+00\t\\N
\\.
COPY auth.scim_tokens (id, sso_provider_id, token_hash, prefix, created_at, expires_at, revoked_at, last_used_at) FROM stdin;
00000000-0000-4000-8000-0000000000d1\t00000000-0000-4000-8000-0000000000b1\t\
     e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\tscim_\t2026-09-17 10:00:00+00\t\\N\t\\N\t\\N
\\.
COPY auth.scim_users (id, sso_provider_id, user_id, resource, created_at, updated_at, deleted_at) FROM stdin;
00000000-0000-4000-8000-0000000000e1\t00000000-0000-4000-8000-0000000000b1\t\\N\t{\"userName\": \"Ada\"}\t\
     2026-09-17 10:00:00+00\t2026-09-17 10:00:00+00\t\\N
\\.
COPY auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at, expires_at, \
     link_token_hash) FROM stdin;
00000000-0000-4000-8000-000000000071\t00000000-0000-4000-8000-000000000001\trecovery_token\tabc\tada@example.com\t\
     2026-09-17 10:00:00\t2026-09-17 10:00:00\t2026-09-18 10:00:00+00\t\\N
\\.
RESET ALL;
";

#[tokio::test]
async fn a_dump_of_a_hosted_projects_accounts_loads() {
    let database = Database::create().await;
    let administrator = database.client().await;
    let user = "insert into auth.users (id, email) values ('00000000-0000-4000-8000-000000000001', 'ada@example.com')";
    administrator.batch_execute(user).await.unwrap();
    let folder = Folder::new();
    folder.write("data.sql", AUTH_DATA);
    // Who administers a project is no superuser.
    let mut client = database.client_as("postgres").await;
    let files = [folder.path().join("data.sql")];
    let report = Migrator::new(&mut client).seed(folder.path(), &files).await.unwrap();
    assert_eq!(report.applied, ["data.sql"]);
    let loaded = "select concat_ws(' ', f.factor_type, s.failed_verification_count, c.consumed_at is null, u.user_name,
        u.active, t.prefix, o.expires_at::date)
        from auth.mfa_recovery_codes c join auth.mfa_recovery_code_sets s on s.id = c.mfa_recovery_code_set_id
        join auth.mfa_factors f on f.id = s.mfa_factor_id, auth.scim_users u, auth.scim_tokens t, auth.one_time_tokens o";
    assert_eq!(text(&administrator, loaded).await, "recovery_code 2 t ada t scim_ 2026-09-18");
}

#[tokio::test]
async fn statements_that_refuse_transactions_are_run_without_one() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write(
        "1_index.sql",
        "set search_path = public;\ncreate table t (id int);\ncreate index concurrently t_id_idx on t (id);\n\
         vacuum analyze t;\ninsert into t values (1);",
    );
    folder.write("2_unique.sql", "create unique index concurrently if not exists t_key on public.t (id)");
    folder.write("3_type.sql", "create type mood as enum ('sad');");
    folder.write(
        "4_value.sql",
        "begin; alter type mood add value 'happy'; commit; create table m as select 'happy'::mood;",
    );
    let report = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(report.applied.len(), 4);
    let valid = "select count(*) from pg_index where indrelid = 'public.t'::regclass and indisvalid";
    assert_eq!(count(&client, valid).await, 2);
    let locks = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()";
    assert_eq!(count(&client, locks).await, 0, "the lock is given back");

    folder.write("5_value.sql", "alter type mood add value 'calm';\nselect 'calm'::mood;");
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert_eq!((error.line, error.code.as_str()), (2, "55P04"));
    assert!(error.to_string().contains("Nothing of this file was applied"), "{error}");

    folder.write("5_value.sql", "create table kept (id int);\nvacuum kept;\n\nselect 1/0;");
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert_eq!((error.line, error.applied), (4, Some(2)), "{error}");
    assert!(error.to_string().contains("up to line 2 were applied"), "{error}");
    assert_eq!(count(&client, locks).await, 0);
    let status = Migrator::new(&mut client).status(folder.path()).await.unwrap();
    assert_eq!(status.project.last().map(|entry| entry.state), Some(State::Pending));
}

/// While an index is created concurrently, it must not wait for a node that waits for the migrations' lock.
#[tokio::test]
async fn nodes_create_an_index_concurrently_once() {
    let database = Database::empty().await;
    let folder = Folder::new();
    folder.write("1_t.sql", "create table public.t (id int);");
    folder.write("2_index.sql", "create index concurrently t_id_idx on public.t (id);");
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let (mut client, path) = (database.client().await, folder.path().to_owned());
        nodes.push(tokio::spawn(
            async move { Migrator::new(&mut client).project(&path).await.unwrap().applied },
        ));
    }
    let mut applied = Vec::new();
    for node in nodes {
        applied.extend(node.await.unwrap());
    }
    applied.sort();
    assert_eq!(applied, names(["1_t.sql", "2_index.sql"]));
}

/// Hosted Supabase is always ahead of this server's schemas.
#[tokio::test]
async fn rows_for_what_a_newer_release_has_are_skipped_only_if_there_are_none() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write(
        "data.sql",
        "COPY \"auth\".\"from_the_future\" (\"id\") FROM stdin;\n\\.\n\n\
         COPY \"storage\".\"buckets\" (\"id\", \"from_the_future\") FROM stdin;\n\\.\n\n\
         create table public.after_them (id int);\n",
    );
    let files = [folder.path().join("data.sql")];
    Migrator::new(&mut client).seed(folder.path(), &files).await.unwrap();
    assert_eq!(count(&client, "select count(*) from public.after_them").await, 0);

    for (sql, line) in [
        ("select 1;\nCOPY \"auth\".\"from_the_future\" (\"id\") FROM stdin;\n1\n\\.\n", 2),
        ("INSERT INTO \"storage\".\"buckets\" (\"id\", \"from_the_future\") VALUES ('a', 1);", 1),
    ] {
        folder.write("rows.sql", sql);
        let files = [folder.path().join("rows.sql")];
        let mut client = database.client().await;
        let error = statement_error(Migrator::new(&mut client).seed(folder.path(), &files).await);
        assert_eq!(error.line, line);
        assert!(error.message.contains("from_the_future"), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.contains("newer release of Supabase's schema")));
    }
    folder.write("own.sql", "COPY public.none (id) FROM stdin;\n\\.\n");
    let files = [folder.path().join("own.sql")];
    let error = statement_error(Migrator::new(&mut client).seed(folder.path(), &files).await);
    assert_eq!(error.hint, None, "a table of the project must be there");
}

/// On hosted Supabase, the partitions of `realtime.messages` do not belong to the owner of the table.
#[tokio::test]
async fn columns_that_may_not_be_added_are_left_to_the_server_that_owns_the_table() {
    let database = Database::create().await;
    let admin = database.client().await;
    let (owner, other) = ("supabase_realtime_admin", "supabase_storage_admin");
    admin
        .batch_execute(&format!(
            "alter table realtime.messages drop column skip_broadcast, drop column expires_at;
             create table realtime.messages_elsewhere partition of realtime.messages
               for values from ('2001-01-01') to ('2001-01-02');
             alter table realtime.messages owner to {owner};
             alter table realtime.messages_elsewhere owner to {other};"
        ))
        .await
        .unwrap();
    let file = include_str!("../../../../schema/platform/0032_stored_broadcasts.sql");
    let added = "select count(*) from pg_attribute where attrelid = 'realtime.messages'::regclass
        and attname in ('skip_broadcast', 'expires_at') and not attisdropped";
    admin
        .batch_execute(&format!("begin; set local session authorization postgres; {file}; commit"))
        .await
        .unwrap();
    assert_eq!(count(&admin, added).await, 0);
    admin.batch_execute(&format!("alter table realtime.messages_elsewhere owner to {owner}")).await.unwrap();
    admin.batch_execute(&format!("begin; {file}; commit")).await.unwrap();
    assert_eq!(count(&admin, added).await, 2);
}
