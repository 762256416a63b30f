-- skip if: to_regclass('storage.objects') is not null

-- Schema "storage": buckets and objects with the names and types of hosted Supabase. Rows only; the bytes lie in the
-- object store. Listing functions follow in the next file.

create schema if not exists storage;
comment on schema storage is 'Buckets and objects; row-level security on them decides who may read and write files';
grant usage on schema storage to anon, authenticated, service_role;
grant all on schema storage to postgres, supabase_storage_admin, dashboard_user;

set local role supabase_storage_admin;

alter default privileges in schema storage grant all on tables to postgres, anon, authenticated, service_role;
alter default privileges in schema storage grant all on sequences to postgres, anon, authenticated, service_role;
alter default privileges in schema storage grant all on routines to postgres, anon, authenticated, service_role;

create type storage.buckettype as enum ('STANDARD', 'ANALYTICS', 'VECTOR');
comment on type storage.buckettype is 'What a bucket holds: files, Iceberg tables or vectors';

create table storage.migrations (
  id integer not null,
  name varchar(100) not null,
  hash varchar(40) not null,
  executed_at timestamp default current_timestamp,
  constraint migrations_pkey primary key (id),
  constraint migrations_name_key unique (name)
);
comment on table storage.migrations is 'Migrations of the Supabase Storage service; empty where it never ran';

create table storage.buckets (
  id text not null,
  name text not null,
  owner uuid,
  created_at timestamptz default now(),
  updated_at timestamptz default now(),
  public boolean default false,
  avif_autodetection boolean default false,
  file_size_limit bigint,
  allowed_mime_types text[],
  owner_id text,
  type storage.buckettype not null default 'STANDARD',
  versioning_status text not null default 'DISABLED',
  constraint buckets_pkey primary key (id),
  constraint buckets_versioning_status_check check (versioning_status in ('DISABLED', 'ENABLED', 'SUSPENDED')),
  constraint buckets_versioning_standard_only_check check (type = 'STANDARD' or versioning_status = 'DISABLED')
);
comment on table storage.buckets is 'Buckets; a row inserted here is a bucket at once';
comment on column storage.buckets.owner is 'Field is deprecated, use owner_id instead';
comment on column storage.buckets.owner_id is 'Claim sub of who made it';
comment on column storage.buckets.public is 'Whether its objects may be read without a token, whatever the policies say';
comment on column storage.buckets.file_size_limit is 'Largest object in bytes, null for the server''s limit';
comment on column storage.buckets.allowed_mime_types is 'Content types that uploads may declare, null for any; type/* for a family';
create unique index bname on storage.buckets (name);

create table storage.objects (
  id uuid not null default gen_random_uuid(),
  bucket_id text,
  name text,
  owner uuid,
  created_at timestamptz default now(),
  updated_at timestamptz default now(),
  last_accessed_at timestamptz default now(),
  metadata jsonb,
  path_tokens text[] generated always as (string_to_array(name, '/')) stored,
  version text,
  owner_id text,
  user_metadata jsonb,
  archived_at timestamptz,
  is_delete_marker boolean not null default false,
  is_versioned boolean not null default false,
  constraint objects_pkey primary key (id),
  constraint "objects_bucketId_fkey" foreign key (bucket_id) references storage.buckets (id)
);
comment on table storage.objects is 'Objects: one row per file. Delete through the Storage API, or the bytes stay behind';
comment on column storage.objects.name is 'Path within the bucket';
comment on column storage.objects.owner is 'Field is deprecated, use owner_id instead';
comment on column storage.objects.owner_id is 'Claim sub of who wrote it last';
comment on column storage.objects.metadata is 'eTag, size, mimetype, cacheControl, lastModified, contentLength, httpStatusCode';
comment on column storage.objects.path_tokens is 'Parts of the name between slashes';
comment on column storage.objects.version is 'Names the bytes in the object store; new with every write';
comment on column storage.objects.user_metadata is 'What the uploader gave along';
create unique index bucketid_objname on storage.objects (bucket_id, name);
create index name_prefix_search on storage.objects (name text_pattern_ops);
create index idx_objects_bucket_id_name on storage.objects (bucket_id, name collate "C");
create index idx_objects_bucket_id_name_lower on storage.objects (bucket_id, lower(name) collate "C");

