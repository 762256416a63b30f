-- Roles and commands of a table for which several permissive policies apply.
select
  'multiple_permissive_policies' as name,
  'Multiple Permissive Policies' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['PERFORMANCE'] as categories,
  'If several permissive policies apply to the same role and the same command, Postgres has to check all of '
  'them for each row.' as description,
  pg_catalog.format(
    'For the role `%3$s` and the command `%4$s`, the table `%1$s.%2$s` has several permissive policies: %5$s.',
    n.nspname, c.relname, r.rolname, m.command, pg_catalog.array_agg(p.polname order by p.polname)
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0006_multiple_permissive_policies' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format(
    'multiple_permissive_policies_%s_%s_%s_%s',
    n.nspname, c.relname, r.rolname, m.command
  ) as cache_key
from pg_catalog.pg_policy p
join pg_catalog.pg_class c on c.oid = p.polrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join (values ('r', 'SELECT'), ('a', 'INSERT'), ('w', 'UPDATE'), ('d', 'DELETE')) m (letter, command)
  on p.polcmd::pg_catalog.text in (m.letter, '*')
join pg_catalog.pg_roles r on r.oid = any (p.polroles) or 0 = any (p.polroles) -- 0: a policy for everybody
where p.polpermissive
  -- No policy applies to the first two. The others are Postgres' own roles, and those of the server.
  and not (r.rolbypassrls or r.rolsuper or r.rolname ~ '^(pg_|supabase_|cli_login_|basalt_)')
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
group by n.nspname, c.relname, r.rolname, m.command
having pg_catalog.count(*) > 1
order by cache_key
