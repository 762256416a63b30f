-- skip if: exists (select from basalt.platform_migrations where version = '0008' and adopted)

-- Rights and publications are news for realtime, which tells of rows by them: channel "pgrst" hears of them as it does of
-- tables (0008_catalog_watch.sql).

create function extensions.rights_watch() returns event_trigger
language plpgsql
as $$
begin
  perform pg_catalog.pg_notify('pgrst', 'reload schema');
end
$$;
comment on function extensions.rights_watch() is 'Event trigger: notifies "pgrst" of changed rights and publications';

do $$
begin
  create event trigger rights_watch on ddl_command_end
    when tag in ('GRANT', 'REVOKE', 'DROP OWNED', 'CREATE PUBLICATION', 'ALTER PUBLICATION', 'DROP PUBLICATION')
    execute function extensions.rights_watch();
exception when insufficient_privilege then
  raise warning 'only a superuser can make event triggers: after a change of rights run  notify pgrst, ''reload schema''';
end $$;
