-- Tables of which more than 70 %, and more than 20 MB, are empty space. This is an estimate from the statistics.
select
  'table_bloat' as name,
  'Table Bloat' as title,
  'INFO' as level,
  'EXTERNAL' as facing,
  array['PERFORMANCE'] as categories,
  'Space that deleted and old rows have left makes a table larger than its rows need, and reading it slower.'
    as description,
  pg_catalog.format(
    'About %3$s of the %4$s of the table `%1$s.%2$s` are empty. VACUUM FULL gives the space back; it locks the '
    'table.',
    n.nspname, c.relname, pg_catalog.pg_size_pretty(s.bytes - e.bytes), pg_catalog.pg_size_pretty(s.bytes)
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0020_table_bloat' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('table_bloat_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
cross join lateral (select pg_catalog.pg_relation_size(c.oid) as bytes) s
cross join lateral (
  -- What the rows need: for each 28 bytes of header and pointer, and the average widths that ANALYZE has measured. The
  -- view pg_stats hides tables with row-level security, so the table below it is read.
  select
    (
      c.reltuples
      * (28 + pg_catalog.sum(w.stawidth * (1 - w.stanullfrac)))
      * 100
      / coalesce(
        (
          select o.option_value::pg_catalog.int4
          from pg_catalog.pg_options_to_table(c.reloptions) o
          where o.option_name = 'fillfactor'
        ),
        100
      )
    )::pg_catalog.int8 as bytes
  from pg_catalog.pg_statistic w
  where w.starelid = c.oid and not w.stainherit
) e
where c.relkind in ('r', 'm')
  and c.relpages > 2560 -- 20 MB at least, see below; saves the look-ups for small tables
  and c.reltuples >= 0 -- -1: not yet measured
  and s.bytes - e.bytes > 20 * 1024 * 1024
  and s.bytes - e.bytes > 0.7 * s.bytes
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
