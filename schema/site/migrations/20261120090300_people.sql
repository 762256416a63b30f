-- Who is signed in: profiles and roles, kept in step with the authentication service's users.

create table public.profiles (
  id uuid primary key references auth.users (id) on delete cascade,
  email text,
  full_name text,
  avatar_url text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint profiles_full_name_length check (private.is_line(full_name, 1, 100)),
  constraint profiles_avatar_url_shape check (private.is_web_address(avatar_url))
);
comment on table public.profiles is
  'What the site shows of a user. Made by trigger on sign-up; users may change their own name and picture.';
comment on column public.profiles.id is 'The user: auth.users.id. The profile goes when the user goes.';
comment on column public.profiles.email is
  'Copy of the user''s e-mail address, kept by trigger. NULL for users who signed up by phone.';
comment on column public.profiles.full_name is 'The user''s name, at most 100 characters. NULL if not given.';
comment on column public.profiles.avatar_url is 'Address of the user''s picture. NULL shows initials.';
comment on column public.profiles.created_at is 'When the row was made.';
comment on column public.profiles.updated_at is 'When the row was last changed; kept by trigger.';

create table public.user_roles (
  user_id uuid not null references auth.users (id) on delete cascade,
  role text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (user_id, role),
  constraint user_roles_role_known check (role in ('admin', 'staff', 'member'))
);
comment on table public.user_roles is
  'Roles of users, shown as badges. Given and taken with psql or the service key only.';
comment on column public.user_roles.user_id is 'The user: auth.users.id. The roles go when the user goes.';
comment on column public.user_roles.role is
  'admin: may edit the site''s content and its files; staff: works for the company; member: works for a partner club.';
comment on column public.user_roles.created_at is 'When the role was given.';
comment on column public.user_roles.updated_at is 'When the row was last changed; kept by trigger.';

create trigger set_updated_at before update on public.profiles
  for each row execute function private.set_updated_at();
create trigger set_updated_at before update on public.user_roles
  for each row execute function private.set_updated_at();

-- Whatever a sign-up put into the metadata, the profile takes only what its checks accept: a sign-up must not fail here.
create function private.profile_from_metadata(metadata jsonb) returns table (full_name text, avatar_url text)
language sql immutable set search_path = '' as $$
  select
    case when private.is_line(named.text, 1, 100) then named.text end,
    case when private.is_web_address(pictured.text) then pictured.text end
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
comment on function private.profile_from_metadata(jsonb) is
  'The name and picture that a user''s metadata offers (full_name or name, avatar_url or picture), NULL where it holds nothing usable.';

create function private.create_profile() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into public.profiles (id, email, full_name, avatar_url)
  select new.id, nullif(new.email, ''), offered.full_name, offered.avatar_url
  from private.profile_from_metadata(new.raw_user_meta_data) as offered
  on conflict (id) do nothing;
  return null;
end
$$;
comment on function private.create_profile() is 'Trigger of auth.users: makes the profile of a new user.';

create function private.follow_email() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  update public.profiles set email = nullif(new.email, '') where id = new.id;
  return null;
end
$$;
comment on function private.follow_email() is 'Trigger of auth.users: carries a changed e-mail address into the profile.';

-- The stamp belongs to the trigger: a user who writes the key into the metadata, or a metadata update that was read
-- before the password changed, leaves it as it is. A password hash that is merely renewed counts as a change.
create function private.stamp_password_change() returns trigger
language plpgsql set search_path = '' as $$
declare
  metadata jsonb := case jsonb_typeof(new.raw_user_meta_data)
    when 'object' then new.raw_user_meta_data - 'password_updated_at' else '{}' end;
  stamp jsonb;
begin
  if coalesce(new.encrypted_password, '') <> ''
    and (tg_op = 'INSERT' or new.encrypted_password is distinct from old.encrypted_password) then
    stamp := to_jsonb(to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
  elsif tg_op = 'UPDATE' then
    stamp := old.raw_user_meta_data -> 'password_updated_at';
  end if;
  if stamp is not null then
    new.raw_user_meta_data := metadata || jsonb_build_object('password_updated_at', stamp);
  elsif new.raw_user_meta_data ? 'password_updated_at' then
    new.raw_user_meta_data := metadata;
  end if;
  return new;
end
$$;
comment on function private.stamp_password_change() is
  'Trigger of auth.users: keeps password_updated_at (ISO 8601, UTC) in the user''s metadata at the time of the last password change.';

create trigger site_create_profile after insert on auth.users
  for each row execute function private.create_profile();
create trigger site_follow_email after update of email on auth.users
  for each row when (old.email is distinct from new.email) execute function private.follow_email();
create trigger site_stamp_password_change before insert or update of encrypted_password, raw_user_meta_data on auth.users
  for each row execute function private.stamp_password_change();

insert into public.profiles (id, email, full_name, avatar_url)
select users.id, nullif(users.email, ''), offered.full_name, offered.avatar_url
from auth.users, private.profile_from_metadata(users.raw_user_meta_data) as offered
on conflict (id) do nothing;
