-- Public buckets whose files everybody can list. The role that runs this needs BYPASSRLS: row-level security hides the
-- buckets from other roles, and then nothing is reported.
select
  'public_bucket_allows_listing' as name,
  'Public Bucket Allows Listing' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'Files of a public bucket can be read by their URLs without a policy. A policy that allows everything also '
  'lets callers list them.' as description,
  pg_catalog.format(
    'Callers of the API can list all files of the public bucket `%s`, because of these policies of '
    'storage.objects: %s.',
    b.name, pg_catalog.array_agg(p.polname order by p.polname)
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0025_public_bucket_allows_listing' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', 'storage',
    'name', b.name,
    'type', 'bucket',
    'bucket_id', b.id,
    'bucket_name', b.name,
    'policy_names', pg_catalog.array_agg(p.polname order by p.polname),
    'policy_count', pg_catalog.count(*)
  ) as metadata,
  pg_catalog.format('public_bucket_allows_listing_%s', b.id) as cache_key
from storage.buckets b
join pg_catalog.pg_policy p
  on p.polrelid = 'storage.objects'::pg_catalog.regclass and p.polpermissive and p.polcmd in ('r', '*')
cross join lateral (
  -- Spaces, parentheses and casts do not matter; they are also removed from the bucket's name below.
  select pg_catalog.regexp_replace(pg_catalog.pg_get_expr(p.polqual, p.polrelid), '::text|[\s()]', '', 'g') as condition
) q
cross join lateral (
  select pg_catalog.regexp_replace(pg_catalog.quote_literal(b.id), '::text|[\s()]', '', 'g') as id
) k
where b.public
  and (
    0 = any (p.polroles) -- everybody
    or exists (
      select
      from pg_catalog.pg_roles r
      where r.oid = any (p.polroles) and r.rolname in ('anon', 'authenticated')
    )
  )
  -- No condition, or only on the bucket. A condition on the path or on the owner makes a policy narrow.
  and (
    q.condition ~ '^(true|([^=]+)=\2)$'
    or q.condition = 'bucket_id=' || k.id
    or q.condition ~ '^bucket_id=ANYARRAY\[[^\]]*\]$' and pg_catalog.strpos(q.condition, k.id) > 0
  )
group by b.id, b.name
order by cache_key
