-- skip if: exists (select from basalt.platform_migrations where version = '0002' and adopted)

-- The extension pg_stat_statements, which every hosted project has from its beginning: the Supabase CLI's `inspect`, for
-- example, reads it. A server that does not preload its library, as the embedded one does, goes without: there, whatever
-- reads it would fail.

do $$
declare
  statement text;
begin
  if exists (select from pg_catalog.pg_available_extensions where name = 'pg_stat_statements')
    and exists (
      select from pg_catalog.pg_settings where name = 'shared_preload_libraries' and setting ~ '\mpg_stat_statements\M'
    )
  then
    create extension if not exists pg_stat_statements schema extensions;
    -- As on hosted Supabase, "postgres" may reset the counts.
    for statement in
      select pg_catalog.format('grant execute on function %s to postgres', p.oid::pg_catalog.regprocedure)
      from pg_catalog.pg_proc p
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = p.oid and d.deptype = 'e'
      join pg_catalog.pg_extension e on d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass and d.refobjid = e.oid
      where e.extname = 'pg_stat_statements' and exists (select from pg_catalog.pg_roles where rolname = 'postgres')
    loop
      execute statement;
    end loop;
  end if;
exception when others then
  raise warning 'the extension pg_stat_statements is not made: %', sqlerrm;
end $$;

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
end
$platform$;
