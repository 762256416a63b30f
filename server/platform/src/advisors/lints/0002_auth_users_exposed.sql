-- Views and materialized views of the API that read auth.users and do not check the caller's rights.
select
  'auth_users_exposed' as name,
  'Exposed Auth Users' as title,
  'ERROR' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'A view of auth.users lets callers of the API read the accounts'' addresses and other personal data.'
    as description,
  pg_catalog.format(
    'Callers of the API can read rows of auth.users through the view `%s.%s`.',
    n.nspname, c.relname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0002_auth_users_exposed' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'view',
    'exposed_to', reader.names
  ) as metadata,
  pg_catalog.format('auth_users_exposed_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_class u on u.relname = 'users'
join pg_catalog.pg_namespace a on a.oid = u.relnamespace and a.nspname = 'auth'
cross join lateral (
  select coalesce(
    (
      select o.option_value::pg_catalog.bool
      from pg_catalog.pg_options_to_table(c.reloptions) o
      where o.option_name = 'security_invoker'
    ),
    false
  ) as is_invoker
) v
cross join lateral (
  select pg_catalog.array_agg(r.rolname order by r.rolname) as names
  from pg_catalog.pg_roles r
  where r.rolname in ('anon', 'authenticated')
    and pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
    and pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT')
    -- A view with "security_invoker" reads auth.users with the caller's rights. A materialized view has no such option.
    and (
      c.relkind = 'm'
      or not v.is_invoker
      or not u.relrowsecurity and pg_catalog.has_any_column_privilege(r.oid, u.oid, 'SELECT')
    )
) reader
where c.relkind in ('v', 'm')
  and reader.names is not null
  -- The rule of the view depends on the table.
  and exists (
    select
    from pg_catalog.pg_rewrite w
    join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and d.objid = w.oid
    where w.ev_class = c.oid
      and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
      and d.refobjid = u.oid
  )
  {api_schemas}
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
