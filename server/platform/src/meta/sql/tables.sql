{relations_begin}
      c.relrowsecurity as rls_enabled,
      c.relforcerowsecurity as rls_forced,
      case c.relreplident when 'd' then 'DEFAULT' when 'i' then 'INDEX' when 'f' then 'FULL' else 'NOTHING' end
        as replica_identity,
      pg_catalog.pg_total_relation_size(c.oid) as bytes,
      pg_catalog.pg_size_pretty(pg_catalog.pg_total_relation_size(c.oid)) as size,
      pg_catalog.pg_stat_get_live_tuples(c.oid) as live_rows_estimate,
      pg_catalog.pg_stat_get_dead_tuples(c.oid) as dead_rows_estimate,
      pg_catalog.obj_description(c.oid, 'pg_class') as comment,
      coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
          'schema', n.nspname, 'table_name', c.relname, 'name', a.attname, 'table_id', c.oid::bigint
        ) order by key.place)
        from pg_catalog.pg_index i
        cross join lateral pg_catalog.unnest(i.indkey) with ordinality key (attnum, place)
        join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = key.attnum
        where i.indrelid = c.oid and i.indisprimary and key.place <= i.indnkeyatts
      ), '[]'::json) as primary_keys,
      -- The keys that point away from the table and those that point to it, an object per pair of columns.
      coalesce((
        select pg_catalog.json_agg(pg_catalog.json_build_object(
          'id', k.oid::bigint,
          'constraint_name', k.conname,
          'source_schema', sn.nspname,
          'source_table_name', s.relname,
          'source_column_name', sa.attname,
          'target_table_schema', tn.nspname,
          'target_table_name', t.relname,
          'target_column_name', ta.attname
        ) order by k.oid, pair.place)
        from pg_catalog.pg_constraint k
        cross join lateral rows from (pg_catalog.unnest(k.conkey), pg_catalog.unnest(k.confkey))
          with ordinality pair (source, target, place)
        join pg_catalog.pg_class s on s.oid = k.conrelid
        join pg_catalog.pg_namespace sn on sn.oid = s.relnamespace
        join pg_catalog.pg_attribute sa on sa.attrelid = s.oid and sa.attnum = pair.source
        join pg_catalog.pg_class t on t.oid = k.confrelid
        join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
        join pg_catalog.pg_attribute ta on ta.attrelid = t.oid and ta.attnum = pair.target
        where k.contype = 'f' and c.oid in (k.conrelid, k.confrelid)
      ), '[]'::json) as relationships
{relations_end:'r', 'p'}
