-- What the server has set in this database because a setting says so: it is set again when the setting changes, and what
-- somebody else has changed since then stays.
create table if not exists basalt.applied_settings (
  name text primary key,
  value text not null
);

do $$
begin
  alter table basalt.applied_settings owner to supabase_admin;
exception when insufficient_privilege or undefined_object then null; -- no superuser: it stays with whoever sets this up
end $$;
