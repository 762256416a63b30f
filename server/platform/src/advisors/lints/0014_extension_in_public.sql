-- Extensions in the schema "public".
select
  'extension_in_public' as name,
  'Extension in Public' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'The API serves the schema public, so it also serves the functions and tables of an extension in this schema.'
    as description,
  pg_catalog.format(
    'The extension `%s` is in the schema public. Move it to another one, for example to extensions.',
    e.extname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=0014_extension_in_public' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', e.extname,
    'type', 'extension'
  ) as metadata,
  pg_catalog.format('extension_in_public_%s', e.extname) as cache_key
from pg_catalog.pg_extension e
join pg_catalog.pg_namespace n on n.oid = e.extnamespace
where n.nspname = 'public'
  and e.extname <> 'plpgsql' -- it has nothing that the API could serve, and Postgres itself has put it there
order by cache_key
