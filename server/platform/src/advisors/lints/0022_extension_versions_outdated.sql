-- Extensions for which the server has a newer version.
select
  'extension_versions_outdated' as name,
  'Extension Versions Outdated' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'A newer version of the extension is installed on the server, but the database still has an older one.'
    as description,
  pg_catalog.format(
    'The extension `%1$s` has version %2$s; the server has %3$s. Run: alter extension %1$I update',
    e.extname, e.extversion, v.default_version
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0022_extension_versions_outdated' as remediation,
  pg_catalog.jsonb_build_object(
    'extension_name', e.extname,
    'installed_version', e.extversion,
    'default_version', v.default_version
  ) as metadata,
  pg_catalog.format('extension_versions_outdated_%s_%s', e.extname, e.extversion) as cache_key
from pg_catalog.pg_extension e
join pg_catalog.pg_available_extensions() v on v.name = e.extname
where v.default_version <> e.extversion
  -- Only if the update is possible. The server's files may be older than the database, or lack the version.
  and exists (
    select
    from pg_catalog.pg_extension_update_paths(e.extname) u
    where u.source = e.extversion and u.target = v.default_version and u.path is not null
  )
order by cache_key
