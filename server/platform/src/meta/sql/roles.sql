-- $3 includes the roles that Postgres predefines (pg_…).
select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    r.oid::bigint as id,
    r.rolname as name,
    r.rolsuper as is_superuser,
    r.rolcreatedb as can_create_db,
    r.rolcreaterole as can_create_role,
    r.rolinherit as inherit_role,
    r.rolcanlogin as can_login,
    r.rolreplication as is_replication_role,
    r.rolbypassrls as can_bypass_rls,
    (select pg_catalog.count(*) from pg_catalog.pg_stat_activity a where a.usesysid = r.oid) as active_connections,
    -- Without a limit of its own a role has the server's.
    case r.rolconnlimit when -1 then pg_catalog.current_setting('max_connections')::int else r.rolconnlimit end
      as connection_limit,
    r.rolpassword as password,
    r.rolvaliduntil::text as valid_until,
    (
      select pg_catalog.json_object_agg(
        pg_catalog.split_part(entry, '=', 1), pg_catalog.substr(entry, pg_catalog.strpos(entry, '=') + 1) order by place
      )
      from pg_catalog.unnest(r.rolconfig) with ordinality settings (entry, place)
    ) as config
  from pg_catalog.pg_roles r
  where ($6::text is null or $6 = r.oid::text)
    and ($3::boolean is true or r.rolname !~ '^pg_')
    -- Roles are in no schema and have no columns.
    and (row($1::text[], $2::text[], $7::boolean) is null or true)
  order by r.oid
  limit $4::bigint offset $5::bigint
) x
