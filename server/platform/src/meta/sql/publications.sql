select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    p.oid::bigint as id,
    p.pubname as name,
    pg_catalog.pg_get_userbyid(p.pubowner) as owner,
    p.pubinsert as publish_insert,
    p.pubupdate as publish_update,
    p.pubdelete as publish_delete,
    p.pubtruncate as publish_truncate,
    -- Null stands for all tables. Tables of schemas that are published as a whole are not listed.
    case when not p.puballtables then coalesce((
      select pg_catalog.json_agg(
        pg_catalog.json_build_object('id', c.oid::bigint, 'name', c.relname, 'schema', n.nspname) order by c.oid
      )
      from pg_catalog.pg_publication_rel m
      join pg_catalog.pg_class c on c.oid = m.prrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where m.prpubid = p.oid
    ), '[]'::json) end as tables
  from pg_catalog.pg_publication p
  where ($6::text is null or $6 = p.oid::text)
    -- Publications are in no schema and have no columns.
    and (row($1::text[], $2::text[], $3::boolean, $7::boolean) is null or true)
  order by p.oid
  limit $4::bigint offset $5::bigint
) x
