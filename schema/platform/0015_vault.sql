-- skip if: to_regnamespace('vault') is not null

-- The extension supabase_vault, which every hosted project has from its beginning, so that migrations use it without
-- asking for it. A server that does not have its files goes without.

do $$
begin
  if exists (select from pg_catalog.pg_available_extensions where name = 'supabase_vault') then
    create extension supabase_vault cascade;
  end if;
exception when others then
  raise warning 'schema "vault" is not made: %', sqlerrm;
end $$;
