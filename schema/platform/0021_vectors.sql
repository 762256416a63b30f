-- Vector buckets: where their vectors are kept, on the extension vector (pgvector) of a Postgres that has it.

create schema if not exists storage_vectors;
grant usage, create on schema storage_vectors to supabase_storage_admin;
comment on schema storage_vectors is 'Vectors of the indexes of vector buckets, one table for each index';

-- The storage service's login may not make extensions. This one is made when the first index is, by
-- one of the sessions that make indexes at the same time.
create function basalt.prepare_vectors() returns table (schema_name text, has_iterative_scans boolean)
language plpgsql
security definer
set search_path = ''
as $$
declare
  place pg_catalog.oid := (select extnamespace from pg_catalog.pg_extension where extname = 'vector');
begin
  if place is null or not pg_catalog.has_schema_privilege('supabase_storage_admin', place, 'usage') then
    perform pg_catalog.pg_advisory_xact_lock(7020385104219638);
    begin
      create extension if not exists vector with schema extensions;
    exception
      when unique_violation or duplicate_object then null; -- another program was faster
      when undefined_file or feature_not_supported or insufficient_privilege or invalid_schema_name then return;
    end;
    place := (select extnamespace from pg_catalog.pg_extension where extname = 'vector');
    if not pg_catalog.has_schema_privilege('supabase_storage_admin', place, 'usage') then
      execute pg_catalog.format('grant usage on schema %s to supabase_storage_admin', place::pg_catalog.regnamespace);
    end if;
  end if;
  return query
    select n.nspname::text, string_to_array(substring(e.extversion from '^[0-9.]+'), '.')::int[] >= array[0, 8]
      from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
     where e.extname = 'vector';
end
$$;
comment on function basalt.prepare_vectors() is 'Makes the extension vector if it is not there; returns its schema and whether it searches graphs on until enough is found (0.8), nothing if it cannot be had';
revoke execute on function basalt.prepare_vectors() from public;
grant usage on schema basalt to supabase_storage_admin;
grant execute on function basalt.prepare_vectors() to supabase_storage_admin;

-- The service's login owns the rows of buckets and indexes, except where the Supabase Storage service has made their tables
-- as somebody else.
do $$
declare
  table_name text;
begin
  foreach table_name in array array['storage.buckets_vectors', 'storage.vector_indexes'] loop
    if exists (
      select from pg_catalog.pg_class c
       where c.oid = pg_catalog.to_regclass(table_name)
         and not pg_catalog.pg_has_role('supabase_storage_admin', c.relowner, 'usage')
    ) then
      begin
        execute pg_catalog.format('grant select, insert, update, delete on %s to supabase_storage_admin', table_name);
        execute pg_catalog.format('drop policy if exists basalt on %s', table_name);
        execute pg_catalog.format('create policy basalt on %s to supabase_storage_admin using (true) with check (true)', table_name);
      exception when insufficient_privilege then
        raise warning 'vector buckets do not work: role % may not let the storage service write %', current_user, table_name;
      end;
    end if;
  end loop;
end $$;
