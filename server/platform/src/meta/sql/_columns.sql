select
  a.attrelid::bigint as table_id,
  n.nspname as schema,
  c.relname as "table",
  a.attrelid::text || '.' || a.attnum::text as id,
  a.attnum as ordinal_position,
  a.attname as name,
  pg_catalog.pg_get_expr(d.adbin, d.adrelid) as default_value,
  -- A domain is described by its base type, as in the standard's information_schema.
  case
    when r.typelem <> 0 and r.typlen = -1 then 'ARRAY'
    when r.typnamespace = 'pg_catalog'::pg_catalog.regnamespace then pg_catalog.format_type(r.oid, null)
    else 'USER-DEFINED'
  end as data_type,
  r.typname as format,
  a.attidentity <> '' as is_identity,
  case a.attidentity when 'a' then 'ALWAYS' when 'd' then 'BY DEFAULT' end as identity_generation,
  a.attgenerated <> '' as is_generated,
  not (a.attnotnull or t.typtype = 'd' and t.typnotnull) as is_nullable,
  c.relkind in ('r', 'p')
    or c.relkind in ('v', 'f') and pg_catalog.pg_column_is_updatable(c.oid, a.attnum, false) as is_updatable,
  exists (
    select from pg_catalog.pg_constraint u
    where u.conrelid = a.attrelid and u.contype = 'u' and u.conkey = array[a.attnum]
  ) as is_unique,
  coalesce((
    select pg_catalog.json_agg(e.enumlabel order by e.enumsortorder)
    from pg_catalog.pg_enum e
    where e.enumtypid in (r.oid, r.typelem)
  ), '[]'::json) as enums,
  -- Only the oldest check of just this column: the field holds one expression.
  (
    select pg_catalog.pg_get_expr(k.conbin, k.conrelid, true)
    from pg_catalog.pg_constraint k
    where k.conrelid = a.attrelid and k.contype = 'c' and k.conkey = array[a.attnum]
    order by k.oid
    limit 1
  ) as "check",
  pg_catalog.col_description(a.attrelid, a.attnum) as comment
from pg_catalog.pg_attribute a
join pg_catalog.pg_type t on t.oid = a.atttypid
join pg_catalog.pg_type r on r.oid = case t.typtype when 'd' then t.typbasetype else t.oid end
left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
order by a.attnum
