-- skip if: exists (select from basalt.platform_migrations where version = '0002' and adopted)

-- The schema in which dumps of hosted projects create the extension pg_graphql. It exists there before the extension.
create schema if not exists graphql;
comment on schema graphql is 'For the extension pg_graphql, which schemas of hosted projects create';
grant usage on schema graphql to postgres, anon, authenticated, service_role;

do $$
begin
  alter schema graphql owner to supabase_admin;
exception when insufficient_privilege then null; -- no superuser: it stays with whoever sets this up
end $$;
