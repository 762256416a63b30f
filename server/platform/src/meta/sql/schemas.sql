select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select n.oid::bigint as id, n.nspname as name, pg_catalog.pg_get_userbyid(n.nspowner) as owner
  from pg_catalog.pg_namespace n
  where ($6::text is null or $6 = n.oid::text)
    -- Schemas of temporary tables are nobody's to work with.
    and n.nspname !~ '^pg_(toast_)?temp_'
    -- Here $3 also decides about a single schema, unlike in the other files.
    and case
      when pg_catalog.cardinality($1::text[]) > 0 then n.nspname = any ($1)
      else ($3::boolean is true or n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast'))
        and ($2::text[] is null or n.nspname <> all ($2))
    end
    and ($7::boolean is null or true)
  order by n.oid
  limit $4::bigint offset $5::bigint
) x
