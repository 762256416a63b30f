-- One case for each lint: what to create, and the cache keys that the lint reports then. The lint may report no others.
--
--   -- lint: <file>         starts a case; what follows is its set-up, run by a superuser in a session of its own
--   -- expect: <cache key>  one line for each report
--   -- schemas: <list>      pgrst.db_schemas for the lint; the default is "app"; "-" leaves the setting away
--   -- as: bypassrls        the lint runs as a role with BYPASSRLS; the default is a role without it
--   -- undo: <SQL>          run after the case (the schema "app" is dropped and created before each case)
--
-- Before each case there is an empty schema "app", on which anon, authenticated and service_role have USAGE, and whose
-- new tables and functions they may read and call.

-- lint: 0001_unindexed_foreign_keys
-- expect: unindexed_foreign_keys_app_line_line_order_id_fkey
-- expect: unindexed_foreign_keys_app_pair_pair_b_a_fkey
create table app.orders (id int primary key);
create table app.line (id int primary key, order_id int references app.orders);
create table app.good_line (id int primary key, order_id int references app.orders, note text);
create index on app.good_line (order_id, note);
create table app.two (a int, b int, primary key (a, b));
create table app.pair (a int, b int, foreign key (b, a) references app.two (b, a)) ;
create table app.good_pair (a int, b int, foreign key (a, b) references app.two);
create index on app.good_pair (b, a); -- another order
create index on app.pair (a) include (b); -- columns after INCLUDE do not count

-- lint: 0002_auth_users_exposed
-- expect: auth_users_exposed_app_everybody
-- expect: auth_users_exposed_app_snapshot
create view app.everybody as select id, email from auth.users;
create materialized view app.snapshot as select id from auth.users;
create view app.good_invoker with (security_invoker = on) as select id from auth.users;
create view app.good_hidden as select id from auth.users;
revoke all on app.good_hidden from anon, authenticated;

-- lint: 0003_auth_rls_initplan
-- expect: auth_rls_init_plan_app_note_bad check
-- expect: auth_rls_init_plan_app_note_bad direct
-- expect: auth_rls_init_plan_app_note_bad in subquery
-- expect: auth_rls_init_plan_app_note_bad mixed
-- expect: auth_rls_init_plan_app_note_bad setting
create table app.note (owner uuid, team text);
alter table app.note enable row level security;
create policy "bad direct" on app.note for select using (auth.uid() = owner);
create policy "bad check" on app.note for insert with check (auth.uid() = owner);
create policy "bad setting" on app.note for select using (current_setting('app.team (x)', true) = team);
create policy "bad mixed" on app.note for select using ((select auth.uid()) = owner or auth.role() = team);
create policy "bad in subquery" on app.note for select
  using (exists (select from app.note m where m.owner = auth.uid()));
create policy "good" on app.note for select using ((select auth.uid()) = owner);
create policy "good wrapped" on app.note for select using ((select auth.jwt() ->> 'team (a)') = team);
create policy "good setting" on app.note for select using ((select nullif(current_setting('app.team', true), '')) = team);
create policy "good inner" on app.note for select
  using (exists (select from app.note m where m.owner = (select auth.uid())));
create policy "good text" on app.note for select using (team = 'auth.uid() = owner');
create table app.off (owner uuid);
create policy "row-level security is off" on app.off using (auth.uid() = owner);

-- lint: 0004_no_primary_key
-- expect: no_primary_key_app_log
-- expect: no_primary_key_app_parted
create table app.log (at timestamptz);
create table app.good (id int primary key);
create table app.parted (id int) partition by range (id);
create table app.parted_1 partition of app.parted for values from (0) to (10);

-- lint: 0005_unused_index
-- expect: unused_index_app_place_place_name_idx
create table app.place (id int primary key, name text, city text, code text unique);
create index on app.place (name);
create index on app.place (city);
set enable_seqscan = off;
select from app.place where city = 'Bonn';
select pg_stat_force_next_flush();

-- lint: 0006_multiple_permissive_policies
-- expect: multiple_permissive_policies_app_post_anon_SELECT
-- expect: multiple_permissive_policies_app_post_authenticated_INSERT
create table app.post (id int primary key);
create policy a on app.post for select to anon using (true);
create policy b on app.post for select to anon using (false);
create policy c on app.post for all to authenticated using (true);
create policy d on app.post for insert to authenticated with check (true);
create table app.good (id int primary key);
create policy a on app.good for select to anon using (true);
create policy b on app.good as restrictive for select to anon using (true);
create policy c on app.good for update to anon using (true);

