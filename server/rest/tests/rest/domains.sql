-- A colour is kept as a number, and shown and read as #rrggbb.
create domain league.colour as int check (value between 0 and 16777215);
create function league.colour_to_json(league.colour) returns json immutable language sql
  as $$ select to_json('#' || lpad(to_hex($1), 6, '0')) $$;
create function league.colour_of(text) returns league.colour immutable language sql
  as $$ select ('x' || lpad(ltrim($1, '#'), 8, '0'))::bit(32)::int $$;
create function league.colour_of(json) returns league.colour immutable language sql
  as $$ select league.colour_of($1 #>> '{}') $$;
create cast (league.colour as json) with function league.colour_to_json(league.colour) as implicit;
create cast (text as league.colour) with function league.colour_of(text) as implicit;
create cast (json as league.colour) with function league.colour_of(json) as implicit;

-- An amount is only shown otherwise: as text, so that no digit is lost.
create domain league.amount as numeric;
create function league."amount to json"(league.amount) returns json immutable language sql as $$ select to_json($1::text) $$;
create cast (league.amount as json) with function league."amount to json"(league.amount) as implicit;

create table league.kits (
  id int primary key,
  club_id int references league.clubs,
  main league.colour default 255,
  trim league.colour,
  price league.amount
);
insert into league.kits values (1, 1, 1321291, 16739179, 59.90), (2, 1, 16777215, null, 64.50), (3, 2, 0, 1, null);
create view league.kit_list as select id, club_id, main from league.kits;
create function league.kits_of(club int) returns setof league.kits stable language sql
  as $$ select * from league.kits where club_id = club order by id $$;
create function league.favourite() returns league.colour immutable language sql as $$ select 255::league.colour $$;
create domain league."text/x-kit" as text;
create function league.kit_add(state text, next league.kits) returns league."text/x-kit"
  immutable language sql as $$ select state || next.main::int || ' ' $$;
create aggregate league.kit_text(league.kits) (sfunc = league.kit_add, stype = league."text/x-kit", initcond = '');
grant select on league.kits, league.kit_list to anon;
grant all on league.kits, league.kit_list to authenticated;
