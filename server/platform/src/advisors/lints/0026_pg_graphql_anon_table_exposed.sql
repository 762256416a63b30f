-- What the GraphQL schema shows to callers that have not signed in, if the extension pg_graphql is there.
select
  'pg_graphql_anon_table_exposed' as name,
  'Public Can See Object in GraphQL Schema' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'The GraphQL schema shows callers that have not signed in the names and columns of all that the role anon can '
  'read. Policies protect rows, not names.' as description,
  pg_catalog.format(
    'The GraphQL schema shows `%s.%s` to callers that have not signed in, because the role anon has the right to '
    'read it.',
    n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0026_pg_graphql_anon_table_exposed' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', k.kind
  ) as metadata,
  pg_catalog.format('pg_graphql_anon_table_exposed_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
-- These are the kinds that GraphQL serves; of a partitioned table it serves the partitions.
join (values ('r', 'table'), ('v', 'view'), ('m', 'materialized view'), ('f', 'foreign table')) k (letter, kind)
  on k.letter = c.relkind::pg_catalog.text
where exists (select from pg_catalog.pg_extension e where e.extname = 'pg_graphql')
  -- A right to read one column is enough.
  and exists (
    select
    from pg_catalog.pg_roles r
    where r.rolname = 'anon'
      and pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
      and pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT')
  )
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
