-- A privilege on a table is one on each of its columns. $6 is `<table>.<position>`.
select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    c.oid::text || '.' || a.attnum::text as column_id,
    n.nspname as relation_schema,
    c.relname as relation_name,
    a.attname as column_name,
    p.privileges
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  cross join lateral (
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'grantor', grantor.rolname,
      'grantee', coalesce(grantee.rolname, 'PUBLIC'),
      'privilege_type', acl.privilege_type,
      'is_grantable', acl.is_grantable
    ) order by acl.grantor, acl.grantee, acl.privilege_type, acl.is_grantable) as privileges
    from (
      select * from pg_catalog.aclexplode(coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)))
      union
      select * from pg_catalog.aclexplode(a.attacl)
    ) acl
    join pg_catalog.pg_roles grantor on grantor.oid = acl.grantor
    left join pg_catalog.pg_roles grantee on grantee.oid = acl.grantee
    where acl.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')
  ) p
  where c.relkind in ('r', 'p', 'v', 'm', 'f')
    and p.privileges is not null
    and not pg_catalog.pg_is_other_temp_schema(n.oid)
    and ($6::text is null or $6 = c.oid::text || '.' || a.attnum::text)
    and {schemas:n.nspname}
    and ($7::boolean is null or true)
  order by c.oid, a.attnum
  limit $4::bigint offset $5::bigint
) x
