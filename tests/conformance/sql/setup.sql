-- The kit's schema. It is made anew each time, after teardown.sql; everything is in public and begins with conformance_,
-- or in the schema conformance_media.
-- Reference tables are read and never written by cases. Tables whose comment says "written" are: by each case in rows of
-- its own, whose key comes from t.unique().

create table public.conformance_setup (
  version text primary key,
  -- 'run': removed by the run that made it; 'hand': stays.
  made_by text not null
);
grant select on public.conformance_setup to anon, authenticated, service_role;

------------------------------------------------------------------------------------------------------------------------
-- A library: people write books, books lie in branches, readers borrow them. For filters, orders, pages and embeds.

create type public.conformance_genre as enum ('novel', 'poetry', 'science', 'history');
create type public.conformance_address as (street text, city text, zip int);
create domain public.conformance_isbn as text check (value ~ '^[0-9-]+$');

create table public.conformance_countries (
  code char(2) primary key,
  name text not null unique,
  population bigint
);
comment on table public.conformance_countries is 'Countries; read only';
insert into public.conformance_countries values
  ('DE', 'Germany', 83200000), ('FR', 'France', 67750000), ('GB', 'United Kingdom', 67330000), ('IS', 'Iceland', null);

create table public.conformance_people (
  id int primary key,
  name text not null,
  born date,
  country char(2) references public.conformance_countries,
  mentor_id int references public.conformance_people,
  score numeric(8, 2),
  height double precision,
  active boolean,
  tags text[] not null default '{}',
  address public.conformance_address,
  profile jsonb not null default '{}',
  created_at timestamptz not null default '2024-01-01T00:00:00Z'
);
comment on table public.conformance_people is 'Writers; read only';
comment on column public.conformance_people.mentor_id is 'Who taught this writer';
insert into public.conformance_people values
  (1, 'Ada', '1815-12-10', 'GB', null, 9.75, 1.65, true, '{math,poetry}', '("St James Sq","London",1000)',
    '{"langs": ["en", "fr"], "site": {"url": "https://ada.example", "visits": 7}}', '2024-01-01T10:00:00Z'),
  (2, 'Blaise', '1623-06-19', 'FR', 1, 7.50, 1.72, true, '{math}', '("Rue Pascal","Paris",75005)',
    '{"langs": ["fr"], "site": null}', '2024-02-01T10:00:00Z'),
  (3, 'Carl', '1777-04-30', 'DE', 1, 8.00, null, false, '{math,science}', null,
    '{"langs": ["de", "la"], "site": {"url": "https://carl.example", "visits": 12}}', '2024-03-01T10:00:00Z'),
  (4, 'Dora', null, 'DE', 3, null, 1.80, null, '{}', '("Am Markt","Göttingen",37073)', '{}', '2024-04-01T10:00:00Z'),
  (5, 'Émilie (du) "Ch,telet"', '1706-12-17', 'FR', 2, -1.25, 1.60, true, '{science,"two words","a,b"}', null,
    '{"langs": [], "site": {"visits": 0}}', '2024-05-01T10:00:00Z'),
  (6, 'snorri_100%', '1179-01-01', null, null, 0, 1.90, false, '{history}', null, '{"langs": null}', '2024-06-01T10:00:00Z');

-- One-to-one: the primary key is the foreign key.
create table public.conformance_biographies (
  person_id int primary key references public.conformance_people,
  body text not null,
  words int not null
);
insert into public.conformance_biographies values (1, 'The first programmer', 3), (2, 'Wagered and thought', 3);

create table public.conformance_publishers (
  id int primary key,
  name text not null,
  country char(2) references public.conformance_countries
);
insert into public.conformance_publishers values (1, 'North Press', 'GB'), (2, 'Sud Livres', 'FR'), (3, 'Leer', null);

create table public.conformance_books (
  id int primary key,
  title text not null,
  isbn public.conformance_isbn,
  genre public.conformance_genre,
  author_id int not null references public.conformance_people,
  editor_id int references public.conformance_people,
  publisher_id int references public.conformance_publishers,
  pages int,
  price numeric(8, 2),
  printed daterange,
  shelves int[] not null default '{}',
  abstract text,
  search tsvector generated always as (to_tsvector('english', coalesce(abstract, ''))) stored,
  -- Two foreign keys lead to people: their names tell them apart.
  constraint conformance_books_author foreign key (author_id) references public.conformance_people (id)
);
alter table public.conformance_books drop constraint conformance_books_author_id_fkey;
insert into public.conformance_books (id, title, isbn, genre, author_id, editor_id, publisher_id, pages, price, printed, shelves, abstract) values
  (1, 'Notes on the Engine', '978-1', 'science', 1, 2, 1, 120, 19.90, '[1843-01-01,1844-01-01)', '{1,2}', 'The engine weaves algebraic patterns'),
  (2, 'Poems of Numbers', '978-2', 'poetry', 1, null, 1, 80, 9.50, '[1840-01-01,1850-01-01)', '{2}', 'Poems that count and numbers that sing'),
  (3, 'Pensées', '978-3', 'novel', 2, 1, 2, 300, 24.00, '[1670-01-01,1671-01-01)', '{3}', 'Thoughts about a wager'),
  (4, 'Disquisitiones', '978-4', 'science', 3, null, null, 640, null, null, '{}', 'Patterns of numbers'),
  (5, 'Saga', null, 'history', 6, null, 2, null, 5.00, '[1220-01-01,)', '{1,3}', null);

