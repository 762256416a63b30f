select coalesce(pg_catalog.json_agg(x), '[]'::json)
from (
  select
    t.oid::bigint as id,
    c.oid::bigint as table_id,
    case t.tgenabled when 'O' then 'ORIGIN' when 'R' then 'REPLICA' when 'A' then 'ALWAYS' else 'DISABLED' end
      as enabled_mode,
    -- Each argument in tgargs ends with a zero byte, which no text can hold: cut first, then decode.
    coalesce((
      select pg_catalog.json_agg(
        pg_catalog.convert_from(
          pg_catalog.substr(t.tgargs, ends.previous + 2, ends.at - ends.previous - 1),
          pg_catalog.getdatabaseencoding()
        ) order by ends.at
      )
      from (
        select at, pg_catalog.lag(at, 1, -1) over (order by at) as previous
        from pg_catalog.generate_series(0, pg_catalog.length(t.tgargs) - 1) at
        where pg_catalog.get_byte(t.tgargs, at) = 0
      ) ends
    ), '[]'::json) as function_args,
    t.tgname as name,
    c.relname as "table",
    n.nspname as schema,
    -- pg_get_expr cannot print conditions, because they name two rows.
    case when t.tgqual is not null then
      pg_catalog.substring(pg_catalog.pg_get_triggerdef(t.oid), ' WHEN \((.*)\) EXECUTE FUNCTION ')
    end as condition,
    case when t.tgtype & 1 = 1 then 'ROW' else 'STATEMENT' end as orientation,
    case when t.tgtype & 2 = 2 then 'BEFORE' when t.tgtype & 64 = 64 then 'INSTEAD OF' else 'AFTER' end as activation,
    (
      select pg_catalog.json_agg(event.name order by event.place)
      from (values (1, 4, 'INSERT'), (2, 16, 'UPDATE'), (3, 8, 'DELETE')) event (place, bit, name)
      where t.tgtype & event.bit <> 0
    ) as events,
    f.proname as function_name,
    fn.nspname as function_schema
  from pg_catalog.pg_trigger t
  join pg_catalog.pg_class c on c.oid = t.tgrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_proc f on f.oid = t.tgfoid
  join pg_catalog.pg_namespace fn on fn.oid = f.pronamespace
  where not t.tgisinternal
    -- The event TRUNCATE is unknown to the standard, and so to the route.
    and t.tgtype & 28 <> 0
    and not pg_catalog.pg_is_other_temp_schema(n.oid)
    and ($6::text is null or $6 = t.oid::text)
    and {schemas:n.nspname}
    and ($7::boolean is null or true)
  order by t.oid
  limit $4::bigint offset $5::bigint
) x
