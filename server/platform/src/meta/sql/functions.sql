select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    f.oid::bigint as id,
    n.nspname as schema,
    f.proname as name,
    l.lanname as language,
    -- A function of language internal has no statement, only the name of its C function.
    case when l.lanname = 'internal' then '' else f.prosrc end as definition,
    case when l.lanname = 'internal' then f.prosrc else pg_catalog.pg_get_functiondef(f.oid) end as complete_statement,
    coalesce((
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'mode', case arg.mode
          when 'o' then 'out' when 'b' then 'inout' when 'v' then 'variadic' when 't' then 'table' else 'in'
        end,
        'name', coalesce(arg.name, ''),
        'type_id', arg.type::bigint,
        -- The last pronargdefaults of the arguments that a caller passes have one.
        'has_default', case when arg.passed then arg.number > f.pronargs - f.pronargdefaults end
      ) order by arg.place)
      from (
        select
          a.*,
          coalesce(a.mode, 'i') not in ('o', 't') as passed,
          pg_catalog.count(*) filter (where coalesce(a.mode, 'i') not in ('o', 't')) over (order by a.place) as number
        from rows from (
          pg_catalog.unnest(coalesce(f.proallargtypes, f.proargtypes::oid[])),
          pg_catalog.unnest(f.proargmodes),
          pg_catalog.unnest(f.proargnames)
        ) with ordinality a (type, mode, name, place)
      ) arg
    ), '[]'::json) as args,
    pg_catalog.pg_get_function_arguments(f.oid) as argument_types,
    pg_catalog.pg_get_function_identity_arguments(f.oid) as identity_argument_types,
    f.prorettype::bigint as return_type_id,
    pg_catalog.pg_get_function_result(f.oid) as return_type,
    nullif(t.typrelid, 0)::bigint as return_type_relation_id,
    f.proretset as is_set_returning_function,
    nullif(f.prorows, 0) as prorows,
    case f.provolatile when 'i' then 'IMMUTABLE' when 's' then 'STABLE' else 'VOLATILE' end as behavior,
    f.prosecdef as security_definer,
    (
      select pg_catalog.jsonb_object_agg(
        pg_catalog.split_part(entry, '=', 1), pg_catalog.substr(entry, pg_catalog.strpos(entry, '=') + 1)
      )
      from pg_catalog.unnest(f.proconfig) entry
    ) as config_params
  from pg_catalog.pg_proc f
  join pg_catalog.pg_namespace n on n.oid = f.pronamespace
  join pg_catalog.pg_language l on l.oid = f.prolang
  join pg_catalog.pg_type t on t.oid = f.prorettype
  where f.prokind = 'f'
    and ($6::text is null or $6 = f.oid::text)
    and not pg_catalog.pg_is_other_temp_schema(n.oid)
    and {schemas:n.nspname}
    and ($7::boolean is null or true)
  order by f.oid
  limit $4::bigint offset $5::bigint
) x
