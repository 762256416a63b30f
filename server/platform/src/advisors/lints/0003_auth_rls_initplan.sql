-- Policies that call a function of auth, or current_setting(), for each row.
with recursive reduced as (
  -- Without the texts in quotes, because they may hold parentheses.
  select p.oid as policy, pg_catalog.regexp_replace(e.expression, $$'([^']|'')*'$$, '''''', 'g') as rest
  from pg_catalog.pg_policy p
  cross join lateral (
    values
      (pg_catalog.pg_get_expr(p.polqual, p.polrelid)),
      (pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid))
  ) e (expression)
  where e.expression ~ '\m(uid|jwt|role|email|current_setting)\('
  union
  -- Each step reads the innermost parentheses. A sub-select without FROM is removed: Postgres runs it once for each
  -- query. All others become brackets, so that the next step finds the parentheses around them.
  select
    policy,
    pg_catalog.regexp_replace(
      pg_catalog.regexp_replace(rest, '\(\s*SELECT (?:(?!\mFROM\M)[^()])*\)', '', 'g'),
      '\(([^()]*)\)',
      '[\1]',
      'g'
    )
  from reduced
  where rest ~ '\('
)
select
  'auth_rls_initplan' as name,
  'Auth RLS Initialization Plan' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['PERFORMANCE'] as categories,
  'A policy that calls auth.uid(), a similar function or current_setting() directly calls it again for each '
  'row. Inside a sub-select, it is called once.' as description,
  pg_catalog.format(
    'The policy `%3$s` of the table `%1$s.%2$s` calls a function of auth or current_setting() for each row. Write '
    '(select auth.uid()) in place of auth.uid(), and the same for the other functions.',
    n.nspname, c.relname, p.polname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0003_auth_rls_initplan' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('auth_rls_init_plan_%s_%s_%s', n.nspname, c.relname, p.polname) as cache_key
from pg_catalog.pg_policy p
join pg_catalog.pg_class c on c.oid = p.polrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relrowsecurity
  and exists (
    select
    from reduced r
    where r.policy = p.oid
      and r.rest !~ '\('
      -- The schema's name is missing if the search path has it.
      and r.rest ~ '(^|[^.\w"])((auth\.)?(uid|jwt|role|email)\[\]|current_setting\[)'
  )
  -- Not the schemas of Postgres and of the platform: the project cannot change them. "realtime" is not in this list,
  -- because projects write the policies of realtime.messages.
  and n.nspname !~ '^(pg_|_timescaledb_|basalt(_|$))'
  and n.nspname not in (
    'auth', 'cron', 'extensions', 'graphql', 'graphql_public', 'information_schema', 'net', 'pgbouncer', 'pgmq',
    'pgroonga', 'pgsodium', 'pgsodium_masks', 'pgtle', 'platform', 'repack', 'storage', 'storage_vectors',
    'supabase_functions', 'supabase_migrations', 'tiger', 'topology', 'vault'
  )
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
