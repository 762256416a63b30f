-- The objects of the platform, each on a line with everything that may differ: owners, rights, columns, texts.
with of_platform as (
  select oid, nspname, nspowner, nspacl from pg_namespace
   where nspname in ('auth', 'basalt', 'extensions', 'graphql', 'graphql_public', 'realtime', 'storage', 'storage_vectors',
                     'supabase_functions', 'supabase_migrations', 'vault')
), relation as (
  select c.*, format('%I.%I', n.nspname, c.relname) as name
    from pg_class c join of_platform n on n.oid = c.relnamespace where not c.relispartition
)
select format('schema %s of %s: %s', nspname, nspowner::regrole, (select string_agg(a::text, ' ' order by a::text) from unnest(nspacl) a))
  from of_platform
union all
select format('relation %s %s of %s: %s %s %s %s', relkind, name, relowner::regrole, relrowsecurity, relforcerowsecurity, relreplident,
              (select string_agg(a::text, ' ' order by a::text) from unnest(relacl) a))
  from relation
union all
select format('column %s.%s %s %s %s %s %s', name, attname, format_type(atttypid, atttypmod), attnotnull, attgenerated, attacl::text,
              (select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = attrelid and adnum = attnum))
  from relation join pg_attribute on attrelid = relation.oid and attnum > 0 and not attisdropped
union all
select format('constraint %s %s: %s', name, conname, pg_get_constraintdef(o.oid)) from relation join pg_constraint o on conrelid = relation.oid
union all
select format('index: %s', pg_get_indexdef(indexrelid)) from relation join pg_index on indrelid = relation.oid
union all
select format('policy %s %s %s %s %s %s %s', name, polname, polcmd, polpermissive, polroles::regrole[],
              pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
  from relation join pg_policy on polrelid = relation.oid
union all
select format('trigger %s: %s %s', tgname, pg_get_triggerdef(g.oid), tgenabled)
  from relation join pg_trigger g on tgrelid = relation.oid where not tgisinternal
union all
select format('partitions of %s: %s', name, (select count(*) from pg_inherits where inhparent = relation.oid)) from relation where relkind = 'p'
union all
select format('function %s of %s: %s %s', p.oid::regprocedure, proowner::regrole, md5(pg_get_functiondef(p.oid)),
              (select string_agg(a::text, ' ' order by a::text) from unnest(proacl) a))
  from pg_proc p join of_platform n on n.oid = pronamespace where prokind <> 'a'
union all
select format('type %s of %s: %s', t.oid::regtype, typowner::regrole,
              (select string_agg(enumlabel, ' ' order by enumsortorder) from pg_enum where enumtypid = t.oid))
  from pg_type t join of_platform n on n.oid = typnamespace where typtype in ('e', 'd', 'c') and (typrelid = 0 or exists (select from relation where oid = typrelid))
union all
select format('event trigger %s of %s: %s %s %s', evtname, evtowner::regrole, evtfoid::regprocedure, evtenabled, evttags) from pg_event_trigger
union all
select format('publication %s of %s: %s', pubname, pubowner::regrole,
              (select string_agg(prrelid::regclass::text, ' ' order by prrelid::regclass::text) from pg_publication_rel where prpubid = p.oid))
  from pg_publication p
union all
select format('extension %s in %s of %s', extname, extnamespace::regnamespace, extowner::regrole) from pg_extension
union all
select format('default rights %s %s %s: %s', defaclrole::regrole, n.nspname, defaclobjtype,
              (select string_agg(a::text, ' ' order by a::text) from unnest(defaclacl) a))
  from pg_default_acl join of_platform n on n.oid = defaclnamespace
union all
select format('comment on %s: %s', pg_describe_object(classoid, objoid, objsubid), description)
  from pg_description
 where classoid = 'pg_namespace'::regclass and objoid in (select oid from of_platform)
    or classoid = 'pg_class'::regclass and objoid in (select oid from relation)
    or classoid = 'pg_proc'::regclass and objoid in (select p.oid from pg_proc p join of_platform n on n.oid = pronamespace)
