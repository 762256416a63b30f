-- What an extension withholds from everybody stays withheld. The default privileges of the schema "public", which are those
-- of hosted Supabase, gave its functions to the roles of the API: anybody could call "dblink_connect_u", which logs in with
-- the files of the machine, or read the write-ahead log by "pg_walinspect".
--
-- And, as on hosted Supabase, "postgres" may have a role preload a library of the server's own folder. One that is not there
-- would make every login of the role fail, so that nothing is set for it.
--
-- Only a superuser can set this up. A database that somebody else has set up, such as a hosted project's, stays as it is.

do $platform$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
    or (select rolsuper from pg_catalog.pg_roles where rolname = 'supabase_admin') is not true
    or exists (select from basalt.platform_migrations where version = '0002' and adopted)
  then
    return;
  end if;

  -- A member of an extension that PUBLIC may not use is for those whom the extension itself names; the roles of the API
  -- have it from the default privileges of "public" alone. dblink reaches whatever the server reaches, this database with
  -- other logins included, so that it is for the project's own code.
  create or replace function basalt.withhold_extension_members() returns void
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
  declare
    statement text;
  begin
    for statement in
      select format('revoke all on routine %s from anon, authenticated, service_role%s', p.oid::regprocedure,
        case when p.proowner <> 'postgres'::regrole then ', postgres' else '' end)
      from pg_proc p
      join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
      where p.pronamespace = 'public'::regnamespace and p.proacl is not null
        and not exists (select from aclexplode(p.proacl) as a where a.grantee = 0)
      union all
      select format('revoke all on %s from anon, authenticated', c.oid::regclass)
      from pg_class c
      join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relacl is not null
        and not exists (select from aclexplode(c.relacl) as a where a.grantee = 0)
      union all
      select format('%s on routine %s %s', change.verb, p.oid::regprocedure, change.roles)
      from pg_extension e
      join pg_depend d on d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid and d.deptype = 'e'
      join pg_proc p on d.classid = 'pg_proc'::regclass and d.objid = p.oid
      cross join (values
        ('revoke all', 'from public, anon, authenticated'),
        ('grant execute', 'to postgres, service_role')
      ) as change (verb, roles)
      where e.extname = 'dblink' and p.proname <> 'dblink_connect_u'
    loop
      execute statement;
    end loop;
  end
  $$;
  comment on function basalt.withhold_extension_members() is
    'Takes from the roles of the API what extensions in "public" withhold from everybody';
  alter function basalt.withhold_extension_members() owner to supabase_admin;
  revoke all on function basalt.withhold_extension_members() from public;

  create or replace function basalt.preload_libraries(role text, libraries text[]) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set session_replication_role = 'replica'
  as $$
  declare
    folder text := (select setting from pg_config where name = 'PKGLIBDIR');
    library text;
    present text[] := '{}';
  begin
    if not exists (select from pg_roles r where r.rolname = role and not r.rolsuper) then
      raise insufficient_privilege using message = format('permission denied to alter role %I', role);
    end if;
    foreach library in array libraries loop
      if library !~ '^[A-Za-z0-9_]+$' then
        raise insufficient_privilege using
          message = format('permission denied to preload %L', library),
          hint = 'Only libraries of the server''s own folder can be preloaded.';
      elsif (pg_stat_file(folder || '/' || library || '.so', true)).size is null
        and (pg_stat_file(folder || '/' || library || '.dylib', true)).size is null
      then
        raise warning 'This Postgres does not have the library %, so that % does not preload it.', library, role;
      else
        present := present || quote_literal(library);
      end if;
    end loop;
    if present <> '{}' then
      execute format(
        'alter role %I set session_preload_libraries = %s', role, array_to_string(present, ', ')
      );
    end if;
  end
  $$;
  comment on function basalt.preload_libraries(text, text[]) is
    'Has a role preload libraries of the server''s own folder that are there';
  alter function basalt.preload_libraries(text, text[]) owner to supabase_admin;
  revoke all on function basalt.preload_libraries(text, text[]) from public;
  grant execute on function basalt.preload_libraries(text, text[]) to postgres;

  perform basalt.withhold_extension_members();
end
$platform$;
