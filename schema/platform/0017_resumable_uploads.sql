-- Resumable uploads under way (TUS): what has come of each, so that any node can go on with it, also after a restart.

create table basalt.resumable_uploads (
  id uuid primary key,
  bucket_id text not null,
  name text not null,
  owner_id text,
  replaces boolean not null,
  metadata text not null,
  length bigint,
  received bigint not null default 0,
  parts uuid[] not null default '{}',
  is_complete boolean not null default false,
  expires_at timestamptz not null
);
comment on table basalt.resumable_uploads is 'Resumable uploads (TUS) under way, and those that have just ended';
comment on column basalt.resumable_uploads.replaces is 'Whether an object of the same name is replaced';
comment on column basalt.resumable_uploads.metadata is 'Header Upload-Metadata as the client sent it';
comment on column basalt.resumable_uploads.length is 'Bytes that the object will have; null while the client has not said it';
comment on column basalt.resumable_uploads.received is 'Bytes that have come';
comment on column basalt.resumable_uploads.parts is 'Names of the parts in the object store, in their order';
comment on column basalt.resumable_uploads.expires_at is 'When the upload is given up';
create index on basalt.resumable_uploads (expires_at);

-- Ends an upload in the transaction that writes its object, or undoes that transaction if another request was faster.
create function basalt.complete_resumable_upload(upload uuid, expected bigint, total bigint) returns void
language plpgsql
as $$
begin
  update basalt.resumable_uploads
     set received = total, length = total, parts = '{}', is_complete = true
   where id = upload and received = expected and not is_complete;
  if not found then
    raise exception 'Upload-Offset conflict' using errcode = 'PT409';
  end if;
end
$$;
comment on function basalt.complete_resumable_upload(uuid, bigint, bigint) is 'Marks an upload of which so many bytes had come as complete; SQLSTATE PT409 if it was not so';
revoke execute on function basalt.complete_resumable_upload(uuid, bigint, bigint) from public;

grant usage on schema basalt to service_role;
grant select, insert, update, delete on basalt.resumable_uploads to service_role;
grant execute on function basalt.complete_resumable_upload(uuid, bigint, bigint) to service_role;
