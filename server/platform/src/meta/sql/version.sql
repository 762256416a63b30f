select pg_catalog.json_agg(x)
from (
  select
    pg_catalog.version() as version,
    pg_catalog.current_setting('server_version_num')::int as version_number,
    (select pg_catalog.count(*) from pg_catalog.pg_stat_activity) as active_connections,
    pg_catalog.current_setting('max_connections')::int as max_connections
) x
-- The route takes no parameters.
where row($1::text[], $2::text[], $3::boolean, $4::bigint, $5::bigint, $6::text, $7::boolean) is null or true
