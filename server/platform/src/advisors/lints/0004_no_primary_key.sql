-- Tables without a primary key.
select
  'no_primary_key' as name,
  'No Primary Key' as title,
  'INFO' as level,
  'EXTERNAL' as facing,
  array['PERFORMANCE'] as categories,
  'Without a primary key nothing names exactly one row: updates of one row are slow, and replication cannot '
  'send them.' as description,
  pg_catalog.format('The table `%s.%s` has no primary key.', n.nspname, c.relname) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0004_no_primary_key' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('no_primary_key_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p')
  and not c.relispartition -- the partitioned table is reported
  and not exists (
    select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisprimary
  )
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
