-- The functions of the extension pg_tle that install extensions (names, arguments and results as hosted Supabase has them).
--
-- Upstream's module, written in C, has "create extension" find what these functions keep. Without it, Basalt does so for
-- the statements of migrations and seeds; any other program calls pgtle.create_extension(), pgtle.update_extension() and
-- pgtle.drop_extension(), which upstream does not have. What a script makes are ordinary objects of the schema, which dumps
-- contain. A script runs with the rights of whoever calls.

\echo Use "create extension pg_tle" to load this file. \quit

create table pgtle.controls (
  name name primary key,
  default_version text not null,
  comment text,
  requires name[] not null
);
comment on table pgtle.controls is 'The extensions that can be created from here';

create table pgtle.scripts (
  name name not null references pgtle.controls on delete cascade,
  -- Empty in the script that makes a version from nothing.
  from_version text not null,
  version text not null,
  sql text not null,
  primary key (name, from_version, version)
);
comment on table pgtle.scripts is 'What makes a version of an extension, from nothing or from another version';

create table pgtle.created (
  name name primary key,
  version text not null,
  schema name not null
);
comment on table pgtle.created is 'The extensions that have been created from here';

create table pgtle.members (
  name name not null references pgtle.created on delete cascade,
  place int not null,
  kind text not null,
  identity text not null,
  primary key (name, place)
);
comment on table pgtle.members is 'What the scripts of these extensions have made, in order';

select pg_catalog.pg_extension_config_dump('pgtle.controls', '');
select pg_catalog.pg_extension_config_dump('pgtle.scripts', '');
select pg_catalog.pg_extension_config_dump('pgtle.created', '');
select pg_catalog.pg_extension_config_dump('pgtle.members', '');

------------------------------------------------------------------------------------------------------------------------
-- Installing

