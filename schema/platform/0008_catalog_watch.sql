-- skip if: exists (select from pg_event_trigger where evtname = 'pgrst_ddl_watch')

-- Tells whoever listens on channel "pgrst" that the catalog has changed, so that a new table or function shows in the
-- API at once. Names and payload are PostgREST's. The notices of one transaction are sent once, at its commit.

create function extensions.pgrst_ddl_watch() returns event_trigger
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
comment on function extensions.pgrst_ddl_watch() is 'Event trigger: notifies "pgrst" of what was created or altered, temporary objects apart';

create function extensions.pgrst_drop_watch() returns event_trigger
language plpgsql
as $$
begin
  if exists (
    select
    from pg_catalog.pg_event_trigger_dropped_objects()
    where object_type in (
        'schema', 'table', 'foreign table', 'view', 'materialized view', 'function', 'procedure', 'aggregate',
        'trigger', 'type', 'domain', 'cast', 'rule', 'table column', 'table constraint', 'domain constraint'
      )
      and not is_temporary
  ) then
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end if;
end
$$;
comment on function extensions.pgrst_drop_watch() is 'Event trigger: notifies "pgrst" of what was dropped, temporary objects apart';

do $$
begin
  create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();
  create event trigger pgrst_drop_watch on sql_drop execute function extensions.pgrst_drop_watch();
exception when insufficient_privilege then
  raise warning 'only a superuser can make event triggers: after a change of the schema run  notify pgrst, ''reload schema''';
end $$;
