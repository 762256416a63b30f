-- Pictures lie in the site's own storage. The pages' Content-Security-Policy admits no pictures of other hosts, which
-- would also learn the address of every visitor; the tables took their addresses nevertheless. What stands already
-- stays, and its row can still be edited: therefore these are triggers, and no check constraints.

create function private.is_stored_picture(value text) returns boolean
language sql immutable strict parallel safe set search_path = ''
return char_length(value) <= 1024 and value ~ '^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$';
comment on function private.is_stored_picture(text) is
  'True for the path of a file in storage: bucket/path, or a path in the bucket that the column documents.';

create function private.refuse_foreign_picture() returns trigger
language plpgsql set search_path = '' as $$
begin
  raise exception 'Pictures of other hosts are not shown.' using
    errcode = 'check_violation',
    hint = 'Upload the picture to storage and give its place as bucket/path.',
    schema = tg_table_schema,
    table = tg_table_name,
    column = tg_argv[0];
end
$$;
comment on function private.refuse_foreign_picture() is
  'Row trigger: refuses the row. Its argument is the column with the picture.';
revoke execute on function private.refuse_foreign_picture() from public;
grant execute on function private.is_stored_picture(text) to anon, authenticated, service_role;

do $$
declare
  pictured record;
begin
  for pictured in
    select * from (values
      ('blog_posts', 'image_url', 'not private.is_stored_picture(new.image_url)'),
      ('profiles', 'avatar_url', 'not private.is_stored_picture(new.avatar_url)'),
      -- The picture of link previews may be anywhere: pages do not show it.
      ('settings', 'value', $when$new.key = 'favicons' and new.value ~* 'https?:'$when$)
    ) as listed (table_name, column_name, is_foreign)
  loop
    execute format(
      'create trigger refuse_foreign_picture_of_new before insert on public.%1$I for each row '
      'when (%3$s) execute function private.refuse_foreign_picture(%2$L)',
      pictured.table_name, pictured.column_name, pictured.is_foreign);
    execute format(
      'create trigger refuse_foreign_picture before update of %2$I on public.%1$I for each row '
      'when (new.%2$I is distinct from old.%2$I and %3$s) execute function private.refuse_foreign_picture(%2$L)',
      pictured.table_name, pictured.column_name, pictured.is_foreign);
  end loop;
end
$$;

-- Until now an address was all that it could be.
alter table public.profiles drop constraint profiles_avatar_url_shape;
alter table public.profiles add constraint profiles_avatar_url_shape check (
  private.is_stored_picture(avatar_url) or private.is_web_address(avatar_url));
comment on column public.profiles.avatar_url is
  'The user''s picture as bucket/path in storage; without a bucket it lies in other. NULL shows initials.';
comment on column public.blog_posts.image_url is
  'Picture of the card as bucket/path in storage; without a bucket it lies in blog-images. NULL shows the placeholder.';

-- A sign-up with a picture of another host, as providers give it, has no picture.
create or replace function private.profile_from_metadata(metadata jsonb) returns table (full_name text, avatar_url text)
language sql immutable set search_path = '' as $$
  select
    case when private.is_line(named.text, 1, 100) then named.text end,
    case when private.is_stored_picture(pictured.text) then pictured.text end
  from
    (select btrim(left(btrim(regexp_replace(
      coalesce(
        case when jsonb_typeof(metadata -> 'full_name') = 'string' then metadata ->> 'full_name' end,
        case when jsonb_typeof(metadata -> 'name') = 'string' then metadata ->> 'name' end),
      '[\u0001-\u001f\u007f-\u009f]+', ' ', 'g')), 100))) as named (text),
    (select coalesce(
      case when jsonb_typeof(metadata -> 'avatar_url') = 'string' then metadata ->> 'avatar_url' end,
      case when jsonb_typeof(metadata -> 'picture') = 'string' then metadata ->> 'picture' end)) as pictured (text)
$$;
