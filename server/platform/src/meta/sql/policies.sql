select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    p.oid::bigint as id,
    n.nspname as schema,
    c.relname as "table",
    c.oid::bigint as table_id,
    p.polname as name,
    case when p.polpermissive then 'PERMISSIVE' else 'RESTRICTIVE' end as action,
    -- The list {0} stands for everybody.
    case
      when p.polroles = '{0}'::oid[] then '["public"]'::json
      else (
        select pg_catalog.json_agg(r.rolname order by r.rolname)
        from pg_catalog.pg_roles r
        where r.oid = any (p.polroles)
      )
    end as roles,
    case p.polcmd
      when 'r' then 'SELECT' when 'a' then 'INSERT' when 'w' then 'UPDATE' when 'd' then 'DELETE' else 'ALL'
    end as command,
    pg_catalog.pg_get_expr(p.polqual, p.polrelid) as definition,
    pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) as "check"
  from pg_catalog.pg_policy p
  join pg_catalog.pg_class c on c.oid = p.polrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where ($6::text is null or $6 = p.oid::text)
    and {schemas:n.nspname}
    and ($7::boolean is null or true)
  order by p.oid
  limit $4::bigint offset $5::bigint
) x
