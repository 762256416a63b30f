select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    i.indexrelid::bigint as id,
    i.indrelid::bigint as table_id,
    n.nspname as schema,
    i.indnatts as number_of_attributes,
    i.indnkeyatts as number_of_key_attributes,
    i.indisunique as is_unique,
    i.indisprimary as is_primary,
    i.indisexclusion as is_exclusion,
    i.indimmediate as is_immediate,
    i.indisclustered as is_clustered,
    i.indisvalid as is_valid,
    i.indcheckxmin as check_xmin,
    i.indisready as is_ready,
    i.indislive as is_live,
    i.indisreplident as is_replica_identity,
    pg_catalog.to_json(i.indkey::int2[]) as key_attributes,
    pg_catalog.to_json(i.indcollation::oid[]::bigint[]) as collation,
    pg_catalog.to_json(i.indclass::oid[]::bigint[]) as class,
    pg_catalog.to_json(i.indoption::int2[]) as options,
    i.indpred::text as index_predicate,
    pg_catalog.obj_description(i.indexrelid, 'pg_class') as comment,
    pg_catalog.pg_get_indexdef(i.indexrelid) as index_definition,
    am.amname as access_method,
    -- In the order of the index. An expression has the number 0 and the name that Postgres has given it.
    (
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'data_type', pg_catalog.format_type(coalesce(a.atttypid, own.atttypid), coalesce(a.atttypmod, own.atttypmod)),
        'attribute_name', coalesce(a.attname, own.attname),
        'attribute_number', key.attnum
      ) order by key.place)
      from pg_catalog.unnest(i.indkey) with ordinality key (attnum, place)
      join pg_catalog.pg_attribute own on own.attrelid = i.indexrelid and own.attnum = key.place
      left join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = key.attnum and key.attnum <> 0
    ) as index_attributes
  from pg_catalog.pg_index i
  join pg_catalog.pg_class c on c.oid = i.indexrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_am am on am.oid = c.relam
  where ($6::text is null or $6 = c.oid::text)
    and not pg_catalog.pg_is_other_temp_schema(n.oid)
    and {schemas:n.nspname}
    and ($7::boolean is null or true)
  order by c.oid
  limit $4::bigint offset $5::bigint
) x
