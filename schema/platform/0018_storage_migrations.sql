-- skip if: exists (select from basalt.platform_migrations where version = '0005' and adopted)

-- Lets the Supabase Storage service take over schema "storage" where these files have made it: what that service relies on
-- and was missing, and the list of its migrations. A database that it has set up itself has all of this.

set local role supabase_storage_admin;

-- Versions of objects are not to be had yet.
update storage.buckets set versioning_status = 'DISABLED' where versioning_status <> 'DISABLED';
alter table storage.buckets
  drop constraint if exists buckets_versioning_dark_check,
  add constraint buckets_versioning_dark_check check (versioning_status = 'DISABLED');

-- Folders are named without the delimiter at their end, and a listing goes on after a folder that is named like that, too.
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
as $$
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
       where o.bucket_id = _bucket_id and o.name collate "C" >= folder
         and o.name collate "C" < storage.prefix_successor(folder)
    )
    -- An object of that name comes after the folder when descending.
    or not ascending and exists (
      select from storage.objects o where o.bucket_id = _bucket_id and o.name = after
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
$$;
comment on function storage.list_objects_with_delimiter(text, text, text, integer, text, text, text) is 'Objects below a prefix in the order of their bytes, deeper ones folded into their folder (id null, without the delimiter at its end)';

-- By time there is no order of names to leap along. A folder has the time at which its oldest object was made.
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
as $$
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
        where o.bucket_id = $2
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
$$;
comment on function storage.search_by_timestamp(text, text, integer, integer, text, text, text, text) is 'List v2 in the order of a time';

create or replace function storage.search_v2(
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
  ordered_by constant text := lower(coalesce(sort_column, 'name'));
  bounded constant integer := least(greatest(coalesce(limits, 100), 0), 1500);
begin
  if ordered_by in ('created_at', 'updated_at') then
    return query
      select t.key, t.name, t.id, t.updated_at, t.created_at, t.last_accessed_at, t.metadata
        from storage.search_by_timestamp(
          prefix, bucket_name, bounded, levels, start_after, direction, ordered_by, sort_column_after
        ) t;
    return;
  end if;
  return query
    select split_part(l.name, '/', levels), l.name, l.id, l.updated_at, l.created_at, l.last_accessed_at, l.metadata
      from storage.list_objects_with_delimiter(
        bucket_name, coalesce(prefix, ''), '/', bounded, start_after, '', direction
      ) l;
end
$$;
comment on function storage.search_v2(text, text, integer, integer, text, text, text, text) is 'List v2: objects and folders (id null) below a prefix, full names, from a cursor on';

-- The service compares this list with the migrations that it has, by number and by the SHA-1 of each, and runs those that are
-- missing: none up to its release 1.11.
insert into storage.migrations (id, name, hash)
select steps.id, steps.name, steps.hash from (values
  (0, 'create-migrations-table', 'e18db593bcde2aca2a408c4d1100f6abba2195df'),
  (1, 'initialmigration', '6ab16121fbaa08bbd11b712d05f358f9b555d777'),
  (2, 'storage-schema', 'f6a1fa2c93cbcd16d4e487b362e45fca157a8dbd'),
  (3, 'pathtoken-column', '2cb1b0004b817b29d5b0a971af16bafeede4b70d'),
  (4, 'add-migrations-rls', '427c5b63fe1c5937495d9c635c263ee7a5905058'),
  (5, 'add-size-functions', '79e081a1455b63666c1294a440f8ad4b1e6a7f84'),
  (6, 'change-column-name-in-get-size', 'ded78e2f1b5d7e616117897e6443a925965b30d2'),
  (7, 'add-rls-to-buckets', 'e7e7f86adbc51049f341dfe8d30256c1abca17aa'),
  (8, 'add-public-to-buckets', 'fd670db39ed65f9d08b01db09d6202503ca2bab3'),
  (9, 'fix-search-function', 'af597a1b590c70519b464a4ab3be54490712796b'),
  (10, 'search-files-search-function', 'b595f05e92f7e91211af1bbfe9c6a13bb3391e16'),
  (11, 'add-trigger-to-auto-update-updated_at-column', '7425bdb14366d1739fa8a18c83100636d74dcaa2'),
  (12, 'add-automatic-avif-detection-flag', '8e92e1266eb29518b6a4c5313ab8f29dd0d08df9'),
  (13, 'add-bucket-custom-limits', 'cce962054138135cd9a8c4bcd531598684b25e7d'),
  (14, 'use-bytes-for-max-size', '941c41b346f9802b411f06f30e972ad4744dad27'),
  (15, 'add-can-insert-object-function', '934146bc38ead475f4ef4b555c524ee5d66799e5'),
  (16, 'add-version', '76debf38d3fd07dcfc747ca49096457d95b1221b'),
  (17, 'drop-owner-foreign-key', 'f1cbb288f1b7a4c1eb8c38504b80ae2a0153d101'),
  (18, 'add_owner_id_column_deprecate_owner', 'e7a511b379110b08e2f214be852c35414749fe66'),
  (19, 'alter-default-value-objects-id', '02e5e22a78626187e00d173dc45f58fa66a4f043'),
  (20, 'list-objects-with-delimiter', 'cd694ae708e51ba82bf012bba00caf4f3b6393b7'),
  (21, 's3-multipart-uploads', '8c804d4a566c40cd1e4cc5b3725a664a9303657f'),
  (22, 's3-multipart-uploads-big-ints', '9737dc258d2397953c9953d9b86920b8be0cdb73'),
  (23, 'optimize-search-function', '9d7e604cddc4b56a5422dc68c9313f4a1b6f132c'),
  (24, 'operation-function', '8312e37c2bf9e76bbe841aa5fda889206d2bf8aa'),
  (25, 'custom-metadata', 'd974c6057c3db1c1f847afa0e291e6165693b990'),
  (26, 'objects-prefixes', '215cabcb7f78121892a5a2037a09fedf9a1ae322'),
  (27, 'search-v2', '859ba38092ac96eb3964d83bf53ccc0b141663a6'),
  (28, 'object-bucket-name-sorting', 'c73a2b5b5d4041e39705814fd3a1b95502d38ce4'),
  (29, 'create-prefixes', 'ad2c1207f76703d11a9f9007f821620017a66c21'),
  (30, 'update-object-levels', '2be814ff05c8252fdfdc7cfb4b7f5c7e17f0bed6'),
  (31, 'objects-level-index', 'b40367c14c3440ec75f19bbce2d71e914ddd3da0'),
  (32, 'backward-compatible-index-on-objects', 'e0c37182b0f7aee3efd823298fb3c76f1042c0f7'),
  (33, 'backward-compatible-index-on-prefixes', 'b480e99ed951e0900f033ec4eb34b5bdcb4e3d49'),
  (34, 'optimize-search-function-v1', 'ca80a3dc7bfef894df17108785ce29a7fc8ee456'),
  (35, 'add-insert-trigger-prefixes', '458fe0ffd07ec53f5e3ce9df51bfdf4861929ccc'),
  (36, 'optimise-existing-functions', '6ae5fca6af5c55abe95369cd4f93985d1814ca8f'),
  (37, 'add-bucket-name-length-trigger', '3944135b4e3e8b22d6d4cbb568fe3b0b51df15c1'),
  (38, 'iceberg-catalog-flag-on-buckets', '02716b81ceec9705aed84aa1501657095b32e5c5'),
  (39, 'add-search-v2-sort-support', '6706c5f2928846abee18461279799ad12b279b78'),
  (40, 'fix-prefix-race-conditions-optimized', '7ad69982ae2d372b21f48fc4829ae9752c518f6b'),
  (41, 'add-object-level-update-trigger', '07fcf1a22165849b7a029deed059ffcde08d1ae0'),
  (42, 'rollback-prefix-triggers', '771479077764adc09e2ea2043eb627503c034cd4'),
  (43, 'fix-object-level', '84b35d6caca9d937478ad8a797491f38b8c2979f'),
  (44, 'vector-bucket-type', '99c20c0ffd52bb1ff1f32fb992f3b351e3ef8fb3'),
  (45, 'vector-buckets', '049e27196d77a7cb76497a85afae669d8b230953'),
  (46, 'buckets-objects-grants', 'fedeb96d60fefd8e02ab3ded9fbde05632f84aed'),
  (47, 'iceberg-table-metadata', '649df56855c24d8b36dd4cc1aeb8251aa9ad42c2'),
  (48, 'iceberg-catalog-ids', 'e0e8b460c609b9999ccd0df9ad14294613eed939'),
  (49, 'buckets-objects-grants-postgres', '072b1195d0d5a2f888af6b2302a1938dd94b8b3d'),
  (50, 'search-v2-optimised', '6323ac4f850aa14e7387eb32102869578b5bd478'),
  (51, 'index-backward-compatible-search', '2ee395d433f76e38bcd3856debaf6e0e5b674011'),
  (52, 'drop-not-used-indexes-and-functions', '5cc44c8696749ac11dd0dc37f2a3802075f3a171'),
  (53, 'drop-index-lower-name', 'd0cb18777d9e2a98ebe0bc5cc7a42e57ebe41854'),
  (54, 'drop-index-object-level', '6289e048b1472da17c31a7eba1ded625a6457e67'),
  (55, 'prevent-direct-deletes', '262a4798d5e0f2e7c8970232e03ce8be695d5819'),
  (56, 'fix-optimized-search-function', 'b823ed1e418101032fa01374edc9a436e54e3ed4'),
  (57, 's3-multipart-uploads-metadata', 'f127886e00d1b374fadbc7c6b31e09336aad5287'),
  (58, 'operation-ergonomics', '00ca5d483b3fe0d522133d9002ccc5df98365120'),
  (59, 'drop-unused-functions', '38456f13e39691c2bbb4b5151d0d1cdbabd4a8c4'),
  (60, 'optimize-existing-functions-again', 'db35e1c91a9201e59f4fef8d972c2f277d68b157'),
  (61, 'mark-filename-immutable', 'fe0096517ae9d60aaec1d110172ba9036dc66bb7'),
  (62, 'object-versioning-core', '0b855f00ff3be0bfca91efee02a9858912491a9a'),
  (63, 'fix-search-name-relative-to-prefix', 'c7485e417624f795ce8bb2da21927f48e088904d')
) steps (id, name, hash)
on conflict do nothing;

reset role;
