-- Everything that the generated types contain, as one JSON document. $1: names of the schemas.
with recursive relations as (
  select c.oid, n.nspname, c.relname, c.relkind, c.reltype
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any ($1) and c.relkind in ('r', 'p', 'f', 'v', 'm')
),
columns as (
  select a.attrelid, json_agg(json_build_object(
    'name', a.attname,
    'number', a.attnum,
    'format', coalesce(base.typname, t.typname),
    'type_schema', coalesce(base_schema.nspname, type_schema.nspname),
    'is_nullable', not (a.attnotnull or (t.typtype = 'd' and t.typnotnull)),
    'has_default', a.atthasdef,
    'identity', a.attidentity,
    'is_generated', a.attgenerated <> '',
    -- Triggers and rules write whole rows; pg_column_is_updatable only knows those that also delete.
    'is_updatable', r.relkind in ('r', 'p') or pg_catalog.pg_column_is_updatable(r.oid, a.attnum, false)
      -- 64 is INSTEAD OF, 4 INSERT, 16 UPDATE.
      or exists (select from pg_catalog.pg_trigger tg
        where tg.tgrelid = r.oid and tg.tgtype & 64 <> 0 and tg.tgtype & 20 <> 0 and not tg.tgisinternal)
      -- 2 is UPDATE, 3 INSERT; a rule with a condition does not make a view writable.
      or exists (select from pg_catalog.pg_rewrite rw
        where rw.ev_class = r.oid and rw.is_instead and rw.ev_type in ('2', '3') and rw.ev_qual::text = '<>'),
    'comment', case when r.relkind in ('v', 'm') then pg_catalog.col_description(r.oid, a.attnum) end
  )) as list
  from relations r
  join pg_catalog.pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  join pg_catalog.pg_type t on t.oid = a.atttypid
  join pg_catalog.pg_namespace type_schema on type_schema.oid = t.typnamespace
  left join pg_catalog.pg_type base on t.typtype = 'd' and base.oid = t.typbasetype
  left join pg_catalog.pg_namespace base_schema on base_schema.oid = base.typnamespace
  group by a.attrelid
),
functions as (
  select p.oid, n.nspname, p.proname, p.prorettype, p.proretset, p.prorows, rt.typrelid,
    pg_catalog.pg_get_function_arguments(p.oid) as argument_types,
    pg_catalog.pg_get_function_result(p.oid) as result,
    (
      select coalesce(json_agg(json_build_object(
        'name', coalesce(p.proargnames[arg.ord], ''),
        'mode', coalesce(p.proargmodes[arg.ord], 'i'),
        'type_id', arg.type::int8,
        -- Defaults belong to the last ones of the input arguments.
        'has_default', arg.inputs > p.pronargs - p.pronargdefaults and arg.is_input
      ) order by arg.ord), '[]')
      from (
        select a.type, a.ord, coalesce(p.proargmodes[a.ord], 'i') in ('i', 'b', 'v') as is_input,
          count(*) filter (where coalesce(p.proargmodes[a.ord], 'i') in ('i', 'b', 'v')) over (order by a.ord) as inputs
        from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality as a (type, ord)
      ) arg
    ) as arguments
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  join pg_catalog.pg_type rt on rt.oid = p.prorettype
  where n.nspname = any ($1) and p.prokind = 'f'
    and p.prorettype not in ('pg_catalog.trigger'::regtype, 'pg_catalog.event_trigger'::regtype)
),
types as (
  select t.oid, n.nspname, t.typname, t.typrelid, pg_catalog.format_type(t.oid, null) as format,
    (select coalesce(json_agg(e.enumlabel order by e.enumsortorder), '[]') from pg_catalog.pg_enum e
      where e.enumtypid = t.oid) as labels,
    (select coalesce(json_agg(json_build_object('name', a.attname, 'type_id', a.atttypid::int8)
        order by a.attnum), '[]')
      from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
      where c.oid = t.typrelid and c.relkind = 'c' and a.attnum > 0 and not a.attisdropped) as attributes
  from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  where t.typrelid = 0
    or exists (select from pg_catalog.pg_class c
      where c.oid = t.typrelid and c.relkind in ('c', 'r', 'v', 'm', 'p', 'f'))
),
-- The views, and those that they select from, in any schema.
selected(oid) as (
  select r.oid from relations r where r.relkind in ('v', 'm')
  union
  select dep.refobjid
  from selected s
  join pg_catalog.pg_rewrite rw on rw.ev_class = s.oid and rw.rulename = '_RETURN'
  join pg_catalog.pg_depend dep on dep.classid = 'pg_catalog.pg_rewrite'::regclass and dep.objid = rw.oid
    and dep.refclassid = 'pg_catalog.pg_class'::regclass
  join pg_catalog.pg_class c on c.oid = dep.refobjid and c.relkind in ('v', 'm')
),
definitions as (
  select rw.ev_class, rw.ev_action::text as definition,
    -- The columns that the view reads and that cannot be null.
    (
      select coalesce(json_agg(json_build_array(dep.refobjid::int8, dep.refobjsubid)), '[]')
      from pg_catalog.pg_depend dep
      join pg_catalog.pg_attribute a on a.attrelid = dep.refobjid and a.attnum = dep.refobjsubid
      join pg_catalog.pg_type t on t.oid = a.atttypid
      where dep.classid = 'pg_catalog.pg_rewrite'::regclass and dep.objid = rw.oid
        and dep.refclassid = 'pg_catalog.pg_class'::regclass and dep.refobjsubid > 0
        and (a.attnotnull or (t.typtype = 'd' and t.typnotnull))
    ) as non_null_columns
  from selected s join pg_catalog.pg_rewrite rw on rw.ev_class = s.oid and rw.rulename = '_RETURN'
)
select json_build_object(
  'relations', (select coalesce(json_agg(json_build_object(
      'id', r.oid::int8, 'schema', r.nspname, 'name', r.relname, 'kind', r.relkind,
      -- With triggers: 8 is INSERT, 4 UPDATE.
      'is_insertable', r.relkind = 'v' and pg_catalog.pg_relation_is_updatable(r.oid, true) & 8 = 8,
      'is_updatable', r.relkind = 'v' and pg_catalog.pg_relation_is_updatable(r.oid, true) & 4 = 4,
      'columns', coalesce(c.list, '[]')
    )), '[]') from relations r left join columns c on c.attrelid = r.oid),
  'functions', (select coalesce(json_agg(json_build_object(
      'id', f.oid::int8, 'schema', f.nspname, 'name', f.proname, 'arguments', f.arguments,
      'argument_types', f.argument_types, 'result', f.result, 'return_type_id', f.prorettype::int8,
      'return_relation_id', nullif(f.typrelid::int8, 0), 'is_set', f.proretset,
      'rows', case when f.proretset then f.prorows end
    )), '[]') from functions f),
  'types', (select coalesce(json_agg(json_build_object(
      'id', t.oid::int8, 'schema', t.nspname, 'name', t.typname, 'format', t.format,
      'labels', t.labels, 'attributes', t.attributes,
      'relation_id', nullif(t.typrelid::int8, 0)
    )), '[]') from types t),
  'views', (select coalesce(json_agg(json_build_object(
      'id', d.ev_class::int8, 'definition', d.definition, 'non_null_columns', d.non_null_columns
    )), '[]') from definitions d)
)::text
