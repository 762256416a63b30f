-- Roles that hosted Supabase has and that users' SQL names in grants and policies.
--
-- Roles belong to the whole cluster, so another database of the same cluster may have made them already. Each role
-- is therefore made, granted and configured in one step, and only if it is missing: a role that exists is the
-- administrator's and stays as it is. No role gets a password here; a login role without one cannot sign in by
-- password (the server sets them when it starts).

-- Databases of one cluster that are set up at the same moment take turns: the lock is on a catalog that they share.
do $$
begin
  lock table pg_catalog.pg_authid in share row exclusive mode;
exception when insufficient_privilege then null; -- no superuser: the steps below take a role that exists as it is
end $$;

-- The administrator that users' SQL calls "postgres". On hosted Supabase it is no superuser. It exists already
-- wherever the cluster was made by a user of that name.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'postgres') then
    create role postgres nosuperuser createdb createrole login;
    begin
      alter role postgres replication bypassrls;
    exception when insufficient_privilege then null; -- a managed server's administrator may not hand these on
    end;
    comment on role postgres is 'Administrator that owns what migrations create';
  end if;
exception when duplicate_object or unique_violation then null; -- another database of this cluster was faster
end $$;

-- The three roles that a request can run as.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'anon') then
    create role anon nologin inherit;
    alter role anon set statement_timeout = '3s';
    comment on role anon is 'Requests without a signed-in user';
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'authenticated') then
    create role authenticated nologin inherit;
    alter role authenticated set statement_timeout = '8s';
    comment on role authenticated is 'Requests of a signed-in user';
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'service_role') then
    create role service_role nologin inherit bypassrls;
    comment on role service_role is 'Requests with the secret key: row-level security does not apply';
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then -- without bypassrls, what the service key is for would fail without a word
    raise insufficient_privilege using
      message = 'the role service_role passes by row-level security, and ' || current_user || ' may not make such a role',
      hint = 'Let a superuser run once: create role service_role nologin bypassrls; grant service_role to '
        || pg_catalog.quote_ident(current_user) || ' with admin option;';
end $$;

-- The login of the REST interface. It has no rights of its own (noinherit) and switches to one of the three per request.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'authenticator') then
    create role authenticator login noinherit;
    alter role authenticator set statement_timeout = '8s';
    alter role authenticator set lock_timeout = '8s';
    grant anon, authenticated, service_role to authenticator;
    comment on role authenticator is 'Login of the REST interface; becomes anon, authenticated or service_role per request';
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

-- Owner of the platform's schemas. A superuser as on hosted Supabase, as far as whoever runs this may make one.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'supabase_admin') then
    create role supabase_admin login createdb createrole;
    if (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
      alter role supabase_admin superuser replication bypassrls;
    end if;
    alter role supabase_admin set search_path = "$user", public, auth, extensions;
    comment on role supabase_admin is 'Owner of the platform''s schemas';
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

-- Logins of the services that own a schema. Hosted Supabase adds createrole to the first two; nothing here needs it,
-- and before Postgres 16 it amounts to the rights of every other role, so they go without.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'supabase_auth_admin') then
    create role supabase_auth_admin login noinherit noreplication;
    alter role supabase_auth_admin set search_path = auth;
    alter role supabase_auth_admin set idle_in_transaction_session_timeout = '60s';
    comment on role supabase_auth_admin is 'Login of the auth service and owner of its tables';
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'supabase_storage_admin') then
    create role supabase_storage_admin login noinherit noreplication;
    alter role supabase_storage_admin set search_path = storage;
    grant authenticator to supabase_storage_admin; -- to ask row-level security as the caller
    comment on role supabase_storage_admin is 'Login of the storage service and owner of its tables';
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'supabase_realtime_admin') then
    create role supabase_realtime_admin nologin noinherit noreplication;
    comment on role supabase_realtime_admin is 'Owner of the realtime tables and functions';
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'dashboard_user') then
    create role dashboard_user nologin createdb createrole;
    comment on role dashboard_user is 'Administration tools; named by users'' grants';
  end if;
exception when duplicate_object or unique_violation then null;
end $$;

-- What lets "postgres" manage triggers on auth.users, policies on storage.objects and the like without being a
-- superuser. The same for whoever runs this, if that is a third role: it must be able to hand objects to the owners.
do $$
declare
  administrator name;
  role_name name;
begin
  for administrator in
    select rolname from pg_catalog.pg_roles where rolname in ('postgres', current_user) and not rolsuper
  loop
    foreach role_name in array array[
      'anon', 'authenticated', 'service_role', 'authenticator', 'supabase_auth_admin', 'supabase_storage_admin',
      'supabase_realtime_admin', 'pg_monitor', 'pg_read_all_data', 'pg_signal_backend',
      'postgres' -- whom schemas pulled from hosted Supabase give what they make
    ]::name[] loop
      if not pg_catalog.pg_has_role(administrator, role_name, 'member') then
        begin
          execute pg_catalog.format('grant %I to %I', role_name, administrator);
        exception when insufficient_privilege then null; -- a role of somebody else's, who decides on its members
        end;
      end if;
    end loop;
  end loop;
end $$;

-- Unqualified names find the extensions, as on hosted Supabase. An administrator's own setting stays.
do $$
declare
  administrator name;
begin
  for administrator in
    select r.rolname
    from pg_catalog.pg_roles r
    where r.rolname in ('postgres', current_user)
      and pg_catalog.pg_has_role(current_user, r.oid, 'member')
      and not exists (
        select
        from pg_catalog.pg_db_role_setting s, unnest(s.setconfig) as setting
        where s.setrole = r.oid and setting like 'search_path=%'
      )
  loop
    execute pg_catalog.format('alter role %I set search_path = "$user", public, extensions', administrator);
  end loop;
end $$;
