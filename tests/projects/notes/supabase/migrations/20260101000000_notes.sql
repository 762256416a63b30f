-- What everybody may read and write, and what a schedule has written.

create table public.notes (
  id uuid primary key default gen_random_uuid(),
  body text not null
);
alter table public.notes enable row level security;
create policy "everybody reads" on public.notes for select using (true);
create policy "everybody writes" on public.notes for insert with check (true);
grant select, insert on public.notes to anon, authenticated, service_role;
alter publication supabase_realtime add table public.notes;

create table public.ticks (
  at timestamptz primary key default clock_timestamp()
);
alter table public.ticks enable row level security;
grant select, insert on public.ticks to service_role;

create policy "everybody uploads" on storage.objects for insert
  with check (bucket_id in ('public', 'private'));
