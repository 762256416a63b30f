-- skip if: exists (select from basalt.platform_migrations where version = '0002' and adopted)

-- A new project of hosted Supabase has neither citext nor pg_trgm: its schema makes them itself, in the schema that it
-- names ("public", often), and would find them in another one here. They go from databases that nobody has used yet.
do $$
begin
  if not exists (select from supabase_migrations.schema_migrations)
    and not exists (select from pg_catalog.pg_class where relnamespace = 'public'::regnamespace)
    and not exists (select from pg_catalog.pg_proc where pronamespace = 'public'::regnamespace)
  then
    drop extension if exists citext;
    drop extension if exists pg_trgm;
  end if;
exception when dependent_objects_still_exist then null; -- in use elsewhere
end $$;
