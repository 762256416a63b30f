-- More than the tests' league has: relations of every kind, and functions that take and give everything.
create type league.mood as enum ('glad', 'sad');
create type league.place as (street text, no int);
create domain league.positive as int check (value > 0);
create table league.grounds (
  id int primary key generated always as identity,
  club_id int references league.clubs,
  name text not null,
  loud text generated always as (upper(name)) stored,
  place league.place,
  places league.place[],
  gates int[],
  mood league.mood,
  seats league.positive,
  opened timestamptz,
  price numeric(10, 2),
  plan bytea,
  notes json
);
insert into league.grounds (club_id, name, place, places, gates, mood, seats, opened, price, plan, notes) values
  (1, 'Pier Field', row('Quay', 7), array[row('Dock', 8)::league.place], '{3,5,8}', 'glad', 1200,
   '2001-02-03 04:05:06.789+00', 12.50, '\x00ff', '{"b": 1, "a": [1, null]}'),
  (2, 'Mill End', null, '{}', '{}', 'sad', null, null, null, null, null);
create materialized view league.club_names as select id as club_id, name from league.clubs;
create table league.goals (
  match_id int references league.matches, minute int, scorer int references league.players,
  primary key (match_id, minute)
) partition by range (minute);
create table league.goals_early partition of league.goals for values from (0) to (45);
create table league.goals_late partition of league.goals for values from (45) to (200);
insert into league.goals values (1, 3, 1), (1, 90, 3), (2, 50, 1);
create table league.seasons (id int primary key, name text default 'unnamed', counter int default 7, flag bool);
insert into league.seasons values (1, 'First', 1, true), (2, 'Second', 2, null);
create table league.unkeyed (a int, b text);
insert into league.unkeyed values (1, 'x'), (1, 'x'), (2, null);

create function league.named(a int, b text default 'z') returns text immutable language sql as $$ select a || b $$;
create function league.both(a int) returns text immutable language sql as $$ select 'one' $$;
create function league.both(a int, b int) returns text immutable language sql as $$ select 'two' $$;
create function league.which(a int) returns text immutable language sql as $$ select 'number' $$;
create function league.which(a text) returns text immutable language sql as $$ select 'text' $$;
create function league.plain(text) returns text immutable language sql as $$ select upper($1) $$;
create function league.mark(xml) returns xml immutable language sql as $$ select $1 $$;
create function league.binary(jsonb) returns jsonb immutable language sql as $$ select $1 $$;
create function league.nothing() returns void immutable language sql as $$ $$;
create function league.no_row() returns league.clubs stable language sql as $$ select * from league.clubs where false $$;
create function league.no_rows() returns setof league.clubs stable language sql as $$ select * from league.clubs where false $$;
create function league.null_text() returns text immutable language sql as $$ select null::text $$;
create function league.table_of(n int) returns table (id int, double int) immutable language sql
  as $$ select i, i * 2 from generate_series(1, n) i $$;
create function league.pair(out a int, out b text) immutable language sql as $$ select 1, 'x'::text $$;
create function league.inout_pair(inout a int, inout b text) immutable language sql as $$ select $1 + 1, $2 || '!' $$;
create function league.one_out(out a int) immutable language sql as $$ select 1 $$;
create function league.array_of() returns int[] immutable language sql as $$ select '{1,2}'::int[] $$;
create function league.json_of() returns json immutable language sql as $$ select '{"a": 1}'::json $$;
create function league.set_of_json() returns setof json immutable language sql as $$ select '{"a": 1}'::json union all select '2' $$;
create function league.composite_of() returns league.place immutable language sql as $$ select row('Quay', 7)::league.place $$;
create function league.set_of_composite() returns setof league.place immutable language sql as $$ select row('Quay', 7)::league.place $$;
create function league.record_of() returns record immutable language sql as $$ select 1 as a, 'x'::text as b $$;
create function league.takes_place(p league.place) returns text immutable language sql as $$ select p.street $$;
create function league.takes_array(p int[]) returns int immutable language sql as $$ select coalesce(array_length(p, 1), 0) $$;
create function league.takes_json(p json) returns json immutable language sql as $$ select p $$;
create function league.takes_mood(p league.mood) returns league.mood immutable language sql as $$ select p $$;
create function league.takes_positive(p league.positive) returns league.positive immutable language sql as $$ select p $$;
create function league.variadic_ints(variadic v int[]) returns int immutable language sql as $$ select coalesce(sum(x)::int, 0) from unnest(v) x $$;
create function league.raises(state text) returns void immutable language plpgsql as $$ begin
  raise exception using errcode = state, message = 'm', detail = 'd', hint = 'h';
end $$;
create function league.set_of_clubs() returns setof league.clubs stable language sql as $$ select * from league.clubs order by id $$;
create function league.whole(c league.clubs) returns text stable language sql as $$ select c.name || '!' $$;
create function league.motto(league.clubs) returns text stable language sql as $$ select 'we are ' || $1.name $$;
create function league.grounds_of(league.clubs) returns setof league.grounds stable language sql
  as $$ select * from league.grounds where club_id = $1.id $$;
create function league.club_of(league.grounds) returns setof league.clubs rows 1 stable language sql
  as $$ select * from league.clubs where id = $1.club_id $$;
create function league.plain_or(text default 'nothing') returns text immutable language sql as $$ select $1 $$;
create function league.gives_one(int, out one int) immutable language sql as $$ select $1 + 1 $$;
create function league.none_or() returns text immutable language sql as $$ select 'none' $$;
create function league.none_or(text default 'x') returns text immutable language sql as $$ select 'text' $$;
create function league.longer(a int) returns text immutable language sql as $$ select '1' $$;
create function league.longer(a int, text default 'x') returns text immutable language sql as $$ select '2' $$;
create function league.hidden() returns text immutable language sql as $$ select '0' $$;
create function league.hidden(int default 1) returns text immutable language sql as $$ select '1' $$;
create function league.pick(a bigint, b int default 1) returns int immutable language sql as $$ select 2 $$;
create function league.pick(a text) returns int immutable language sql as $$ select 2 $$;
create function league.pick(a json) returns int immutable language sql as $$ select 3 $$;
create function league.pick(a int) returns int immutable language sql as $$ select 1 $$;
create function league.entire(json) returns text immutable language sql as $$ select 'json' $$;
create function league.entire(jsonb) returns text immutable language sql as $$ select 'jsonb' $$;
create function league.entire(text) returns text immutable language sql as $$ select 'text' $$;
create table league.people (id int primary key, club_id int references league.clubs, boss int references league.people);
insert into league.people values (1, 1, null), (2, 2, 1);
create view league.pairs as
  select a.id as first, a.club_id as first_club, b.id as second, b.club_id as second_club
  from league.people a join league.people b on b.boss = a.id;
create view league.chained as select first as x, second as y, first_club as k, second_club as l from league.pairs;
create view league.doubled as select id, id as again, name from league.clubs;
grant select on all tables in schema league to anon, authenticated;
grant all on league.doubled, league.grounds, league.goals, league.seasons, league.unkeyed to authenticated;
grant all on all sequences in schema league to authenticated;
revoke all on league.secrets from anon;
