-- Tables with policies that are not in force.
select
  'policy_exists_rls_disabled' as name,
  'Policy Exists RLS Disabled' as title,
  'ERROR' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'Policies have no effect while row-level security of their table is off.' as description,
  pg_catalog.format(
    'Row-level security of the table `%s.%s` is off, so these policies have no effect: %s.',
    n.nspname, c.relname, pg_catalog.array_agg(p.polname order by p.polname)
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0007_policy_exists_rls_disabled' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('policy_exists_rls_disabled_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_policy p
join pg_catalog.pg_class c on c.oid = p.polrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where not c.relrowsecurity
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
group by n.nspname, c.relname
order by cache_key
