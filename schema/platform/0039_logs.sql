-- What queries of logs need: a role that may read nothing, and functions of ClickHouse, in whose dialect tools write
-- these queries. The events themselves are not in the database: the server sends them with each query.

do $platform$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'supabase_logs_reader') then
    create role supabase_logs_reader login noinherit connection limit 10;
    alter role supabase_logs_reader set default_transaction_read_only = on;
    alter role supabase_logs_reader set timezone = 'UTC';
    alter role supabase_logs_reader set search_path = basalt_platform;
    comment on role supabase_logs_reader is 'Runs queries of logs, and may read nothing else';
  end if;
exception
  when duplicate_object or unique_violation then null; -- another database of this cluster was faster
  when insufficient_privilege then
    raise notice 'supabase_logs_reader is not created: that takes the right to create roles';
end
$platform$;

-- A choice between texts, whose literals have no type yet, or between values of another type.
do $platform$
declare
  kind text;
  number integer;
  arguments text;
  cases text;
begin
  foreach kind in array array['text', 'anycompatible'] loop
    execute pg_catalog.format(
      'create or replace function basalt_platform.if(boolean, %1$s, %1$s) returns %1$s immutable parallel safe '
      'language sql as $$ select case when $1 then $2 else $3 end $$', kind);
    for number in 1 .. 12 loop
      arguments := pg_catalog.repeat(pg_catalog.format('boolean, %s, ', kind), number) || kind;
      select pg_catalog.string_agg(pg_catalog.format('when $%s then $%s', 2 * n - 1, 2 * n), ' ' order by n)
        into cases from pg_catalog.generate_series(1, number) n;
      execute pg_catalog.format(
        'create or replace function basalt_platform.multiif(%s) returns %s immutable parallel safe language sql '
        'as $$ select case %s else $%s end $$', arguments, kind, cases, 2 * number + 1);
    end loop;
  end loop;
end
$platform$;

create or replace function basalt_platform.tostring(anyelement) returns text stable parallel safe language sql
  as $$ select $1::text $$;
create or replace function basalt_platform.toint32(text) returns integer immutable parallel safe language sql
  as $$ select $1::integer $$;
create or replace function basalt_platform.toint64(text) returns bigint immutable parallel safe language sql
  as $$ select $1::bigint $$;
create or replace function basalt_platform.tofloat64(text) returns double precision immutable parallel safe language sql
  as $$ select $1::double precision $$;
create or replace function basalt_platform.toint32orzero(text) returns integer immutable parallel safe language sql
  as $$ select case when $1 ~ '^[-+]?\d{1,9}$' then $1::integer else 0 end $$;
create or replace function basalt_platform.toint64orzero(text) returns bigint immutable parallel safe language sql
  as $$ select case when $1 ~ '^[-+]?\d{1,18}$' then $1::bigint else 0 end $$;
create or replace function basalt_platform.touint16orzero(text) returns integer immutable parallel safe language sql
  as $$ select case when $1 ~ '^\d{1,5}$' then $1::integer else 0 end $$;
create or replace function basalt_platform.touint32orzero(text) returns bigint immutable parallel safe language sql
  as $$ select case when $1 ~ '^\d{1,9}$' then $1::bigint else 0 end $$;
create or replace function basalt_platform.touint64orzero(text) returns bigint immutable parallel safe language sql
  as $$ select case when $1 ~ '^\d{1,18}$' then $1::bigint else 0 end $$;
create or replace function basalt_platform.tofloat64orzero(text) returns double precision immutable parallel safe
  language sql as $$ select case when $1 ~ '^[-+]?\d{1,15}(\.\d{1,15})?$' then $1::double precision else 0 end $$;
create or replace function basalt_platform.ifnull(text, text) returns text immutable parallel safe language sql
  as $$ select coalesce($1, $2) $$;

create or replace function basalt_platform.positioncaseinsensitiveutf8(text, text) returns integer
  immutable parallel safe language sql as $$ select strpos(lower($1), lower($2)) $$;
create or replace function basalt_platform.positioncaseinsensitive(text, text) returns integer
  immutable parallel safe language sql as $$ select strpos(lower($1), lower($2)) $$;
create or replace function basalt_platform.positionutf8(text, text) returns integer immutable parallel safe language sql
  as $$ select strpos($1, $2) $$;
create or replace function basalt_platform.lowerutf8(text) returns text immutable parallel safe language sql
  as $$ select lower($1) $$;
create or replace function basalt_platform.upperutf8(text) returns text immutable parallel safe language sql
  as $$ select upper($1) $$;
create or replace function basalt_platform.match(text, text) returns boolean immutable parallel safe language sql
  as $$ select $1 ~ $2 $$;
create or replace function basalt_platform.startswith(text, text) returns boolean immutable parallel safe language sql
  as $$ select starts_with($1, $2) $$;
create or replace function basalt_platform.endswith(text, text) returns boolean immutable parallel safe language sql
  as $$ select right($1, length($2)) = $2 $$;
