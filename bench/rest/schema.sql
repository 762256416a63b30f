-- What the REST benchmarks read and write: a league of 1,000 clubs with two teams of ten players each, 500,000 events
-- and 100,000 tickets. The same on every run: no value is random. Runs on an empty database of a cluster that has the
-- roles anon, authenticated and service_role.

-- A server's word that it wrote is worth the same for all peers; without this the disk would be measured.
do $$
begin
  execute format('alter database %I set synchronous_commit = off', current_database());
end $$;

create schema private;
grant usage on schema private to anon, authenticated;

-- A number from 0 to below - 1 that looks random and is the same each time.
create function private.spread(seed bigint, below integer) returns integer
language sql immutable as $$
  select (abs(hashint8extended(seed, 42) % below))::integer
$$;

create table public.clubs (
  id integer primary key,
  name text not null,
  city text not null,
  founded integer not null
);
insert into public.clubs
select n, 'Club ' || n, 'City ' || private.spread(n, 120), 1880 + private.spread(n, 120)
from generate_series(1, 1000) n;

create table public.teams (
  id integer primary key,
  club_id integer not null references public.clubs,
  name text not null,
  league text not null
);
insert into public.teams
select n, (n + 1) / 2, case n % 2 when 1 then 'First team' else 'Academy' end, 'League ' || private.spread(n, 20)
from generate_series(1, 2000) n;
create index teams_club_id_idx on public.teams (club_id);

create table public.players (
  id integer primary key,
  team_id integer not null references public.teams,
  name text not null,
  position text not null,
  shirt integer not null,
  born date not null,
  height_cm integer,
  market_value numeric(12, 2) not null,
  is_injured boolean not null,
  joined_at timestamptz not null
);
insert into public.players
select
  n,
  (n + 9) / 10,
  'Player "' || n || '" O''Neill',
  (array['goalkeeper', 'defender', 'defender', 'midfielder', 'midfielder', 'forward'])[1 + n % 6],
  1 + private.spread(n, 99),
  date '1990-01-01' + private.spread(n, 6000),
  case when n % 7 > 0 then 160 + private.spread(n, 45) end,
  private.spread(n, 90000000) / 100.0,
  private.spread(n, 20) = 0,
  timestamptz '2020-01-01 00:00:00+00' + private.spread(n, 150000000) * interval '1 second'
from generate_series(1, 20000) n;
create index players_team_id_idx on public.players (team_id);
create index players_market_idx on public.players (position, market_value desc, id);

create table public.events (
  id bigint primary key,
  player_id integer not null references public.players,
  kind text not null,
  minute smallint not null,
  distance real,
  occurred_at timestamptz not null,
  note text
);
insert into public.events
select
  n,
  1 + private.spread(n, 20000),
  (array['pass', 'shot', 'goal', 'foul', 'save'])[1 + private.spread(n, 5)],
  private.spread(n, 95),
  case when n % 5 > 0 then private.spread(n, 6000) / 100.0 end,
  timestamptz '2024-08-01 12:00:00+00' + n * interval '37.25 seconds',
  case when n % 10 = 0 then 'A note on event ' || n || E', with a "quote"\nand a second line' end
from generate_series(1, 500000) n;
create index events_player_id_idx on public.events (player_id);

-- Row-level security: 5,000 holders of 20 tickets each see their own.
create function private.caller_id() returns uuid
language sql stable as $$
  select (nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub')::uuid
$$;

create table public.tickets (
  id integer primary key,
  holder uuid not null,
  fixture text not null,
  seat text not null,
  price numeric(8, 2) not null,
  bought_at timestamptz not null
);
insert into public.tickets
select
  n,
  md5('holder ' || 1 + n % 5000)::uuid,
  'Fixture ' || n / 5000,
  chr(65 + n % 26) || private.spread(n, 400),
  10 + private.spread(n, 9000) / 100.0,
  timestamptz '2025-01-01 00:00:00+00' + private.spread(n, 30000000) * interval '1 second'
from generate_series(1, 100000) n;
create index tickets_holder_idx on public.tickets (holder, id);
alter table public.tickets enable row level security;
create policy "holders see their own" on public.tickets for select to authenticated
  using (holder = (select private.caller_id()));

-- Written to; emptied before each measurement, so that every peer finds the same table.
create table public.check_ins (
  id bigint generated always as identity primary key,
  player_id integer not null references public.players,
  gate text not null,
  device uuid not null,
  number bigint not null,
  arrived_at timestamptz not null default now()
);

-- The same without a foreign key, whose check is most of what a row of check_ins costs.
create table public.visits (like public.check_ins including all);

-- Upserted to: every row exists.
create table public.ratings (
  player_id integer primary key references public.players,
  points integer not null,
  comment text
) with (fillfactor = 50);
insert into public.ratings select n, 50, null from generate_series(1, 20000) n;

create function public.add(a integer, b integer) returns integer
language sql immutable as $$ select a + b $$;

grant usage on schema public to anon, authenticated, service_role;
grant select on public.clubs, public.teams, public.players, public.events to anon, authenticated;
grant select on public.tickets to authenticated;
grant insert on public.check_ins, public.visits to anon;
grant select, insert, update on public.ratings to anon;
