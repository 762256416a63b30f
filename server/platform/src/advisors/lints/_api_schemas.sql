-- Only the schemas that the API serves.
and n.nspname = any (
  pg_catalog.regexp_split_to_array(
    pg_catalog.btrim(coalesce(nullif(pg_catalog.current_setting('pgrst.db_schemas', true), ''), 'public')),
    '\s*,\s*'
  )
)
