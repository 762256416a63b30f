-- skip if: exists (select from basalt.platform_migrations where version = '0002' and adopted)

-- The worker of the extension http looks into "basalt_http" as the superuser: as with "cron" and "net", nobody else makes
-- such a schema. Only a superuser can see to this.

do $platform$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
    or pg_catalog.to_regprocedure('basalt.reserve_schemas()') is null
  then
    return;
  end if;
  create or replace function basalt.reserve_schemas() returns event_trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
  declare
    reserved text;
  begin
    select c.object_identity into reserved
    from pg_catalog.pg_event_trigger_ddl_commands() c
    join pg_catalog.pg_namespace n on n.oid = c.objid
    join pg_catalog.pg_roles r on r.oid = n.nspowner
    where c.object_type = 'schema' and not c.in_extension and not r.rolsuper
      and n.nspname in ('basalt', 'basalt_http', 'cron', 'net', 'vault');
    if found then
      raise insufficient_privilege using
        message = pg_catalog.format('schema %s is reserved for an extension', reserved);
    end if;
  end
  $$;

  -- As that of 0029_extension_members.sql, and also for the calls of http, which reach whatever the server reaches: outside of
  -- schema "extensions", which no API has unless a setting says so, they are for the project's own code. What "postgres"
  -- grants stays.
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
      join pg_extension e on d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid and e.extname <> 'http'
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
      join pg_namespace n on n.oid = p.pronamespace
      join (values
        ('dblink', 'revoke all', 'from public, anon, authenticated'),
        ('dblink', 'grant execute', 'to postgres, service_role'),
        ('http', 'revoke all', 'from public, anon, authenticated'),
        ('http', 'grant execute', 'to service_role'),
        ('http', 'grant execute', 'to postgres with grant option')
      ) as change (extension, verb, roles) on change.extension = e.extname
      where case e.extname
          when 'dblink' then p.proname <> 'dblink_connect_u'
          else n.nspname <> 'extensions' and p.proname ~ '^http(_(get|post|put|patch|delete|head))?$'
        end
    loop
      execute statement;
    end loop;
  end
  $$;
  perform basalt.withhold_extension_members();
end
$platform$;