create table storage.s3_multipart_uploads (
  id text not null,
  in_progress_size bigint not null default 0,
  upload_signature text not null,
  bucket_id text not null,
  key text collate "C" not null,
  version text not null,
  owner_id text,
  created_at timestamptz not null default now(),
  user_metadata jsonb,
  metadata jsonb,
  constraint s3_multipart_uploads_pkey primary key (id),
  constraint s3_multipart_uploads_bucket_id_fkey foreign key (bucket_id) references storage.buckets (id)
);
comment on table storage.s3_multipart_uploads is 'Multipart uploads under way';
create index idx_multipart_uploads_list on storage.s3_multipart_uploads (bucket_id, key, created_at);

create table storage.s3_multipart_uploads_parts (
  id uuid not null default gen_random_uuid(),
  upload_id text not null,
  size bigint not null default 0,
  part_number integer not null,
  bucket_id text not null,
  key text collate "C" not null,
  etag text not null,
  owner_id text,
  version text not null,
  created_at timestamptz not null default now(),
  constraint s3_multipart_uploads_parts_pkey primary key (id),
  constraint s3_multipart_uploads_parts_upload_id_fkey foreign key (upload_id)
    references storage.s3_multipart_uploads (id) on delete cascade,
  constraint s3_multipart_uploads_parts_bucket_id_fkey foreign key (bucket_id) references storage.buckets (id)
);
comment on table storage.s3_multipart_uploads_parts is 'Parts of multipart uploads';

create table storage.buckets_analytics (
  name text not null,
  type storage.buckettype not null default 'ANALYTICS',
  format text not null default 'ICEBERG',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  id uuid not null default gen_random_uuid(),
  deleted_at timestamptz,
  constraint buckets_analytics_pkey primary key (id)
);
comment on table storage.buckets_analytics is 'Analytics buckets; kept for compatibility';
create unique index buckets_analytics_unique_name_idx on storage.buckets_analytics (name) where deleted_at is null;

create table storage.iceberg_namespaces (
  id uuid not null default gen_random_uuid(),
  bucket_name text not null,
  name text collate "C" not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  metadata jsonb not null default '{}',
  catalog_id uuid not null,
  constraint iceberg_namespaces_pkey primary key (id),
  constraint iceberg_namespaces_catalog_id_fkey foreign key (catalog_id)
    references storage.buckets_analytics (id) on delete cascade
);
comment on table storage.iceberg_namespaces is 'Namespaces of analytics buckets; kept for compatibility';
create unique index idx_iceberg_namespaces_bucket_id on storage.iceberg_namespaces (catalog_id, name);

create table storage.iceberg_tables (
  id uuid not null default gen_random_uuid(),
  namespace_id uuid not null,
  bucket_name text not null,
  name text collate "C" not null,
  location text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  remote_table_id text,
  shard_key text,
  shard_id text,
  catalog_id uuid not null,
  constraint iceberg_tables_pkey primary key (id),
  constraint iceberg_tables_namespace_id_fkey foreign key (namespace_id)
    references storage.iceberg_namespaces (id) on delete cascade,
  constraint iceberg_tables_catalog_id_fkey foreign key (catalog_id)
    references storage.buckets_analytics (id) on delete cascade
);
comment on table storage.iceberg_tables is 'Tables of analytics buckets; kept for compatibility';
create unique index idx_iceberg_tables_namespace_id on storage.iceberg_tables (catalog_id, namespace_id, name);
create unique index idx_iceberg_tables_location on storage.iceberg_tables (location);

