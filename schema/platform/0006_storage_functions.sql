-- skip if: to_regprocedure('storage.foldername(text)') is not null

-- Functions of schema "storage" that policies call, and the listings of the Storage API.

set local role supabase_storage_admin;

create function storage.foldername(name text) returns text[]
language plpgsql immutable
as $$
declare
  parts text[] := string_to_array(name, '/');
begin
  return parts[1 : array_length(parts, 1) - 1];
end
$$;
comment on function storage.foldername(text) is 'Parts of an object''s name without the last: a/b/c.txt gives {a,b}';

create function storage.filename(name text) returns text
language plpgsql immutable
as $$
declare
  parts text[] := string_to_array(name, '/');
begin
  return parts[array_length(parts, 1)];
end
$$;
comment on function storage.filename(text) is 'Last part of an object''s name: a/b/c.txt gives c.txt';

create function storage.extension(name text) returns text
language plpgsql immutable
as $$
declare
  parts text[] := string_to_array(storage.filename(name), '.');
begin
  return parts[array_length(parts, 1)];
end
$$;
comment on function storage.extension(text) is 'What follows the last dot of the last part; all of it without a dot';

create function storage.operation() returns text
language plpgsql stable
as $$
begin
  return current_setting('storage.operation', true);
end
$$;
comment on function storage.operation() is 'Operation of the Storage API under way, such as storage.object.upload';

create function storage.allow_any_operation(expected_operations text[]) returns boolean
language sql stable
as $$
  select coalesce(
    bool_or(regexp_replace(storage.operation(), '^storage\.', '') = regexp_replace(expected, '^storage\.', '')),
    false
  )
  from unnest(expected_operations) as expected
  where expected <> ''
$$;
comment on function storage.allow_any_operation(text[]) is 'Whether one of these operations is under way; the prefix "storage." may be left out';

create function storage.allow_only_operation(expected_operation text) returns boolean
language sql stable
as $$
  select storage.allow_any_operation(array[expected_operation])
$$;
comment on function storage.allow_only_operation(text) is 'Whether this operation is under way; the prefix "storage." may be left out';

create function storage.get_size_by_bucket() returns table (size bigint, bucket_id text)
language plpgsql stable
as $$
begin
  return query
    select sum((o.metadata ->> 'size')::bigint)::bigint, o.bucket_id
    from storage.objects o
    group by o.bucket_id;
end
$$;
comment on function storage.get_size_by_bucket() is 'Bytes per bucket, of the objects that the caller may see';

create function storage.can_insert_object(bucketid text, name text, owner uuid, metadata jsonb) returns void
language plpgsql
as $$
begin
  insert into storage.objects (bucket_id, name, owner, metadata) values (bucketid, name, owner, metadata);
  raise exception sqlstate 'PT200' using message = 'ROLLBACK', detail = 'rollback successful insert';
end
$$;
comment on function storage.can_insert_object(text, text, uuid, jsonb) is 'Tries to insert an object and takes it back: SQLSTATE PT200 if the caller may';

create function storage.get_common_prefix(p_key text, p_prefix text, p_delimiter text) returns text
language sql immutable
as $$
  select left(p_key, length(p_prefix) + nullif(position(p_delimiter in substr(p_key, length(p_prefix) + 1)), 0)
    + length(p_delimiter) - 1)
$$;
comment on function storage.get_common_prefix(text, text, text) is 'Key up to the first delimiter after the prefix; null without one';

-- First string (bytewise) after all that start with the given one; null if there is none.
create function storage.prefix_successor(p_prefix text) returns text
language sql immutable
as $$
  select left(p_prefix, -1) || case ascii(right(p_prefix, 1))
    when 55295 then chr(57344) -- surrogates are no characters
    else chr(ascii(right(p_prefix, 1)) + 1)
  end
  where p_prefix <> '' and ascii(right(p_prefix, 1)) < 1114111
$$;
comment on function storage.prefix_successor(text) is 'First string after all that start with this one, null if there is none';

