-- skip if: exists (select from basalt.platform_migrations where version = '0002' and adopted)

-- What is done for a project's administrator is done for whoever the session acts as: a login that has become "postgres",
-- as those of the Supabase CLI do, has the rights of "postgres" and inherits none of them itself. And a publication of all
-- tables belongs to who asks for it, as on hosted Supabase. Only a superuser can see to this.

do $platform$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
    or pg_catalog.to_regprocedure('basalt.is_own_function(regprocedure)') is null
  then
    return;
  end if;

  -- Inside of a function that runs as its owner, the setting "role" is still the caller's.
  create or replace function basalt.caller() returns name
  language sql stable set search_path = pg_catalog, pg_temp
  return coalesce(nullif(pg_catalog.current_setting('role'), 'none')::name, session_user);
  comment on function basalt.caller() is 'The role that the session acts as, in functions that run as their owner';

  create or replace function basalt.may_create_in(schema text) returns boolean
  language sql stable set search_path = pg_catalog, pg_temp
  return coalesce(
    (select pg_catalog.has_schema_privilege(basalt.caller(), n.oid, 'create') from pg_catalog.pg_namespace n where n.nspname = schema),
    true
  );
  comment on function basalt.may_create_in(text) is 'Whether the caller may create objects in a schema; true for none';

  create or replace function basalt.is_own_function(function regprocedure) returns boolean
  language sql stable set search_path = pg_catalog, pg_temp
  return (
    select pg_catalog.pg_has_role(basalt.caller(), p.proowner, 'usage') and not r.rolsuper
    from pg_catalog.pg_proc p join pg_catalog.pg_roles r on r.oid = p.proowner
    where p.oid = function
  );
  comment on function basalt.is_own_function(regprocedure) is 'Whether a function belongs to the caller or his roles, and to no superuser';

  create or replace function basalt.publish_all_tables(name text, parameters text[] default '{}') returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set session_replication_role = 'replica'
  as $$
  declare
    list text;
    owner name := basalt.caller();
    is_superuser boolean := (select rolsuper from pg_catalog.pg_roles where rolname = basalt.caller());
  begin
    select pg_catalog.string_agg(
      pg_catalog.format('%I = %L', pg_catalog.split_part(parameter, '=', 1),
        pg_catalog.substr(parameter, pg_catalog.strpos(parameter, '=') + 1)),
      ', '
    ) into list
    from pg_catalog.unnest(parameters) as parameter;
    execute pg_catalog.format('create publication %I for all tables', name) || coalesce(' with (' || list || ')', '');
    -- Postgres gives such a publication to a superuser only, and lets anybody keep it. Nobody else sees the right, which
    -- is gone before the transaction ends.
    if not is_superuser then
      execute pg_catalog.format('alter role %I superuser', owner);
    end if;
    execute pg_catalog.format('alter publication %I owner to %I', name, owner);
    if not is_superuser then
      execute pg_catalog.format('alter role %I nosuperuser', owner);
    end if;
  end
  $$;
  comment on function basalt.publish_all_tables(text, text[]) is 'Creates a publication of all tables, which belongs to the caller; parameters: key=value';

  alter function basalt.caller() owner to supabase_admin;
end
$platform$;
