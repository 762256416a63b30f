create view public.todo_counts with (security_invoker = true) as
  select owner, state, count(*) as todos
  from public.todos
  group by owner, state;

create function public.add_todos(json) returns setof public.todos
language sql
as $$
  insert into public.todos (title, due)
  select item ->> 'title', (item ->> 'due')::date
  from json_array_elements($1) as item
  returning *;
$$;

create function public.first_word(text) returns text
language sql immutable
as $$
  select split_part($1, ' ', 1);
$$;

create function public.byte_count(bytea) returns integer
language sql immutable
as $$
  select octet_length($1);
$$;

-- Shown beside the row, as a column.
create function public.is_late(public.todos) returns boolean
language sql stable
as $$
  select $1.state = 'open' and $1.due < current_date;
$$;

create table public.secrets_of_profiles (
  username text primary key,
  password_hash text not null
);
alter table public.secrets_of_profiles enable row level security;

create function public.check_password(username text, password text) returns boolean
language sql stable security definer set search_path = public, extensions
as $$
  select exists (
    select from public.secrets_of_profiles s
    where s.username = $1 and s.password_hash = crypt($2, s.password_hash)
  );
$$;
