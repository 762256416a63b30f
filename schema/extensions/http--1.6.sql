-- The types and functions of the extension http (names, arguments and results as hosted Supabase has them).
--
-- A call waits for its response within its transaction, whose writes nobody else sees. So the request goes to Basalt,
-- which serves this database, by a second session: that of the login basalt_http_<number of the database>, which may do
-- nothing but put a request into the queue and take its response. Only basalt_http.send(), which runs as the superuser,
-- opens it.
--
-- Whoever owns the extension's schema can rename it and put something else in its place. So what runs as the superuser is in
-- schema "basalt_http", which nobody may use, and takes and returns only types of Postgres itself. The others run as
-- their callers; where they name anything of that schema, their bodies are in SQL's own form, so that it is resolved here.

\echo Use "create extension http" to load this file. \quit

-- Names mean what Postgres itself has, whatever the extension's schema contains.
set local search_path = pg_catalog, pg_temp;

create schema basalt_http;
comment on schema basalt_http is 'Parts of the extension http, not for use';

create domain @extschema@.http_method as text;
create domain @extschema@.content_type as text check (value ~ '^\S+\/\S+');
create type @extschema@.http_header as (field varchar, value varchar);
create type @extschema@.http_response as (status integer, content_type varchar, headers @extschema@.http_header[], content varchar);
create type @extschema@.http_request as (
  method @extschema@.http_method, uri varchar, headers @extschema@.http_header[], content_type varchar, content varchar
);

------------------------------------------------------------------------------------------------------------------------
-- Texts

create function @extschema@.urlencode(string bytea) returns text
language sql immutable strict
set search_path = pg_catalog, pg_temp
return (
  select coalesce(
    string_agg(
      case
        when part.byte = 32 then '+'
        when part.byte between 48 and 57 or part.byte between 65 and 90 or part.byte between 97 and 122
          or part.byte in (45, 46, 95, 126)
        then chr(part.byte)
        else '%' || upper(lpad(to_hex(part.byte), 2, '0'))
      end,
      '' order by part.place
    ),
    ''
  )
  from (select get_byte(string, place) as byte, place from generate_series(0, length(string) - 1) as place) as part
);

create function @extschema@.urlencode(string varchar) returns text
language sql immutable strict
set search_path = pg_catalog, pg_temp
return @extschema@.urlencode(convert_to(string, 'utf8'));

-- The value, which must be an object.
create function basalt_http.object(value jsonb) returns jsonb
language plpgsql immutable strict
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'object' then
    raise invalid_parameter_value using message = 'cannot call urlencode_jsonb on a non-object';
  end if;
  return value;
end
$$;