-- Many-to-many through a junction with columns of its own and a composite key.
create table public.conformance_branches (
  id int primary key,
  name text not null
);
insert into public.conformance_branches values (1, 'Harbour'), (2, 'Hill'), (3, 'Empty');
create table public.conformance_stock (
  branch_id int references public.conformance_branches,
  book_id int references public.conformance_books,
  copies int not null,
  primary key (branch_id, book_id)
);
insert into public.conformance_stock values (1, 1, 3), (1, 2, 1), (1, 3, 2), (2, 1, 1), (2, 4, 5);

-- A foreign key of two columns.
create table public.conformance_loans (
  id int primary key,
  branch_id int not null,
  book_id int not null,
  reader text not null,
  due date,
  foreign key (branch_id, book_id) references public.conformance_stock
);
insert into public.conformance_loans values
  (1, 1, 1, 'Rita', '2024-03-01'), (2, 1, 1, 'Sam', '2024-03-15'), (3, 2, 4, 'Rita', null);

-- Computed fields and relationships.
create function public.conformance_initial(public.conformance_people) returns text
  language sql immutable as $$ select left($1.name, 1) $$;
create function public.conformance_fans(public.conformance_people) returns setof public.conformance_people
  language sql stable as $$ select * from public.conformance_people where mentor_id = $1.id $$;
create function public.conformance_first_book(public.conformance_people) returns setof public.conformance_books rows 1
  language sql stable as $$ select * from public.conformance_books where author_id = $1.id order by id limit 1 $$;

create view public.conformance_science as
  select id, title, author_id, pages from public.conformance_books where genre = 'science';
create view public.conformance_long_science as select * from public.conformance_science where pages > 200;
create materialized view public.conformance_page_sums as
  select author_id, count(*)::int as books, sum(pages)::int as pages from public.conformance_books group by author_id;
create table public.conformance_measures (
  id int, region text not null, value int, primary key (region, id)
) partition by list (region);
create table public.conformance_measures_north partition of public.conformance_measures for values in ('north');
create table public.conformance_measures_south partition of public.conformance_measures for values in ('south');
insert into public.conformance_measures values (1, 'north', 10), (2, 'north', 20), (1, 'south', 30);

-- A column of each kind; read only.
create table public.conformance_types (
  id int primary key,
  small smallint, big bigint, exact numeric, real_ real, double_ double precision,
  text_ text, varchar_ varchar(10), char_ char(3), bool_ boolean, bytes bytea, uuid_ uuid,
  date_ date, time_ time, timestamp_ timestamp, timestamptz_ timestamptz, interval_ interval,
  json_ json, jsonb_ jsonb, ints int[], texts text[], grid int[][],
  int_range int4range, num_range numrange, time_range tstzrange,
  enum_ public.conformance_genre, domain_ public.conformance_isbn, composite public.conformance_address,
  inet_ inet, point_ point, bits bit(4), vector_ tsvector
);
insert into public.conformance_types values
  (1, 32767, 9007199254740993, 12345678901234567890.123, 1.5, 0.1, 'text "with" \ and é', 'varchar', 'abc', true,
    '\x00ff10', '11111111-2222-3333-4444-555555555555', '2024-02-29', '13:14:15', '2024-02-29 13:14:15.123456',
    '2024-02-29T13:14:15.5+02', '1 day 02:03:04', '{"b": 1, "a": [1, null]}', '{"b": 1, "a": [1, null]}', '{1,NULL,3}',
    '{"a b","c,d",""}', '{{1,2},{3,4}}', '[1,10)', '(0.5,1.5]', '[2024-01-01T00:00:00Z,2024-02-01T00:00:00Z)', 'poetry',
    '978-0', '("Main St","Springfield",12345)', '192.168.0.1', '(1,2)', '1010', 'cat:1 dog:2');
insert into public.conformance_types (id) values (2);

-- Words that need quoting.
create table public."conformance_Quoted name" (id int primary key, "Two Words" text, "ünï,(code)" text, "select" text);
insert into public."conformance_Quoted name" values (1, 'one', 'a', 'x'), (2, 'two', 'b', 'y');

-- Two hundred numbers, for pages and counts.
create table public.conformance_numbers (n int primary key, even boolean not null);
insert into public.conformance_numbers select n, n % 2 = 0 from generate_series(1, 200) as n;
analyze public.conformance_numbers;

------------------------------------------------------------------------------------------------------------------------
-- Tables that are written.

create table public.conformance_notes (
  id bigint generated by default as identity primary key,
  key text not null unique,
  body text not null default 'empty',
  amount int default 7,
  doubled int generated always as (amount * 2) stored,
  tags text[] not null default '{}',
  data jsonb,
  during int4range,
  place public.conformance_address,
  bytes bytea,
  mood public.conformance_genre,
  code public.conformance_isbn default '000',
  parent_id bigint references public.conformance_notes on delete cascade,
  made_at timestamptz not null default now()
);
comment on table public.conformance_notes is 'Notes; written';

