-- The role "postgres" without the rights of a superuser, as on hosted Supabase: "supabase_admin" owns the platform, and
-- what a migration may do beyond "postgres" is done by functions of its own (docs/decisions/0075). Where "postgres" is
-- the superuser, as in clusters of older releases, all of this changes nothing for it.
--
-- Only a superuser can set this up. A database that somebody else has set up, such as a hosted project's, stays as it is.

do $platform$
declare
  statement text;
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
    or (select rolsuper from pg_catalog.pg_roles where rolname = 'supabase_admin') is not true
    or exists (select from basalt.platform_migrations where version = '0002' and adopted)
  then
    return;
  end if;

  -- Owners. The tables and functions of auth, storage and realtime belong to the services' roles since they exist.
  for statement in
    select pg_catalog.format('alter schema %I owner to supabase_admin', nspname)
    from pg_catalog.pg_namespace
    where nspname in (
      'auth', 'basalt', 'extensions', 'graphql_public', 'realtime', 'storage', 'storage_vectors', 'supabase_functions',
      'vault'
    )
    union all
    select pg_catalog.format('alter %s %s owner to supabase_admin',
      case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, c.oid::pg_catalog.regclass)
    from pg_catalog.pg_class c
    where c.relnamespace = 'basalt'::pg_catalog.regnamespace and c.relkind in ('r', 'p', 'v', 'S')
      -- A sequence of a column belongs to the table's owner.
      and not exists (
        select from pg_catalog.pg_depend d
        where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.deptype in ('a', 'i')
          and c.relkind = 'S'
      )
    union all
    select pg_catalog.format('alter function %s owner to supabase_admin', p.oid::pg_catalog.regprocedure)
    from pg_catalog.pg_proc p
    where p.pronamespace = 'basalt'::pg_catalog.regnamespace
      or p.pronamespace = 'extensions'::pg_catalog.regnamespace
        and p.proname in ('pgrst_ddl_watch', 'pgrst_drop_watch', 'rights_watch', 'publication_watch')
    union all
    select pg_catalog.format('alter event trigger %I owner to supabase_admin', evtname)
    from pg_catalog.pg_event_trigger
    where evtname in ('pgrst_ddl_watch', 'pgrst_drop_watch', 'rights_watch', 'publication_watch')
    -- What runs with its owner's rights, and reads or writes what others may replace, belongs to no superuser.
    union all
    select 'grant usage on schema supabase_functions to supabase_functions_admin'
    where pg_catalog.to_regnamespace('supabase_functions') is not null
    union all
    select pg_catalog.format('alter table %s owner to supabase_functions_admin', c.oid::pg_catalog.regclass)
    from pg_catalog.pg_class c
    where c.relnamespace = pg_catalog.to_regnamespace('supabase_functions') and c.relkind = 'r'
    union all
    select 'alter function supabase_functions.http_request() owner to supabase_functions_admin'
    where pg_catalog.to_regprocedure('supabase_functions.http_request()') is not null
    union all
    select 'alter function basalt.notify_public_objects() owner to supabase_storage_admin'
    from pg_catalog.pg_class
    where oid = pg_catalog.to_regclass('storage.buckets') and pg_catalog.pg_get_userbyid(relowner) = 'supabase_storage_admin'
      and pg_catalog.to_regprocedure('basalt.notify_public_objects()') is not null
  loop
    execute statement;
  end loop;

  -- No trigger of the project's runs inside of what these do as the superuser, and no temporary object of the caller's
  -- has the name of one of Postgres' own: without "pg_temp" at its end, a search path begins with it.
  alter function basalt.prepare_vectors() set session_replication_role = 'replica';
  alter function basalt.prepare_vectors() set search_path = pg_catalog, pg_temp;
  if pg_catalog.to_regprocedure('extensions.publication_watch()') is not null then
    alter function extensions.publication_watch() set session_replication_role = 'replica';
    alter function extensions.publication_watch() set search_path = pg_catalog, pg_temp;
  end if;
  if pg_catalog.to_regprocedure('basalt.notify_public_objects()') is not null then
    alter function basalt.notify_public_objects() set search_path = pg_catalog, pg_temp;
  end if;
  if pg_catalog.to_regprocedure('supabase_functions.http_request()') is not null then
    alter function supabase_functions.http_request() set search_path = pg_catalog, supabase_functions, pg_temp;
  end if;

  -- Rights of "postgres". Sources: Supabase's documentation, "Postgres roles"; supabase/postgres, supautils.conf.
  grant anon, authenticated, service_role, authenticator to postgres with admin option;
  grant supabase_auth_admin, supabase_storage_admin, supabase_realtime_admin to postgres;
  grant pg_monitor, pg_read_all_data, pg_signal_backend to postgres;
  if current_setting('server_version_num')::int >= 160000 then
    grant pg_create_subscription to postgres;
  end if;
  for statement in
    select pg_catalog.format('grant set on parameter %I to postgres', name)
    from pg_catalog.unnest(array[
      'log_lock_waits', 'log_min_duration_statement', 'log_min_messages', 'log_parameter_max_length',
      'log_replication_commands', 'log_statement', 'log_temp_files', 'session_replication_role', 'track_functions',
      'track_io_timing', 'cron.timezone',
      'pgrst.client_error_verbosity', 'pgrst.db_aggregates_enabled', 'pgrst.db_anon_role', 'pgrst.db_extra_search_path',
      'pgrst.db_hoisted_tx_settings', 'pgrst.db_max_rows', 'pgrst.db_plan_enabled', 'pgrst.db_pre_config',
      'pgrst.db_pre_request', 'pgrst.db_prepared_statements', 'pgrst.db_root_spec', 'pgrst.db_safe_update',
      'pgrst.db_schemas', 'pgrst.db_timezone_enabled', 'pgrst.db_tx_end', 'pgrst.jwt_aud',
      'pgrst.jwt_cache_max_entries', 'pgrst.jwt_cache_max_lifetime', 'pgrst.jwt_role_claim_key', 'pgrst.jwt_secret',
      'pgrst.jwt_secret_is_base64', 'pgrst.log_level', 'pgrst.log_query', 'pgrst.openapi_mode',
      'pgrst.openapi_security_active', 'pgrst.openapi_server_proxy_uri', 'pgrst.server_cors_allowed_origins',
      'pgrst.server_timing_enabled', 'pgrst.server_trace_header', 'pgrst.url_use_legacy_target_names'
    ]) as parameter (name)
  loop
    execute statement;
  end loop;
  grant usage on schema basalt to postgres;
  grant select on basalt.platform_migrations to postgres;
  grant select, insert, update, delete on basalt.project_migrations to postgres;
  if pg_catalog.to_regnamespace('net') is not null then
    grant usage on schema net to supabase_functions_admin;
    grant execute on all functions in schema net to supabase_functions_admin;
  end if;
