-- Without columns if $7 is false.
select coalesce(
  pg_catalog.json_agg(case when $7::boolean is false then x.short else x.long end order by x.id),
  '[]'::json
)
from (
  select rel.id, pg_catalog.row_to_json(rel) as short, pg_catalog.row_to_json(whole) as long
  from (
    select
      c.oid::bigint as id,
      n.nspname as schema,
      c.relname as name,
