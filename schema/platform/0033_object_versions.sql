-- Versions of objects and lifecycles of buckets, with the columns and constraints of Supabase Storage.
--
-- The current version of an object has no archived_at; older ones and replaced delete markers have the time at which they
-- stopped being current. Rows that were written while a bucket did not keep versions are not is_versioned: an object has at
-- most one of them, S3's version "null".

do $$
declare
  -- Whether the functions are another server's, which then decides when its lists and indexes are ready for versions.
  is_foreign boolean := to_regproc('storage.list_level') is null;
  has_status constant boolean := exists (
    select from pg_catalog.pg_attribute
    where attrelid = 'storage.buckets'::regclass and attname = 'versioning_status' and not attisdropped
  );
begin
  perform pg_catalog.set_config('role', pg_catalog.pg_get_userbyid(relowner), true)
  from pg_catalog.pg_class where oid = 'storage.objects'::regclass;

  alter table storage.objects
    add column if not exists archived_at timestamptz,
    add column if not exists is_delete_marker boolean not null default false,
    add column if not exists is_versioned boolean not null default false;
  alter table storage.buckets
    add column if not exists versioning_status text not null default 'DISABLED',
    add column if not exists lifecycle_configuration jsonb,
    add column if not exists lifecycle_configuration_generation uuid;
  comment on column storage.objects.archived_at is 'When the version stopped being the current one; null for the current one';
  comment on column storage.objects.is_delete_marker is 'Whether it stands for the removal of the object, and has no bytes';
  comment on column storage.objects.is_versioned is 'Whether the bucket kept versions when it was written; of the others an object has at most one';
  comment on column storage.buckets.versioning_status is 'Whether replaced and removed objects are kept: DISABLED (never), ENABLED, SUSPENDED (no longer)';
  comment on column storage.buckets.lifecycle_configuration is 'Rules by which older versions of objects expire';
  comment on column storage.buckets.lifecycle_configuration_generation is 'New with every change of the rules';
  if not exists (select from pg_catalog.pg_constraint where conname = 'buckets_lifecycle_configuration_pair_check') then
    alter table storage.buckets add constraint buckets_lifecycle_configuration_pair_check
      check ((lifecycle_configuration is null) = (lifecycle_configuration_generation is null));
  end if;

  -- Statements that write or remove objects as callers call it, who may not see the buckets' rows.
  create or replace function storage.refuse_versioned(bucket text) returns boolean
  language plpgsql stable
  security definer
  set search_path = ''
  as $function$
  begin
    if exists (select from storage.buckets where id = bucket and versioning_status <> 'DISABLED') then
      raise exception 'The bucket keeps versions of its objects' using errcode = 'BV001';
    end if;
    return true;
  end
  $function$;
  comment on function storage.refuse_versioned(text) is 'True; SQLSTATE BV001 for a bucket that keeps versions of its objects, or has kept them';

  -- A move writes a row where it has not looked: it must not do so if the version has gone meanwhile.
  create or replace function storage.require_version(bucket text, object text, version_name text, is_current boolean)
  returns void
  language plpgsql
  set search_path = ''
  as $function$
  begin
    perform from storage.objects o
      where o.bucket_id = bucket and o.name collate "C" = object and o.version = version_name
        and (o.archived_at is null) = is_current
      for update;
    if not found then
      raise exception 'The version has been replaced or removed' using errcode = 'BV002';
    end if;
  end
  $function$;
  comment on function storage.require_version(text, text, text, boolean) is 'Locks the row of a version that is the current one or is not; SQLSTATE BV002 if there is none';

  -- Older releases of Supabase Storage had no index for names in the order of their bytes, by which versions are found.
  if pg_catalog.has_schema_privilege('storage', 'create') then
    create index if not exists idx_objects_bucket_id_name on storage.objects (bucket_id, name collate "C");
  end if;

  if not is_foreign and to_regclass('storage.migrations') is not null then
    -- The Supabase Storage service has gone on from what 0018_storage_migrations.sql told it.
    execute 'select exists (select from storage.migrations where id > 63)' into is_foreign;
  end if;
  if is_foreign then
    if not has_status then
      alter table storage.buckets add constraint buckets_versioning_dark_check check (versioning_status = 'DISABLED');
    end if;
    return;
  end if;

  alter table storage.buckets drop constraint if exists buckets_versioning_dark_check;
  create unique index if not exists idx_objects_current_version
    on storage.objects (bucket_id, name collate "C") where archived_at is null;
  create unique index if not exists idx_objects_null_version
    on storage.objects (bucket_id, name collate "C") where not is_versioned;
  -- For the rules of lifecycles. Objects of buckets that keep no versions are not in it.
  create index if not exists idx_objects_archived
    on storage.objects (bucket_id, archived_at, id) where archived_at is not null;

  -- Names are unique as long as no bucket keeps versions: statements of users rely on the index that says so.
  create or replace function storage.allow_versions() returns trigger
  language plpgsql
  security definer
  set search_path = ''
  as $function$
  begin
    if to_regclass('storage.bucketid_objname') is not null then
      drop index storage.bucketid_objname;
    end if;
    return null;
  end
  $function$;
  comment on function storage.allow_versions() is 'Trigger: drops the index by which an object has one version, as soon as a bucket keeps more';
  revoke execute on function storage.allow_versions() from public;
  create or replace trigger basalt_allow_versions after insert or update of versioning_status on storage.buckets
    for each row when (new.versioning_status <> 'DISABLED') execute function storage.allow_versions();
  -- Dumps of data are loaded as a replica, for which other triggers do not fire.
  alter table storage.buckets enable always trigger basalt_allow_versions;
  if exists (select from storage.buckets where versioning_status <> 'DISABLED') then
    drop index if exists storage.bucketid_objname;
  end if;

  -- Statements for buckets that keep no versions know of no delete markers.
  create or replace function storage.enforce_versioning_status_transition() returns trigger
  language plpgsql
  set search_path = ''
  as $function$
  begin
    if new.versioning_status <> old.versioning_status and (
      new.versioning_status = 'DISABLED' or old.versioning_status = 'DISABLED' and new.versioning_status <> 'ENABLED'
    ) then
      raise exception 'versioning_status of a bucket cannot change from % to %', old.versioning_status, new.versioning_status
        using errcode = 'check_violation', constraint = 'enforce_versioning_status_transition';
    end if;
    return new;
  end
  $function$;
  comment on function storage.enforce_versioning_status_transition() is 'Trigger: a bucket that has kept versions can only suspend that';
  create or replace trigger enforce_versioning_status_transition before update of versioning_status on storage.buckets
    for each row execute function storage.enforce_versioning_status_transition();

  -- Lists show current versions. Apart from that the functions are as they were.
  create or replace function storage.list_level(
    p_bucket text,
    p_prefix text,
    p_delimiter text,
    p_limit integer,
    p_seek text,
    p_inclusive boolean,
    p_ascending boolean,
    p_ignore_case boolean
  ) returns table (
    name text,
    id uuid,
    metadata jsonb,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz
  )
  language plpgsql stable
  as $function$
  #variable_conflict use_column
  declare
    first constant text := case when p_ignore_case then lower(p_prefix) else p_prefix end;
    beyond constant text := storage.prefix_successor(first);
    -- Where the walk goes on: behind it (at it, if inclusive) when ascending, before it when descending.
    seek text := p_seek;
    inclusive boolean := p_inclusive;
    remaining integer := greatest(p_limit, 0);
    candidate record;
    folder text;
    leapt boolean;
  begin
    loop
      leapt := false;
      for candidate in execute format(
        'select o.name, o.id, o.metadata, o.updated_at, o.created_at, o.last_accessed_at
           from storage.objects o
          where o.bucket_id = $1 and o.archived_at is null and not o.is_delete_marker
            and %1$s collate "C" >= $2 and ($3 is null or %1$s collate "C" < $3)
            and ($4 is null or %1$s collate "C" %2$s $4)
          order by %1$s collate "C" %3$s, o.name collate "C" %3$s limit $5',
        case when p_ignore_case then 'lower(o.name)' else 'o.name' end,
        case when not p_ascending then '<' when inclusive then '>=' else '>' end,
        case when p_ascending then 'asc' else 'desc' end
      ) using p_bucket, first, beyond, seek, remaining
      loop
        remaining := remaining - 1;
        folder := case when p_delimiter <> '' then storage.get_common_prefix(candidate.name, p_prefix, p_delimiter) end;
        leapt := folder is not null;
        if leapt then
          name := folder;
          id := null;
          metadata := null;
          updated_at := null;
          created_at := null;
          last_accessed_at := null;
          return next;
          if p_ignore_case then
            folder := lower(folder);
          end if;
          seek := case when p_ascending then storage.prefix_successor(folder) else folder end;
          inclusive := true;
          exit;
        end if;
        name := candidate.name;
        id := candidate.id;
        metadata := candidate.metadata;
        updated_at := candidate.updated_at;
        created_at := candidate.created_at;
        last_accessed_at := candidate.last_accessed_at;
        return next;
      end loop;
      exit when not leapt or remaining = 0 or seek is null;
    end loop;
  end
  $function$;

  create or replace function storage.list_objects_with_delimiter(
    _bucket_id text,
    prefix_param text,
    delimiter_param text,
    max_keys integer default 100,
    start_after text default '',
    next_token text default '',
    sort_order text default 'asc'
  ) returns table (
    name text,
    id uuid,
    metadata jsonb,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz
  )
  language plpgsql stable
  as $function$
  declare
    ascending constant boolean := lower(coalesce(sort_order, 'asc')) <> 'desc';
    after constant text := coalesce(nullif(next_token, ''), nullif(start_after, ''));
    ends_with_delimiter constant boolean := right(after, length(delimiter_param)) = delimiter_param;
    -- The folder that the listing goes on after; null for an object.
    folder text := case
      when delimiter_param = '' then null
      when ends_with_delimiter then after
      else after || delimiter_param
    end;
  begin
    if not ends_with_delimiter and (
      not exists (
        select from storage.objects o
         where o.bucket_id = _bucket_id and o.archived_at is null and not o.is_delete_marker
           and o.name collate "C" >= folder
           and o.name collate "C" < storage.prefix_successor(folder)
      )
      -- An object of that name comes after the folder when descending.
      or not ascending and exists (
        select from storage.objects o where o.bucket_id = _bucket_id and o.name = after
          and o.archived_at is null and not o.is_delete_marker
      )
    ) then
      folder := null;
    end if;
    return query
      select case when l.id is null then left(l.name, -length(delimiter_param)) else l.name end,
             l.id, l.metadata, l.updated_at, l.created_at, l.last_accessed_at
        from storage.list_level(
          _bucket_id, coalesce(prefix_param, ''), delimiter_param, coalesce(max_keys, 100),
          case when folder is null then after when ascending then storage.prefix_successor(folder) else folder end,
          folder is not null and ascending, ascending, false
        ) l;
  end
  $function$;

  create or replace function storage.search(
    prefix text,
    bucketname text,
    limits integer default 100,
    levels integer default 1,
    offsets integer default 0,
    search text default '',
    sortcolumn text default 'name',
    sortorder text default 'asc'
  ) returns table (
    name text,
    id uuid,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz,
    metadata jsonb
  )
  language plpgsql stable
  as $function$
  #variable_conflict use_column
  declare
    ascending constant boolean := lower(coalesce(sortorder, 'asc')) <> 'desc';
    wanted constant text := coalesce(prefix, '') || coalesce(search, '');
    -- Names are relative to the prefix, what the search says belongs to them.
    relative constant integer := length(coalesce(prefix, '')) + 1;
    bounded constant integer := least(greatest(coalesce(limits, 100), 0), 1500);
    skipped constant integer := greatest(coalesce(offsets, 0), 0);
  begin
    if lower(coalesce(sortcolumn, 'name')) not in ('updated_at', 'created_at', 'last_accessed_at') then
      return query
        select case when l.id is null then left(substr(l.name, relative), -1) else substr(l.name, relative) end,
               l.id, l.updated_at, l.created_at, l.last_accessed_at, l.metadata
          from storage.list_level(bucketname, wanted, '/', bounded + skipped, null, false, ascending, true)
            with ordinality l
         where l.ordinality > skipped
         order by l.ordinality;
      return;
    end if;
    -- By time there is no order of names to leap along. Folders have no time of their own and come first, by name.
    return query execute format(
      'with matching as (
         select o.name, storage.get_common_prefix(o.name, $2, ''/'') as folder,
                o.id, o.updated_at, o.created_at, o.last_accessed_at, o.metadata
           from storage.objects o
          where o.bucket_id = $1 and o.archived_at is null and not o.is_delete_marker
            and lower(o.name) collate "C" >= lower($2)
            and ($3 is null or lower(o.name) collate "C" < $3)
       ), entries as (
         select distinct on (lower(folder) collate "C")
                left(folder, -1) as name, null::uuid as id, null::timestamptz as updated_at,
                null::timestamptz as created_at, null::timestamptz as last_accessed_at, null::jsonb as metadata
           from matching where folder is not null
         union all
         select name, id, updated_at, created_at, last_accessed_at, metadata from matching where folder is null
       )
       select substr(name, $4), id, updated_at, created_at, last_accessed_at, metadata from entries
        order by id is not null, case when id is null then lower(name) collate "C" end %2$s,
                 %1$I %2$s, name collate "C" %2$s
        limit $5 offset $6',
      lower(sortcolumn),
      case when ascending then 'asc' else 'desc' end
    ) using bucketname, wanted, storage.prefix_successor(lower(wanted)), relative, bounded, skipped;
  end
  $function$;

  create or replace function storage.search_by_timestamp(
    p_prefix text,
    p_bucket_id text,
    p_limit integer,
    p_level integer,
    p_start_after text,
    p_sort_order text,
    p_sort_column text,
    p_sort_column_after text
  ) returns table (
    key text,
    name text,
    id uuid,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz,
    metadata jsonb
  )
  language plpgsql stable
  as $function$
  #variable_conflict use_column
  declare
    ascending constant boolean := lower(coalesce(p_sort_order, 'asc')) <> 'desc';
  begin
    return query execute format(
      'with entries as (
         select coalesce(left(storage.get_common_prefix(o.name, $1, ''/''), -1), o.name) as name,
                storage.get_common_prefix(o.name, $1, ''/'') is not null as folder,
                o.id, o.updated_at, o.created_at, o.last_accessed_at, o.metadata
           from storage.objects o
          where o.bucket_id = $2 and o.archived_at is null and not o.is_delete_marker
            and o.name collate "C" >= $1
            and ($7 is null or o.name collate "C" < $7)
       ), listed as (
         select name, null::uuid as id, min(created_at) as updated_at, min(created_at) as created_at,
                null::timestamptz as last_accessed_at, null::jsonb as metadata
           from entries where folder group by name
         union all
         select name, id, updated_at, created_at, last_accessed_at, metadata from entries where not folder
       )
       select split_part(name, ''/'', $4), name, id, updated_at, created_at, last_accessed_at, metadata
         from listed
        where $5 = ''''
           or row(date_trunc(''milliseconds'', %1$I), name collate "C")
              %3$s row(coalesce(nullif($6, '''')::timestamptz, ''epoch''), $5)
        order by date_trunc(''milliseconds'', %1$I) %2$s, name collate "C" %2$s
        limit $3',
      p_sort_column,
      case when ascending then 'asc' else 'desc' end,
      case when ascending then '>' else '<' end
    ) using coalesce(p_prefix, ''), p_bucket_id, p_limit, p_level, coalesce(p_start_after, ''), p_sort_column_after,
      storage.prefix_successor(coalesce(p_prefix, ''));
  end
  $function$;
end $$;

reset role;

-- One node at a time lets versions expire.
create table basalt.lifecycle_turns (
  is_only boolean primary key default true check (is_only),
  begun_at timestamptz not null
);
comment on table basalt.lifecycle_turns is 'When a node has last begun to remove versions of objects that have expired';
grant select, insert, update on basalt.lifecycle_turns to service_role;
