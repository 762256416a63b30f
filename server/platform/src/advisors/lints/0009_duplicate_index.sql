-- Indexes of one table that differ only in their names.
select
  'duplicate_index' as name,
  'Duplicate Index' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['PERFORMANCE'] as categories,
  'Two indexes of the same columns in the same form take twice the time to write and twice the space.'
    as description,
  pg_catalog.format(
    'These indexes of `%s.%s` are the same: %s. One of them is enough.',
    n.nspname, c.relname, pg_catalog.array_agg(x.relname order by x.relname)
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0009_duplicate_index' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', case c.relkind when 'm' then 'materialized view' else 'table' end,
    'indexes', pg_catalog.array_agg(x.relname order by x.relname)
  ) as metadata,
  pg_catalog.format(
    'duplicate_index_%s_%s_%s',
    n.nspname, c.relname, pg_catalog.array_agg(x.relname order by x.relname)
  ) as cache_key
from pg_catalog.pg_index i
join pg_catalog.pg_class x on x.oid = i.indexrelid
join pg_catalog.pg_class c on c.oid = i.indrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where not c.relispartition -- the partitioned table is reported
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
group by
  c.oid,
  n.nspname,
  c.relname,
  c.relkind,
  -- All that makes two indexes differ: method, columns, order, operators, expressions, condition, rules.
  x.relam,
  x.reloptions,
  i.indnkeyatts,
  i.indkey::pg_catalog.text,
  i.indoption::pg_catalog.text,
  i.indclass::pg_catalog.text,
  i.indcollation::pg_catalog.text,
  pg_catalog.pg_get_expr(i.indexprs, i.indrelid),
  pg_catalog.pg_get_expr(i.indpred, i.indrelid),
  i.indisunique,
  i.indnullsnotdistinct,
  i.indisexclusion,
  i.indimmediate,
  i.indisvalid
having pg_catalog.count(*) > 1
order by cache_key
