-- Functions of the API that run with their owner's rights. Signed-in users can call them.
select
  'authenticated_security_definer_function_executable' as name,
  'Signed-In Users Can Execute SECURITY DEFINER Function' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'A function with SECURITY DEFINER runs with its owner''s rights, so policies may not apply. Signed-in users '
  'can call it through the API.' as description,
  pg_catalog.format(
    'Signed-in users can call the function `%1$s.%2$s(%3$s)` at /rest/v1/rpc/%2$s, and it runs with the rights of '
    'its owner.',
    n.nspname, f.proname, pg_catalog.pg_get_function_identity_arguments(f.oid)
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint='
  '0029_authenticated_security_definer_function_executable' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', f.proname,
    'arguments', pg_catalog.pg_get_function_identity_arguments(f.oid),
    'language', l.lanname,
    'security_definer', true
  ) as metadata,
  pg_catalog.format(
    'authenticated_security_definer_function_executable_%s_%s_%s',
    n.nspname, f.proname, pg_catalog.pg_get_function_identity_arguments(f.oid)
  ) as cache_key
from pg_catalog.pg_proc f
join pg_catalog.pg_namespace n on n.oid = f.pronamespace
join pg_catalog.pg_language l on l.oid = f.prolang
where f.prosecdef
  -- Functions of triggers cannot be called.
  and f.prorettype not in (
    'pg_catalog.trigger'::pg_catalog.regtype,
    'pg_catalog.event_trigger'::pg_catalog.regtype
  )
  and exists (
    select
    from pg_catalog.pg_roles r
    where r.rolname = 'authenticated'
      and pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
      and pg_catalog.has_function_privilege(r.oid, f.oid, 'EXECUTE')
  )
  {api_schemas}
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = f.oid}
order by cache_key
