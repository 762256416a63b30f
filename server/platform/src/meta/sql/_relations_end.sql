    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in (@)
      and not pg_catalog.pg_is_other_temp_schema(n.oid)
      and ($6::text is null or $6 = c.oid::text)
      and {schemas:n.nspname}
    order by c.oid
    limit $4::bigint offset $5::bigint
  ) rel
  cross join lateral (
    select rel.*, case when $7 is false then null else coalesce((
      select pg_catalog.json_agg(col)
      from (
        select from_columns.*
        from pg_catalog.pg_class c
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        cross join lateral (
          {columns}
        ) from_columns
        where c.oid = rel.id::oid
      ) col
    ), '[]'::json) end as columns
  ) whole
) x
