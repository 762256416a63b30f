-- Policies for writing that are in force and have no condition.
select
  'rls_policy_always_true' as name,
  'RLS Policy Always True' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'A policy whose condition is always true lets every caller write every row: it is as if row-level security '
  'were off.' as description,
  pg_catalog.format(
    'The policy `%3$s` of the table `%1$s.%2$s` for %4$s lets %5$s write without a condition%6$s.',
    n.nspname,
    c.relname,
    p.polname,
    m.command,
    pg_catalog.array_to_string(x.roles, ', '),
    case
      when o.using_ and o.check_ then ' (USING and WITH CHECK)'
      when o.using_ then ' (USING)'
      else ' (WITH CHECK)'
    end
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0024_permissive_rls_policy' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table',
    'policy_name', p.polname,
    'command', m.command,
    'roles', x.roles,
    'qual', q.using_,
    'with_check', q.check_,
    'permissive_using', o.using_,
    'permissive_with_check', o.check_
  ) as metadata,
  pg_catalog.format('rls_policy_always_true_%s_%s_%s', n.nspname, c.relname, p.polname) as cache_key
from pg_catalog.pg_policy p
join pg_catalog.pg_class c on c.oid = p.polrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
-- SELECT is not in this list: that everybody may read a table is often wanted.
join (values ('a', 'INSERT'), ('w', 'UPDATE'), ('d', 'DELETE'), ('*', 'ALL')) m (letter, command)
  on m.letter = p.polcmd::pg_catalog.text
cross join lateral (
  select
    pg_catalog.pg_get_expr(p.polqual, p.polrelid) as using_,
    pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) as check_
) q
cross join lateral (
  -- true, or the same on both sides of "=": 1 = 1. A policy without WITH CHECK checks new rows with USING. One without
  -- both allows nothing.
  select
    p.polcmd <> 'a'
      and coalesce(pg_catalog.regexp_replace(q.using_, '[\s()]', '', 'g') ~ '^(true|([^=]+)=\2)$', false) as using_,
    p.polcmd <> 'd'
      and coalesce(
        pg_catalog.regexp_replace(coalesce(q.check_, q.using_), '[\s()]', '', 'g') ~ '^(true|([^=]+)=\2)$',
        false
      ) as check_
) o
cross join lateral (
  select pg_catalog.array_agg(coalesce(r.rolname, 'public') order by r.rolname) as roles
  from pg_catalog.unnest(p.polroles) k (role)
  left join pg_catalog.pg_roles r on r.oid = k.role -- 0: everybody
) x
where p.polpermissive
  and c.relrowsecurity
  and (o.using_ or o.check_)
  and x.roles && array['public', 'anon', 'authenticated']::pg_catalog.name[]
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
