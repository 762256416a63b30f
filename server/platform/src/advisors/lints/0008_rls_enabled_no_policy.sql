-- Tables with row-level security and without a policy.
select
  'rls_enabled_no_policy' as name,
  'RLS Enabled No Policy' as title,
  'INFO' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'If row-level security is on and there is no policy, callers of the API see no row and cannot write any.'
    as description,
  pg_catalog.format(
    'Row-level security of the table `%s.%s` is on, but the table has no policy.',
    n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0008_rls_enabled_no_policy' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('rls_enabled_no_policy_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p')
  and c.relrowsecurity
  and not exists (select from pg_catalog.pg_policy p where p.polrelid = c.oid)
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
