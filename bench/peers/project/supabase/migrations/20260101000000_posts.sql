create table public.posts (
  id uuid primary key default gen_random_uuid(),
  title text not null,
  body text not null,
  created timestamptz not null default now()
);
create index on public.posts (created);
alter table public.posts enable row level security;
create policy "everybody reads" on public.posts for select using (true);
create policy "everybody adds" on public.posts for insert with check (true);
grant select, insert on public.posts to anon;
insert into public.posts (title, body)
select 'Post ' || n, repeat('text ', 40) from generate_series(1, 1000) n;
