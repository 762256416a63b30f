select
  n.nspname as schema,
  c.relname as name,
  c.relrowsecurity as rls_enabled,
  n.nspname in (
    'auth', 'basalt', 'basalt_http', 'basalt_platform', 'cron', 'extensions', 'graphql', 'graphql_public', 'net',
    'pgbouncer', 'pgmq', 'pgsodium', 'realtime', 'storage', 'storage_vectors', 'supabase_functions',
    'supabase_migrations', 'vault', 'pg_catalog', 'information_schema'
  ) as is_platforms,
  pg_catalog.pg_stat_get_live_tuples(c.oid) as live_rows_estimate,
  pg_catalog.obj_description(c.oid, 'pg_class') as comment,
  (
    select coalesce(pg_catalog.jsonb_agg(a.attname order by k.position), '[]')
    from pg_catalog.pg_index i, pg_catalog.unnest(i.indkey::smallint[]) with ordinality k (number, position)
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
    where i.indrelid = c.oid and i.indisprimary
  ) as primary_keys,
  (
    select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'name', f.conname,
      'source_table', pg_catalog.format('%s.%s', sn.nspname, sc.relname),
      'source_columns', (
        select pg_catalog.jsonb_agg(a.attname order by k.position)
        from pg_catalog.unnest(f.conkey) with ordinality k (number, position)
        join pg_catalog.pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.number
      ),
      'target_table', pg_catalog.format('%s.%s', tn.nspname, tc.relname),
      'target_columns', (
        select pg_catalog.jsonb_agg(a.attname order by k.position)
        from pg_catalog.unnest(f.confkey) with ordinality k (number, position)
        join pg_catalog.pg_attribute a on a.attrelid = f.confrelid and a.attnum = k.number
      )
    ) order by f.conname)
    from pg_catalog.pg_constraint f
    join pg_catalog.pg_class sc on sc.oid = f.conrelid
    join pg_catalog.pg_namespace sn on sn.oid = sc.relnamespace
    join pg_catalog.pg_class tc on tc.oid = f.confrelid
    join pg_catalog.pg_namespace tn on tn.oid = tc.relnamespace
    where f.contype = 'f' and f.conparentid = 0 and c.oid in (f.conrelid, f.confrelid)
  ) as foreign_keys,
  (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'name', a.attname,
      'data_type', case
        when t.typelem <> 0 and t.typlen = -1 then 'ARRAY'
        when t.typtype in ('e', 'c') or t.typnamespace <> 'pg_catalog'::pg_catalog.regnamespace then 'USER-DEFINED'
        else pg_catalog.format_type(a.atttypid, null)
      end,
      'format', t.typname,
      'is_identity', a.attidentity <> '',
      'identity_generation', case a.attidentity when 'a' then 'ALWAYS' when 'd' then 'BY DEFAULT' end,
      'is_generated', a.attgenerated <> '',
      'is_nullable', not a.attnotnull,
      'is_updatable', a.attgenerated = '',
      'is_unique', exists (
        select from pg_catalog.pg_constraint u
        where u.conrelid = c.oid and u.contype = 'u' and u.conkey = array[a.attnum]
      ),
      'default_value', case when a.attgenerated = '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end,
      'enums', (
        select pg_catalog.jsonb_agg(e.enumlabel order by e.enumsortorder)
        from pg_catalog.pg_enum e
        where e.enumtypid = a.atttypid
      ),
      'check', (
        select pg_catalog.pg_get_expr(k.conbin, k.conrelid)
        from pg_catalog.pg_constraint k
        where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
        order by k.oid
        limit 1
      ),
      'comment', pg_catalog.col_description(c.oid, a.attnum)
    ) order by a.attnum), '[]')
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_type t on t.oid = a.atttypid
    left join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  ) as columns
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p')
  and case
    when pg_catalog.cardinality($1::text[]) > 0 then n.nspname = any ($1::text[])
    else n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast') and n.nspname !~ '^pg_(toast_)?temp_'
  end
order by n.nspname, c.relname
