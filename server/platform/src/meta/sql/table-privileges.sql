select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    c.oid::bigint as relation_id,
    n.nspname as schema,
    c.relname as name,
    case c.relkind
      when 'r' then 'table' when 'v' then 'view' when 'm' then 'materialized_view' when 'f' then 'foreign_table'
      else 'partitioned_table'
    end as kind,
    coalesce((
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'grantor', grantor.rolname,
        'grantee', coalesce(grantee.rolname, 'PUBLIC'),
        'privilege_type', acl.privilege_type,
        'is_grantable', acl.is_grantable
      ) order by acl.place)
      -- Without a list, only the owner has rights.
      from pg_catalog.aclexplode(coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)))
        with ordinality acl (grantor, grantee, privilege_type, is_grantable, place)
      join pg_catalog.pg_roles grantor on grantor.oid = acl.grantor
      left join pg_catalog.pg_roles grantee on grantee.oid = acl.grantee
    ), '[]'::json) as privileges
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not pg_catalog.pg_is_other_temp_schema(n.oid)
    and ($6::text is null or $6 = c.oid::text)
    and {schemas:n.nspname}
    and ($7::boolean is null or true)
  order by c.oid
  limit $4::bigint offset $5::bigint
) x