create or replace function basalt_platform.empty(text) returns boolean immutable parallel safe language sql
  as $$ select $1 = '' $$;
create or replace function basalt_platform.notempty(text) returns boolean immutable parallel safe language sql
  as $$ select $1 <> '' $$;
create or replace function basalt_platform.mapcontains(jsonb, text) returns boolean immutable parallel safe language sql
  as $$ select $1 ? $2 $$;
create or replace function basalt_platform.mapkeys(jsonb) returns text[] immutable parallel safe language sql
  as $$ select array(select jsonb_object_keys($1)) $$;

create or replace function basalt_platform.tounixtimestamp(timestamptz) returns bigint stable parallel safe language sql
  as $$ select floor(extract(epoch from $1))::bigint $$;
create or replace function basalt_platform.tounixtimestamp64milli(timestamptz) returns bigint
  stable parallel safe language sql as $$ select floor(extract(epoch from $1) * 1000)::bigint $$;
create or replace function basalt_platform.tounixtimestamp64micro(timestamptz) returns bigint
  stable parallel safe language sql as $$ select floor(extract(epoch from $1) * 1000000)::bigint $$;
create or replace function basalt_platform.todatetime(text) returns timestamptz stable parallel safe language sql
  as $$ select $1::timestamptz $$;
create or replace function basalt_platform.todatetime64(text, integer) returns timestamptz
  stable parallel safe language sql as $$ select $1::timestamptz $$;
create or replace function basalt_platform.parsedatetimebesteffort(text) returns timestamptz
  stable parallel safe language sql as $$ select $1::timestamptz $$;
create or replace function basalt_platform.parsedatetime64besteffort(text) returns timestamptz
  stable parallel safe language sql as $$ select $1::timestamptz $$;
create or replace function basalt_platform.todate(timestamptz) returns date stable parallel safe language sql
  as $$ select $1::date $$;
create or replace function basalt_platform.today() returns date stable parallel safe language sql
  as $$ select current_date $$;
create or replace function basalt_platform.now64() returns timestamptz stable parallel safe language sql
  as $$ select now() $$;
create or replace function basalt_platform.tostartofinterval(timestamptz, interval) returns timestamptz
  stable parallel safe language sql as $$ select date_bin($2, $1, '2000-01-01 00:00:00+00') $$;
create or replace function basalt_platform.tostartofsecond(timestamptz) returns timestamptz
  stable parallel safe language sql as $$ select date_trunc('second', $1) $$;
create or replace function basalt_platform.tostartofminute(timestamptz) returns timestamptz
  stable parallel safe language sql as $$ select date_trunc('minute', $1) $$;
create or replace function basalt_platform.tostartoffiveminutes(timestamptz) returns timestamptz
  stable parallel safe language sql as $$ select date_bin('5 minutes', $1, '2000-01-01 00:00:00+00') $$;
create or replace function basalt_platform.tostartoftenminutes(timestamptz) returns timestamptz
  stable parallel safe language sql as $$ select date_bin('10 minutes', $1, '2000-01-01 00:00:00+00') $$;
create or replace function basalt_platform.tostartoffifteenminutes(timestamptz) returns timestamptz
  stable parallel safe language sql as $$ select date_bin('15 minutes', $1, '2000-01-01 00:00:00+00') $$;
create or replace function basalt_platform.tostartofhour(timestamptz) returns timestamptz
  stable parallel safe language sql as $$ select date_trunc('hour', $1) $$;
create or replace function basalt_platform.tostartofday(timestamptz) returns timestamptz
  stable parallel safe language sql as $$ select date_trunc('day', $1) $$;
create or replace function basalt_platform.subtractminutes(timestamptz, integer) returns timestamptz
  stable parallel safe language sql as $$ select $1 - make_interval(mins => $2) $$;
create or replace function basalt_platform.subtracthours(timestamptz, integer) returns timestamptz
  stable parallel safe language sql as $$ select $1 - make_interval(hours => $2) $$;

create or replace function basalt_platform.counted_if(bigint, boolean) returns bigint
  immutable parallel safe language sql as $$ select $1 + case when $2 then 1 else 0 end $$;
create or replace aggregate basalt_platform.countif(boolean)
  (sfunc = basalt_platform.counted_if, stype = bigint, initcond = '0');

do $platform$
declare
  one regprocedure;
begin
  for one in select p.oid from pg_catalog.pg_proc p where p.pronamespace = 'basalt_platform'::regnamespace loop
    execute pg_catalog.format('revoke all on function %s from public', one);
    if exists (select from pg_catalog.pg_roles where rolname = 'supabase_logs_reader') then
      execute pg_catalog.format('grant execute on function %s to supabase_logs_reader', one);
    end if;
  end loop;
  if exists (select from pg_catalog.pg_roles where rolname = 'supabase_logs_reader') then
    grant usage on schema basalt_platform to supabase_logs_reader;
  end if;
end
$platform$;
