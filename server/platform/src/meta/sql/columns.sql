-- $6 is `<table>.<position>`, or `<table>` for all columns of a table. $7 is not used.
select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select col.*
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    {columns}
  ) col
  where c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not pg_catalog.pg_is_other_temp_schema(n.oid)
    -- The table first, so that only its columns are described.
    and ($6::text is null or pg_catalog.split_part($6, '.', 1) = c.oid::text and $6 in (col.id, col.table_id::text))
    and {schemas:n.nspname}
    and ($7::boolean is null or true)
  order by col.table_id, col.ordinal_position
  limit $4::bigint offset $5::bigint
) x
