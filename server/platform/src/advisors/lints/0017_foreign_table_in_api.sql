-- Foreign tables of the API.
select
  'foreign_table_in_api' as name,
  'Foreign Table in API' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'Row-level security does not exist for a foreign table: whoever may read it sees all rows.' as description,
  pg_catalog.format(
    'Callers of the API can read all rows of the foreign table `%s.%s`.',
    n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0017_foreign_table_in_api' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'foreign table'
  ) as metadata,
  pg_catalog.format('foreign_table_in_api_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'f'
  -- Only what a role of the API can read. A right to read one column is enough.
  and exists (
    select
    from pg_catalog.pg_roles r
    where r.rolname in ('anon', 'authenticated')
      and pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
      and pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT')
  )
  {api_schemas}
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