create function @extschema@.urlencode(data jsonb) returns text
language sql immutable strict
set search_path = pg_catalog, pg_temp
return (
  select string_agg(
    @extschema@.urlencode(m.key::varchar) || '=' || @extschema@.urlencode(
      case jsonb_typeof(m.value)
        when 'number' then trim_scale(m.value::numeric)::varchar
        else coalesce(m.value #>> '{}', '')::varchar
      end
    ),
    '&' order by m.place
  )
  from jsonb_each(basalt_http.object(data)) with ordinality as m (key, value, place)
  where m.key <> '' and jsonb_typeof(m.value) not in ('array', 'object')
);

create function @extschema@.text_to_bytea(data text) returns bytea
language sql immutable strict
set search_path = pg_catalog, pg_temp
return convert_to(data, 'utf8');

create function @extschema@.bytea_to_text(data bytea) returns text
language sql immutable strict
set search_path = pg_catalog, pg_temp
return convert_from(data, 'utf8');

create function @extschema@.http_header(field varchar, value varchar) returns @extschema@.http_header
language sql
set search_path = pg_catalog, pg_temp
return row(field, value)::@extschema@.http_header;

------------------------------------------------------------------------------------------------------------------------
-- Options of the session, as JSON in a setting

create function @extschema@.http_list_curlopt() returns table (curlopt text, value text)
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select o.key, o.value from jsonb_each_text(nullif(current_setting('basalt_http.options', true), '')::jsonb) o order by 1;
end;

create function @extschema@.http_set_curlopt(curlopt varchar, value varchar) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  name constant text := upper(curlopt);
begin
  if curlopt is null or value is null then
    return false;
  elsif name not in (
    'CURLOPT_TIMEOUT', 'CURLOPT_TIMEOUT_MS', 'CURLOPT_CONNECTTIMEOUT', 'CURLOPT_USERAGENT', 'CURLOPT_TCP_KEEPALIVE',
    'CURLOPT_TCP_KEEPIDLE'
  ) then
    raise feature_not_supported using
      message = format('curl option ''%s'' is not available for run-time configuration', curlopt);
  elsif name <> 'CURLOPT_USERAGENT' and value !~ '^\s*[0-9]{1,9}\s*$' then
    raise invalid_parameter_value using message = format('invalid integer provided for ''%s''', name);
  end if;
  perform set_config(
    'basalt_http.options',
    (coalesce(nullif(current_setting('basalt_http.options', true), '')::jsonb, '{}') || jsonb_build_object(name, value))::text,
    false
  );
  return true;
end
$$;

create function @extschema@.http_reset_curlopt() returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('basalt_http.options', '', false);
  return true;
end
$$;

------------------------------------------------------------------------------------------------------------------------
-- The queue

create unlogged table basalt_http.requests (
  id uuid primary key default gen_random_uuid(),
  request jsonb not null,
  timeout_milliseconds int not null,
  created timestamptz not null default now()
);
comment on table basalt_http.requests is 'Requests that Basalt has not taken yet';

create unlogged table basalt_http.answers (
  id uuid primary key,
  answer jsonb not null,
  created timestamptz not null default now()
);
comment on table basalt_http.answers is 'What came back, until the session that waits takes it';

create function basalt_http.ask(request jsonb, timeout_milliseconds int) returns uuid
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  number uuid;
begin
  insert into basalt_http.requests (request, timeout_milliseconds) values (ask.request, ask.timeout_milliseconds)
  returning id into number;
  perform pg_notify('basalt_http', '');
  return number;
end
$$;

-- The response, which is forgotten then, or {"waiting": whether Basalt has not taken the request yet}.
create function basalt_http.take(number uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  found_answer jsonb;
begin
  delete from basalt_http.answers a where a.id = number returning a.answer into found_answer;
  return coalesce(
    found_answer, jsonb_build_object('waiting', exists (select from basalt_http.requests r where r.id = number))
  );
end
$$;

create function basalt_http.withdraw(number uuid) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  delete from basalt_http.requests r where r.id = number;
  delete from basalt_http.answers a where a.id = number;
end;

------------------------------------------------------------------------------------------------------------------------
-- The second session

-- The functions of Postgres' own dblink, under names that nothing else uses.
create function basalt_http.connect(name text, login text) returns text
language c strict as '$libdir/dblink', 'dblink_connect';
create function basalt_http.disconnect(name text) returns text
language c strict as '$libdir/dblink', 'dblink_disconnect';
create function basalt_http.fetch(name text, statement text) returns setof record
language c strict as '$libdir/dblink', 'dblink_record';

create function basalt_http.login() returns text
language sql stable
set search_path = pg_catalog, pg_temp
return (select 'basalt_http_' || oid from pg_database where datname = current_database());

-- The login's password: nobody can compute it who cannot read the key in the folder of the cluster.
create function basalt_http.password() returns text
language sql volatile
set search_path = pg_catalog, pg_temp
return encode(
  sha256(
    sha256(pg_read_binary_file('vault.key')) || convert_to('the login of the extension http: ' || basalt_http.login(), 'utf8')
  ),
  'hex'
);

-- Makes the login anew. One that exists may have been made by somebody else, who could become it.
create function basalt_http.prepare() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  login constant text := basalt_http.login();
begin
  perform pg_advisory_xact_lock(hashtextextended('basalt_http.prepare', 0));
  if exists (select from pg_roles where rolname = login) then
    execute format('drop owned by %I; drop role %I', login, login);
  end if;
  execute format('create role %I login noinherit connection limit 8 password %L', login, basalt_http.password());
  execute format('comment on role %I is %L', login, 'Login by which the extension http reaches Basalt');
  execute format('alter role %I set statement_timeout = %L', login, '5s');
  -- Its statements contain requests, with their headers.
  execute format('alter role %I set log_statement = %L', login, 'none');
  execute format('alter role %I set log_min_error_statement = %L', login, 'panic');
  execute format('alter role %I set log_min_duration_statement = %L', login, '-1');
  execute format('alter role %I set pg_stat_statements.track = %L', login, 'none');
  execute format('grant usage on schema basalt_http to %I', login);
  execute format(
    'grant execute on function basalt_http.ask(jsonb, int), basalt_http.take(uuid), basalt_http.withdraw(uuid) to %I', login
  );
end
$$;

-- Has Basalt send a request, and waits for the response.
create function basalt_http.exchange(request jsonb, timeout_milliseconds int) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  session constant text := 'basalt_http ' || gen_random_uuid();
  -- Basalt itself ends a request that takes too long; this is for one that nobody takes.
  latest constant timestamptz := clock_timestamp() + timeout_milliseconds * interval '1 millisecond' + interval '2 seconds';
  pause float := 0.002;
  problem text;
  number uuid;
  answer jsonb;
begin
  loop
    begin
      perform basalt_http.connect(
        session,
        format(
          'host=''%s'' port=%s dbname=''%s'' user=%s password=%s connect_timeout=5 application_name=basalt-http',
          regexp_replace(split_part(current_setting('unix_socket_directories'), ',', 1), '([\\''])', '\\\1', 'g'),
          current_setting('port'), regexp_replace(current_database(), '([\\''])', '\\\1', 'g'), basalt_http.login(),
          basalt_http.password()
        )
      );
      exit;
    exception when sqlclient_unable_to_establish_sqlconnection then
      get stacked diagnostics problem = pg_exception_detail;
      if problem not like '%too many connections for role%' then
        raise exception using
          message = 'Basalt cannot be reached', detail = problem,
          hint = 'A transaction that creates the extension http cannot call it before its commit.';
      elsif clock_timestamp() > latest then
        raise exception using
          message = format('Operation timed out after %s milliseconds', timeout_milliseconds),
          hint = 'At most 8 calls of the extension http are under way at a time; the others wait.';
      end if;
    end;
    perform pg_sleep(pause);
    pause := least(pause * 1.5, 0.5);
  end loop;
  pause := 0.002;
  begin
    select id into number
    from basalt_http.fetch(session, format('select basalt_http.ask(%L, %s)', request, timeout_milliseconds)) as f (id uuid);
    loop
      perform pg_sleep(pause);
      pause := least(pause * 1.5, 0.05);
      select a into answer from basalt_http.fetch(session, format('select basalt_http.take(%L)', number)) as f (a jsonb);
      exit when not answer ? 'waiting';
      if clock_timestamp() > latest then
        raise exception using
          message = format('Operation timed out after %s milliseconds', timeout_milliseconds),
          hint = case when (answer -> 'waiting')::boolean then 'No Basalt serves this database; only "basalt serve" sends the requests of the extension http.' else '' end;
      end if;
    end loop;
  exception when others or query_canceled then
    begin
      perform from basalt_http.fetch(session, format('select basalt_http.withdraw(%L)', number)) as f (nothing text);
    exception when others then null; -- the second session is what has failed
    end;
    perform basalt_http.disconnect(session);
    raise;
  end;
  perform basalt_http.disconnect(session);
  return answer;
end
$$;


------------------------------------------------------------------------------------------------------------------------
-- Requests

-- Milliseconds that a request may take.
create function basalt_http.timeout() returns int
language sql stable
set search_path = pg_catalog, pg_temp
return (
  select coalesce(
    nullif(nullif(current_setting('http.timeout_msec', true), '')::int, 0),
    (o.options ->> 'CURLOPT_TIMEOUT_MS')::int,
    -- least() alone would ignore that there is none.
    case when o.options ? 'CURLOPT_TIMEOUT' then least((o.options ->> 'CURLOPT_TIMEOUT')::bigint * 1000, 2147483647)::int end,
    5000
  )
  from (select nullif(current_setting('basalt_http.options', true), '')::jsonb as options) as o
);
-- Sends the request of http(), and returns the response.
create function basalt_http.send(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  method constant text := upper(request ->> 'method');
  uri constant text := request ->> 'uri';
  content constant text := request ->> 'content';
  content_type constant text := request ->> 'content_type';
  options constant jsonb := nullif(current_setting('basalt_http.options', true), '')::jsonb;
  headers jsonb;
  answer jsonb;
begin
  -- A request can change what it reaches. The login stays the same whatever roles it takes on.
  if pg_has_role(session_user, to_regrole('supabase_read_only_user'), 'member')
    and pg_has_role(session_user, to_regrole('postgres'), 'member') is not true
  then
    raise insufficient_privilege using message = 'a login that may only read cannot send requests';
  elsif uri is null then
    raise null_value_not_allowed using message = 'http_request.uri is NULL';
  elsif method is null then
    raise null_value_not_allowed using message = 'http_request.method is NULL';
  elsif content is not null and content_type is null then
    raise null_value_not_allowed using message = 'http_request.content_type is NULL';
  elsif content is null and method in ('POST', 'PUT') then
    raise null_value_not_allowed using message = 'http_request.content is NULL';
  elsif uri !~* '^https?://' then
    raise invalid_parameter_value using message = format('Protocol "%s" not supported', split_part(uri, ':', 1));
  end if;
  if exists (select from jsonb_array_elements(request -> 'headers') as h where h ->> 0 ilike 'content-type%') then
    raise notice '''Content-Type'' is not supported as an optional header';
  end if;
  select jsonb_agg(jsonb_build_array(h ->> 0, coalesce(h ->> 1, '')) order by place) into headers
  from jsonb_array_elements(request -> 'headers') with ordinality as e (h, place)
  where h ->> 0 <> '' and h ->> 0 not ilike 'content-type%';
  answer := basalt_http.exchange(
    jsonb_build_object(
      'method', method, 'url', uri, 'headers', coalesce(headers, '[]'),
      'content_type', case when content is not null then content_type end, 'content', content,
      'user_agent', options -> 'CURLOPT_USERAGENT',
      'connect_timeout_seconds', coalesce((options ->> 'CURLOPT_CONNECTTIMEOUT')::int, 1)
    ),
    basalt_http.timeout()
  );
  if answer ? 'error' then
    raise exception '%', answer ->> 'error';
  end if;
  return answer;
end
$$;

create function @extschema@.http(request @extschema@.http_request) returns @extschema@.http_response
language sql
begin atomic
  select row(
    (answer ->> 'status')::int, (answer ->> 'content_type')::varchar,
    array(
      select row((h ->> 0)::varchar, (h ->> 1)::varchar)::@extschema@.http_header
      from jsonb_array_elements(answer -> 'headers') with ordinality as e (h, place)
      order by place
    ),
    nullif(answer ->> 'content', '')::varchar
  )::@extschema@.http_response
  from basalt_http.send(
    jsonb_build_object(
      'method', request.method, 'uri', request.uri, 'content_type', request.content_type, 'content', request.content,
      'headers', (
        select coalesce(jsonb_agg(jsonb_build_array(h.field, h.value) order by h.place), '[]')
        from unnest(request.headers) with ordinality as h (field, value, place)
      )
    )
  ) as answer;
end;
comment on function @extschema@.http(@extschema@.http_request) is 'Sends a request and waits for the answer';

create function @extschema@.http_get(uri varchar) returns @extschema@.http_response
language sql
set search_path = pg_catalog, pg_temp
return @extschema@.http(('GET', uri, null, null, null)::@extschema@.http_request);

create function @extschema@.http_get(uri varchar, data jsonb) returns @extschema@.http_response
language sql
set search_path = pg_catalog, pg_temp
return @extschema@.http(('GET', uri || '?' || @extschema@.urlencode(data), null, null, null)::@extschema@.http_request);

create function @extschema@.http_post(uri varchar, content varchar, content_type varchar) returns @extschema@.http_response
language sql
set search_path = pg_catalog, pg_temp
return @extschema@.http(('POST', uri, null, content_type, content)::@extschema@.http_request);

create function @extschema@.http_post(uri varchar, data jsonb) returns @extschema@.http_response
language sql
set search_path = pg_catalog, pg_temp
return @extschema@.http(
  ('POST', uri, null, 'application/x-www-form-urlencoded', @extschema@.urlencode(data))::@extschema@.http_request
);

create function @extschema@.http_put(uri varchar, content varchar, content_type varchar) returns @extschema@.http_response
language sql
set search_path = pg_catalog, pg_temp
return @extschema@.http(('PUT', uri, null, content_type, content)::@extschema@.http_request);

create function @extschema@.http_patch(uri varchar, content varchar, content_type varchar) returns @extschema@.http_response
language sql
set search_path = pg_catalog, pg_temp
return @extschema@.http(('PATCH', uri, null, content_type, content)::@extschema@.http_request);

create function @extschema@.http_delete(uri varchar) returns @extschema@.http_response
language sql
set search_path = pg_catalog, pg_temp
return @extschema@.http(('DELETE', uri, null, null, null)::@extschema@.http_request);

create function @extschema@.http_delete(uri varchar, content varchar, content_type varchar) returns @extschema@.http_response
language sql
set search_path = pg_catalog, pg_temp
return @extschema@.http(('DELETE', uri, null, content_type, content)::@extschema@.http_request);

create function @extschema@.http_head(uri varchar) returns @extschema@.http_response
language sql
set search_path = pg_catalog, pg_temp
return @extschema@.http(('HEAD', uri, null, null, null)::@extschema@.http_request);

------------------------------------------------------------------------------------------------------------------------
-- Rights

-- The functions that everybody may execute are those that the functions above name. Without the right to use the schema,
-- nobody else can name them.
revoke all on all functions in schema basalt_http from public;
grant execute on function basalt_http.object(jsonb), basalt_http.send(jsonb) to public;

select basalt_http.prepare();