create table public.conformance_note_lines (
  note_key text not null references public.conformance_notes (key) on delete cascade,
  line int not null,
  body text,
  primary key (note_key, line)
);
comment on table public.conformance_note_lines is 'Lines of notes, a key of two columns; written';

create table public.conformance_strict (
  key text primary key,
  email text unique check (email like '%@%'),
  note_key text references public.conformance_notes (key),
  amount int not null check (amount >= 0),
  code varchar(5),
  during int4range,
  constraint conformance_strict_no_overlap exclude using gist (during with &&) where (during is not null)
);
comment on table public.conformance_strict is 'Every kind of constraint; written';

create table public.conformance_always (
  id bigint generated always as identity primary key,
  key text not null unique
);
comment on table public.conformance_always is 'An identity that nobody may give; written';

create view public.conformance_note_bodies as select key, body, amount from public.conformance_notes;
create view public.conformance_note_sizes as select key, length(body) as size from public.conformance_notes;
create function public.conformance_insert_size() returns trigger language plpgsql as $$
begin
  insert into public.conformance_notes (key, body) values (new.key, repeat('x', new.size));
  return new;
end $$;
create trigger conformance_insert_size instead of insert on public.conformance_note_sizes
  for each row execute function public.conformance_insert_size();

------------------------------------------------------------------------------------------------------------------------
-- REST: relationships, media types, domain representations, and functions that show what a request is and may do.

create function public.conformance_mentor(public.conformance_people) returns setof public.conformance_people rows 1
  language sql stable as $$ select * from public.conformance_people where id = $1.mentor_id $$;
-- A relationship that takes the place of the foreign key's: novels belong to the publisher 3.
create view public.conformance_novels as
  select id, title, publisher_id from public.conformance_books where genre = 'novel';
create function public.conformance_publishers(public.conformance_novels) returns setof public.conformance_publishers rows 1
  language sql stable as $$ select * from public.conformance_publishers where id = 3 $$;
-- A partitioned table with a foreign key.
create table public.conformance_visits (
  branch_id int not null references public.conformance_branches, day date not null, visitors int not null,
  primary key (branch_id, day)
) partition by range (day);
create table public.conformance_visits_2024 partition of public.conformance_visits
  for values from ('2024-01-01') to ('2025-01-01');
insert into public.conformance_visits values (1, '2024-05-01', 12), (2, '2024-05-01', 7);

-- One-to-one by a key of two columns, which the foreign key names in another order.
create table public.conformance_labels (
  book_id int, branch_id int, label text not null,
  primary key (book_id, branch_id),
  foreign key (branch_id, book_id) references public.conformance_stock
);
insert into public.conformance_labels values (3, 1, 'left shelf');

-- Media types are domains; in a schema of their own they are in nobody's way.
create schema conformance_media;
create domain conformance_media."application/vnd.conformance.lines" as text;
create domain conformance_media."application/vnd.conformance.count" as text;
create domain conformance_media."application/vnd.conformance.bytes" as bytea;
create domain conformance_media."text/html" as text;
create domain conformance_media."text/plain" as text;
create domain conformance_media."*/*" as bytea;
-- Branches as lines of text: a handler of one table, and of functions that return it.
create function public.conformance_next_line(state text, next public.conformance_branches)
  returns conformance_media."application/vnd.conformance.lines"
  language sql immutable as $$ select state || next.id || ' ' || next.name || E'\n' $$;
create aggregate public.conformance_lines(public.conformance_branches) (
  initcond = '', stype = conformance_media."application/vnd.conformance.lines", sfunc = public.conformance_next_line
);
create function public.conformance_branches_of(low int) returns setof public.conformance_branches
  language sql stable as $$ select * from public.conformance_branches where id >= low order by id $$;
-- How many rows there are, of whatever kind: a mark for each.
create function public.conformance_next_mark(state text, next anyelement)
  returns conformance_media."application/vnd.conformance.count"
  language sql immutable as $$ select state || '|' $$;
create aggregate public.conformance_marks(anyelement) (
  initcond = '', stype = conformance_media."application/vnd.conformance.count", sfunc = public.conformance_next_mark
);
create function public.conformance_page(name text) returns conformance_media."text/html"
  language sql stable as $$ select '<p>' || name || '</p>' $$;
create function public.conformance_plain(name text) returns conformance_media."text/plain"
  language sql stable as $$ select 'Hello, ' || name $$;
create function public.conformance_bytes() returns conformance_media."application/vnd.conformance.bytes"
  language sql stable as $$ select '\x00ff10'::bytea $$;
create function public.conformance_whatever() returns conformance_media."*/*"
  language sql stable as $$ select convert_to('anything', 'UTF8') $$;
create function public.conformance_whatever_named() returns conformance_media."*/*" language plpgsql stable as $$
begin
  perform set_config('response.headers', '[{"Content-Type": "text/x-conformance"}]', true);
  return convert_to('named', 'UTF8');
