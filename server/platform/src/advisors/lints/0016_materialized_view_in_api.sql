-- Materialized views of the API.
select
  'materialized_view_in_api' as name,
  'Materialized View in API' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'Row-level security does not exist for a materialized view: whoever may read it sees all rows.' as description,
  pg_catalog.format(
    'Callers of the API can read all rows of the materialized view `%s.%s`.',
    n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0016_materialized_view_in_api' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'materialized view'
  ) as metadata,
  pg_catalog.format('materialized_view_in_api_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'm'
  -- Only what a role of the API can read. A right to read one column is enough.
  and exists (
    select
    from pg_catalog.pg_roles r
    where r.rolname in ('anon', 'authenticated')
      and pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
      and pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT')
  )
  -- Only the schemas that the API serves.
  and n.nspname = any (
    pg_catalog.regexp_split_to_array(
      pg_catalog.btrim(coalesce(nullif(pg_catalog.current_setting('pgrst.db_schemas', true), ''), 'public')),
      '\s*,\s*'
    )
  )
  -- Not the schemas of Postgres and of the platform: the project cannot change them.
  and n.nspname !~ '^(pg_|_timescaledb_|basalt(_|$))'
  and n.nspname not in (
    'auth', 'cron', 'extensions', 'graphql', 'graphql_public', 'information_schema', 'net', 'pgbouncer', 'pgmq',
    'pgroonga', 'pgsodium', 'pgsodium_masks', 'pgtle', 'platform', 'realtime', 'repack', 'storage', 'storage_vectors',
    'supabase_functions', 'supabase_migrations', 'tiger', 'topology', 'vault'
  )
  -- Not what an extension has created: only the extension's author can change it.
  and not exists (
    select
    from pg_catalog.pg_depend d
    where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.deptype = 'e'
  )
order by cache_key