-- lint: 0007_policy_exists_rls_disabled
-- expect: policy_exists_rls_disabled_app_post
create table app.post (id int);
create policy a on app.post using (true);
create policy b on app.post for insert with check (true);
create table app.good (id int);
alter table app.good enable row level security;
create policy a on app.good using (true);

-- lint: 0008_rls_enabled_no_policy
-- expect: rls_enabled_no_policy_app_post
create table app.post (id int);
alter table app.post enable row level security;
create table app.good (id int);
alter table app.good enable row level security;
create policy a on app.good using (true);
create table app.off (id int);

-- lint: 0009_duplicate_index
-- expect: duplicate_index_app_place_{place_a,place_b}
-- expect: duplicate_index_app_summary_{summary_a,summary_b}
create table app.place (id int primary key, name text, city text);
create index place_a on app.place (name);
create index place_b on app.place (name);
create index place_desc on app.place (name desc);
create index place_part on app.place (name) where id > 3;
create index place_lower on app.place (lower(name));
create index place_hash on app.place using hash (name);
create index place_more on app.place (name) include (city);
create unique index place_unique on app.place (name);
create materialized view app.summary as select 1 as n;
create index summary_a on app.summary (n);
create index summary_b on app.summary (n);

-- lint: 0010_security_definer_view
-- expect: security_definer_view_app_everything
-- expect: security_definer_view_app_off
create table app.post (id int);
create view app.everything as select * from app.post;
create view app.off with (security_invoker = off) as select * from app.post;
create view app.good with (security_invoker = true) as select * from app.post;
create view app.good_one with (security_invoker = 1) as select * from app.post;
create view app.good_hidden as select * from app.post;
revoke all on app.good_hidden from anon, authenticated;

-- lint: 0011_function_search_path_mutable
-- expect: function_search_path_mutable_app_bad_040070c527312e7cb54a7e10727d7ceb
create function app.bad() returns int language sql as 'select 11';
create function app.good() returns int language sql set search_path = '' as 'select 1';
create function app.good_body() returns int language sql return 1;
create aggregate app.good_sum (int) (sfunc = pg_catalog.int4pl, stype = int);

-- lint: 0012_auth_allow_anonymous_sign_ins
-- expect: auth_allow_anonymous_sign_ins_app_note
create table app.note (owner uuid);
alter table app.note enable row level security;
create policy bad on app.note to authenticated using (owner = (select auth.uid()));
create table app.good (owner uuid);
alter table app.good enable row level security;
create policy good on app.good to authenticated using ((select auth.jwt() ->> 'is_anonymous')::boolean is false);
create policy "good role" on app.good to anon using (true);
create table app.good_restrictive (owner uuid);
alter table app.good_restrictive enable row level security;
create policy good on app.good_restrictive using (true);
create policy guard on app.good_restrictive as restrictive
  using ((select auth.jwt() ->> 'is_anonymous')::boolean is false);

-- lint: 0013_rls_disabled_in_public
-- expect: rls_disabled_in_public_app_column
-- expect: rls_disabled_in_public_app_post
-- schemas: app, other
create table app.post (id int);
create table app.column (id int, name text);
revoke all on app.column from anon, authenticated;
grant select (name) on app.column to anon;
create table app.good (id int);
alter table app.good enable row level security;
create table app.good_hidden (id int);
revoke all on app.good_hidden from anon, authenticated;
create schema hidden;
create table hidden.good (id int);
grant all on all tables in schema hidden to anon;
-- undo: drop schema hidden cascade

-- lint: 0013_rls_disabled_in_public
-- expect: rls_disabled_in_public_public_post
-- schemas: -
create table public.post (id int);
grant select on public.post to anon;
create table app.good (id int);
-- undo: drop table public.post

-- lint: 0014_extension_in_public
-- expect: extension_in_public_citext
create extension citext schema public;
create extension pg_trgm schema app;
-- undo: drop extension citext

