-- Indexes that were not finished.
select
  'invalid_index' as name,
  'Invalid Index' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['PERFORMANCE'] as categories,
  'CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY has failed and left an index that no query uses. Writes '
  'still cost time.' as description,
  pg_catalog.format(
    'The index `%s` of the table `%s.%s` is not valid, so no query uses it. Drop it and create it again.',
    x.relname, n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0030_invalid_index' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table',
    'index_name', x.relname
  ) as metadata,
  pg_catalog.format('invalid_index_%s_%s_%s', n.nspname, c.relname, x.relname) as cache_key
from pg_catalog.pg_index i
join pg_catalog.pg_class x on x.oid = i.indexrelid
join pg_catalog.pg_class c on c.oid = i.indrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where not i.indisvalid
  and x.relkind = 'i' -- an index of a partitioned table is not valid until each partition has one
  -- Not one that is being built at the moment.
  and not exists (select from pg_catalog.pg_stat_progress_create_index b where b.index_relid = i.indexrelid)
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