end $$;

-- Colours are numbers that are shown and taken as #rrggbb.
create domain public.conformance_colour as int;
create function public.conformance_colour_shown(public.conformance_colour) returns json
  language sql immutable as $$ select to_json('#' || lpad(to_hex($1), 6, '0')) $$;
create function public.conformance_colour_of_text(text) returns public.conformance_colour
  language sql immutable as $$ select ('x' || lpad(ltrim($1, '#'), 8, '0'))::bit(32)::int $$;
create function public.conformance_colour_of_json(json) returns public.conformance_colour
  language sql immutable as $$ select public.conformance_colour_of_text($1 #>> '{}') $$;
create cast (public.conformance_colour as json) with function public.conformance_colour_shown(public.conformance_colour)
  as implicit;
create cast (text as public.conformance_colour) with function public.conformance_colour_of_text(text) as implicit;
create cast (json as public.conformance_colour) with function public.conformance_colour_of_json(json) as implicit;
create table public.conformance_paints (key text primary key, colour public.conformance_colour);
comment on table public.conformance_paints is 'Values with representations of their own; written';
create view public.conformance_paint_numbers as select key, colour::int as colour from public.conformance_paints;

create function public.conformance_unnamed_xml(xml) returns text
  language sql immutable as $$ select (xpath('/a/text()', $1))[1]::text $$;
-- The second is called where the first does not fit.
create function public.conformance_fallback(a int) returns text language sql immutable as $$ select 'a ' || a $$;
create function public.conformance_fallback(json) returns text language sql immutable as $$ select 'body ' || ($1 ->> 'b') $$;
create function public."conformance_Camel"("someName" text) returns text language sql immutable as $$ select "someName" $$;
create function public.conformance_records() returns setof record
  language sql stable as $$ select id, name from public.conformance_branches order by id $$;
-- A view that Postgres cannot update, with a trigger for inserts.
create view public.conformance_note_marks as select distinct key from public.conformance_notes;
create function public.conformance_insert_mark() returns trigger language plpgsql as $$
begin
  insert into public.conformance_notes (key) values (new.key);
  return new;
end $$;
create trigger conformance_insert_mark instead of insert on public.conformance_note_marks
  for each row execute function public.conformance_insert_mark();
-- Whether the transaction only reads.
create function public.conformance_reading_volatile() returns text
  language sql volatile as $$ select current_setting('transaction_read_only') $$;
create function public.conformance_reading_stable() returns text
  language sql stable as $$ select current_setting('transaction_read_only') $$;
-- Each says that it changes nothing, or is read, and writes all the same.
create function public.conformance_stable_write(note_key text) returns void language plpgsql stable as $$
begin
  perform public.conformance_write_note(note_key, 'never');
end $$;
create sequence public.conformance_counter owned by public.conformance_notes.amount;
create view public.conformance_counted as select nextval('public.conformance_counter') as n;
-- Removes notes, for the limit of affected rows.
create function public.conformance_take_notes(note_body text) returns setof public.conformance_notes
  language sql volatile as $$ delete from public.conformance_notes where body = note_body returning * $$;
-- Writes, and fails afterwards.
create function public.conformance_write_and_fail(note_key text) returns void language plpgsql volatile as $$
begin
  insert into public.conformance_notes (key) values (note_key);
  raise exception 'I refuse' using detail = 'Pretty simple', hint = 'Nothing helps';
end $$;
create function public.conformance_raise_without_detail(code text, message text) returns void
  language plpgsql volatile as $$
begin
  raise exception using errcode = code, message = message;
end $$;
-- Settings of a function that hold for its transaction.
create function public.conformance_hurried() returns void
  language sql volatile set statement_timeout to '200ms' as $$ select pg_sleep(6) $$;
create function public.conformance_isolated() returns text
  language sql stable set default_transaction_isolation to 'serializable'
  as $$ select current_setting('transaction_isolation') $$;
create function public.conformance_respond_headers(headers text) returns text language plpgsql volatile as $$
begin
  perform set_config('response.headers', headers, true);
  return 'responded';
end $$;
create function public.conformance_rows_as_one() returns int
  language sql stable as $$ select (select n from public.conformance_numbers) $$;
-- A policy that asks itself.
create table public.conformance_endless (id int primary key);
alter table public.conformance_endless enable row level security;
create policy conformance_endless_read on public.conformance_endless for select
  using (exists (select from public.conformance_endless as other where other.id = conformance_endless.id));

grant usage on schema conformance_media to anon, authenticated, service_role;
grant select, insert on public.conformance_note_marks to anon, authenticated, service_role;
grant select on public.conformance_novels, public.conformance_visits, public.conformance_labels, public.conformance_paint_numbers,
  public.conformance_counted, public.conformance_endless to anon, authenticated, service_role;
grant select, insert, update, delete on public.conformance_paints to anon, authenticated, service_role;
grant usage on sequence public.conformance_counter to anon, authenticated, service_role;

------------------------------------------------------------------------------------------------------------------------
-- Row-level security.

create function public.conformance_caller() returns uuid language sql stable as $$
  select nullif(nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub', '')::uuid
$$;

create table public.conformance_owned (
  key text primary key,
  owner uuid not null default public.conformance_caller(),
  body text,
  shared boolean not null default false
);
comment on table public.conformance_owned is 'Rows of users: seen by their owner, and by all users if shared; written';
alter table public.conformance_owned enable row level security;
create policy conformance_owned_read on public.conformance_owned for select to authenticated
  using (owner = public.conformance_caller() or shared);
create policy conformance_owned_insert on public.conformance_owned for insert to authenticated
  with check (owner = public.conformance_caller());
create policy conformance_owned_update on public.conformance_owned for update to authenticated
  using (owner = public.conformance_caller()) with check (owner = public.conformance_caller());
create policy conformance_owned_delete on public.conformance_owned for delete to authenticated
  using (owner = public.conformance_caller());

create table public.conformance_roles (id int primary key, body text, seen_by text not null);
comment on table public.conformance_roles is 'Rows that each role sees its own of; read only';
insert into public.conformance_roles values (1, 'for all', 'all'), (2, 'for anon', 'anon'), (3, 'for users', 'authenticated');
alter table public.conformance_roles enable row level security;
create policy conformance_roles_read on public.conformance_roles for select
  using (seen_by in ('all', current_user::text));

create table public.conformance_secret (id int primary key, body text);
comment on table public.conformance_secret is 'No privilege for anon and authenticated';
insert into public.conformance_secret values (1, 'hidden');

create table public.conformance_columns (id int primary key, open text, closed text);
comment on table public.conformance_columns is 'anon may read two of three columns; read only';
insert into public.conformance_columns values (1, 'open', 'closed');

------------------------------------------------------------------------------------------------------------------------
-- Functions.

create function public.conformance_add(a int, b int default 10) returns int
  language sql immutable as $$ select a + b $$;
create function public.conformance_greet(name text) returns text language sql stable as $$ select 'Hello, ' || name $$;
create function public.conformance_nothing() returns void language sql volatile as $$ select $$;
create function public.conformance_null() returns int language sql immutable as $$ select null::int $$;
create function public.conformance_series(low int, high int) returns setof int
  language sql immutable as $$ select generate_series(low, high) $$;
create function public.conformance_writers(in_country text default null) returns setof public.conformance_people
  language sql stable as $$
  select * from public.conformance_people where in_country is null or country = in_country order by id
$$;
create function public.conformance_writer(of_id int) returns public.conformance_people
  language sql stable as $$ select * from public.conformance_people where id = of_id $$;
create function public.conformance_pairs(low int, high int) returns table (n int, square int)
  language sql immutable as $$ select n, n * n from generate_series(low, high) as n $$;
create function public.conformance_out(a int, out total int, out label text)
  language sql immutable as $$ select a + 1, 'n' || a $$;
create function public.conformance_sum(variadic numbers int[]) returns int
  language sql immutable as $$ select sum(n)::int from unnest(numbers) as n $$;
create function public.conformance_array(numbers int[]) returns int[]
  language sql immutable as $$ select array(select n * 2 from unnest(numbers) as n) $$;
create function public.conformance_over(a int) returns text language sql immutable as $$ select 'one' $$;
create function public.conformance_over(a int, b int) returns text language sql immutable as $$ select 'two' $$;
create function public.conformance_over(word text) returns text language sql immutable as $$ select 'word' $$;
create function public.conformance_ambiguous(a int) returns text language sql immutable as $$ select 'int' $$;
create function public.conformance_ambiguous(a text) returns text language sql immutable as $$ select 'text' $$;
create function public.conformance_named_json(document jsonb) returns jsonb
  language sql immutable as $$ select document $$;
create function public.conformance_unnamed_json(json) returns json language sql immutable as $$ select $1 $$;
create function public.conformance_unnamed_text(text) returns text language sql immutable as $$ select $1 $$;
create function public.conformance_unnamed_bytes(bytea) returns bytea language sql immutable as $$ select $1 $$;
create function public.conformance_composite(place public.conformance_address) returns text
  language sql immutable as $$ select (place).city $$;
create function public.conformance_genre_of(genre public.conformance_genre) returns text
  language sql immutable as $$ select genre::text $$;
create function public.conformance_echo_json() returns json
  language sql immutable as $$ select '{"a": 1, "b": [true, null]}'::json $$;

-- Volatile, and it writes.
create function public.conformance_write_note(note_key text, note_body text) returns public.conformance_notes
  language sql volatile as $$
  insert into public.conformance_notes (key, body) values (note_key, note_body) returning *
$$;
-- What a request knows of itself.
create function public.conformance_header(name text) returns text language sql stable as $$
  select current_setting('request.headers', true)::json ->> lower(name)
$$;
create function public.conformance_claims() returns json language sql stable as $$
  select nullif(current_setting('request.jwt.claims', true), '')::json
$$;
create function public.conformance_request() returns json language sql stable as $$
  select json_build_object(
    'role', current_user, 'method', current_setting('request.method', true), 'path', current_setting('request.path', true),
    'cookies', nullif(current_setting('request.cookies', true), '')::json)
$$;
create function public.conformance_setting(name text) returns text
  language sql stable as $$ select current_setting(name, true) $$;
create function public.conformance_with_setting() returns text
  language sql stable set timezone to 'Asia/Tokyo' as $$ select current_setting('timezone') $$;
-- What a response is told.
create function public.conformance_respond(status text, header_name text default null, header_value text default null) returns text
  language plpgsql volatile as $$
begin
  perform set_config('response.status', status, true);
  if header_name is not null then
    perform set_config('response.headers', json_build_array(json_build_object(header_name, header_value))::text, true);
  end if;
  return 'responded';
end $$;
create function public.conformance_bad_headers() returns void language sql volatile as $$
  select set_config('response.headers', '{"not": "an array"}', true)
$$;
create function public.conformance_raise(code text, message text, detail text default null, hint text default null) returns void
  language plpgsql volatile as $$
begin
  raise exception using errcode = code, message = message, detail = coalesce(detail, ''), hint = coalesce(hint, '');
end $$;
create function public.conformance_sleep(seconds double precision) returns void
  language sql volatile as $$ select pg_sleep(seconds) $$;
create function public.conformance_definer() returns text
  language sql stable security definer set search_path = '' as $$ select body from public.conformance_secret where id = 1 $$;
create function public.conformance_forbidden() returns int language sql stable as $$ select 1 $$;

------------------------------------------------------------------------------------------------------------------------
-- Realtime: a table of the publication, and one with policies.

create table public.conformance_events (
  id bigint generated by default as identity primary key,
  key text not null,
  body text,
  amount int
);
comment on table public.conformance_events is 'A member of the publication supabase_realtime; written';
alter table public.conformance_events replica identity full;
create table public.conformance_owned_events (
  id bigint generated by default as identity primary key,
  key text not null,
  owner uuid not null
);
comment on table public.conformance_owned_events is 'A member of the publication, seen by owners; written';
alter table public.conformance_owned_events enable row level security;
create policy conformance_owned_events_read on public.conformance_owned_events for select to authenticated
  using (owner = public.conformance_caller());

------------------------------------------------------------------------------------------------------------------------
-- Privileges.

grant select on
  public.conformance_countries, public.conformance_people, public.conformance_biographies, public.conformance_publishers,
  public.conformance_books, public.conformance_branches, public.conformance_stock, public.conformance_loans,
  public.conformance_science, public.conformance_long_science, public.conformance_page_sums, public.conformance_measures,
  public.conformance_types, public."conformance_Quoted name", public.conformance_numbers, public.conformance_roles
  to anon, authenticated, service_role;
revoke all on public.conformance_secret, public.conformance_columns from anon, authenticated;
grant all on public.conformance_secret, public.conformance_columns to service_role;
grant select (id, open) on public.conformance_columns to anon, authenticated;
grant select, insert, update, delete on
  public.conformance_notes, public.conformance_note_lines, public.conformance_strict, public.conformance_always,
  public.conformance_note_bodies, public.conformance_note_sizes, public.conformance_owned, public.conformance_events,
  public.conformance_owned_events
  to anon, authenticated, service_role;
revoke insert, update, delete on
  public.conformance_countries, public.conformance_people, public.conformance_biographies, public.conformance_publishers,
  public.conformance_books, public.conformance_branches, public.conformance_stock, public.conformance_loans,
  public.conformance_types, public.conformance_numbers, public.conformance_roles, public.conformance_setup
  from anon, authenticated;
revoke execute on function public.conformance_forbidden() from public, anon, authenticated;
grant execute on function public.conformance_forbidden() to service_role;

------------------------------------------------------------------------------------------------------------------------
-- Storage and realtime, where the server has them.

do $services$
begin
  if to_regclass('storage.objects') is not null then
    -- Users write below the folder of their id in any bucket of the kit; all of the folder "shared" may be read.
    execute $sql$
      create policy conformance_objects_own on storage.objects for all to authenticated
        using (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = public.conformance_caller()::text)
        with check (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = public.conformance_caller()::text)
    $sql$;
    execute $sql$
      create policy conformance_objects_shared on storage.objects for select to anon, authenticated
        using (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = 'shared')
    $sql$;
    -- And may make whatever they like below "open".
    execute $sql$
      create policy conformance_objects_open on storage.objects for all to anon, authenticated
        using (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = 'open')
        with check (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = 'open')
    $sql$;
    execute $sql$
      create policy conformance_buckets_read on storage.buckets for select to authenticated
        using (id like 'conformance-%')
    $sql$;
  end if;
  if to_regclass('realtime.messages') is not null then
    -- Channels conformance-read-… may be listened to, conformance-write-… written to, too, by users.
    execute $sql$
      create policy conformance_channels_read on realtime.messages for select to authenticated
        using (realtime.topic() like 'conformance-read-%' or realtime.topic() like 'conformance-write-%')
    $sql$;
    execute $sql$
      create policy conformance_channels_write on realtime.messages for insert to authenticated
        with check (realtime.topic() like 'conformance-write-%')
    $sql$;
  end if;
  if exists (select from pg_publication where pubname = 'supabase_realtime' and not puballtables) then
    execute 'alter publication supabase_realtime add table public.conformance_events, public.conformance_owned_events';
  end if;
end
$services$;

------------------------------------------------------------------------------------------------------------------------
-- Row changes of every kind, for Realtime.

-- The replica identity is the key alone, as it is by default.
create table public.conformance_kind_events (
  id bigint generated by default as identity primary key,
  key text not null,
  small smallint, big bigint, exact numeric, real_ real, double_ double precision, flag boolean,
  words text, short varchar(10), token uuid, day date, hour time, stamp timestamp, instant timestamptz,
  json_ json, jsonb_ jsonb, list text[], ints int[], genre public.conformance_genre, span int4range, bytes bytea
);
comment on table public.conformance_kind_events is 'A member of the publication, a column of each type; written';

-- Without a primary key nobody can be found to be allowed to see a row.
create table public.conformance_keyless_events (key text not null, body text);
comment on table public.conformance_keyless_events is 'A member of the publication without a primary key; written';
alter table public.conformance_keyless_events replica identity full;

create table public.conformance_column_events (
  id bigint generated by default as identity primary key,
  key text not null,
  body text,
  closed text
);
comment on table public.conformance_column_events is 'A member of the publication; anon and users do not read the last column; written';

create table public.conformance_barred_events (
  id bigint generated by default as identity primary key,
  key text not null
);
comment on table public.conformance_barred_events is 'A member of the publication; anon and users do not read its primary key; written';

create table public.conformance_owned_full_events (
  id bigint generated by default as identity primary key,
  key text not null,
  owner uuid not null
);
comment on table public.conformance_owned_full_events is 'A member of the publication with policies and whole old rows; written';
alter table public.conformance_owned_full_events replica identity full;
alter table public.conformance_owned_full_events enable row level security;
create policy conformance_owned_full_events_read on public.conformance_owned_full_events for select to authenticated
  using (owner = public.conformance_caller());

revoke all on public.conformance_column_events, public.conformance_barred_events from anon, authenticated;
grant select (id, key, body) on public.conformance_column_events to anon, authenticated;
grant select (key) on public.conformance_barred_events to anon, authenticated;
grant select, insert, update, delete on
  public.conformance_kind_events, public.conformance_keyless_events, public.conformance_owned_full_events
  to anon, authenticated, service_role;
grant all on public.conformance_column_events, public.conformance_barred_events to service_role;

-- Inserts a row and takes it back, then inserts another one.
create function public.conformance_insert_twice(row_key text) returns void language plpgsql volatile as $$
begin
  begin
    insert into public.conformance_events (key, body) values (row_key, 'taken back');
    raise exception 'taken back';
  exception when raise_exception then null;
  end;
  insert into public.conformance_events (key, body) values (row_key, 'kept');
end $$;

------------------------------------------------------------------------------------------------------------------------
-- Broadcasts from the database, and private channels.

create function public.conformance_send(payload jsonb, event text, topic text, private boolean) returns void
  language plpgsql volatile security definer set search_path = '' as $$
begin
  perform realtime.send(payload, event, topic, private);
end $$;
create function public.conformance_send_by_default(payload jsonb, event text, topic text) returns void
  language plpgsql volatile security definer set search_path = '' as $$
begin
  perform realtime.send(payload, event, topic);
end $$;
create function public.conformance_send_bytes(hex text, event text, topic text, private boolean) returns void
  language plpgsql volatile security definer set search_path = '' as $$
begin
  perform realtime.send_binary(decode(hex, 'hex'), event, topic, private);
end $$;
-- The rows of realtime.messages for a topic: what is kept of them, and what is not.
create function public.conformance_messages(of_topic text) returns int
  language plpgsql stable security definer set search_path = '' as $$
declare
  n int;
begin
  select count(*) into n from realtime.messages where topic = of_topic;
  return n;
end $$;
revoke execute on function
  public.conformance_send, public.conformance_send_by_default, public.conformance_send_bytes, public.conformance_messages
  from public, anon, authenticated;
grant execute on function
  public.conformance_send, public.conformance_send_by_default, public.conformance_send_bytes, public.conformance_messages
  to service_role;

create table public.conformance_broadcast_rows (
  key text primary key,
  body text
);
comment on table public.conformance_broadcast_rows is 'Rows whose changes are broadcast to conformance-read-<key>; written';
create function public.conformance_broadcast_row() returns trigger
  language plpgsql security definer set search_path = '' as $$
begin
  perform realtime.broadcast_changes(
    'conformance-read-' || coalesce(new.key, old.key), tg_op, tg_op, tg_table_name, tg_table_schema, new, old);
  return null;
end $$;
create trigger conformance_broadcast_row after insert or update or delete on public.conformance_broadcast_rows
  for each row execute function public.conformance_broadcast_row();
grant select, insert, update, delete on public.conformance_broadcast_rows to service_role;

do $realtime$
begin
  if exists (select from pg_publication where pubname = 'supabase_realtime' and not puballtables) then
    execute $sql$
      alter publication supabase_realtime add table
        public.conformance_kind_events, public.conformance_keyless_events, public.conformance_column_events,
        public.conformance_barred_events, public.conformance_owned_full_events
    $sql$;
  end if;
  if to_regclass('realtime.messages') is null then
    return;
  end if;
  -- Channels by what users may do there: conformance-hear-… broadcasts are heard, conformance-see-… presence is seen,
  -- conformance-say-… all is read, and broadcasts are sent; conformance-own-<id> is read by one user alone.
  execute $sql$
    create policy conformance_channels_hear on realtime.messages for select to authenticated
      using (realtime.topic() like 'conformance-hear-%' and extension = 'broadcast')
  $sql$;
  execute $sql$
    create policy conformance_channels_see on realtime.messages for select to authenticated
      using (realtime.topic() like 'conformance-see-%' and extension = 'presence')
  $sql$;
  execute $sql$
    create policy conformance_channels_say_read on realtime.messages for select to authenticated
      using (realtime.topic() like 'conformance-say-%')
  $sql$;
  execute $sql$
    create policy conformance_channels_say on realtime.messages for insert to authenticated
      with check (realtime.topic() like 'conformance-say-%' and extension = 'broadcast')
  $sql$;
  execute $sql$
    create policy conformance_channels_own on realtime.messages for select to authenticated
      using (realtime.topic() = 'conformance-own-' || public.conformance_caller())
  $sql$;
end
$realtime$;

------------------------------------------------------------------------------------------------------------------------
-- Storage's cases: folders of the kit's buckets with rights of their own, and what SQL sees of storage.

do $storage$
begin
  if to_regclass('storage.objects') is null then
    return;
  end if;
  -- INSERT alone below "insert-only"; INSERT and SELECT below "no-update".
  execute $sql$
    create policy conformance_objects_insert_only on storage.objects for insert to anon, authenticated
      with check (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] in ('insert-only', 'no-update'))
  $sql$;
  execute $sql$
    create policy conformance_objects_no_update on storage.objects for select to anon, authenticated
      using (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = 'no-update')
  $sql$;
  -- Everybody uploads below "mine", and reads and deletes there what is his own.
  execute $sql$
    create policy conformance_objects_mine_insert on storage.objects for insert to authenticated
      with check (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = 'mine')
  $sql$;
  execute $sql$
    create policy conformance_objects_mine_select on storage.objects for select to authenticated
      using (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = 'mine'
        and owner_id = public.conformance_caller()::text)
  $sql$;
  execute $sql$
    create policy conformance_objects_mine_delete on storage.objects for delete to authenticated
      using (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = 'mine'
        and owner_id = public.conformance_caller()::text)
  $sql$;
  -- Buckets conformance-own-… belong to the users who make them.
  execute $sql$
    create policy conformance_buckets_own on storage.buckets for all to authenticated
      using (id like 'conformance-own-%' and owner_id = public.conformance_caller()::text)
      with check (id like 'conformance-own-%' and owner_id = public.conformance_caller()::text)
  $sql$;
  if to_regprocedure('storage.extension(text)') is not null and to_regprocedure('storage.operation()') is not null then
    -- Pictures only below "pictures"; below "listed", what is there is listed and not given.
    execute $sql$
      create policy conformance_objects_pictures on storage.objects for insert to authenticated
        with check (bucket_id like 'conformance-%' and (storage.foldername(name))[1] = 'pictures'
          and storage.extension(name) = 'png' and metadata ->> 'mimetype' = 'image/png')
    $sql$;
    execute $sql$
      create policy conformance_objects_listed on storage.objects for select to anon, authenticated
        using (bucket_id like 'conformance-%' and (storage.foldername(name))[1] = 'listed'
          and storage.operation() = 'storage.object.list')
    $sql$;
    execute $sql$
      create function public.conformance_storage_names(name text) returns json language sql stable as $$
        select json_build_object('file', storage.filename(name), 'folders', storage.foldername(name),
          'extension', storage.extension(name))
      $$
    $sql$;
  end if;
  if exists (select from pg_attribute where attrelid = 'storage.objects'::regclass and attname = 'user_metadata') then
    -- Below "tagged", what has the user's metadata {"tag": "yes"}.
    execute $sql$
      create policy conformance_objects_tagged on storage.objects for insert to authenticated
        with check (bucket_id like 'conformance-%' and (string_to_array(name, '/'))[1] = 'tagged'
          and user_metadata ->> 'tag' = 'yes')
    $sql$;
  end if;
  execute $sql$
    create function public.conformance_insert_bucket(id text) returns void language sql volatile as $$
      insert into storage.buckets (id, name, public) values (id, id, true)
    $$
  $sql$;
  execute $sql$
    create function public.conformance_delete_objects(bucket text) returns void language sql volatile as $$
      delete from storage.objects where bucket_id = bucket
    $$
  $sql$;
  execute $sql$
    create function public.conformance_stored(bucket text) returns json language sql stable as $$
      select json_agg(json_build_object('name', name, 'owner_id', owner_id, 'path_tokens', path_tokens,
        'metadata', metadata, 'version', version) order by name)
      from storage.objects where bucket_id = bucket
    $$
  $sql$;
end
$storage$;
