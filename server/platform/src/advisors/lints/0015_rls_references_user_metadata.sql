-- Policies that depend on what users write into their own account.
select
  'rls_references_user_metadata' as name,
  'RLS references user metadata' as title,
  'ERROR' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'Users can write anything into their own user_metadata. A policy that reads it lets them give themselves '
  'rights.' as description,
  pg_catalog.format(
    'The policy `%3$s` of the table `%1$s.%2$s` reads user_metadata, which users can change. Use app_metadata.',
    n.nspname, c.relname, p.polname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0015_rls_references_user_metadata' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('rls_references_user_metadata_%s_%s_%s', n.nspname, c.relname, p.polname) as cache_key
from pg_catalog.pg_policy p
join pg_catalog.pg_class c on c.oid = p.polrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
-- The name of a claim comes after what reads the token. Only the text is compared, so a false alarm is possible.
where pg_catalog.concat_ws(
    ' ',
    pg_catalog.pg_get_expr(p.polqual, p.polrelid),
    pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid)
  ) ~ '(\mjwt\(\)|request\.jwt\.claim).*user_metadata'
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