create function pgtle._check_name(what text, name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if name is null or name !~ '^[^/\\[:cntrl:]]+$' or name ~ '^-|--|-$' or octet_length(name) > 63 then
    raise invalid_parameter_value using message = format('invalid %s: %L', what, name);
  end if;
end
$$;

create function pgtle.install_extension(
  name text, version text, description text, ext text, requires text[] default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgtle._check_name('extension name', name);
  perform pgtle._check_name('extension version name', version);
  if ext is null then
    raise null_value_not_allowed using message = '"ext" must not be null';
  elsif exists (select from pg_available_extensions a where a.name = install_extension.name) then
    raise duplicate_file using message = format('control file already exists for the %s extension', name);
  elsif exists (select from pgtle.controls c where c.name = install_extension.name) then
    raise duplicate_object using
      message = format('extension "%s" already installed', name),
      hint = 'pgtle.install_update_path() and pgtle.install_extension_version_sql() add versions.';
  end if;
  insert into pgtle.controls values (name, version, description, coalesce(array_remove(requires, 'pg_tle'), '{}')::name[]);
  insert into pgtle.scripts values (name, '', version, ext);
  return true;
end
$$;
comment on function pgtle.install_extension(text, text, text, text, text[]) is 'Keeps an extension, which can be created then';

create function pgtle._check_installed(name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from pgtle.controls c where c.name = _check_installed.name) then
    raise no_data_found using message = format('Extension %s does not exist', name);
  end if;
end
$$;

create function pgtle.install_extension_version_sql(name text, version text, ext text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgtle._check_installed(name);
  perform pgtle._check_name('extension version name', version);
  insert into pgtle.scripts values (name, '', version, ext);
  return true;
end
$$;
comment on function pgtle.install_extension_version_sql(text, text, text) is 'Keeps another version of an extension';

create function pgtle.install_update_path(name text, fromvers text, tovers text, ext text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgtle._check_installed(name);
  perform pgtle._check_name('extension version name', fromvers);
  perform pgtle._check_name('extension version name', tovers);
  insert into pgtle.scripts values (name, fromvers, tovers, ext);
  return true;
end
$$;
comment on function pgtle.install_update_path(text, text, text, text) is 'Keeps what makes a version of an extension from another one';

create function pgtle.set_default_version(name text, version text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgtle._check_installed(name);
  if not exists (
    select from pgtle.scripts s where s.name = set_default_version.name and s.version = set_default_version.version
  ) then
    raise no_data_found using message = format('extension "%s" has no version "%s"', name, version);
  end if;
  update pgtle.controls c set default_version = set_default_version.version where c.name = set_default_version.name;
  return true;
end
$$;
comment on function pgtle.set_default_version(text, text) is 'Sets the version that is created';

create function pgtle.uninstall_extension(extname text) returns boolean
language plpgsql strict
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgtle._check_installed(extname);
  delete from pgtle.controls c where c.name = extname;
  return true;
end
$$;
comment on function pgtle.uninstall_extension(text) is 'Forgets an extension; what it has made stays';

create function pgtle.uninstall_extension(extname text, version text) returns boolean
language plpgsql strict
set search_path = pg_catalog, pg_temp
as $$
declare
  is_default boolean;
  others boolean;
begin
  perform pgtle._check_installed(extname);
  select c.default_version = uninstall_extension.version into is_default from pgtle.controls c where c.name = extname;
  select exists (
    select from pgtle.scripts s where s.name = extname and s.version <> uninstall_extension.version
  ) into others;
  if is_default and others then
    raise exception 'Can not uninstall default version of extension %, use set_default_version to update the default to another available version and retry', extname;
  elsif is_default then
    return pgtle.uninstall_extension(extname);
  end if;
  delete from pgtle.scripts s
  where s.name = extname and uninstall_extension.version in (s.version, s.from_version);
  if not found then
    raise exception 'Version % of extension % is not installed and therefore can not be uninstalled', version, extname;
  end if;
  return true;
end
$$;
comment on function pgtle.uninstall_extension(text, text) is 'Forgets a version of an extension';

create function pgtle.uninstall_extension_if_exists(extname text) returns boolean
language plpgsql strict
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from pgtle.controls c where c.name = extname;
  return found;
end
$$;
comment on function pgtle.uninstall_extension_if_exists(text) is 'Forgets an extension, if there is one';

create function pgtle.uninstall_update_path_if_exists(extname text, fromvers text, tovers text) returns boolean
language plpgsql strict
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from pgtle.scripts s
  where s.name = extname and s.from_version = fromvers and s.version = tovers and fromvers <> '';
  return found;
end
$$;
comment on function pgtle.uninstall_update_path_if_exists(text, text, text) is 'Forgets what makes a version from another one, if there is that';

create function pgtle.uninstall_update_path(extname text, fromvers text, tovers text) returns boolean
language plpgsql strict
set search_path = pg_catalog, pg_temp
as $$
begin
  if not pgtle.uninstall_update_path_if_exists(extname, fromvers, tovers) then
    raise no_data_found using message = format('Extension %s does not exist', extname);
  end if;
  return true;
end
$$;
comment on function pgtle.uninstall_update_path(text, text, text) is 'Forgets what makes a version from another one';

------------------------------------------------------------------------------------------------------------------------
-- Lists

create function pgtle.available_extensions(out name name, out default_version text, out comment text) returns setof record
language sql stable strict
set search_path = pg_catalog, pg_temp
begin atomic
  select c.name, c.default_version, c.comment from pgtle.controls c order by 1;
end;
comment on function pgtle.available_extensions() is 'The extensions that can be created';

create function pgtle.available_extension_versions(
  out name name, out version text, out superuser boolean, out trusted boolean, out relocatable boolean, out schema name,
  out requires name[], out comment text
) returns setof record
language sql stable strict
set search_path = pg_catalog, pg_temp
begin atomic
  select distinct c.name, s.version, false, false, false, null::name, '{pg_tle}'::name[] || c.requires, c.comment
  from pgtle.controls c
  join pgtle.scripts s on s.name = c.name
  order by 1, 2;
end;
comment on function pgtle.available_extension_versions() is 'The versions of the extensions that can be created';

-- The versions on the shortest way from one to another; "" is nothing.
create function pgtle._path(name name, from_version text, to_version text) returns text[]
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  with recursive way as (
    select array[_path.from_version] as versions
    union all
    select w.versions || s.version
    from way w
    join pgtle.scripts s on s.name = _path.name and s.from_version = w.versions[cardinality(w.versions)]
      and s.version <> all (w.versions)
    where cardinality(w.versions) < 100 and w.versions[cardinality(w.versions)] <> _path.to_version
  )
  select versions from way where versions[cardinality(versions)] = to_version order by cardinality(versions), versions limit 1;
end;

create function pgtle.extension_update_paths(name name, out source text, out target text, out path text) returns setof record
language sql stable strict
set search_path = pg_catalog, pg_temp
begin atomic
  with versions as (select distinct s.version from pgtle.scripts s where s.name = extension_update_paths.name)
  select a.version, b.version, array_to_string(pgtle._path(extension_update_paths.name, a.version, b.version), '--')
  from versions a, versions b
  where a.version <> b.version
  order by 1, 2;
end;
comment on function pgtle.extension_update_paths(name) is 'How versions of an extension are made from others';

------------------------------------------------------------------------------------------------------------------------
-- Creating

-- The objects of the kinds that scripts make, without those that belong to another one, such as indexes.
create function pgtle._objects() returns table (class regclass, object oid)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  catalog regclass;
begin
  foreach catalog in array array[
    'pg_namespace', 'pg_class', 'pg_type', 'pg_proc', 'pg_operator', 'pg_opclass', 'pg_opfamily', 'pg_cast', 'pg_collation',
    'pg_trigger', 'pg_policy', 'pg_rewrite', 'pg_event_trigger', 'pg_ts_config', 'pg_ts_dict'
  ]::regclass[] loop
    return query execute format(
      'select $1, o.oid from %s o
        where not exists (select from pg_depend d where d.classid = $1 and d.objid = o.oid and d.deptype in (''i'', ''e''))
          and not exists (
            select from pg_depend d
            where d.classid = $1 and d.objid = o.oid and d.deptype = ''a'' and $1 not in (''pg_trigger''::regclass, ''pg_policy''::regclass)
          )',
      catalog
    ) using catalog;
  end loop;
end
$$;

-- Runs the scripts on a way of versions, and keeps a list of what they make.
create function pgtle._run(name name, versions text[], schema name) returns void
language plpgsql
set check_function_bodies = off
set client_min_messages = warning
as $$
declare
  former constant text := pg_catalog.current_setting('search_path');
  before pg_catalog.oid[];
  latest int;
  sql text;
begin
  select coalesce(pg_catalog.array_agg(o.object), '{}') into before from pgtle._objects() o;
  perform pg_catalog.set_config('search_path', pg_catalog.quote_ident(schema) || pgtle._schemas_of_required(name) || ', pg_temp', true);
  for place in 2 .. pg_catalog.cardinality(versions) loop
    select s.sql into strict sql
    from pgtle.scripts s
    where s.name = _run.name and s.from_version = versions[place - 1] and s.version = versions[place];
    sql := pg_catalog.regexp_replace(sql, '^\\echo.*$', '', 'ng');
    -- In two parts, so that "create extension pg_tle" does not replace it here.
    execute pg_catalog.replace(sql, '@extschema' || '@', pg_catalog.quote_ident(schema));
  end loop;
  perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  select coalesce(max(m.place), 0) into latest from pgtle.members m where m.name = _run.name;
  insert into pgtle.members
  select _run.name, latest + row_number() over (order by o.object), i.type, i.identity
  from pgtle._objects() o
  cross join lateral pg_identify_object(o.class, o.object, 0) as i
  where o.object <> all (before) and o.class <> 'pg_rewrite'::regclass and i.identity is not null;
  perform pg_catalog.set_config('search_path', former, true);
end
$$;

-- The schemas of what an extension requires, for a search path.
create function pgtle._schemas_of_required(name name) returns text
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(string_agg(', ' || quote_ident(found.schema), '' order by r.place), '')
  from pgtle.controls c
  cross join unnest(c.requires) with ordinality as r (name, place)
  cross join lateral (
    select e.extnamespace::regnamespace::text::name as schema from pg_extension e where e.extname = r.name
    union all
    select k.schema from pgtle.created k where k.name = r.name
  ) as found
  where c.name = _schemas_of_required.name;
end;

create function pgtle._ensure_required(name name, with_dependencies boolean) returns void
language plpgsql
as $$
declare
  required name;
begin
  for required in
    select r
    from pgtle.controls c, pg_catalog.unnest(c.requires) as r
    where c.name = _ensure_required.name
      and not exists (select from pg_catalog.pg_extension e where e.extname = r)
      and not exists (select from pgtle.created k where k.name = r)
  loop
    if not with_dependencies then
      raise undefined_object using
        message = pg_catalog.format('required extension "%s" is not installed', required),
        hint = 'Use CREATE EXTENSION ... CASCADE to install required extensions too.';
    elsif exists (select from pgtle.controls c where c.name = required) then
      perform pgtle.create_extension(required, with_dependencies => true);
    else
      execute pg_catalog.format('create extension %I cascade', required);
    end if;
  end loop;
end
$$;

create function pgtle.create_extension(
  name text, schema text default null, version text default null, with_dependencies boolean default false,
  if_not_exists boolean default false
) returns boolean
language plpgsql
as $$
declare
  wanted text;
  versions text[];
begin
  perform pgtle._check_installed(name);
  if exists (select from pgtle.created k where k.name = create_extension.name) then
    if if_not_exists then
      return false;
    end if;
    raise duplicate_object using message = pg_catalog.format('extension "%s" already exists', name);
  end if;
  schema := coalesce(schema, pg_catalog.current_schema());
  if schema is null or pg_catalog.to_regnamespace(pg_catalog.quote_ident(schema)) is null then
    raise invalid_schema_name using message = pg_catalog.format('schema "%s" does not exist', schema);
  end if;
  select coalesce(create_extension.version, c.default_version) into wanted from pgtle.controls c where c.name = create_extension.name;
  versions := pgtle._path(name::name, '', wanted);
  if versions is null then
    raise invalid_parameter_value using
      message = pg_catalog.format('extension "%s" has no installation script nor update path for version "%s"', name, wanted);
  end if;
  perform pgtle._ensure_required(name::name, with_dependencies);
  insert into pgtle.created values (name, wanted, schema);
  perform pgtle._run(name::name, versions, schema::name);
  return true;
end
$$;
comment on function pgtle.create_extension(text, text, text, boolean, boolean) is
  'Creates an extension that pgtle.install_extension() has kept, as "create extension" does in migrations';

create function pgtle._schema_of_created(name text) returns name
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  schema name;
begin
  select k.schema into schema from pgtle.created k where k.name = _schema_of_created.name;
  if schema is null then
    raise undefined_object using message = format('extension "%s" does not exist', name);
  end if;
  return schema;
end
$$;

create function pgtle.update_extension(name text, version text default null) returns text
language plpgsql
as $$
declare
  schema constant name := pgtle._schema_of_created(name);
  present text;
  wanted text;
  versions text[];
begin
  perform pgtle._check_installed(name);
  select k.version into present from pgtle.created k where k.name = update_extension.name;
  select coalesce(update_extension.version, c.default_version) into wanted from pgtle.controls c where c.name = update_extension.name;
  if wanted = present then
    return present;
  end if;
  versions := pgtle._path(name::name, present, wanted);
  if versions is null then
    raise invalid_parameter_value using
      message = pg_catalog.format('extension "%s" has no update path from version "%s" to version "%s"', name, present, wanted);
  end if;
  perform pgtle._run(name::name, versions, schema);
  update pgtle.created k set version = wanted where k.name = update_extension.name;
  return wanted;
end
$$;
comment on function pgtle.update_extension(text, text) is 'Updates an extension, as "alter extension … update" does in migrations';

create function pgtle.drop_extension(name text, with_dependents boolean default false) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  member record;
begin
  perform pgtle._schema_of_created(name);
  -- The texts are those of the catalog: what is in the table is not run.
  for member in
    select i.type as kind, i.identity
    from pgtle.members m
    join (pgtle._objects() o cross join lateral pg_identify_object(o.class, o.object, 0) as i)
      on i.type = m.kind and i.identity = m.identity
    where m.name = drop_extension.name
    order by m.place desc
  loop
    execute format(
      'drop %s if exists %s%s', member.kind, member.identity, case when with_dependents then ' cascade' else '' end
    );
  end loop;
  delete from pgtle.created k where k.name = drop_extension.name;
  return true;
end
$$;
comment on function pgtle.drop_extension(text, boolean) is 'Drops what an extension has made, as "drop extension" does in migrations';

------------------------------------------------------------------------------------------------------------------------
-- Rights

do $$
begin
  create role pgtle_admin nologin;
exception when duplicate_object or unique_violation then null; -- of another database
end $$;

grant usage on schema pgtle to public;
grant select on all tables in schema pgtle to public;
revoke execute on all functions in schema pgtle from public;
grant execute on function pgtle.available_extensions(), pgtle.available_extension_versions(), pgtle.extension_update_paths(name),
  pgtle._path(name, text, text) to public;
grant insert, update, delete on all tables in schema pgtle to pgtle_admin;
grant execute on all functions in schema pgtle to pgtle_admin;

do $$
begin
  if exists (select from pg_catalog.pg_roles where rolname = 'postgres') then
    grant pgtle_admin to postgres;
  end if;
end $$;
