-- skip if: coalesce((select prosrc like '%CREATE POLICY%' or not pg_has_role(proowner, 'usage') from pg_proc where oid = to_regproc('extensions.pgrst_ddl_watch')), true)

-- Policies, too, are news for the REST interface: what a table runs by itself decides how much of a request it is told.
-- Somebody else's functions, such as a hosted project's, are left as they are.

create or replace function extensions.pgrst_ddl_watch() returns event_trigger
language plpgsql
as $$
begin
  if exists (
    select
    from pg_catalog.pg_event_trigger_ddl_commands()
    where command_tag in (
        'CREATE SCHEMA', 'ALTER SCHEMA',
        'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE',
        'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE',
        'CREATE VIEW', 'ALTER VIEW',
        'CREATE MATERIALIZED VIEW', 'ALTER MATERIALIZED VIEW',
        'CREATE FUNCTION', 'ALTER FUNCTION', 'CREATE PROCEDURE', 'ALTER PROCEDURE',
        'CREATE AGGREGATE', 'ALTER AGGREGATE',
        'CREATE TRIGGER',
        'CREATE POLICY', 'ALTER POLICY',
        'CREATE TYPE', 'ALTER TYPE', 'CREATE DOMAIN', 'ALTER DOMAIN', 'CREATE CAST',
        'CREATE RULE',
        'COMMENT'
      )
      and schema_name is distinct from 'pg_temp'
  ) then
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end if;
end
$$;

create or replace function extensions.pgrst_drop_watch() returns event_trigger
language plpgsql
as $$
begin
  if exists (
    select
    from pg_catalog.pg_event_trigger_dropped_objects()
    where object_type in (
        'schema', 'table', 'foreign table', 'view', 'materialized view', 'function', 'procedure', 'aggregate',
        'trigger', 'policy', 'type', 'domain', 'cast', 'rule', 'table column', 'table constraint', 'domain constraint'
      )
      and not is_temporary
  ) then
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end if;
end
$$;
