-- skip if: not coalesce((select has_table_privilege(o.oid, 'trigger') and has_table_privilege(b.oid, 'trigger') and (r.rolsuper or r.rolbypassrls or pg_has_role(b.relowner, 'usage')) from pg_class o, pg_class b, pg_roles r where o.oid = to_regclass('storage.objects') and b.oid = to_regclass('storage.buckets') and r.rolname = current_user), false)

-- Tells every node that an object or a bucket which anybody may read has changed, so that nodes can keep such objects in
-- memory. New objects are no news: what is not there is not kept.

create function basalt.notify_public_objects() returns trigger
language plpgsql
-- Row-level security must not hide the buckets of the rows from it.
security definer
set search_path = ''
as $$
begin
  if tg_table_name = 'objects' and tg_op <> 'TRUNCATE' then
    if not exists (select from rows_before o join storage.buckets b on b.id = o.bucket_id where b.public) then
      return null;
    end if;
  end if;
  perform pg_catalog.pg_notify('basalt_public_objects', '');
  return null;
end
$$;
comment on function basalt.notify_public_objects() is 'Notifies basalt_public_objects that rows of public buckets have changed';
revoke execute on function basalt.notify_public_objects() from public;

create trigger basalt_notify_update after update on storage.objects
  referencing old table as rows_before for each statement execute function basalt.notify_public_objects();
create trigger basalt_notify_delete after delete on storage.objects
  referencing old table as rows_before for each statement execute function basalt.notify_public_objects();
create trigger basalt_notify_truncate after truncate on storage.objects
  for each statement execute function basalt.notify_public_objects();
create trigger basalt_notify after update or delete or truncate on storage.buckets
  for each statement execute function basalt.notify_public_objects();
