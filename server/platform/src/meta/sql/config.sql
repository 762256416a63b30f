select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    s.name,
    s.setting,
    s.category,
    pg_catalog.split_part(s.category, ' / ', 1) as "group",
    pg_catalog.split_part(s.category, ' / ', 2) as subgroup,
    s.unit,
    s.short_desc,
    s.extra_desc,
    s.context,
    s.vartype,
    s.source,
    s.min_val,
    s.max_val,
    s.enumvals,
    s.boot_val,
    s.reset_val,
    s.sourcefile,
    s.sourceline,
    s.pending_restart
  from pg_catalog.pg_settings s
  where ($6::text is null or $6 = s.name)
    -- The others do not apply to settings.
    and (row($1::text[], $2::text[], $3::boolean, $7::boolean) is null or true)
  order by s.category, s.name
  limit $4::bigint offset $5::bigint
) x
