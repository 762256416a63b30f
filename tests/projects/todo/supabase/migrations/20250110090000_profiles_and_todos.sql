create extension if not exists "uuid-ossp" with schema extensions;
create extension if not exists pgcrypto with schema extensions;

create type public.todo_state as enum ('open', 'done');

create table public.profiles (
  id uuid primary key references auth.users on delete cascade,
  username text unique not null check (char_length(username) >= 3),
  api_token text not null default encode(gen_random_bytes(16), 'hex'),
  created_at timestamptz not null default now()
);

create table public.todos (
  id uuid primary key default uuid_generate_v4(),
  owner uuid not null default auth.uid() references public.profiles on delete cascade,
  title text not null check (title <> ''),
  state public.todo_state not null default 'open',
  due date,
  tags text[] not null default '{}',
  search tsvector generated always as (to_tsvector('english', title)) stored,
  created_at timestamptz not null default now()
);
create index on public.todos (owner, state);
create index on public.todos using gin (search);

alter table public.profiles enable row level security;
alter table public.todos enable row level security;

create policy "Profiles are seen by everyone" on public.profiles for select using (true);
create policy "Users change their own profile" on public.profiles
  for update to authenticated using ((select auth.uid()) = id);
create policy "Users have their own todos" on public.todos
  for all to authenticated using ((select auth.uid()) = owner) with check ((select auth.uid()) = owner);

-- A profile for everybody who signs up.
create function public.handle_new_user() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into public.profiles (id, username)
  values (new.id, coalesce(new.raw_user_meta_data ->> 'username', split_part(new.email, '@', 1)));
  return new;
end;
$$;

create trigger on_auth_user_created
  after insert on auth.users
  for each row execute function public.handle_new_user();

alter table public.todos replica identity full;
alter publication supabase_realtime add table public.todos;