-- One level of a bucket below a prefix, which both listings are made of.
--
-- Walks the names in order and leaps over a folder as soon as it has named it, so that a listing costs what it shows and
-- not what lies below. The inner loop reads ahead lazily and is left at the first folder.
create function storage.list_level(
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
as $$
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
        where o.bucket_id = $1 and %1$s collate "C" >= $2 and ($3 is null or %1$s collate "C" < $3)
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
$$;
comment on function storage.list_level(text, text, text, integer, text, boolean, boolean, boolean) is 'Objects right below a prefix in the order of their bytes, deeper ones folded into their folder (id null, name ends with the delimiter)';

create function storage.list_objects_with_delimiter(
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
as $$
declare
  ascending constant boolean := lower(coalesce(sort_order, 'asc')) <> 'desc';
  after constant text := coalesce(nullif(next_token, ''), nullif(start_after, ''));
  -- To go on after a folder means to go on after all that it holds.
  after_folder constant boolean := ascending and delimiter_param <> ''
    and right(after, length(delimiter_param)) = delimiter_param;
begin
  return query
    select l.name, l.id, l.metadata, l.updated_at, l.created_at, l.last_accessed_at
      from storage.list_level(
        _bucket_id, coalesce(prefix_param, ''), delimiter_param, coalesce(max_keys, 100),
        case when after_folder then storage.prefix_successor(after) else after end,
        coalesce(after_folder, false), ascending, false
      ) l;
end
$$;
comment on function storage.list_objects_with_delimiter(text, text, text, integer, text, text, text) is 'Objects below a prefix in the order of their bytes, deeper ones folded into their folder (id null, name ends with the delimiter)';

create function storage.list_multipart_uploads_with_delimiter(
  bucket_id text,
  prefix_param text,
  delimiter_param text,
  max_keys integer default 100,
  next_key_token text default '',
  next_upload_token text default ''
) returns table (key text, id text, created_at timestamptz)
language sql stable
as $$
  select distinct on (folded.key) folded.key, folded.id, folded.created_at
  from (
    select
      coalesce(
        case when $3 <> '' then storage.get_common_prefix(u.key, $2, $3) end,
        u.key
      ) collate "C" as key,
      u.id,
      u.created_at
    from storage.s3_multipart_uploads u
    where u.bucket_id = $1
      and starts_with(u.key, $2)
      and ($6 = '' or u.id collate "C" > $6)
  ) folded
  where $5 = '' or $6 <> '' or folded.key > $5
  order by folded.key, folded.created_at
  limit $4
$$;
comment on function storage.list_multipart_uploads_with_delimiter(text, text, text, integer, text, text) is 'Multipart uploads below a prefix, deeper ones folded into their folder';

-- List v1 of the Storage API. Matching and order ignore case; "levels" is accepted and not used, since prefix and search
-- say which part of the name is meant.
create function storage.search(
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
as $$
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
        where o.bucket_id = $1
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
$$;
comment on function storage.search(text, text, integer, integer, integer, text, text, text) is 'List v1: objects and folders (id null) right below a prefix, names relative to it';

-- List v2 of the Storage API, with delimiter.
create function storage.search_v2(
  prefix text,
  bucket_name text,
  limits integer default 100,
  levels integer default 1,
  start_after text default '',
  sort_order text default 'asc',
  sort_column text default 'name',
  sort_column_after text default ''
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
as $$
#variable_conflict use_column
declare
  direction constant text := case when lower(coalesce(sort_order, 'asc')) = 'desc' then 'desc' else 'asc' end;
  wanted constant text := coalesce(prefix, '');
  bounded constant integer := least(greatest(coalesce(limits, 100), 0), 1500);
begin
  if lower(coalesce(sort_column, 'name')) not in ('created_at', 'updated_at') then
    return query
      select split_part(l.name, '/', levels), l.name, l.id, l.updated_at, l.created_at, l.last_accessed_at, l.metadata
        from storage.list_objects_with_delimiter(bucket_name, wanted, '/', bounded, start_after, '', direction) l;
    return;
  end if;
  -- By time there is no order of names to leap along: a folder has the time of its oldest or newest object.
  return query execute format(
    'with entries as (
       select coalesce(storage.get_common_prefix(o.name, $1, ''/''), o.name) as name,
              storage.get_common_prefix(o.name, $1, ''/'') is not null as folder,
              o.id, o.updated_at, o.created_at, o.last_accessed_at, o.metadata
         from storage.objects o
        where o.bucket_id = $2
          and o.name collate "C" >= $1
          and ($7 is null or o.name collate "C" < $7)
     ), listed as (
       select name, null::uuid as id, %2$s(updated_at) as updated_at, %2$s(created_at) as created_at,
              null::timestamptz as last_accessed_at, null::jsonb as metadata
         from entries where folder group by name
       union all
       select name, id, updated_at, created_at, last_accessed_at, metadata from entries where not folder
     )
     select split_part(name, ''/'', $4), name, id, updated_at, created_at, last_accessed_at, metadata
       from listed
      where $5 = ''''
         or row(date_trunc(''milliseconds'', %1$I), name collate "C")
            %4$s row(coalesce(nullif($6, '''')::timestamptz, ''epoch''), $5)
      order by date_trunc(''milliseconds'', %1$I) %3$s, name collate "C" %3$s
      limit $3',
    lower(sort_column),
    case direction when 'asc' then 'min' else 'max' end,
    direction,
    case direction when 'asc' then '>' else '<' end
  ) using wanted, bucket_name, bounded, levels, coalesce(start_after, ''), sort_column_after,
    storage.prefix_successor(wanted);
end
$$;
comment on function storage.search_v2(text, text, integer, integer, text, text, text, text) is 'List v2: objects and folders (id null) below a prefix, full names, from a cursor on';

reset role;