end
$platform$;

do $platform$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
    or (select rolsuper from pg_catalog.pg_roles where rolname = 'supabase_admin') is not true
    or exists (select from basalt.platform_migrations where version = '0002' and adopted)
  then
    return;
  end if;
  -- In a cluster of an older release "postgres" runs this, and may cease to be a superuser.
  set local role supabase_admin;

  -- The script of an extension runs as the superuser. Event triggers of the project would run inside of it with the same
  -- rights; so none does. The first of these two sorts behind every name that basalt.create_event_trigger() takes: an
  -- event trigger that ran after it could undo what it sets.
  create function basalt.begin_extension_script() returns event_trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
  begin
    perform pg_catalog.set_config(
      'basalt.session_replication_role', pg_catalog.current_setting('session_replication_role'), true
    );
    perform pg_catalog.set_config('session_replication_role', 'replica', true);
  end
  $$;
  comment on function basalt.begin_extension_script() is 'Event trigger: switches event triggers of the project off while the script of an extension runs';

  create function basalt.end_extension_script() returns event_trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
  declare
    wrapper name;
  begin
    for wrapper in
      select w.fdwname
      from pg_catalog.pg_foreign_data_wrapper w
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_foreign_data_wrapper'::pg_catalog.regclass
        and d.objid = w.oid and d.deptype = 'e'
      where not pg_catalog.has_foreign_data_wrapper_privilege('postgres', w.oid, 'usage')
    loop
      execute pg_catalog.format('grant usage on foreign data wrapper %I to postgres with grant option', wrapper);
    end loop;
    -- Of 0029_extension_members.sql; no file between creates an extension.
    perform basalt.withhold_extension_members();
    perform pg_catalog.set_config(
      'session_replication_role', pg_catalog.current_setting('basalt.session_replication_role'), true
    );
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end
  $$;
  comment on function basalt.end_extension_script() is 'Event trigger: lets postgres use foreign data wrappers, switches event triggers on again, and notifies "pgrst"';

  create event trigger "~basalt_begin_extension_script" on ddl_command_start
    when tag in ('CREATE EXTENSION', 'ALTER EXTENSION') execute function basalt.begin_extension_script();
  alter event trigger "~basalt_begin_extension_script" enable always;
  create event trigger basalt_end_extension_script on ddl_command_end
    when tag in ('CREATE EXTENSION', 'ALTER EXTENSION') execute function basalt.end_extension_script();
  alter event trigger basalt_end_extension_script enable always;

  -- The workers of pg_cron and pg_net, and the start, which writes the vault, look for tables and functions by these names
  -- as the superuser: nobody else makes such a schema once the extension is gone.
  create function basalt.reserve_schemas() returns event_trigger
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
      and n.nspname in ('basalt', 'cron', 'net', 'vault');
    if found then
      raise insufficient_privilege using
        message = pg_catalog.format('schema %s is reserved for an extension', reserved);
    end if;
  end
  $$;
  comment on function basalt.reserve_schemas() is 'Event trigger: refuses schemas with the names of those that the superuser looks into';
  create event trigger basalt_reserve_schemas on ddl_command_end when tag in ('CREATE SCHEMA', 'ALTER SCHEMA')
    execute function basalt.reserve_schemas();
  alter event trigger basalt_reserve_schemas enable always;

  create table basalt.privileged_extensions (name text primary key);
  comment on table basalt.privileged_extensions is 'Extensions that postgres may create though they are not trusted; each start writes it';

  -- Reports whether the caller may create objects in this schema, if there is one.
  create function basalt.may_create_in(schema text) returns boolean
  language sql stable set search_path = pg_catalog, pg_temp
  return coalesce(
    (select pg_catalog.has_schema_privilege(session_user, n.oid, 'create') from pg_catalog.pg_namespace n where n.nspname = schema),
    true
  );
  comment on function basalt.may_create_in(text) is 'Whether the session''s user may create objects in a schema; true for none';

  create function basalt.create_extension(
    name text, schema text default null, version text default null, with_dependencies boolean default false
  ) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set session_replication_role = 'replica'
  as $$
  begin
    if not exists (select from basalt.privileged_extensions e where e.name = create_extension.name) then
      raise insufficient_privilege using
        message = pg_catalog.format('permission denied to create extension %I', name),
        hint = 'It is not among the extensions of hosted Supabase. A superuser can create it.';
    elsif not basalt.may_create_in(schema) then
      raise insufficient_privilege using message = pg_catalog.format('permission denied for schema %I', schema);
    end if;
    execute pg_catalog.format('create extension if not exists %I', name)
      || coalesce(' schema ' || pg_catalog.quote_ident(schema), '')
      || coalesce(' version ' || pg_catalog.quote_ident(version), '')
      || case when with_dependencies then ' cascade' else '' end;
  end
  $$;
  comment on function basalt.create_extension(text, text, text, boolean) is 'Creates an extension of basalt.privileged_extensions as its superuser';

  -- Members of an extension belong to the superuser, and so does an extension that the platform has created.
  create function basalt.change_extension(name text, change text, value text default null) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set session_replication_role = 'replica'
  as $$
  begin
    if not exists (select from basalt.privileged_extensions e where e.name = change_extension.name)
      and not exists (
        select
        from pg_catalog.pg_extension e
        join pg_catalog.pg_available_extension_versions v on v.name = e.extname and v.version = e.extversion
        where e.extname = change_extension.name and v.trusted and e.extname <> 'plpgsql'
      )
    then
      raise insufficient_privilege using message = pg_catalog.format('must be owner of extension %s', name);
    elsif change = 'schema' and not basalt.may_create_in(value) then
      raise insufficient_privilege using message = pg_catalog.format('permission denied for schema %I', value);
    end if;
    case change
      when 'schema' then execute pg_catalog.format('alter extension %I set schema %I', name, value);
      when 'version' then
        execute pg_catalog.format('alter extension %I update', name) || coalesce(' to ' || pg_catalog.quote_ident(value), '');
      when 'comment' then execute pg_catalog.format('comment on extension %I is %L', name, value);
      when 'drop' then execute pg_catalog.format('drop extension %I', name);
      when 'drop cascade' then execute pg_catalog.format('drop extension %I cascade', name);
    end case;
  end
  $$;
  comment on function basalt.change_extension(text, text, text) is 'Moves, updates, comments on or drops an extension that postgres may create';

  -- Reports whether the caller may attach or detach this function as an event trigger: one of his own.
  create function basalt.is_own_function(function regprocedure) returns boolean
  language sql stable set search_path = pg_catalog, pg_temp
  return (
    select pg_catalog.pg_has_role(session_user, p.proowner, 'usage') and not r.rolsuper
    from pg_catalog.pg_proc p join pg_catalog.pg_roles r on r.oid = p.proowner
    where p.oid = function
  );
  comment on function basalt.is_own_function(regprocedure) is 'Whether a function belongs to the session''s user or his roles, and to no superuser';

  create function basalt.create_event_trigger(name text, event text, tags text[], function regprocedure) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set session_replication_role = 'replica'
  as $$
  begin
    if event not in ('ddl_command_start', 'ddl_command_end', 'sql_drop', 'table_rewrite') or name ~ '[^ -}]' then
      raise insufficient_privilege using
        message = pg_catalog.format('permission denied to create event trigger %I on %s', name, event),
        hint = 'The events are ddl_command_start, ddl_command_end, sql_drop and table_rewrite.';
    elsif basalt.is_own_function(function) is not true then
      raise insufficient_privilege using message = pg_catalog.format('must be owner of function %s', function);
    end if;
    execute pg_catalog.format('create event trigger %I on %s ', name, event)
      || coalesce(
        'when tag in (' || (select pg_catalog.string_agg(pg_catalog.quote_literal(tag), ', ') from pg_catalog.unnest(tags) as tag) || ') ',
        ''
      )
      || pg_catalog.format('execute function %s()', function::pg_catalog.regproc);
  end
  $$;
  comment on function basalt.create_event_trigger(text, text, text[], regprocedure) is 'Creates an event trigger with a function of the caller''s';

  create function basalt.change_event_trigger(name text, change text) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set session_replication_role = 'replica'
  as $$
  declare
    function regprocedure := (select evtfoid from pg_catalog.pg_event_trigger where evtname = name);
  begin
    if function is null then
      raise undefined_object using message = pg_catalog.format('event trigger "%s" does not exist', name);
    elsif basalt.is_own_function(function) is not true then
      raise insufficient_privilege using message = pg_catalog.format('must be owner of event trigger %s', name);
    end if;
    case change
      when 'drop' then execute pg_catalog.format('drop event trigger %I', name);
      when 'enable' then execute pg_catalog.format('alter event trigger %I enable', name);
      when 'disable' then execute pg_catalog.format('alter event trigger %I disable', name);
    end case;
  end
  $$;
  comment on function basalt.change_event_trigger(text, text) is 'Drops, enables or disables an event trigger with a function of the caller''s';

  create function basalt.publish_all_tables(name text, parameters text[] default '{}') returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set session_replication_role = 'replica'
  as $$
  declare
    list text;
  begin
    select pg_catalog.string_agg(
      pg_catalog.format('%I = %L', pg_catalog.split_part(parameter, '=', 1),
        pg_catalog.substr(parameter, pg_catalog.strpos(parameter, '=') + 1)),
      ', '
    ) into list
    from pg_catalog.unnest(parameters) as parameter;
    execute pg_catalog.format('create publication %I for all tables', name) || coalesce(' with (' || list || ')', '');
  end
  $$;
  comment on function basalt.publish_all_tables(text, text[]) is 'Creates a publication of all tables; parameters: key=value';

  revoke execute on function
    basalt.create_extension(text, text, text, boolean), basalt.change_extension(text, text, text),
    basalt.create_event_trigger(text, text, text[], regprocedure),
    basalt.change_event_trigger(text, text), basalt.publish_all_tables(text, text[]),
    basalt.begin_extension_script(), basalt.end_extension_script(), basalt.reserve_schemas()
    from public;
  grant execute on function
    basalt.create_extension(text, text, text, boolean), basalt.change_extension(text, text, text),
    basalt.create_event_trigger(text, text, text[], regprocedure),
    basalt.change_event_trigger(text, text), basalt.publish_all_tables(text, text[])
    to postgres;
end
$platform$;

reset role;
