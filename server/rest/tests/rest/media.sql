create domain league."text/plain" as text;
create domain league."text/xml" as xml;
create domain league."application/octet-stream" as bytea;
create domain league."image/PNG" as bytea;
create domain league."text/csv" as text;
create domain league."application/vnd.squad" as text;
create domain league."text/x-lines" as text;
create domain league."*/*" as bytea;

create function league.motto() returns league."text/plain" immutable language sql as $$ select 'Row on — ' || 'always' $$;
create function league.feed() returns league."text/xml" immutable language sql as $$ select '<club name="Row"/>'::xml $$;
create function league.keystream(size int) returns league."application/octet-stream" immutable language sql
  as $$ select decode(string_agg(lpad(to_hex(n % 256), 2, '0'), '' order by n), 'hex') from generate_series(0, size - 1) n $$;
create function league.crest() returns league."image/PNG" immutable language sql as $$ select '\x89504e470d0a1a0a'::bytea $$;
create function league.plain() returns text immutable language sql as $$ select 'no media type' $$;
create function league.anything() returns league."*/*" language plpgsql as $$ begin
  if current_setting('request.headers')::json ->> 'accept' = 'text/html' then
    perform set_config('response.headers', '[{"Content-Type": "text/html; charset=utf-8"}, {"Vary": "Cookie"}]', true);
  end if;
  return '<p>Row</p>'::bytea;
end $$;

-- A handler of one table's rows, which also says what the file is called.
create function league.squad_add(state text, next league.players) returns league."application/vnd.squad"
  immutable language sql as $$ select coalesce(state, '') || next.id || '=' || next.name || ';' $$;
create function league.squad_end(state league."application/vnd.squad") returns league."application/vnd.squad"
  language plpgsql as $$ begin
    perform set_config('response.headers', '[{"Content-Disposition": "attachment; filename=\"squad\""}]', true);
    return state;
  end $$;
create aggregate league.squad(league.players) (
  sfunc = league.squad_add, stype = league."application/vnd.squad", finalfunc = league.squad_end, initcond = '');

-- Another form of CSV for one table.
create function league.marked_add(state text, next league.clubs) returns league."text/csv"
  immutable language sql as $$ select state || next.name || E'\r\n' $$;
create aggregate league.marked(league.clubs) (sfunc = league.marked_add, stype = league."text/csv", initcond = E'\ufeff');

-- A handler of any rows.
create function league.lines_add(state text, next anyelement) returns league."text/x-lines"
  immutable language sql as $$ select state || to_json(next) || E'\n' $$;
create aggregate league.lines(anyelement) (sfunc = league.lines_add, stype = league."text/x-lines", initcond = '');

-- A view whose every response is its own.
create view league."teams.txt" as select id, name from league.teams;
create function league.teams_txt_add(state league."*/*", next league."teams.txt") returns league."*/*"
  immutable language sql as $$ select state || convert_to(next.name || E'\n', 'utf8') $$;
create aggregate league.teams_txt(league."teams.txt") (sfunc = league.teams_txt_add, stype = league."*/*", initcond = '');
grant select on league."teams.txt" to anon, authenticated;