create table storage.buckets_vectors (
  id text not null,
  type storage.buckettype not null default 'VECTOR',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint buckets_vectors_pkey primary key (id)
);
comment on table storage.buckets_vectors is 'Vector buckets; kept for compatibility';

create table storage.vector_indexes (
  id text not null default gen_random_uuid(),
  name text collate "C" not null,
  bucket_id text not null,
  data_type text not null,
  dimension integer not null,
  distance_metric text not null,
  metadata_configuration jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint vector_indexes_pkey primary key (id),
  constraint vector_indexes_bucket_id_fkey foreign key (bucket_id) references storage.buckets_vectors (id)
);
comment on table storage.vector_indexes is 'Indexes of vector buckets; kept for compatibility';
create unique index vector_indexes_name_bucket_id_idx on storage.vector_indexes (name, bucket_id);

-- Row-level security decides on buckets and objects, so the API's roles hold every right on those two tables. On the
-- service's own tables they may look at most (and row-level security without policies shows them nothing).
alter table storage.migrations enable row level security;
alter table storage.buckets enable row level security;
alter table storage.objects enable row level security;
alter table storage.s3_multipart_uploads enable row level security;
alter table storage.s3_multipart_uploads_parts enable row level security;
alter table storage.buckets_analytics enable row level security;
alter table storage.iceberg_namespaces enable row level security;
alter table storage.iceberg_tables enable row level security;
alter table storage.buckets_vectors enable row level security;
alter table storage.vector_indexes enable row level security;

grant all on storage.buckets, storage.objects to postgres with grant option;
revoke all on storage.migrations from anon, authenticated, service_role;
revoke all
  on storage.s3_multipart_uploads, storage.s3_multipart_uploads_parts,
     storage.iceberg_namespaces, storage.iceberg_tables, storage.buckets_vectors, storage.vector_indexes
  from anon, authenticated;
revoke all on storage.buckets_vectors, storage.vector_indexes from service_role;
grant select
  on storage.s3_multipart_uploads, storage.s3_multipart_uploads_parts,
     storage.iceberg_namespaces, storage.iceberg_tables, storage.buckets_vectors, storage.vector_indexes
  to anon, authenticated;
grant select on storage.buckets_vectors, storage.vector_indexes to service_role;

create function storage.update_updated_at_column() returns trigger
language plpgsql
as $$
begin
  new.updated_at = now();
  return new;
end
$$;
comment on function storage.update_updated_at_column() is 'Trigger: stamps updated_at';
create trigger update_objects_updated_at before update on storage.objects
  for each row execute function storage.update_updated_at_column();

create function storage.enforce_bucket_name_length() returns trigger
language plpgsql
as $$
begin
  if length(new.name) > 100 then
    raise exception 'bucket name "%" is too long (% characters). Max is 100.', new.name, length(new.name);
  end if;
  return new;
end
$$;
comment on function storage.enforce_bucket_name_length() is 'Trigger: a bucket''s name has at most 100 characters';
create trigger enforce_bucket_name_length_trigger before insert or update of name on storage.buckets
  for each row execute function storage.enforce_bucket_name_length();

create function storage.protect_delete() returns trigger
language plpgsql
as $$
begin
  if current_setting('storage.allow_delete_query', true) is distinct from 'true' then
    raise exception 'Direct deletion from storage tables is not allowed. Use the Storage API instead.'
      using errcode = 'insufficient_privilege',
            hint = 'Deleting the row alone would leave the file''s bytes in the object store.';
  end if;
  return null;
end
$$;
comment on function storage.protect_delete() is 'Trigger: deletes only where storage.allow_delete_query is true';
create trigger protect_buckets_delete before delete on storage.buckets
  for each statement execute function storage.protect_delete();
create trigger protect_objects_delete before delete on storage.objects
  for each statement execute function storage.protect_delete();

reset role;
