-- Policies that apply to users who have signed in anonymously. Run this only if the settings of auth allow that.
select
  'auth_allow_anonymous_sign_ins' as name,
  'Anonymous Access Policies' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'Users who have signed in anonymously have the role authenticated, too. A policy for this role also lets them '
  'in, unless it reads the claim is_anonymous.' as description,
  pg_catalog.format(
    'These policies of the table `%s.%s` also apply to users who have signed in anonymously: %s.',
    n.nspname, c.relname, pg_catalog.array_agg(p.polname order by p.polname)
  ) as detail,
  'https://supabase.com/docs/guides/database/database-advisors?queryGroups=lint&lint='
  '0012_auth_allow_anonymous_sign_ins' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('auth_allow_anonymous_sign_ins_%s_%s', n.nspname, c.relname) as cache_key
from pg_catalog.pg_policy p
join pg_catalog.pg_class c on c.oid = p.polrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relrowsecurity
  and p.polpermissive
  and (
    0 = any (p.polroles) -- everybody
    or exists (
      select
      from pg_catalog.pg_roles r
      where r.rolname = 'authenticated'
        and exists (
          select from pg_catalog.unnest(p.polroles) k (role) where pg_catalog.pg_has_role(r.oid, k.role, 'USAGE')
        )
    )
  )
  -- Neither this policy nor a restrictive one of the table reads the claim.
  and not exists (
    select
    from pg_catalog.pg_policy o
    where o.polrelid = p.polrelid
      and (o.oid = p.oid or not o.polpermissive)
      and pg_catalog.concat_ws(
        ' ',
        pg_catalog.pg_get_expr(o.polqual, o.polrelid),
        pg_catalog.pg_get_expr(o.polwithcheck, o.polrelid)
      ) ~ 'is_anonymous'
  )
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
group by n.nspname, c.relname
order by cache_key
