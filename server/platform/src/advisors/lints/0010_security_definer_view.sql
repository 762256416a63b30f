-- Views of the API that read their tables with the rights of their owner.
select
  'security_definer_view' as name,
  'Security Definer View' as title,
  'ERROR' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'A view without the option security_invoker reads its tables with the rights of the view''s owner. Policies '
  'that should apply to the caller do not apply.' as description,
  pg_catalog.format(
    'The view `%s.%s` reads its tables with its owner''s rights. Set security_invoker = on, if the caller''s rights '
    'should count.',
    n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0010_security_definer_view' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'view'
  ) as metadata,
  pg_catalog.format('security_definer_view_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'v'
  -- The value is kept as it was written: on, true, yes, 1.
  and not exists (
    select
    from pg_catalog.pg_options_to_table(c.reloptions) o
    where o.option_name = 'security_invoker' and o.option_value::pg_catalog.bool
  )
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
