-- skip if: exists (select from basalt.platform_migrations where version = '0007' and adopted)

-- Lets tables with stored generated columns be in "supabase_realtime" on Postgres 18 and later. There, a publication
-- leaves such columns out unless it is told otherwise, and a published table with "replica identity full" then refuses
-- every update and delete (42P10). Before 18 there is neither the option nor the refusal.
--
-- Users' SQL drops and makes this publication anew, so whoever makes or changes it has it set again.

create function basalt.publish_generated_columns() returns void
language plpgsql
as $$
declare
  leaves_out boolean;
begin
  if current_setting('server_version_num')::int < 180000 then
    return;
  end if;
  execute 'select pubgencols = ''n'' from pg_catalog.pg_publication where pubname = ''supabase_realtime''' into leaves_out;
  if leaves_out then
    execute 'alter publication supabase_realtime set (publish_generated_columns = stored)';
  end if;
end
$$;
comment on function basalt.publish_generated_columns() is 'Makes supabase_realtime publish stored generated columns, which Postgres 18 and later have to be told';

create function extensions.publication_watch() returns event_trigger
language plpgsql
security definer -- who makes a publication may have no rights in schema "basalt"
set search_path = ''
as $$
begin
  perform basalt.publish_generated_columns();
end
$$;
comment on function extensions.publication_watch() is 'Event trigger: keeps supabase_realtime publishing stored generated columns';

select basalt.publish_generated_columns();

do $$
begin
  create event trigger publication_watch on ddl_command_end
    when tag in ('CREATE PUBLICATION', 'ALTER PUBLICATION')
    execute function extensions.publication_watch();
exception when insufficient_privilege then
  if current_setting('server_version_num')::int >= 180000 then
    raise warning 'only a superuser can make event triggers: after making supabase_realtime anew run  select basalt.publish_generated_columns()';
  end if;
end $$;
