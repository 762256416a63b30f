-- Foreign keys whose columns have no index.
select
  'unindexed_foreign_keys' as name,
  'Unindexed foreign keys' as title,
  'INFO' as level,
  'EXTERNAL' as facing,
  array['PERFORMANCE'] as categories,
  'A foreign key without an index on its columns makes joins slow, and each delete in the other table reads the '
  'whole table.' as description,
  pg_catalog.format(
    'No index of `%s.%s` starts with the columns of the foreign key `%s`.',
    n.nspname, c.relname, f.conname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0001_unindexed_foreign_keys' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table',
    'fkey_name', f.conname,
    'fkey_columns', f.conkey
  ) as metadata,
  pg_catalog.format('unindexed_foreign_keys_%s_%s_%s', n.nspname, c.relname, f.conname) as cache_key
from pg_catalog.pg_constraint f
join pg_catalog.pg_class c on c.oid = f.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where f.contype = 'f'
  and f.conparentid = 0 -- a partition has copies of its parent's foreign keys, and gets its parent's indexes
  -- The first columns of the index are the foreign key's columns, in any order: a search for all of them can use it.
  and not exists (
    select
    from pg_catalog.pg_index i
    where i.indrelid = f.conrelid
      and i.indisvalid
      and i.indnkeyatts >= pg_catalog.cardinality(f.conkey) -- columns after INCLUDE do not count
      and (i.indkey::pg_catalog.int2[])[0:pg_catalog.cardinality(f.conkey) - 1] @> f.conkey
  )
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
