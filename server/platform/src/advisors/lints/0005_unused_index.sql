-- Indexes that no query has used.
select
  'unused_index' as name,
  'Unused Index' as title,
  'INFO' as level,
  'EXTERNAL' as facing,
  array['PERFORMANCE'] as categories,
  'Each write to a table also writes to its indexes. An index that no query has read costs time and space and '
  'helps nobody.' as description,
  pg_catalog.format(
    'No query has used the index `%s` of the table `%s.%s` since the statistics were reset.',
    x.relname, n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0005_unused_index' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('unused_index_%s_%s_%s', n.nspname, c.relname, x.relname) as cache_key
from pg_catalog.pg_index i
join pg_catalog.pg_class x on x.oid = i.indexrelid
join pg_catalog.pg_class c on c.oid = i.indrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where x.relkind = 'i' -- an index of a partitioned table stores nothing
  and pg_catalog.pg_stat_get_numscans(i.indexrelid) = 0
  -- These are not for queries: they keep a rule, or they name the rows in replication.
  and not (i.indisunique or i.indisprimary or i.indisexclusion or i.indisreplident)
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
