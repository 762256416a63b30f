-- Removes everything whose name begins with conformance_ from the schema public, and the kit's policies.
-- Buckets are removed with their objects through the storage interface; those of the kit are empty by then.
do $teardown$
declare
  statements text[];
  statement text;
begin
  -- All are known before the first is carried out, since one drop may carry others with it.
  statements := array(
    select format('drop %s if exists public.%I cascade',
      case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'table' end,
      relname)
    from pg_class
    where relnamespace = 'public'::regnamespace and relname like 'conformance\_%'
      and relkind in ('r', 'p', 'v', 'm') and not relispartition
    union all
    select format('drop routine if exists %s cascade', oid::regprocedure)
    from pg_proc
    where pronamespace = 'public'::regnamespace and proname like 'conformance\_%' and prokind <> 'a'
    union all
    select format('drop aggregate if exists %s cascade', oid::regprocedure)
    from pg_proc
    where pronamespace = 'public'::regnamespace and proname like 'conformance\_%' and prokind = 'a'
    union all
    select format('drop %s if exists public.%I cascade', case typtype when 'd' then 'domain' else 'type' end, typname)
    from pg_type
    left join pg_class on pg_class.oid = typrelid
    where typnamespace = 'public'::regnamespace and typname like 'conformance\_%'
      and (typtype in ('d', 'e', 'r') or (typtype = 'c' and relkind = 'c'))
    union all
    select format('drop policy if exists %I on %I.%I', policyname, schemaname, tablename)
    from pg_policies
    where policyname like 'conformance\_%' and schemaname in ('storage', 'realtime')
  );
  foreach statement in array statements loop
    begin
      execute statement;
    -- Gone already with something else that it belonged to.
    exception when undefined_function or undefined_object or undefined_table then null;
    end;
  end loop;
end
$teardown$;
-- The domains that stand for media types.
drop schema if exists conformance_media cascade;
