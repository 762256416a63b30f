-- Tables of the API without row-level security.
select
  'rls_disabled_in_public' as name,
  'RLS Disabled in Public' as title,
  'ERROR' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'The API serves this table, and row-level security is off: whoever has the public key can read all of its '
  'rows.' as description,
  pg_catalog.format(
    'Row-level security of the table `%s.%s` is off, and the API serves the table.',
    n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0013_rls_disabled_in_public' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('rls_disabled_in_public_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p')
  and not c.relrowsecurity
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
