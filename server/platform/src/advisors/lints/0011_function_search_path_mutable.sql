-- Functions whose unqualified names depend on the caller's search path. Functions of one name differ in the hash of
-- their text.
select
  'function_search_path_mutable' as name,
  'Function Search Path Mutable' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'A function without a search_path of its own finds unqualified names in the schemas of whoever calls it. The '
  'caller can so give it other objects.' as description,
  pg_catalog.format('The function `%s.%s` has no search_path of its own.', n.nspname, f.proname) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0011_function_search_path_mutable' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', f.proname,
    'type', 'function'
  ) as metadata,
  pg_catalog.format(
    'function_search_path_mutable_%s_%s_%s',
    n.nspname, f.proname, pg_catalog.md5(f.prosrc)
  ) as cache_key
from pg_catalog.pg_proc f
join pg_catalog.pg_namespace n on n.oid = f.pronamespace
where f.prokind in ('f', 'p') -- aggregates and window functions have no settings
  and f.prosqlbody is null -- the names in such a body (BEGIN ATOMIC, RETURN) were looked up when it was created
  and not exists (
    select from pg_catalog.unnest(f.proconfig) s (setting) where s.setting ~ '^search_path='
  )
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = f.oid}
order by cache_key
