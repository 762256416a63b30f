with recursive
base_types (oid, base_oid) as (
  -- Domains may lie on domains: each step goes one further down.
  select oid, case typtype when 'd' then typbasetype else oid end from pg_catalog.pg_type
  union
  select b.oid, t.typbasetype
  from base_types b join pg_catalog.pg_type t on t.oid = b.base_oid
  where t.typtype = 'd'
),
types as (
  select t.oid, b.base_oid, t.typtype, t.typcategory
  from pg_catalog.pg_type t
  join base_types b on b.oid = t.oid
  join pg_catalog.pg_type base on base.oid = b.base_oid and base.typtype <> 'd'
),
-- Implicit casts between a domain and json, or from text to it, are how its values are shown and read.
domain_casts as (
  select
    case source.typtype when 'd' then source.oid else target.oid end as domain,
    json_object_agg(
      case when source.typtype = 'd' then 'to_json' when source.oid = 'json'::regtype then 'from_json' else 'from_text' end,
      c.castfunc::regproc::text
    ) as functions
  from pg_catalog.pg_cast c
  join pg_catalog.pg_type source on source.oid = c.castsource
  join pg_catalog.pg_type target on target.oid = c.casttarget
  where c.castcontext = 'i' and c.castmethod = 'f' and has_function_privilege(c.castfunc, 'execute')
    and (source.typtype = 'd' and target.oid = 'json'::regtype
      or target.typtype = 'd' and source.oid in ('json'::regtype, 'text'::regtype))
  group by 1
),
-- Types that Postgres reads, compares and shows by itself: its own, and enumerations that nobody gave more to do.
closed_types as (
  select t.oid
  from pg_catalog.pg_type t
  left join pg_catalog.pg_type element on element.oid = t.typelem and t.typcategory = 'A'
  cross join lateral (select coalesce(element.oid, t.oid) as oid, coalesce(element.typtype, t.typtype) as kind) as single
  where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype in ('b', 'r', 'm')
    or single.kind = 'e'
      and not exists (select from pg_catalog.pg_cast c where single.oid in (c.castsource, c.casttarget))
      and not exists (select from pg_catalog.pg_operator o where single.oid in (o.oprleft, o.oprright))
),
exposed as (
  select c.oid
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p') and not c.relispartition and n.nspname = any ({schemas})
),
-- What Postgres evaluates by itself when a relation is written, and some of it when one is read.
expressions as (
  select
    p.polrelid as relation, 'pg_catalog.pg_policy'::regclass as class, p.oid, true as is_for_reads,
    concat_ws(' ', pg_catalog.pg_get_expr(p.polqual, p.polrelid), pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid))
      as text
  from pg_catalog.pg_policy p
  join exposed on exposed.oid = p.polrelid
  union all
  select
    d.adrelid, 'pg_catalog.pg_attrdef'::regclass, d.oid, a.attgenerated = 'v',
    pg_catalog.pg_get_expr(d.adbin, d.adrelid)
  from pg_catalog.pg_attrdef d
  join exposed on exposed.oid = d.adrelid
  join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
  union all
  select k.conrelid, 'pg_catalog.pg_constraint'::regclass, k.oid, false, pg_catalog.pg_get_expr(k.conbin, k.conrelid)
  from pg_catalog.pg_constraint k
  join exposed on exposed.oid = k.conrelid
  where k.contype = 'c'
),
relation_expressions as (
  select
    e.relation,
    json_agg(json_build_object(
      'text', e.text,
      'is_for_reads', e.is_for_reads,
      'functions', coalesce(uses.functions, '[]'),
      'is_unknown', coalesce(uses.others, false))) as expressions
  from expressions e
  cross join lateral (
    select
      json_agg(d.refobjid::bigint) filter (where d.refclassid = 'pg_catalog.pg_proc'::regclass) as functions,
      bool_or(case d.refclassid
        when 'pg_catalog.pg_proc'::regclass then false
        when 'pg_catalog.pg_type'::regclass then d.refobjid not in (select t.oid from closed_types t)
        when 'pg_catalog.pg_class'::regclass then d.refobjid <> e.relation
          and not exists (select from pg_catalog.pg_sequence s where s.seqrelid = d.refobjid)
        else true
        end) as others
    from pg_catalog.pg_depend d
    where d.classid = e.class and d.objid = e.oid
  ) as uses
  group by e.relation
),
own_code as (
  select
    c.oid,
    json_build_object(
      'is_unknown_to_readers', c.relkind <> 'r' or c.relhassubclass or c.relhasrules or exists (
        select
        from pg_catalog.pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          and a.atttypid not in (select t.oid from closed_types t)),
      'is_unknown_to_writers',
        exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
        -- Functions of its indexes.
        or exists (
          select
          from pg_catalog.pg_index i
          where i.indrelid = c.oid and (i.indisexclusion or exists (
            select
            from pg_catalog.pg_depend d
            where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = i.indexrelid
              and d.refclassid in (
                'pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass,
                'pg_catalog.pg_opclass'::pg_catalog.regclass))))
        -- What a key changes in another table runs the code of that one.
        or exists (
          select
          from pg_catalog.pg_constraint k
          where k.confrelid = c.oid and k.contype = 'f'
            and (k.confdeltype not in ('a', 'r') or k.confupdtype not in ('a', 'r'))),
      'expressions', coalesce(e.expressions, '[]')
    ) as code
  from exposed
  join pg_catalog.pg_class c on c.oid = exposed.oid
  left join relation_expressions e on e.relation = c.oid
),
-- Texts of functions that are short enough to be understood.
sources as (
  select p.oid::bigint as oid, p.prosrc as text, coalesce(p.proargnames, '{}') as parameters
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  join pg_catalog.pg_language l on l.oid = p.prolang
  where l.lanname = 'sql' and p.prosqlbody is null and length(p.prosrc) <= 500
    and p.prokind = 'f' and not p.proretset and p.proargdefaults is null
    and p.prorettype in (select t.oid from closed_types t)
    and not exists (
      select
      from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) as type
      where type not in (select t.oid from closed_types t))
    and (n.nspname = any ({schemas}) or p.oid in (
      select d.refobjid
      from pg_catalog.pg_depend d
      join expressions e on e.class = d.classid and e.oid = d.objid
      where d.refclassid = 'pg_catalog.pg_proc'::regclass))
),
media_types as (
  select t.oid, t.typname as name
  from pg_catalog.pg_type t
  where t.typtype = 'd' and (t.typname ~ '^[A-Za-z0-9.-]+/[A-Za-z0-9.+-]+$' or t.typname = '*/*')
),
columns as (
  select
    a.attrelid,
    json_agg(json_build_object(
      'name', a.attname,
      'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
      'base_type', pg_catalog.format_type(t.base_oid, null),
      'comment', pg_catalog.col_description(a.attrelid, a.attnum),
      'is_nullable', not (a.attnotnull or own.typtype = 'd' and own.typnotnull),
      'max_length', information_schema._pg_char_max_length(
        information_schema._pg_truetypid(a, own), information_schema._pg_truetypmod(a, own)),
      'labels', coalesce(
        (select json_agg(label.enumlabel order by label.enumsortorder)
         from pg_catalog.pg_enum label where label.enumtypid = t.base_oid),
        '[]'),
      'casts', domain_casts.functions,
      'default', case
        when a.attidentity = 'd' then
          (select format('nextval(%L)', s.objid::regclass)
           from pg_catalog.pg_depend s
           where s.refclassid = 'pg_catalog.pg_class'::regclass and s.refobjid = a.attrelid
             and s.refobjsubid = a.attnum and s.classid = 'pg_catalog.pg_class'::regclass and s.deptype = 'i'
           limit 1)
        when a.attgenerated <> '' then null
        else coalesce(
          pg_catalog.pg_get_expr(d.adbin, d.adrelid),
          (select pg_catalog.pg_get_expr(domain.typdefaultbin, 0)
           from pg_catalog.pg_type domain where domain.oid = a.atttypid and domain.typtype = 'd'))
        end
    ) order by a.attnum) as columns
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_class c on c.oid = a.attrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join types t on t.oid = a.atttypid
  join pg_catalog.pg_type own on own.oid = a.atttypid
  left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  left join domain_casts on domain_casts.domain = a.atttypid
  where a.attnum > 0 and not a.attisdropped
    and c.relkind in ('r', 'v', 'm', 'f', 'p') and not c.relispartition
    and n.nspname = any ({schemas})
  group by a.attrelid
),
tables as (
  select
    n.nspname as schema,
    c.relname as name,
    pg_catalog.obj_description(c.oid, 'pg_class') as comment,
    c.relkind in ('r', 'p') or c.relkind in ('v', 'f')
      and pg_catalog.pg_relation_is_updatable(c.oid, true) & 8 = 8 as insertable,
    c.relkind in ('r', 'p') or c.relkind in ('v', 'f')
      and pg_catalog.pg_relation_is_updatable(c.oid, true) & 4 = 4 as updatable,
    c.relkind in ('r', 'p') or c.relkind in ('v', 'f')
      and pg_catalog.pg_relation_is_updatable(c.oid, true) & 16 = 16 as deletable,
    coalesce(
      (select json_agg(a.attname order by a.attname)
       from pg_catalog.pg_constraint k
       join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = any (k.conkey)
       where k.conrelid = c.oid and k.contype = 'p'),
      '[]') as primary_key,
    coalesce(columns.columns, '[]') as columns,
    own_code.code as own_code
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  left join columns on columns.attrelid = c.oid
  left join own_code on own_code.oid = c.oid
  where c.relkind in ('r', 'v', 'm', 'f', 'p') and not c.relispartition
    and n.nspname = any ({schemas})
),
unique_keys as (
  select k.conrelid, array_agg(column_number order by column_number) as column_numbers
  from pg_catalog.pg_constraint k, unnest(k.conkey) as column_number
  where k.contype in ('p', 'u')
  group by k.oid, k.conrelid
),
foreign_keys as (
  select
    json_build_object('schema', n.nspname, 'name', c.relname) as "table",
    json_build_object('schema', fn.nspname, 'name', f.relname) as foreign_table,
    k.conname as constraint,
    pairs.columns,
    exists (
      select from unique_keys u where u.conrelid = k.conrelid and u.column_numbers = pairs.column_numbers
    ) as is_one_to_one
  from pg_catalog.pg_constraint k
  join pg_catalog.pg_class c on c.oid = k.conrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_class f on f.oid = k.confrelid
  join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
  cross join lateral (
    select
      json_agg(json_build_array(a.attname, fa.attname) order by ordinality) as columns,
      array_agg(a.attnum order by a.attnum) as column_numbers
    from unnest(k.conkey, k.confkey) with ordinality as pair (own, referred, ordinality)
    join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = pair.own
    join pg_catalog.pg_attribute fa on fa.attrelid = k.confrelid and fa.attnum = pair.referred
  ) as pairs
  -- A partition's copy of its parent's key is not another relationship.
  where k.contype = 'f' and k.conparentid = 0
),
parameters as (
  select
    argument.oid,
    json_agg(json_build_object(
      'name', argument.name,
      'type', argument.type::regtype::text,
      -- Types that would cut a value off at a length of 1 stand for those that take any length.
      'wide_type', case argument.type
        when 'bit'::regtype then 'bit varying'
        when 'bit[]'::regtype then 'bit varying[]'
        when 'character'::regtype then 'character varying'
        when 'character[]'::regtype then 'character varying[]'
        end,
      'is_required', argument.position <= argument.required,
      'is_variadic', argument.mode = 'v',
      'is_scalar', t.typtype in ('b', 'e') and t.typcategory <> 'A'
    ) order by argument.position) as parameters,
    count(*) filter (where argument.name = '') as unnamed,
    min(argument.type) as only_type
  from (
    select
      p.oid,
      coalesce(name, '') as name,
      type,
      coalesce(mode, 'i') as mode,
      -- Defaults belong to the last input parameters, so output parameters must not count.
      row_number() over (partition by p.oid order by ordinality) as position,
      p.pronargs - p.pronargdefaults as required
    from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    cross join lateral unnest(p.proargnames, coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes)
      with ordinality as argument (name, type, mode, ordinality)
    where n.nspname = any ({schemas}) and coalesce(mode, 'i') in ('i', 'b', 'v')
  ) as argument
  join pg_catalog.pg_type t on t.oid = argument.type
  group by argument.oid
),
functions as (
  select
    n.nspname as schema,
    p.proname as name,
    p.oid::bigint as oid,
    pg_catalog.obj_description(p.oid, 'pg_proc') as comment,
    coalesce(parameters.parameters, '[]') as parameters,
    json_build_object(
      'schema', bn.nspname,
      'name', coalesce(relation.relname, base.typname),
      'is_set', p.proretset,
      'is_composite', base.typtype = 'c' or coalesce(p.proargmodes::text[] && '{t,b,o}', false),
      'columns', coalesce(
        (select json_agg(json_build_array(name, pg_catalog.format_type(result.base_oid, null)) order by ordinality)
         from unnest(p.proargnames, p.proallargtypes, p.proargmodes) with ordinality
           as argument (name, type, mode, ordinality)
         join types result on result.oid = argument.type
         where p.proretset and argument.mode in ('t', 'o', 'b')),
        '[]')
    ) as returns,
    (select m.name from media_types m where m.oid = p.prorettype and not p.proretset) as media_type,
    p.provolatile = 'v' as is_volatile,
    coalesce(
      (select json_agg(json_build_array(split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1)))
       from unnest(p.proconfig) as setting
       where split_part(setting, '=', 1) = any ({hoisted})),
      '[]') as settings
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  join types on types.oid = p.prorettype
  join pg_catalog.pg_type base on base.oid = types.base_oid
  join pg_catalog.pg_namespace bn on bn.oid = base.typnamespace
  left join pg_catalog.pg_class relation on relation.oid = base.typrelid
  left join parameters on parameters.oid = p.oid
  where p.prokind = 'f' and base.oid <> 'trigger'::regtype and base.oid <> 'event_trigger'::regtype
    and n.nspname = any ({schemas})
    -- One parameter without a name can be given under the name "", and one that takes a body as that. As upstream
    -- has it, any other type is left out only where the function has no names at all.
    and (coalesce(parameters.unnamed, 0) = 0
      or parameters.unnamed = 1 and (p.proargnames is not null or parameters.only_type in
        ('bytea'::regtype, 'json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'xml'::regtype)))
),
media_handlers as (
  select
    json_build_object('schema', n.nspname, 'name', p.proname) as function,
    case when argument.typrelid <> 0 then json_build_object('schema', rn.nspname, 'name', r.relname) end as relation,
    m.name as media_type
  from pg_catalog.pg_proc p
  join media_types m on m.oid = p.prorettype
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  join pg_catalog.pg_type argument on argument.oid = p.proargtypes[0]
  left join pg_catalog.pg_class r on r.oid = argument.typrelid
  left join pg_catalog.pg_namespace rn on rn.oid = r.relnamespace
  where p.prokind = 'a' and p.pronargs = 1 and n.nspname = any ({schemas})
    and (argument.oid = 'anyelement'::regtype or r.relkind in ('r', 'v', 'm', 'f', 'p'))
  order by n.nspname, p.proname
),
relations as (
  select
    c.oid::bigint as oid,
    n.nspname as schema,
    c.relname as name,
    (select json_object_agg(a.attnum, a.attname)
     from pg_catalog.pg_attribute a
     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
    coalesce(
      (select json_agg(a.attname order by a.attname)
       from pg_catalog.pg_constraint k
       join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = any (k.conkey)
       where k.conrelid = c.oid and k.contype = 'p'),
      '[]') as primary_key,
    (select r.ev_action::text
     from pg_catalog.pg_rewrite r
     where r.ev_class = c.oid and r.ev_type = '1' and c.relkind in ('v', 'm')) as definition
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p') and not c.relispartition
    and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
    and exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
),
row_functions as (
  select
    json_build_object('schema', n.nspname, 'name', p.proname) as function,
    json_build_object('schema', n.nspname, 'name', c.relname) as "table",
    json_build_object('schema', fn.nspname, 'name', f.relname) as foreign_table,
    not p.proretset or p.prorows = 1 as is_to_one
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  join pg_catalog.pg_type argument on argument.oid = p.proargtypes[0]
  join pg_catalog.pg_class c on c.oid = argument.typrelid and c.relnamespace = p.pronamespace
  join pg_catalog.pg_type result on result.oid = p.prorettype
  join pg_catalog.pg_class f on f.oid = result.typrelid
  join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
  where p.prokind = 'f' and p.pronargs = 1
    and c.relkind in ('r', 'v', 'm', 'f', 'p') and f.relkind in ('r', 'v', 'm', 'f', 'p')
    and n.nspname = any ({schemas}) and fn.nspname = any ({schemas})
),
role_settings as (
  select r.rolname, json_agg(json_build_array(name.setting_name, name.setting_value)) as settings
  from pg_catalog.pg_auth_members m
  join pg_catalog.pg_roles r on r.oid = m.roleid
  cross join lateral unnest(r.rolconfig) as setting
  cross join lateral (
    select split_part(setting, '=', 1) as setting_name, substr(setting, strpos(setting, '=') + 1) as setting_value
  ) as name
  join pg_catalog.pg_settings known on known.name = name.setting_name
  where m.member = (select oid from pg_catalog.pg_roles where rolname = current_user)
    and (known.context = 'user' or has_parameter_privilege(current_user, known.name, 'set'))
  group by r.rolname
)
select json_build_object(
  'missing_schemas', coalesce(
    (select json_agg(wanted.name order by wanted.name)
     from unnest({schemas}) as wanted (name)
     where not exists (select from pg_catalog.pg_namespace n where n.nspname = wanted.name)),
    '[]'),
  'tables', coalesce((select json_agg(tables) from tables), '[]'),
  'foreign_keys', coalesce((select json_agg(foreign_keys) from foreign_keys), '[]'),
  'relations', coalesce((select json_agg(relations) from relations), '[]'),
  'functions', coalesce((select json_agg(functions) from functions), '[]'),
  'sources', coalesce((select json_agg(sources) from sources), '[]'),
  -- Whether changes of all that own_code and sources are read from are announced, policies included.
  'is_watched', exists (
    select
    from pg_catalog.pg_event_trigger t
    join pg_catalog.pg_proc p on p.oid = t.evtfoid
    where t.evtevent = 'ddl_command_end' and t.evtenabled <> 'D' and t.evttags is null
      and p.prosrc like '%pgrst%' and p.prosrc like '%CREATE POLICY%'),
  'schema_comments', coalesce(
    (select json_object_agg(n.nspname, pg_catalog.obj_description(n.oid, 'pg_namespace'))
     from pg_catalog.pg_namespace n
     where n.nspname = any ({schemas}) and pg_catalog.obj_description(n.oid, 'pg_namespace') is not null),
    '{}'),
  'media_handlers', coalesce((select json_agg(media_handlers) from media_handlers), '[]'),
  -- PostGIS' function that makes a feature of a row, wherever the extension was put.
  'geojson', (
    select json_build_object('schema', n.nspname, 'name', p.proname)
    from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where p.proname = 'st_asgeojson' and p.proargtypes[0] = 'record'::regtype and p.pronargs - p.pronargdefaults <= 1
    limit 1),
  'row_functions', coalesce((select json_agg(row_functions) from row_functions), '[]'),
  'role_settings', coalesce((select json_object_agg(rolname, settings) from role_settings), '{}')
)
