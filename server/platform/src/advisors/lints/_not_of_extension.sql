-- Not what an extension has created: only the extension's author can change it.
and not exists (
  select
  from pg_catalog.pg_depend d
  where @ and d.deptype = 'e'
)
