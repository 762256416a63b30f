-- Columns of types that pg_upgrade does not support, also as the elements of an array or under a domain.
select
  'unsupported_reg_types' as name,
  'Unsupported reg types' as title,
  'WARN' as level,
  'EXTERNAL' as facing,
  array['SECURITY'] as categories,
  'Columns of some reg* types hold internal numbers of objects. These numbers change with a new major version, '
  'so pg_upgrade refuses such tables.' as description,
  pg_catalog.format(
    'The column `%3$s` of the table `%1$s.%2$s` has the type `%4$s`, with which pg_upgrade stops. Store the name '
    'as text.',
    n.nspname, c.relname, a.attname, t.typname
  ) as detail,
  'https://supabase.com/docs/guides/database/database-linter?lint=unsupported_reg_types' as remediation,
  pg_catalog.jsonb_build_object(
    'schema', n.nspname,
    'name', c.relname,
    'column', a.attname,
    'type', 'table'
  ) as metadata,
  pg_catalog.format('unsupported_reg_types_%s_%s_%s', n.nspname, c.relname, a.attname) as cache_key
from pg_catalog.pg_attribute a
join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_type s on s.oid = a.atttypid
join pg_catalog.pg_type t
  on t.oid = case when s.typtype = 'd' then s.typbasetype when s.typcategory = 'A' then s.typelem else s.oid end
where c.relkind in ('r', 'm', 'p') -- a view stores nothing
  and a.attnum > 0
  and not a.attisdropped
  -- pg_upgrade allows regclass, regrole and regtype.
  and t.oid in (
    'pg_catalog.regcollation'::pg_catalog.regtype,
    'pg_catalog.regconfig'::pg_catalog.regtype,
    'pg_catalog.regdictionary'::pg_catalog.regtype,
    'pg_catalog.regnamespace'::pg_catalog.regtype,
    'pg_catalog.regoper'::pg_catalog.regtype,
    'pg_catalog.regoperator'::pg_catalog.regtype,
    'pg_catalog.regproc'::pg_catalog.regtype,
    'pg_catalog.regprocedure'::pg_catalog.regtype
  )
  {not_platform_schemas}
  {not_of_extension:d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid}
order by cache_key
