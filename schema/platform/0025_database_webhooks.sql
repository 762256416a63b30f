-- skip if: to_regnamespace('supabase_functions') is not null

-- Database webhooks: the trigger function that the dashboard's webhooks, and so dumps of hosted projects, call. It sends
-- its request with pg_net, once the transaction has committed.

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'supabase_functions_admin') then
    create role supabase_functions_admin nologin noinherit noreplication;
    comment on role supabase_functions_admin is 'Named by dumps of hosted projects as the owner of the schema supabase_functions';
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

create schema supabase_functions;
comment on schema supabase_functions is 'Database webhooks';
grant usage on schema supabase_functions to postgres, anon, authenticated, service_role;
alter default privileges in schema supabase_functions grant all on tables to postgres, anon, authenticated, service_role;
alter default privileges in schema supabase_functions grant all on functions to postgres, anon, authenticated, service_role;
alter default privileges in schema supabase_functions grant all on sequences to postgres, anon, authenticated, service_role;

create table supabase_functions.migrations (
  version text primary key,
  inserted_at timestamptz not null default now()
);
insert into supabase_functions.migrations (version) values ('initial'), ('20210809183423_update_grants');

create table supabase_functions.hooks (
  id bigserial primary key,
  hook_table_id integer not null,
  hook_name text not null,
  created_at timestamptz not null default now(),
  request_id bigint
);
comment on table supabase_functions.hooks is 'Which trigger has sent which request of pg_net';
create index supabase_functions_hooks_request_id_idx on supabase_functions.hooks (request_id);
create index supabase_functions_hooks_h_table_id_h_name_idx on supabase_functions.hooks (hook_table_id, hook_name);

create function supabase_functions.http_request() returns trigger
  language plpgsql security definer set search_path = supabase_functions
as $$
declare
  url text := tg_argv[0];
  method text := upper(tg_argv[1]);
  headers jsonb := coalesce(nullif(tg_argv[2], 'null'), '{"Content-Type": "application/json"}');
  params jsonb := coalesce(nullif(tg_argv[3], 'null'), '{}');
  timeout_ms integer := coalesce(nullif(tg_argv[4], 'null'), '1000');
  sent bigint;
begin
  if coalesce(url, 'null') = 'null' then
    raise exception 'url argument is missing';
  end if;
  if coalesce(method, 'NULL') = 'NULL' then
    raise exception 'method argument is missing';
  end if;
  if pg_catalog.to_regnamespace('net') is null then
    raise exception 'database webhooks need the extension pg_net'
      using hint = 'Run: create extension pg_net;';
  end if;
  case method
    when 'GET' then
      sent := net.http_get(url, params, headers, timeout_ms);
    when 'POST' then
      sent := net.http_post(
        url,
        jsonb_build_object(
          'type', tg_op,
          'table', tg_table_name,
          'schema', tg_table_schema,
          'record', case when tg_op <> 'DELETE' then to_jsonb(new) end,
          'old_record', case when tg_op <> 'INSERT' then to_jsonb(old) end
        ),
        params, headers, timeout_ms
      );
    else
      raise exception 'method argument % is invalid', tg_argv[1];
  end case;
  insert into supabase_functions.hooks (hook_table_id, hook_name, request_id) values (tg_relid, tg_name, sent);
  return new;
end $$;
comment on function supabase_functions.http_request is
  'Sends a request about the row that has changed; arguments: url, method (GET or POST), headers, parameters, milliseconds';

revoke all on function supabase_functions.http_request() from public;
grant execute on function supabase_functions.http_request() to postgres, anon, authenticated, service_role;
