-- Notes that everybody reads and adds to. Nobody changes or removes one through the API.
create table public.notes (
  id bigint generated always as identity primary key,
  body text not null check (char_length(body) between 1 and 500),
  -- Set this to take a note away from the public: update public.notes set hidden = true where id = 1;
  hidden boolean not null default false,
  created_at timestamptz not null default now()
);

-- From here on, a row can be read or written only where a policy says so.
alter table public.notes enable row level security;

create policy "Everybody reads what is not hidden"
  on public.notes for select to anon, authenticated using (not hidden);

create policy "Everybody adds what is not hidden"
  on public.notes for insert to anon, authenticated with check (not hidden);

-- The API may do nothing with a new table but what is granted here (auto_expose_new_tables in config.toml).
grant select, insert on public.notes to anon, authenticated;
grant all on public.notes to service_role;
