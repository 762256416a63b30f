-- $7 includes array types.
select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    t.oid::bigint as id,
    t.typname as name,
    n.nspname as schema,
    pg_catalog.format_type(t.oid, null) as format,
    coalesce((
      select pg_catalog.json_agg(e.enumlabel order by e.enumsortorder)
      from pg_catalog.pg_enum e
      where e.enumtypid = t.oid
    ), '[]'::json) as enums,
    coalesce((
      select pg_catalog.json_agg(
        pg_catalog.json_build_object('name', a.attname, 'type_id', a.atttypid::bigint) order by a.attnum
      )
      from pg_catalog.pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    ), '[]'::json) as attributes,
    pg_catalog.obj_description(t.oid, 'pg_type') as comment,
    c.oid::bigint as type_relation_id
  from pg_catalog.pg_type t
  join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  left join pg_catalog.pg_class c on c.oid = t.typrelid
  -- Not the row types of tables and views.
  where (t.typrelid = 0 or c.relkind = 'c')
    and (
      $7::boolean is true
      or not exists (select from pg_catalog.pg_type e where e.oid = t.typelem and e.typarray = t.oid)
    )
    and ($6::text is null or $6 = t.oid::text)
    and not pg_catalog.pg_is_other_temp_schema(n.oid)
    and {schemas:n.nspname}
  order by t.oid
  limit $4::bigint offset $5::bigint
) x
