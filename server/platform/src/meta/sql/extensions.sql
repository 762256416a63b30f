-- $6 is a name.
select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select e.name, n.nspname as schema, e.default_version, i.extversion as installed_version, e.comment
  from pg_catalog.pg_available_extensions e
  left join pg_catalog.pg_extension i on i.extname = e.name
  left join pg_catalog.pg_namespace n on n.oid = i.extnamespace
  where ($6::text is null or $6 = e.name)
    -- The others do not apply: the list is the server's, whatever the schema.
    and (row($1::text[], $2::text[], $3::boolean, $7::boolean) is null or true)
  order by e.name
  limit $4::bigint offset $5::bigint
) x
