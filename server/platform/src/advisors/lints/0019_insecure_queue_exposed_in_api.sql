-- Queues of the extension pgmq that callers of the API can read. Tables of queues may belong to the extension; they
-- are reported all the same. The cache key starts with another lint's name, as splinter's does: tools keep lists of
-- such keys.
select
  'insecure_queue_exposed_in_api' as name,
  'Insecure Queue Exposed in API' as title,
  'ERROR' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'The API serves queues (schema pgmq_public), and row-level security of a queue is off: callers can read its '
  'messages.' as description,
  pg_catalog.format(
    'Row-level security of the queue `%s.%s` is off, and the API serves queues.',
    n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0019_insecure_queue_exposed_in_api' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('rls_disabled_in_public_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'pgmq'
  and c.relname ~ '^q_' -- archives are a_...
  and c.relkind in ('r', 'p')
  and not c.relrowsecurity
  -- Only what a role of the API can read. A right to read one column is enough.
  and exists (
    select
    from pg_catalog.pg_roles r
    where r.rolname in ('anon', 'authenticated')
      and pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
      and pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT')
  )
  -- Only if the API serves the functions of queues.
  and 'pgmq_public' = any (
    pg_catalog.regexp_split_to_array(
      pg_catalog.btrim(coalesce(nullif(pg_catalog.current_setting('pgrst.db_schemas', true), ''), 'public')),
      '\s*,\s*'
    )
  )
order by cache_key