-- lint: 0015_rls_references_user_metadata
-- expect: rls_references_user_metadata_app_note_bad
-- expect: rls_references_user_metadata_app_note_bad check
-- expect: rls_references_user_metadata_app_note_bad setting
create table app.note (owner uuid, user_metadata jsonb);
create policy bad on app.note using ((select auth.jwt() -> 'user_metadata' ->> 'admin') = 'yes');
create policy "bad check" on app.note for insert with check (auth.jwt() #>> '{user_metadata,admin}' = 'yes');
create policy "bad setting" on app.note
  using (current_setting('request.jwt.claims', true)::jsonb -> 'user_metadata' ->> 'admin' = 'yes');
create policy good on app.note using ((select auth.jwt() -> 'app_metadata' ->> 'admin') = 'yes');
create policy "good column" on app.note using (user_metadata is null);

-- lint: 0016_materialized_view_in_api
-- expect: materialized_view_in_api_app_totals
create materialized view app.totals as select 1 as n;
create materialized view app.good as select 1 as n;
revoke all on app.good from anon, authenticated;

-- lint: 0017_foreign_table_in_api
-- expect: foreign_table_in_api_app_far
create foreign data wrapper far;
create server far foreign data wrapper far;
create foreign table app.far (id int) server far;
create foreign table app.good (id int) server far;
revoke all on app.good from anon, authenticated;
-- undo: drop foreign data wrapper far cascade

-- lint: 0018_unsupported_reg_types
-- expect: unsupported_reg_types_app_search_config
-- expect: unsupported_reg_types_app_search_others
-- expect: unsupported_reg_types_app_search_wrapped
create domain app.schema_name as regnamespace;
create table app.search (config regconfig, others regproc[], wrapped app.schema_name, kind regtype, place regclass, name text);

-- lint: 0019_insecure_queue_exposed_in_api
-- expect: rls_disabled_in_public_pgmq_q_orders
-- schemas: app,pgmq_public
create schema pgmq;
grant usage on schema pgmq to authenticated;
create table pgmq.q_orders (msg_id bigint);
create table pgmq.q_good (msg_id bigint);
alter table pgmq.q_good enable row level security;
create table pgmq.a_orders (msg_id bigint);
grant all on all tables in schema pgmq to authenticated;
create table pgmq.q_good_hidden (msg_id bigint);
-- undo: drop schema pgmq cascade

-- lint: 0019_insecure_queue_exposed_in_api
-- schemas: app
create schema pgmq;
grant usage on schema pgmq to authenticated;
create table pgmq.q_good_not_served (msg_id bigint);
grant all on all tables in schema pgmq to authenticated;
-- undo: drop schema pgmq cascade

-- lint: 0020_table_bloat
-- expect: table_bloat_app_swollen
-- Row-level security hides statistics from pg_stats, but not from the lint.
create table app.swollen (id int, filler text) with (autovacuum_enabled = off);
alter table app.swollen enable row level security;
insert into app.swollen select n, repeat('x', 1000) from generate_series(1, 35000) n;
delete from app.swollen where id < 34000;
vacuum analyze app.swollen;
create table app.good (id int, filler text) with (autovacuum_enabled = off);
insert into app.good select n, repeat('x', 1000) from generate_series(1, 25000) n;
vacuum analyze app.good;

-- lint: 0021_fkey_to_auth_unique
-- expect: fkey_to_auth_unique_app_profile_profile_phone_fkey
create table app.profile (
  id uuid primary key references auth.users, -- good: the primary key
  phone text references auth.users (phone)
);

-- lint: 0022_extension_versions_outdated
-- expect: extension_versions_outdated_pg_trgm_1.3
create extension pg_trgm schema app version '1.3';
create extension citext schema app;

-- lint: 0023_sensitive_columns_exposed
-- expect: sensitive_columns_exposed_app_customer
create table app.customer (id int, password text, "creditCard" text, name text);
create table app.good (id int, password text);
alter table app.good enable row level security;
create table app.good_column (id int, secret text);
revoke all on app.good_column from anon, authenticated;
grant select (id) on app.good_column to anon;
create table app.good_name (id int, password_changed_at timestamptz);

-- lint: 0024_rls_policy_always_true
-- expect: rls_policy_always_true_app_note_bad all
-- expect: rls_policy_always_true_app_note_bad delete
-- expect: rls_policy_always_true_app_note_bad insert
-- expect: rls_policy_always_true_app_note_bad text
create table app.note (owner uuid);
alter table app.note enable row level security;
create policy "bad all" on app.note using (true);
create policy "bad delete" on app.note for delete to authenticated using (1 = 1);
create policy "bad insert" on app.note for insert to anon with check (true);
create policy "bad text" on app.note for update to anon using (owner is null) with check ('a' = 'a');
create policy "good read" on app.note for select using (true);
create policy "good role" on app.note to service_role using (true);
create policy "good restrictive" on app.note as restrictive using (true);
create policy "good condition" on app.note for update using (owner = auth.uid());
create policy "good nothing" on app.note for insert;
create table app.off (owner uuid);
create policy "row-level security is off" on app.off using (true);

-- lint: 0025_public_bucket_allows_listing
-- expect: public_bucket_allows_listing_it's (one)
-- expect: public_bucket_allows_listing_listed
-- as: bypassrls
insert into storage.buckets (id, name, public)
  values ('listed', 'listed', true), ('it''s (one)', 'it''s (one)', true), ('good', 'good', true), ('private', 'private', false);
create policy advisor_a on storage.objects for select to anon using (bucket_id = 'listed');
create policy advisor_b on storage.objects using (bucket_id in ('it''s (one)', 'private'));
create policy advisor_c on storage.objects for select using (bucket_id = 'good' and owner = auth.uid());
create policy advisor_d on storage.objects for insert with check (bucket_id = 'good');
create policy advisor_e on storage.objects for select to service_role using (true);
create policy advisor_f on storage.objects as restrictive for select using (true);
-- undo: set storage.allow_delete_query = 'true'; delete from storage.buckets where id in ('listed', 'it''s (one)', 'good', 'private')
-- undo: drop policy advisor_a on storage.objects; drop policy advisor_b on storage.objects; drop policy advisor_c on storage.objects
-- undo: drop policy advisor_d on storage.objects; drop policy advisor_e on storage.objects; drop policy advisor_f on storage.objects

-- The two lints of GraphQL only look at the extension's name, so that these cases need no pg_graphql.
-- lint: 0026_pg_graphql_anon_table_exposed
-- expect: pg_graphql_anon_table_exposed_app_post
-- expect: pg_graphql_anon_table_exposed_app_totals
create extension pg_trgm schema extensions;
update pg_catalog.pg_extension set extname = 'pg_graphql' where extname = 'pg_trgm';
create table app.post (id int, name text);
alter table app.post enable row level security;
revoke all on app.post from anon;
grant select (name) on app.post to anon;
create view app.totals as select 1 as n;
create table app.good (id int);
revoke all on app.good from anon;
-- undo: update pg_catalog.pg_extension set extname = 'pg_trgm' where extname = 'pg_graphql'
-- undo: drop extension pg_trgm

-- lint: 0026_pg_graphql_anon_table_exposed
create table app.good_without_extension (id int);

-- lint: 0027_pg_graphql_authenticated_table_exposed
-- expect: pg_graphql_authenticated_table_exposed_app_post
create extension pg_trgm schema extensions;
update pg_catalog.pg_extension set extname = 'pg_graphql' where extname = 'pg_trgm';
create table app.post (id int, name text);
create table app.good (id int);
revoke all on app.good from authenticated;
-- undo: update pg_catalog.pg_extension set extname = 'pg_trgm' where extname = 'pg_graphql'
-- undo: drop extension pg_trgm

-- lint: 0028_anon_security_definer_function_executable
-- expect: anon_security_definer_function_executable_app_bad_a integer, b text
create function app.bad(a int, b text) returns int language sql security definer set search_path = '' as 'select 1';
create function app.good() returns int language sql set search_path = '' as 'select 1';
create function app.good_revoked() returns int language sql security definer set search_path = '' as 'select 1';
revoke all on function app.good_revoked() from public, anon;
create function app.good_trigger() returns trigger language plpgsql security definer set search_path = ''
  as 'begin return new; end';

-- lint: 0029_authenticated_security_definer_function_executable
-- expect: authenticated_security_definer_function_executable_app_bad_
create function app.bad() returns int language sql security definer set search_path = '' as 'select 1';
create function app.good() returns int language sql set search_path = '' as 'select 1';
create function app.good_revoked() returns int language sql security definer set search_path = '' as 'select 1';
revoke all on function app.good_revoked() from public, authenticated;

-- lint: 0030_invalid_index
-- expect: invalid_index_app_place_place_bad
create table app.place (id int, name text);
create index place_bad on app.place (name);
create index place_good on app.place (id);
-- What a failed CREATE INDEX CONCURRENTLY leaves.
update pg_catalog.pg_index set indisvalid = false where indexrelid = 'app.place_bad'::regclass;

-- lint: 0031_unused_replication_slot
-- expect: unused_replication_slot_advisor_bad_lost
-- WAL segments of 1 MB (initdb --wal-segsize=1) make this quick.
select pg_create_physical_replication_slot('advisor_bad', true);
alter system set max_slot_wal_keep_size = '1MB';
select pg_reload_conf();
create table app.wal as select n, repeat('x', 1000) as filler from generate_series(1, 8000) n;
select pg_switch_wal();
checkpoint;
select pg_create_physical_replication_slot('advisor_good', true);
-- undo: select pg_drop_replication_slot('advisor_bad'), pg_drop_replication_slot('advisor_good')
-- undo: alter system reset max_slot_wal_keep_size
