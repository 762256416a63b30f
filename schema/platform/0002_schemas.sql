-- skip if: to_regnamespace('extensions') is not null and to_regnamespace('auth') is not null and has_schema_privilege('anon', 'public', 'usage')

-- Schemas, extensions and the default privileges that make a new table in "public" reachable for the API's roles:
-- on Supabase every table of "public" is granted to them and row-level security decides.

-- The rest of this transaction needs no search path of the session's; it is set for the database's next sessions.
do $$
begin
  if not exists (
    select
    from pg_catalog.pg_db_role_setting s, unnest(s.setconfig) as setting
    where s.setrole = 0
      and s.setdatabase = (select oid from pg_catalog.pg_database where datname = current_database())
      and setting like 'search_path=%'
  ) then
    execute pg_catalog.format(
      'alter database %I set search_path = "$user", public, extensions', current_database()
    );
  end if;
end $$;

do $$
begin
  execute pg_catalog.format('grant all on database %I to postgres, dashboard_user', current_database());
end $$;

create schema if not exists extensions;
comment on schema extensions is 'Extensions, kept out of "public" so that the API does not show them';
grant usage on schema extensions to anon, authenticated, service_role;
grant all on schema extensions to postgres, dashboard_user;

create extension if not exists pgcrypto with schema extensions;
create extension if not exists "uuid-ossp" with schema extensions;
create extension if not exists citext with schema extensions;
create extension if not exists pg_trgm with schema extensions;

-- The CLI's settings expose this schema beside "public"; it has to exist to be exposed.
create schema if not exists graphql_public;
comment on schema graphql_public is 'Exposed by default beside "public"; empty without pg_graphql';
grant usage on schema graphql_public to postgres, anon, authenticated, service_role;

grant usage on schema public to anon, authenticated, service_role;
grant all on schema public to postgres;
grant all on all tables in schema public to postgres, anon, authenticated, service_role;
grant all on all sequences in schema public to postgres, anon, authenticated, service_role;
grant all on all routines in schema public to postgres, anon, authenticated, service_role;

-- Default privileges hang on the role that creates an object: every role that migrations may run as needs them.
do $$
declare
  creator name;
begin
  for creator in
    select rolname
    from pg_catalog.pg_roles
    where rolname in ('postgres', 'supabase_admin', current_user)
      and pg_catalog.pg_has_role(current_user, oid, 'usage')
  loop
    execute pg_catalog.format(
      'alter default privileges for role %I in schema public grant all on tables to postgres, anon, authenticated, service_role',
      creator
    );
    execute pg_catalog.format(
      'alter default privileges for role %I in schema public grant all on sequences to postgres, anon, authenticated, service_role',
      creator
    );
    execute pg_catalog.format(
      'alter default privileges for role %I in schema public grant all on routines to postgres, anon, authenticated, service_role',
      creator
    );
  end loop;
end $$;
