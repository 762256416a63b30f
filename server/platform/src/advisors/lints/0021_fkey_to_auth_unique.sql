-- Foreign keys to tables of auth that do not use the primary key.
select
  'fkey_to_auth_unique' as name,
  'Foreign Key to Auth Unique Constraint' as title,
  'ERROR' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'Updates of the auth service may replace its unique constraints. A foreign key to a column that is not the '
  'primary key stops them.' as description,
  pg_catalog.format(
    'The foreign key `%s` of the table `%s.%s` refers to a unique column of `auth.%s` that is not its primary '
    'key.',
    f.conname, n.nspname, c.relname, u.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0021_fkey_to_auth_unique' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'foreign_key', f.conname
  ) as metadata,
  pg_catalog.format('fkey_to_auth_unique_%s_%s_%s', n.nspname, c.relname, f.conname) as cache_key
from pg_catalog.pg_constraint f
join pg_catalog.pg_class c on c.oid = f.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_class u on u.oid = f.confrelid
join pg_catalog.pg_namespace a on a.oid = u.relnamespace
join pg_catalog.pg_index i on i.indexrelid = f.conindid -- the index that the foreign key relies on
where f.contype = 'f'
  and f.conparentid = 0 -- a partition has copies of its parent's foreign keys
  and a.nspname = 'auth'
  and not i.indisprimary
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
