-- The functions of the extension pg_jsonschema (names, arguments, results and messages as hosted Supabase has them).
--
-- Drafts 4, 6, 7, 2019-09 and 2020-12 by "$schema". Without it, draft 7 is the draft, as in upstream's release, and the
-- keywords that only newer drafts have are obeyed, too. "format" is checked up to draft 7. Nothing is fetched: "$ref"
-- reaches this schema, what it embeds, and the meta-schemas.
--
-- The functions of schema "basalt_jsonschema" are for those of this file alone, and run with their search path. They pass
-- this on to each other:
--   ctx     {"draft": 4, 6, 7, 8 (2019-09) or 9 (2020-12), "lax": no "$schema", "track": some "unevaluated…",
--            "index": schemas and anchors by their absolute URI}
--   quick   whether the first error is enough, and its text is not needed
--   base    the URI that a "$ref" is relative to
--   scope   the URIs of the schemas that were entered, outermost first

\echo Use "create extension pg_jsonschema" to load this file. \quit

create schema basalt_jsonschema;
comment on schema basalt_jsonschema is 'Parts of the extension pg_jsonschema, not for use';
grant usage on schema basalt_jsonschema to public;

-- A schema that was found, the base of its references, or why there is none.
create type basalt_jsonschema.place as (schema jsonb, base text, problem text);

-- Errors, and the properties or the places of items that were evaluated.
create type basalt_jsonschema.outcome as (errors text[], seen text[]);

-- What is wrong with a schema, and where.
create type basalt_jsonschema.flaw as (path text, message text);

------------------------------------------------------------------------------------------------------------------------
-- Text

-- The JSON without spaces, its keys in order: the form that messages have.
create function basalt_jsonschema.text(value jsonb) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  case pg_catalog.jsonb_typeof(value)
    when 'object' then
      return '{' || coalesce(
        (
          select pg_catalog.string_agg(
            pg_catalog.to_json(e.key)::text || ':' || basalt_jsonschema.text(e.value), ',' order by e.key collate "C"
          )
          from pg_catalog.jsonb_each(value) as e
        ),
        ''
      ) || '}';
    when 'array' then
      return '[' || coalesce(
        (
          select pg_catalog.string_agg(basalt_jsonschema.text(e.value), ',' order by e.place)
          from pg_catalog.jsonb_array_elements(value) with ordinality as e (value, place)
        ),
        ''
      ) || ']';
    else return value::text;
  end case;
end
$$;

-- A regular expression of ECMA 262 as one of Postgres. What cannot be said in Postgres is refused.
create function basalt_jsonschema.regex(pattern text) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  token text;
  result text := '';
  -- Where the last atom begins, for a quantifier; and the open groups.
  atom int := 1;
  groups int[] := '{}';
  in_class boolean := false;
  -- The token before, within a class.
  previous text;
  counts int[];
begin
  if pattern !~ '[\\.{\[(]' then
    return pattern;
  end if;
  for token in
    select m[1]
    from pg_catalog.regexp_matches(
      pattern,
      '(\\u\{[0-9A-Fa-f]+\}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\c[A-Za-z]|\\[pP]\{[^}]*\}|\\k<[^>]*>|\\.'
        || '|\{[0-9]+(?:,[0-9]*)?\}|\(\?<?[=!:]|\(\?<[A-Za-z_$][^>]*>|\[\^?|.)',
      'gs'
    ) as m
  loop
    if in_class then
      if token = ']' then
        in_class := false;
      end if;
      -- Beside a set of characters, such as "\w", a hyphen is no range.
      if token = '-' and previous ~ '^\\[dDwWsSpP]' then
        token := '\-';
      elsif token ~ '^\\[dDwWsSpP]' and previous = '-' then
        result := pg_catalog.substr(result, 1, pg_catalog.length(result) - 1) || '\-';
      end if;
      previous := token;
      result := result || basalt_jsonschema.regex_token(token, true);
    elsif token ~ '^\{[0-9]' then
      counts := pg_catalog.string_to_array(pg_catalog.btrim(token, '{}'), ',', '')::int[];
      result := pg_catalog.substr(result, 1, atom - 1)
        || basalt_jsonschema.regex_repeat(pg_catalog.substr(result, atom), token, counts);
    elsif token in ('*', '+', '?') then
      result := result || token;
    else
      if token = ')' and groups <> '{}' then
        atom := groups[pg_catalog.cardinality(groups)];
        groups := pg_catalog.trim_array(groups, 1);
      else
        atom := pg_catalog.length(result) + 1;
      end if;
      if pg_catalog.starts_with(token, '(') then
        groups := groups || atom;
      end if;
      in_class := token in ('[', '[^');
      previous := token;
      result := result || basalt_jsonschema.regex_token(token, false);
    end if;
  end loop;
  return result;
end
$$;

-- A part of a regular expression that is no quantifier.
create function basalt_jsonschema.regex_token(token text, in_class boolean) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  class text;
begin
  if pg_catalog.length(token) = 1 then
    return case
      when token = '.' and not in_class then '[^\n\r\u2028\u2029]'
      when token = '[' and in_class then '\['
      else token
    end;
  elsif pg_catalog.starts_with(token, '\p') or pg_catalog.starts_with(token, '\P') then
    class := case pg_catalog.split_part(pg_catalog.btrim(pg_catalog.substr(token, 3), '{}'), '=', -1)
      when 'L' then 'alpha' when 'Letter' then 'alpha' when 'Alphabetic' then 'alpha'
      when 'Lu' then 'upper' when 'Uppercase_Letter' then 'upper' when 'Ll' then 'lower' when 'Lowercase_Letter' then 'lower'
      when 'N' then 'digit' when 'Nd' then 'digit' when 'digit' then 'digit' when 'P' then 'punct' when 'Punctuation' then 'punct'
    end;
    if class is null or in_class and pg_catalog.starts_with(token, '\P') then
      raise feature_not_supported using message = pg_catalog.format('Basalt''s pg_jsonschema cannot match %s', token);
    end if;
    class := '[:' || class || ':]';
    return case when in_class then class when pg_catalog.starts_with(token, '\P') then '[^' || class || ']' else '[' || class || ']' end;
  elsif token ~ '^\\u\{' then
    return '\U' || pg_catalog.lpad(pg_catalog.btrim(pg_catalog.substr(token, 3), '{}'), 8, '0');
  elsif token ~ '^\\x..$' then
    return '\u00' || pg_catalog.substr(token, 3);
  elsif token ~ '^\(\?<[^=!]' then
    return '(';
  elsif pg_catalog.starts_with(token, '\k<') then
    raise feature_not_supported using message = pg_catalog.format('Basalt''s pg_jsonschema cannot match %s', token);
  end if;
  return case token
    when '\d' then case when in_class then '0-9' else '[0-9]' end
    when '\w' then case when in_class then 'A-Za-z0-9_' else '[A-Za-z0-9_]' end
    when '\D' then case when in_class then '\D' else '[^0-9]' end
    when '\W' then case when in_class then '\W' else '[^A-Za-z0-9_]' end
    when '\s' then case when in_class then '\s\u00a0\ufeff' else '[\s\u00a0\ufeff]' end
    when '\S' then case when in_class then '\S' else '[^\s\u00a0\ufeff]' end
    when '\b' then case when in_class then '\u0008' else '\y' end
    when '\B' then '\Y'
    when '[^' then case when in_class then '\[^' else '[^' end
    else token
  end;
end
$$;

-- An atom with a quantifier. Postgres counts to 255, so that a higher count is several after each other.
create function basalt_jsonschema.regex_repeat(atom text, quantifier text, counts int[]) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  least int := counts[1];
  most int := case when pg_catalog.cardinality(counts) = 1 then counts[1] else counts[2] end;
  result text := '';
begin
  if greatest(least, most) <= 255 then
    return atom || quantifier;
  elsif greatest(least, most) > 65535 then
    raise feature_not_supported using message = pg_catalog.format('Basalt''s pg_jsonschema cannot match %s', quantifier);
  elsif most is null then
    return basalt_jsonschema.regex_repeat(atom, quantifier, array[least]) || atom || '*';
  end if;
  loop
    result := result || atom || '{' || least(least, 255) || ',' || least(most, 255) || '}';
    exit when most <= 255;
    least := greatest(least - 255, 0);
    most := most - 255;
  end loop;
  return result;
end
$$;

-- Whether a text is a regular expression.
create function basalt_jsonschema.is_regex(pattern text) returns boolean
language sql immutable parallel safe
return pg_catalog.pg_input_is_valid(
  '$ ? (@ like_regex ' || pg_catalog.to_json(basalt_jsonschema.regex(pattern))::text || ')', 'jsonpath'
);

------------------------------------------------------------------------------------------------------------------------
-- References

-- Decodes "%20" and the like.
create function basalt_jsonschema.decoded(encoded text) returns text
language sql immutable parallel safe
return case
  when encoded !~ '%[0-9A-Fa-f]{2}' then encoded
  else (
    select pg_catalog.convert_from(
      pg_catalog.string_agg(
        case when m.part[1] is null then pg_catalog.convert_to(m.part[2], 'utf8') else pg_catalog.decode(m.part[1], 'hex') end,
        ''::bytea order by m.place
      ),
      'utf8'
    )
    from pg_catalog.regexp_matches(encoded, '%([0-9A-Fa-f]{2})|(.)', 'gs') with ordinality as m (part, place)
  )
end;

-- The path without "." and "..". Source: RFC 3986, section 5.2.4.
create function basalt_jsonschema.path(path text) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  segment text;
  kept text[] := '{}';
  segments text[] := pg_catalog.string_to_array(path, '/');
begin
  if path !~ '(^|/)\.\.?(/|$)' then
    return path;
  end if;
  for place in 1 .. pg_catalog.cardinality(segments) loop
    segment := segments[place];
    if segment = '..' and pg_catalog.cardinality(kept) > 1 then
      kept := pg_catalog.trim_array(kept, 1);
    elsif segment not in ('.', '..') then
      kept := kept || segment;
    end if;
    if segment in ('.', '..') and place = pg_catalog.cardinality(segments) then
      kept := kept || ''::text;
    end if;
  end loop;
  return pg_catalog.array_to_string(kept, '/');
end
$$;

-- The absolute URI of a reference, without its fragment, and the fragment. Source: RFC 3986, section 5.2.2.
create function basalt_jsonschema.resolve(base text, reference text) returns text[]
language plpgsql immutable strict parallel safe
as $$
declare
  syntax constant text := '^(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?(?:#(.*))?$';
  r text[];
  b text[];
  scheme text;
  host text;
  path text;
  query text;
begin
  if pg_catalog.starts_with(reference, '#') then
    return array[base, basalt_jsonschema.decoded(pg_catalog.substr(reference, 2))];
  end if;
  r := pg_catalog.regexp_match(reference, syntax);
  b := pg_catalog.regexp_match(base, syntax);
  query := r[4];
  if r[1] is not null then
    scheme := r[1]; host := r[2]; path := r[3];
  elsif r[2] is not null then
    scheme := b[1]; host := r[2]; path := r[3];
  else
    scheme := b[1];
    host := b[2];
    if r[3] = '' then
      path := b[3];
      query := coalesce(query, b[4]);
    elsif pg_catalog.starts_with(r[3], '/') then
      path := r[3];
    else
      path := case when host is not null and b[3] = '' then '/' else pg_catalog.regexp_replace(b[3], '[^/]*$', '') end || r[3];
    end if;
  end if;
  path := basalt_jsonschema.path(path);
  return array[
    coalesce(scheme || ':', '') || coalesce('//' || host, '') || path || coalesce(query, ''),
    basalt_jsonschema.decoded(coalesce(r[5], ''))
  ];
end
$$;

-- The number of a draft by its meta-schema's URI.
create function basalt_jsonschema.draft(uri text) returns int
language sql immutable parallel safe
return case pg_catalog.regexp_replace(uri, '^https?://json-schema\.org/(.*?)#?$', '\1')
  when 'draft-04/schema' then 4
  when 'draft-06/schema' then 6
  when 'draft-07/schema' then 7
  when 'draft/2019-09/schema' then 8
  when 'draft/2020-12/schema' then 9
end;

-- The keyword by which a schema gives itself a URI.
create function basalt_jsonschema.id(draft int) returns text
language sql immutable parallel safe
return case draft when 4 then 'id' else '$id' end;

-- The URI that a schema gives itself, if it does.
create function basalt_jsonschema.own_id(draft int, schema jsonb) returns text
language sql immutable parallel safe
return case
  when draft <= 7 and schema ? '$ref' then null
  when pg_catalog.jsonb_typeof(schema -> basalt_jsonschema.id(draft)) = 'string'
    then nullif(pg_catalog.regexp_replace(schema ->> basalt_jsonschema.id(draft), '^#.*', ''), '')
end;

-- The keywords whose values are schemas, lists of schemas, or schemas by names.
create function basalt_jsonschema.holds_schemas(key text) returns boolean
language sql immutable parallel safe
return key in (
  'additionalItems', 'additionalProperties', 'allOf', 'anyOf', 'contains', 'contentSchema', 'else', 'if', 'items', 'not',
  'oneOf', 'prefixItems', 'propertyNames', 'then', 'unevaluatedItems', 'unevaluatedProperties'
);
create function basalt_jsonschema.names_schemas(key text) returns boolean
language sql immutable parallel safe
return key in ('$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties');

-- The schemas and anchors in a schema by their absolute URIs. "names": it is not a schema but schemas by names.
create function basalt_jsonschema.index(draft int, base text, schema jsonb, names boolean, depth int) returns jsonb
language plpgsql immutable strict parallel safe
as $$
declare
  key text;
  value jsonb;
  anchor text;
  own_id text;
  result jsonb := '{}';
begin
  if depth > 100 then
    raise program_limit_exceeded using message = 'the JSON schema is nested too deeply';
  elsif pg_catalog.jsonb_typeof(schema) = 'array' then
    for value in select e from pg_catalog.jsonb_array_elements(schema) as n (e) loop
      result := result || basalt_jsonschema.index(draft, base, value, false, depth + 1);
    end loop;
  elsif pg_catalog.jsonb_typeof(schema) = 'object' then
    if not names then
      own_id := basalt_jsonschema.own_id(draft, schema);
      if own_id is not null then
        base := (basalt_jsonschema.resolve(base, own_id))[1];
        schema := schema || pg_catalog.jsonb_build_object(basalt_jsonschema.id(draft), base);
        result := pg_catalog.jsonb_build_object(base, schema);
      elsif draft <= 7 and pg_catalog.starts_with(schema ->> basalt_jsonschema.id(draft), '#') then
        anchor := pg_catalog.substr(schema ->> basalt_jsonschema.id(draft), 2);
        result := pg_catalog.jsonb_build_object(base || '#' || anchor, schema);
      end if;
      if pg_catalog.jsonb_typeof(schema -> '$anchor') = 'string' then
        result := result || pg_catalog.jsonb_build_object(base || '#' || (schema ->> '$anchor'), schema);
      end if;
      if pg_catalog.jsonb_typeof(schema -> '$dynamicAnchor') = 'string' then
        anchor := schema ->> '$dynamicAnchor';
        result := result || pg_catalog.jsonb_build_object(base || '#' || anchor, schema, base || '#dynamic#' || anchor, schema);
      end if;
    end if;
    for key, value in select e.key, e.value from pg_catalog.jsonb_each(schema) as e loop
      if names or basalt_jsonschema.holds_schemas(key) then
        result := result || basalt_jsonschema.index(draft, base, value, false, depth + 1);
      elsif basalt_jsonschema.names_schemas(key) then
        result := result || basalt_jsonschema.index(draft, base, value, true, depth + 1);
      end if;
    end loop;
  end if;
  return result;
end
$$;

-- What the functions pass on; see the beginning.
create function basalt_jsonschema.context(schema jsonb) returns jsonb
language plpgsql immutable strict parallel safe
as $$
declare
  root constant text := 'json-schema:///';
  declared constant int := basalt_jsonschema.draft(schema ->> '$schema');
  draft constant int := coalesce(declared, 7);
  index jsonb := '{}';
begin
  if schema::text ~ '"\$(ref|dynamicRef|recursiveRef)"' then
    index := pg_catalog.jsonb_build_object(root, schema) || basalt_jsonschema.index(draft, root, schema, false, 0);
  end if;
  return pg_catalog.jsonb_build_object(
    'draft', draft, 'lax', declared is null, 'track', schema::text like '%"unevaluated%', 'index', index
  );
end
$$;

-- The schema that a reference leads to.
create function basalt_jsonschema.target(ctx jsonb, base text, reference text) returns basalt_jsonschema.place
language plpgsql immutable strict parallel safe
as $$
declare
  parts constant text[] := basalt_jsonschema.resolve(base, reference);
  draft constant int := (ctx ->> 'draft')::int;
  place basalt_jsonschema.place;
  step text;
  own_id text;
begin
  place.base := parts[1];
  place.schema := ctx -> 'index' -> parts[1];
  if place.schema is null and parts[2] = '' and basalt_jsonschema.draft(parts[1]) is not null then
    place.schema := pg_catalog.jsonb_build_object('$basalt:metaschema', basalt_jsonschema.draft(parts[1]));
  elsif place.schema is null then
    place.problem := pg_catalog.format('Resource ''%s'' is not present in a registry and retrieving it failed: only this schema is read', parts[1]);
  elsif pg_catalog.starts_with(parts[2], '/') then
    foreach step in array (pg_catalog.string_to_array(parts[2], '/'))[2:] loop
      own_id := basalt_jsonschema.own_id(draft, place.schema);
      if own_id is not null then
        place.base := (basalt_jsonschema.resolve(place.base, own_id))[1];
      end if;
      step := pg_catalog.replace(pg_catalog.replace(step, '~1', '/'), '~0', '~');
      place.schema := case
        when pg_catalog.jsonb_typeof(place.schema) <> 'array' then place.schema -> step
        when step ~ '^[0-9]{1,9}$' then place.schema -> step::int
      end;
      if place.schema is null then
        place.problem := pg_catalog.format('Pointer ''%s'' does not exist', parts[2]);
        return place;
      end if;
    end loop;
  elsif parts[2] <> '' then
    place.schema := ctx -> 'index' -> (parts[1] || '#' || parts[2]);
    if place.schema is null then
      place.problem := pg_catalog.format('Anchor ''%s'' does not exist', parts[2]);
    end if;
  end if;
  return place;
end
$$;

-- The schema that a dynamic reference leads to: that of the outermost schema that was entered and has the anchor, too.
create function basalt_jsonschema.dynamic_target(ctx jsonb, base text, scope text[], key text, reference text)
returns basalt_jsonschema.place
language plpgsql immutable strict parallel safe
as $$
declare
  place basalt_jsonschema.place := basalt_jsonschema.target(ctx, base, reference);
  anchor text := place.schema ->> '$dynamicAnchor';
  entered text;
begin
  if key = '$dynamicRef' and anchor is not null and pg_catalog.split_part(reference, '#', 2) = anchor then
    foreach entered in array scope loop
      if ctx -> 'index' ? (entered || '#dynamic#' || anchor) then
        place.schema := ctx -> 'index' -> (entered || '#dynamic#' || anchor);
        place.base := entered;
        return place;
      end if;
    end loop;
  elsif key = '$recursiveRef' and place.schema -> '$recursiveAnchor' = 'true' then
    foreach entered in array scope loop
      if ctx -> 'index' -> entered -> '$recursiveAnchor' = 'true' then
        place.schema := ctx -> 'index' -> entered;
        place.base := entered;
        return place;
      end if;
    end loop;
  end if;
  return place;
end
$$;

------------------------------------------------------------------------------------------------------------------------
-- Keywords for single values. Each of these functions returns the errors of one keyword.

-- Whether a text has a format, as far as drafts 4 to 7 know it.
create function basalt_jsonschema.has_format(draft int, format text, value text) returns boolean
language plpgsql immutable strict parallel safe
as $$
declare
  sign constant text := '[A-Za-z0-9._~!$&''()*+,;=:@/?-]|%[0-9A-Fa-f]{2}';
  foreign_sign constant text := sign || '|[^\u0001-\u007f]';
  -- A host in brackets is an address of IPv6; one without has a colon only before its port.
  scheme constant text := '[A-Za-z][A-Za-z0-9+.-]*:';
  host constant text := '(//([^@/?#\[\]]*@)?(\[[0-9A-Fa-f:.]+\]|(?![^/?#:]*:[^/?#@]*:))|(?!//))';
  domain constant text := '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
  word constant text := '[^\x00-\u001f\u007f\s@<>"(),:;\\[\]]+';
  timing constant text := '([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])';
begin
  return case
    when format = 'date' then value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' and pg_catalog.pg_input_is_valid(value, 'date')
    when format = 'time' then value ~ ('^' || timing || '$') and basalt_jsonschema.is_leap(value)
    when format = 'date-time' then value ~ ('^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]' || timing || '$')
      and pg_catalog.pg_input_is_valid(pg_catalog.substr(value, 1, 10), 'date') and basalt_jsonschema.is_leap(pg_catalog.substr(value, 12))
    when format in ('email', 'idn-email') then
      (format = 'idn-email' or value ~ '^[\u0001-\u007f]*$')
      and value ~ ('^(' || word || '|"([^"\\]|\\.)+")@(' || word || '|\[[0-9A-Fa-f.:IPv]+\])$')
      and value !~ '^\.|\.\.|\.@|@[.-]|[.-]$'
    when format = 'hostname' then pg_catalog.length(value) <= 253 and value ~ ('^' || domain || '(\.' || domain || ')*$')
    when format = 'idn-hostname' then draft < 7 or pg_catalog.length(value) <= 253 and value !~ '[\s/?#@:!"$%&''()*+,;<=>[\\\]^`{|}~]|^-|-$|^\.|\.\.|^$'
    when format = 'ipv4' then value ~ '^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.(?!$)|$)){4}$'
    when format = 'ipv6' then value ~ '^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$' and pg_catalog.pg_input_is_valid(value, 'inet')
    when format = 'uri' then value ~ ('^' || scheme || host || '(' || sign || ')*(#(' || sign || ')*)?$')
    when format = 'uri-reference' then draft < 6 or value ~ ('^(' || scheme || ')?' || host || '(' || sign || ')*(#(' || sign || ')*)?$')
    when format = 'iri' then draft < 7 or value ~ ('^' || scheme || host || '(' || foreign_sign || ')*(#(' || foreign_sign || ')*)?$')
    when format = 'iri-reference' then
      draft < 7 or value ~ ('^(' || scheme || ')?' || host || '(' || foreign_sign || ')*(#(' || foreign_sign || ')*)?$')
    when format = 'uri-template' then draft < 6 or value ~ '^([^{}\s"''<>\\^`|%]|%[0-9A-Fa-f]{2}|\{[+#./;?&=,!@|]?[A-Za-z0-9_%.]+(:[1-9][0-9]{0,3}|\*)?(,[A-Za-z0-9_%.]+(:[1-9][0-9]{0,3}|\*)?)*\})*$'
    when format = 'json-pointer' then draft < 6 or value ~ '^(/([^~/]|~[01])*)*$'
    when format = 'relative-json-pointer' then draft < 7 or value ~ '^(0|[1-9][0-9]*)(#|(/([^~/]|~[01])*)*)$'
    when format = 'regex' then basalt_jsonschema.is_regex(value)
    else true
  end;
end
$$;

-- Whether a time that has a leap second is the last second of a day in UTC.
create function basalt_jsonschema.is_leap(value text) returns boolean
language sql immutable parallel safe
return case
  when pg_catalog.substr(value, 7, 2) <> '60' then true
  when value ~ '[Zz]$' then value ~ '^23:59'
  else (pg_catalog.substr(value, 1, 5)::time - (pg_catalog.right(value, 6)::text)::interval) = '23:59'::time
end;

-- "type", "enum" and "const", which are for all values.
create function basalt_jsonschema.any(ctx jsonb, quick boolean, key text, value jsonb, instance jsonb) returns text[]
language plpgsql immutable strict parallel safe
as $$
declare
  kind constant text := pg_catalog.jsonb_typeof(instance);
  is_valid boolean;
begin
  if key = 'type' then
    is_valid := value ? kind;
    if not is_valid and kind = 'number' and value ? 'integer' then
      is_valid := case
        when ctx -> 'draft' = '4' then pg_catalog.scale(instance::numeric) = 0
        else instance::numeric % 1 = 0
      end;
    end if;
  elsif key = 'const' then
    is_valid := instance = value;
  else
    is_valid := value @> pg_catalog.jsonb_build_array(instance)
      and exists (select from pg_catalog.jsonb_array_elements(value) as n (e) where e = instance);
  end if;
  return case
    when is_valid then '{}'
    when quick then '{""}'
    else array[
      case key
        when 'const' then basalt_jsonschema.text(value) || ' was expected'
        when 'enum' then basalt_jsonschema.text(instance) || ' is not one of ' || basalt_jsonschema.text(value)
        else basalt_jsonschema.text(instance)
          || case
            when value ->> 1 is not null then ' is not of types ' || (
              select pg_catalog.string_agg(e::text, ', ' order by e::text collate "C") from pg_catalog.jsonb_array_elements(value) as n (e)
            )
            else ' is not of type "' || coalesce(value ->> 0, value #>> '{}') || '"'
          end
      end
    ]
  end;
end
$$;

create function basalt_jsonschema.number(ctx jsonb, schema jsonb, key text, value jsonb, instance jsonb) returns text[]
language plpgsql immutable strict parallel safe
as $$
declare
  number constant numeric := instance::numeric;
  bound numeric;
  excluded boolean := pg_catalog.starts_with(key, 'exclusive');
begin
  if pg_catalog.jsonb_typeof(value) <> 'number' then
    return '{}'; -- draft 4's "exclusiveMinimum", which belongs to "minimum"
  end if;
  bound := value::numeric;
  if ctx -> 'draft' = '4' then
    excluded := schema -> case key when 'minimum' then 'exclusiveMinimum' else 'exclusiveMaximum' end = 'true';
  end if;
  return case
    when key = 'multipleOf' then case when number % bound <> 0 then array[instance::text || ' is not a multiple of ' || value::text] else '{}' end
    when key in ('minimum', 'exclusiveMinimum') then case
      when coalesce(excluded, false) and number <= bound then array[instance::text || ' is less than or equal to the minimum of ' || value::text]
      when number < bound then array[instance::text || ' is less than the minimum of ' || value::text]
      else '{}'
    end
    when coalesce(excluded, false) and number >= bound then array[instance::text || ' is greater than or equal to the maximum of ' || value::text]
    when number > bound then array[instance::text || ' is greater than the maximum of ' || value::text]
    else '{}'
  end;
end
$$;

create function basalt_jsonschema.string(ctx jsonb, schema jsonb, key text, value jsonb, instance jsonb) returns text[]
language plpgsql immutable strict parallel safe
as $$
declare
  draft constant int := (ctx ->> 'draft')::int;
  string constant text := instance #>> '{}';
  named constant text := value #>> '{}';
  is_base64 boolean;
begin
  if key in ('minLength', 'maxLength') then
    return basalt_jsonschema.count(key, value, pg_catalog.length(string), instance, 'character');
  elsif key = 'pattern' then
    return case when string ~ basalt_jsonschema.regex(named) then '{}' else array[instance::text || ' does not match ' || value::text] end;
  elsif key = 'format' then
    return case
      when draft > 7 or basalt_jsonschema.has_format(draft, named, string) then '{}'
      else array[instance::text || ' is not a ' || value::text]
    end;
  elsif draft not in (6, 7) then
    return '{}';
  end if;
  is_base64 := string ~ '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$';
  if key = 'contentEncoding' then
    return case when named <> 'base64' or is_base64 then '{}' else array[instance::text || ' is not compliant with "base64" content encoding'] end;
  end if;
  return case
    when named <> 'application/json' then '{}'
    when schema ->> 'contentEncoding' = 'base64' and not is_base64 then '{}'
    when pg_catalog.pg_input_is_valid(
      case
        when schema ->> 'contentEncoding' = 'base64'
          then pg_catalog.regexp_replace(pg_catalog.encode(pg_catalog.decode(string, 'base64'), 'escape'), '\\[0-7]{3}', '?', 'g')
        else string
      end,
      'json'
    ) then '{}'
    else array[instance::text || ' is not compliant with "application/json" media type']
  end;
end
$$;

-- The keywords that limit a length.
create function basalt_jsonschema.count(key text, value jsonb, length int, instance jsonb, what text) returns text[]
language sql immutable parallel safe
return case
  when case when key like 'min%' then length >= value::numeric else length <= value::numeric end then '{}'
  else array[
    basalt_jsonschema.text(instance)
      || case when what = 'character' then case when key like 'min%' then ' is shorter than ' else ' is longer than ' end
        when key like 'min%' then ' has less than ' else ' has more than ' end
      || pg_catalog.trim_scale(value::numeric) || ' '
      || case when value::numeric = 1 then what when what = 'property' then 'properties' else what || 's' end
  ]
end;

------------------------------------------------------------------------------------------------------------------------
-- Keywords that have schemas

create function basalt_jsonschema.object(
  ctx jsonb, quick boolean, base text, scope text[], depth int, schema jsonb, key text, value jsonb, instance jsonb
) returns basalt_jsonschema.outcome
language plpgsql immutable parallel safe
as $$
declare
  outcome basalt_jsonschema.outcome := ('{}', '{}')::basalt_jsonschema.outcome;
  part basalt_jsonschema.outcome;
  name text;
  needed text;
  member jsonb;
  names text[];
begin
  if key = 'required' and pg_catalog.jsonb_typeof(value) = 'array' then
    select coalesce(pg_catalog.array_agg(e::text || ' is a required property' order by place), '{}') into outcome.errors
    from pg_catalog.jsonb_array_elements(value) with ordinality as n (e, place)
    where not instance ? (e #>> '{}');
  elsif key in ('minProperties', 'maxProperties') then
    outcome.errors := basalt_jsonschema.count(
      key, value, (select count(*)::int from pg_catalog.jsonb_object_keys(instance)), instance, 'property'
    );
  elsif key in ('properties', 'dependencies', 'dependentRequired', 'dependentSchemas') then
    for name, member in
      select e.key, e.value from pg_catalog.jsonb_each(value) as e where instance ? e.key order by e.key collate "C"
    loop
      if key = 'properties' then
        outcome.seen := outcome.seen || name;
        part := basalt_jsonschema.check(ctx, quick, base, scope, depth, member, instance -> name);
        outcome.errors := outcome.errors || part.errors;
      elsif pg_catalog.jsonb_typeof(member) = 'array' then
        part := basalt_jsonschema.object(ctx, quick, base, scope, depth, schema, 'required', member, instance);
        outcome.errors := outcome.errors || part.errors;
      else
        part := basalt_jsonschema.check(ctx, quick, base, scope, depth, member, instance);
        outcome := (outcome.errors || part.errors, outcome.seen || part.seen)::basalt_jsonschema.outcome;
      end if;
      exit when quick and outcome.errors <> '{}';
    end loop;
  elsif key = 'propertyNames' then
    for name in select k from pg_catalog.jsonb_object_keys(instance) as k order by k collate "C" loop
      part := basalt_jsonschema.check(
        ctx, quick, base, scope, depth, value, case when value = 'false' then instance else pg_catalog.to_jsonb(name) end
      );
      outcome.errors := outcome.errors || part.errors;
      exit when value = 'false' or quick and outcome.errors <> '{}';
    end loop;
  elsif key = 'patternProperties' then
    for needed, member in select e.key, e.value from pg_catalog.jsonb_each(value) as e order by e.key collate "C" loop
      needed := basalt_jsonschema.regex(needed);
      for name in select k from pg_catalog.jsonb_object_keys(instance) as k where k ~ needed order by k collate "C" loop
        outcome.seen := outcome.seen || name;
        part := basalt_jsonschema.check(ctx, quick, base, scope, depth, member, instance -> name);
        outcome.errors := outcome.errors || part.errors;
        exit when quick and outcome.errors <> '{}';
      end loop;
    end loop;
  elsif key = 'additionalProperties' then
    select coalesce(pg_catalog.array_agg(k order by k collate "C"), '{}') into names
    from pg_catalog.jsonb_object_keys(instance) as k
    where not coalesce(schema -> 'properties' ? k, false)
      and not exists (
        select from pg_catalog.jsonb_object_keys(coalesce(schema -> 'patternProperties', '{}')) as p
        where k ~ basalt_jsonschema.regex(p)
      );
    outcome := basalt_jsonschema.others(
      ctx, quick, base, scope, depth, value, instance, names, 'Additional properties',
      schema ? 'properties' or schema ? 'patternProperties'
    );
  end if;
  return outcome;
end
$$;

-- Members of an object or array that no other keyword is for. With "is_listed", those that may not be are told of at once.
create function basalt_jsonschema.others(
  ctx jsonb, quick boolean, base text, scope text[], depth int, value jsonb, instance jsonb, names text[], what text,
  is_listed boolean
) returns basalt_jsonschema.outcome
language plpgsql immutable parallel safe
as $$
declare
  outcome basalt_jsonschema.outcome := ('{}', names)::basalt_jsonschema.outcome;
  part basalt_jsonschema.outcome;
  refused text[] := '{}';
  name text;
begin
  if names = '{}' or value = 'true' then
    return outcome;
  end if;
  foreach name in array names loop
    part := basalt_jsonschema.check(
      ctx, quick, base, scope, depth, value,
      case pg_catalog.jsonb_typeof(instance) when 'array' then instance -> name::int else instance -> name end
    );
    if part.errors <> '{}' then
      refused := refused || case
        when pg_catalog.jsonb_typeof(instance) = 'object' then '''' || name || ''''
        when what like 'Additional%' then basalt_jsonschema.text(instance -> name::int)
        else '''' || basalt_jsonschema.text(instance -> name::int) || ''''
      end;
    end if;
    outcome.errors := outcome.errors || part.errors;
    exit when quick and outcome.errors <> '{}' or value = 'false' and not is_listed;
  end loop;
  if refused <> '{}' and is_listed and (value = 'false' or what like 'Unevaluated%') then
    outcome.errors := array[
      pg_catalog.format('%s are not allowed (%s %s unexpected)', what, pg_catalog.array_to_string(refused, ', '),
        case when pg_catalog.cardinality(refused) = 1 then 'was' else 'were' end)
    ];
  end if;
  return outcome;
end
$$;

create function basalt_jsonschema.array(
  ctx jsonb, quick boolean, base text, scope text[], depth int, schema jsonb, key text, value jsonb, instance jsonb
) returns basalt_jsonschema.outcome
language plpgsql immutable parallel safe
as $$
declare
  outcome basalt_jsonschema.outcome := ('{}', '{}')::basalt_jsonschema.outcome;
  part basalt_jsonschema.outcome;
  length constant int := pg_catalog.jsonb_array_length(instance);
  first int := 0;
begin
  if key in ('minItems', 'maxItems') then
    outcome.errors := basalt_jsonschema.count(key, value, length, instance, 'item');
  elsif key = 'uniqueItems' then
    if value = 'true' and (select count(distinct e) from pg_catalog.jsonb_array_elements(instance) as n (e)) < length then
      outcome.errors := array[basalt_jsonschema.text(instance) || ' has non-unique elements'];
    end if;
  elsif key = 'prefixItems' or key = 'items' and pg_catalog.jsonb_typeof(value) = 'array' then
    for place in 0 .. least(length, pg_catalog.jsonb_array_length(value)) - 1 loop
      part := basalt_jsonschema.check(ctx, quick, base, scope, depth, value -> place, instance -> place);
      outcome := (outcome.errors || part.errors, outcome.seen || place::text)::basalt_jsonschema.outcome;
      exit when quick and outcome.errors <> '{}';
    end loop;
  elsif key = 'items' then
    if pg_catalog.jsonb_typeof(schema -> 'prefixItems') = 'array' and (ctx -> 'draft' = '9' or ctx -> 'lax' = 'true') then
      first := pg_catalog.jsonb_array_length(schema -> 'prefixItems');
    end if;
    for place in first .. length - 1 loop
      part := basalt_jsonschema.check(ctx, quick, base, scope, depth, value, instance -> place);
      outcome := (outcome.errors || part.errors, outcome.seen || place::text)::basalt_jsonschema.outcome;
      exit when quick and outcome.errors <> '{}';
    end loop;
  elsif key = 'additionalItems' and pg_catalog.jsonb_typeof(schema -> 'items') = 'array' then
    outcome := basalt_jsonschema.others(
      ctx, quick, base, scope, depth, value, instance,
      array(select place::text from pg_catalog.generate_series(pg_catalog.jsonb_array_length(schema -> 'items'), length - 1) as place),
      'Additional items', true
    );
  elsif key = 'contains' then
    outcome := basalt_jsonschema.contains(ctx, base, scope, depth, schema, value, instance);
  end if;
  return outcome;
end
$$;

create function basalt_jsonschema.contains(
  ctx jsonb, base text, scope text[], depth int, schema jsonb, value jsonb, instance jsonb
) returns basalt_jsonschema.outcome
language plpgsql immutable parallel safe
as $$
declare
  is_newer constant boolean := (ctx ->> 'draft')::int > 7 or ctx -> 'lax' = 'true';
  least_count constant numeric := case when is_newer then coalesce((schema -> 'minContains')::numeric, 1) else 1 end;
  most_count constant numeric := case when is_newer then (schema -> 'maxContains')::numeric end;
  part basalt_jsonschema.outcome;
  seen text[] := '{}';
begin
  for place in 0 .. pg_catalog.jsonb_array_length(instance) - 1 loop
    part := basalt_jsonschema.check(ctx, true, base, scope, depth, value, instance -> place);
    if part.errors = '{}' then
      seen := seen || place::text;
    end if;
  end loop;
  return (
    case when pg_catalog.cardinality(seen) < least_count or pg_catalog.cardinality(seen) > most_count
      then array['None of ' || basalt_jsonschema.text(instance) || ' are valid under the given schema'] else '{}' end,
    case when ctx -> 'draft' = '8' then '{}' else seen end
  )::basalt_jsonschema.outcome;
end
$$;

-- References, and the keywords that combine schemas for the same value.
create function basalt_jsonschema.combine(
  ctx jsonb, quick boolean, base text, scope text[], depth int, schema jsonb, key text, value jsonb, instance jsonb
) returns basalt_jsonschema.outcome
language plpgsql immutable parallel safe
as $$
declare
  outcome basalt_jsonschema.outcome := ('{}', '{}')::basalt_jsonschema.outcome;
  part basalt_jsonschema.outcome;
  place basalt_jsonschema.place;
  branch text;
  valid int := 0;
begin
  if key in ('$ref', '$dynamicRef', '$recursiveRef') then
    place := basalt_jsonschema.dynamic_target(ctx, base, scope, key, value #>> '{}');
    if place.problem is not null then
      raise invalid_parameter_value using message = 'Invalid schema: ' || place.problem;
    end if;
    return basalt_jsonschema.check(ctx, quick, place.base, scope || place.base, depth, place.schema, instance);
  elsif key = 'not' then
    part := basalt_jsonschema.check(ctx, true, base, scope, depth, value, instance);
    if part.errors = '{}' then
      outcome.errors := array[basalt_jsonschema.text(value) || ' is not allowed for ' || basalt_jsonschema.text(instance)];
    end if;
    return outcome;
  elsif key = 'if' then
    part := basalt_jsonschema.check(ctx, true, base, scope, depth, value, instance);
    if part.errors = '{}' then
      outcome.seen := part.seen;
    end if;
    branch := case when part.errors = '{}' then 'then' else 'else' end;
    if schema ? branch then
      part := basalt_jsonschema.check(ctx, quick, base, scope, depth, schema -> branch, instance);
      outcome := (part.errors, outcome.seen || part.seen)::basalt_jsonschema.outcome;
    end if;
    return outcome;
  end if;
  for number in 0 .. pg_catalog.jsonb_array_length(value) - 1 loop
    part := basalt_jsonschema.check(ctx, quick or key <> 'allOf', base, scope, depth, value -> number, instance);
    if part.errors = '{}' then
      valid := valid + 1;
      outcome.seen := outcome.seen || part.seen;
    elsif key = 'allOf' then
      outcome.errors := outcome.errors || part.errors;
    end if;
    -- What was evaluated is that of all schemas that hold.
    exit when key = 'anyOf' and valid = 1 and ctx -> 'track' = 'false'
      or key = 'oneOf' and valid = 2 or quick and outcome.errors <> '{}';
  end loop;
  if key <> 'allOf' and valid = 0 then
    outcome.errors := array[
      pg_catalog.format('%s is not valid under any of the schemas listed in the ''%s'' keyword', basalt_jsonschema.text(instance), key)
    ];
  elsif key = 'oneOf' and valid > 1 then
    outcome.errors := array[
      basalt_jsonschema.text(instance) || ' is valid under more than one of the schemas listed in the ''oneOf'' keyword'
    ];
  end if;
  return outcome;
end
$$;

------------------------------------------------------------------------------------------------------------------------
-- Validation

-- The keywords that say something about a value of this kind, in this draft.
create function basalt_jsonschema.keywords(draft int, lax boolean, kind text) returns text[]
language plpgsql immutable strict parallel safe
as $$
begin
  return array['type', 'enum', 'allOf', 'anyOf', 'oneOf', 'not', '$ref']
    || case when draft >= 6 then array['const'] else '{}' end
    || case when draft >= 7 then array['if'] else '{}' end
    || case when draft = 8 then array['$recursiveRef'] when draft = 9 then array['$dynamicRef'] else '{}' end
    || case kind
      when 'number' then array['minimum', 'maximum', 'multipleOf'] || case when draft >= 6 then array['exclusiveMinimum', 'exclusiveMaximum'] else '{}' end
      when 'string' then array['minLength', 'maxLength', 'pattern', 'format', 'contentEncoding', 'contentMediaType']
      when 'array' then array['items', 'minItems', 'maxItems', 'uniqueItems']
        || case when draft >= 6 then array['contains'] else '{}' end
        || case when draft <= 8 then array['additionalItems'] else '{}' end
        || case when draft = 9 or lax then array['prefixItems'] else '{}' end
      when 'object' then array['properties', 'patternProperties', 'additionalProperties', 'required', 'minProperties', 'maxProperties']
        || case when draft >= 6 then array['propertyNames'] else '{}' end
        || case when draft <= 7 then array['dependencies'] else '{}' end
        || case when draft >= 8 or lax then array['dependentRequired', 'dependentSchemas'] else '{}' end
      else '{}'
    end;
end
$$;

-- Validates a value by a schema.
create function basalt_jsonschema.check(
  ctx jsonb, quick boolean, base text, scope text[], depth int, schema jsonb, instance jsonb
) returns basalt_jsonschema.outcome
language plpgsql immutable parallel safe
as $$
declare
  draft constant int := (ctx ->> 'draft')::int;
  kind constant text := pg_catalog.jsonb_typeof(instance);
  keywords constant text[] := basalt_jsonschema.keywords(draft, (ctx -> 'lax')::boolean, kind);
  outcome basalt_jsonschema.outcome := ('{}', '{}')::basalt_jsonschema.outcome;
  part basalt_jsonschema.outcome;
  own_id text;
  key text;
  value jsonb;
begin
  if depth > 100 then
    raise program_limit_exceeded using message = 'the JSON schema or the value is nested too deeply';
  elsif pg_catalog.jsonb_typeof(schema) = 'boolean' then
    if schema = 'false' then
      outcome.errors := array['False schema does not allow ' || basalt_jsonschema.text(instance)];
    end if;
    return outcome;
  elsif schema ? '$basalt:metaschema' then
    part.seen := array[(basalt_jsonschema.flaw(
      pg_catalog.jsonb_build_object('draft', schema -> '$basalt:metaschema', 'lax', false, 'meta', true), '', instance, '', depth
    )).message];
    return (pg_catalog.array_remove(part.seen, null), '{}')::basalt_jsonschema.outcome;
  end if;
  own_id := basalt_jsonschema.own_id(draft, schema);
  if own_id is not null then
    base := (basalt_jsonschema.resolve(base, own_id))[1];
    scope := scope || base;
  end if;
  for key, value in
    select e.key, e.value
    from pg_catalog.jsonb_each(schema) as e
    where e.key = any (keywords)
      and (draft > 7 or e.key = '$ref' or not schema ? '$ref')
    order by e.key collate "C"
  loop
    if key in ('type', 'enum', 'const') then
      outcome.errors := outcome.errors || basalt_jsonschema.any(ctx, quick, key, value, instance);
    elsif key in ('$ref', '$dynamicRef', '$recursiveRef', 'allOf', 'anyOf', 'oneOf', 'not', 'if') then
      part := basalt_jsonschema.combine(ctx, quick, base, scope, depth + 1, schema, key, value, instance);
      outcome := (outcome.errors || part.errors, outcome.seen || part.seen)::basalt_jsonschema.outcome;
    elsif kind = 'object' then
      part := basalt_jsonschema.object(ctx, quick, base, scope, depth + 1, schema, key, value, instance);
      outcome := (outcome.errors || part.errors, outcome.seen || part.seen)::basalt_jsonschema.outcome;
    elsif kind = 'array' then
      part := basalt_jsonschema.array(ctx, quick, base, scope, depth + 1, schema, key, value, instance);
      outcome := (outcome.errors || part.errors, outcome.seen || part.seen)::basalt_jsonschema.outcome;
    elsif kind = 'number' then
      outcome.errors := outcome.errors || basalt_jsonschema.number(ctx, schema, key, value, instance);
    else
      outcome.errors := outcome.errors || basalt_jsonschema.string(ctx, schema, key, value, instance);
    end if;
    exit when quick and outcome.errors <> '{}';
  end loop;
  if ctx -> 'track' = 'true' and (draft > 7 or ctx -> 'lax' = 'true') and not (quick and outcome.errors <> '{}') then
    part := basalt_jsonschema.unevaluated(ctx, quick, base, scope, depth + 1, schema, instance, outcome.seen);
    outcome := (outcome.errors || part.errors, outcome.seen || part.seen)::basalt_jsonschema.outcome;
  end if;
  return outcome;
end
$$;

-- The keywords for what none of the others, also of the schemas that are combined, has evaluated.
create function basalt_jsonschema.unevaluated(
  ctx jsonb, quick boolean, base text, scope text[], depth int, schema jsonb, instance jsonb, seen text[]
) returns basalt_jsonschema.outcome
language plpgsql immutable parallel safe
as $$
declare
  kind constant text := pg_catalog.jsonb_typeof(instance);
  names text[];
begin
  if kind = 'object' and schema ? 'unevaluatedProperties' then
    select coalesce(pg_catalog.array_agg(k order by k collate "C"), '{}') into names
    from pg_catalog.jsonb_object_keys(instance) as k
    where k <> all (seen);
    return basalt_jsonschema.others(
      ctx, quick, base, scope, depth, schema -> 'unevaluatedProperties', instance, names, 'Unevaluated properties', true
    );
  elsif kind = 'array' and schema ? 'unevaluatedItems' then
    select coalesce(pg_catalog.array_agg(place::text order by place), '{}') into names
    from pg_catalog.generate_series(0, pg_catalog.jsonb_array_length(instance) - 1) as place
    where place::text <> all (seen);
    return basalt_jsonschema.others(
      ctx, quick, base, scope, depth, schema -> 'unevaluatedItems', instance, names, 'Unevaluated items', true
    );
  end if;
  return ('{}', '{}')::basalt_jsonschema.outcome;
end
$$;

------------------------------------------------------------------------------------------------------------------------
-- Schemas

-- What is wrong with the value of a keyword that has no schemas; null if it is right.
create function basalt_jsonschema.value_flaw(ctx jsonb, key text, value jsonb) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  draft constant int := (ctx ->> 'draft')::int;
  kind constant text := pg_catalog.jsonb_typeof(value);
  shown text;
begin
  shown := basalt_jsonschema.text(value);
  if key in ('maxLength', 'minLength', 'maxItems', 'minItems', 'maxProperties', 'minProperties', 'maxContains', 'minContains') then
    return case
      when key like '%Contains' and draft <= 7 and ctx -> 'lax' = 'false' then null
      when kind <> 'number' or value::numeric % 1 <> 0 then shown || ' is not of type "integer"'
      when value::numeric < 0 then shown || ' is less than the minimum of 0'
    end;
  elsif key in ('minimum', 'maximum', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum') then
    return case
      when draft = 4 and key like 'exclusive%' then case when kind <> 'boolean' then shown || ' is not of type "boolean"' end
      when kind <> 'number' then shown || ' is not of type "number"'
      when key = 'multipleOf' and value::numeric <= 0 then shown || ' is less than or equal to the minimum of 0'
    end;
  elsif key = 'uniqueItems' then
    return case when kind <> 'boolean' then shown || ' is not of type "boolean"' end;
  elsif key in ('$ref', '$schema', '$comment', 'title', 'description', 'format', 'pattern', 'contentEncoding', 'contentMediaType')
    or key = basalt_jsonschema.id(draft)
  then
    return case
      when kind <> 'string' then shown || ' is not of type "string"'
      when key = 'pattern' and not basalt_jsonschema.is_regex(value #>> '{}') then shown || ' is not a "regex"'
    end;
  elsif key = 'enum' then
    return case when kind <> 'array' then shown || ' is not of type "array"' end;
  elsif key = 'required' then
    return basalt_jsonschema.names_flaw(draft, value);
  elsif key = 'type' then
    return case
      when kind = 'string' and value <@ '["array", "boolean", "integer", "null", "number", "object", "string"]'
        or kind = 'array' and value <> '[]' and value <@ '["array", "boolean", "integer", "null", "number", "object", "string"]'
          and (select count(distinct e) = count(*) from pg_catalog.jsonb_array_elements(value) as n (e))
      then null
      else shown || ' is not valid under any of the schemas listed in the ''anyOf'' keyword'
    end;
  end if;
  return null;
end
$$;

-- What is wrong with a list of properties; null if it is right.
create function basalt_jsonschema.names_flaw(draft int, value jsonb) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  if pg_catalog.jsonb_typeof(value) <> 'array' then
    return basalt_jsonschema.text(value) || ' is not of type "array"';
  elsif draft = 4 and value = '[]' then
    return '[] has less than 1 item';
  end if;
  return coalesce(
    (
      select basalt_jsonschema.text(e) || ' is not of type "string"'
      from pg_catalog.jsonb_array_elements(value) with ordinality as n (e, place)
      where pg_catalog.jsonb_typeof(e) <> 'string'
      order by place
      limit 1
    ),
    (
      select basalt_jsonschema.text(value) || ' has non-unique elements'
      from pg_catalog.jsonb_array_elements(value) as n (e)
      having count(distinct e) < count(*)
    )
  );
end
$$;

-- What is wrong with a schema first, also with those in it; the message is null if it is right.
create function basalt_jsonschema.flaw(ctx jsonb, base text, schema jsonb, path text, depth int) returns basalt_jsonschema.flaw
language plpgsql immutable parallel safe
as $$
declare
  draft constant int := (ctx ->> 'draft')::int;
  flaw basalt_jsonschema.flaw := (path, null)::basalt_jsonschema.flaw;
  own_id text;
  key text;
  value jsonb;
begin
  if depth > 100 then
    raise program_limit_exceeded using message = 'the JSON schema is nested too deeply';
  elsif pg_catalog.jsonb_typeof(schema) = 'boolean' and (draft > 4 or path ~ '/additional(Items|Properties)$') then
    return flaw;
  elsif pg_catalog.jsonb_typeof(schema) <> 'object' then
    flaw.message := basalt_jsonschema.text(schema)
      || case when draft > 4 then ' is not of types "boolean", "object"' else ' is not of type "object"' end;
    return flaw;
  end if;
  own_id := basalt_jsonschema.own_id(draft, schema);
  if own_id is not null then
    base := (basalt_jsonschema.resolve(base, own_id))[1];
  end if;
  for key, value in select e.key, e.value from pg_catalog.jsonb_each(schema) as e order by e.key collate "C" loop
    if basalt_jsonschema.holds_schemas(key) or basalt_jsonschema.names_schemas(key) then
      if basalt_jsonschema.is_known(draft, (ctx -> 'lax')::boolean, key) then
        flaw := basalt_jsonschema.inner_flaw(ctx, base, key, value, path || '/' || key, depth + 1);
      end if;
    elsif key in ('$ref', '$dynamicRef', '$recursiveRef') and pg_catalog.jsonb_typeof(value) = 'string' then
      flaw.message := case
        when not ctx ? 'meta' and basalt_jsonschema.is_known(draft, false, key)
          then (basalt_jsonschema.target(ctx, base, value #>> '{}')).problem
      end;
    elsif key = 'dependentRequired' and (draft > 7 or ctx -> 'lax' = 'true') then
      flaw := basalt_jsonschema.inner_flaw(ctx, base, key, value, path || '/' || key, depth + 1);
    else
      flaw := (path || '/' || key, basalt_jsonschema.value_flaw(ctx, key, value))::basalt_jsonschema.flaw;
    end if;
    exit when flaw.message is not null;
  end loop;
  return flaw;
end
$$;

-- Whether a draft has a keyword that has schemas or is a reference.
create function basalt_jsonschema.is_known(draft int, lax boolean, key text) returns boolean
language sql immutable parallel safe
return case
  when key in ('contains', 'propertyNames') then draft >= 6
  when key in ('if', 'then', 'else') then draft >= 7
  when key in ('additionalItems') then draft <= 8
  when key = '$recursiveRef' then draft = 8
  when key = '$dynamicRef' then draft = 9
  when key = 'prefixItems' then lax or draft = 9
  when key in ('$defs', 'contentSchema', 'dependentSchemas', 'unevaluatedItems', 'unevaluatedProperties') then lax or draft >= 8
  else true
end;

-- What is wrong with the value of a keyword that has schemas, or names of properties by names.
create function basalt_jsonschema.inner_flaw(ctx jsonb, base text, key text, value jsonb, path text, depth int)
returns basalt_jsonschema.flaw
language plpgsql immutable parallel safe
as $$
declare
  draft constant int := (ctx ->> 'draft')::int;
  flaw basalt_jsonschema.flaw := (path, null)::basalt_jsonschema.flaw;
  name text;
  member jsonb;
begin
  if basalt_jsonschema.names_schemas(key) or key = 'dependentRequired' then
    if pg_catalog.jsonb_typeof(value) <> 'object' then
      flaw.message := basalt_jsonschema.text(value) || ' is not of type "object"';
      return flaw;
    end if;
    for name, member in select e.key, e.value from pg_catalog.jsonb_each(value) as e order by e.key collate "C" loop
      if key = 'patternProperties' and not basalt_jsonschema.is_regex(name) then
        flaw.message := pg_catalog.to_json(name)::text || ' is not a "regex"';
      elsif key = 'dependentRequired' or key = 'dependencies' and pg_catalog.jsonb_typeof(member) = 'array' then
        flaw := (path || '/' || name, basalt_jsonschema.names_flaw(draft, member))::basalt_jsonschema.flaw;
      else
        flaw := basalt_jsonschema.flaw(ctx, base, member, path || '/' || name, depth);
      end if;
      exit when flaw.message is not null;
    end loop;
    return flaw;
  elsif key in ('allOf', 'anyOf', 'oneOf', 'prefixItems') and pg_catalog.jsonb_typeof(value) <> 'array' then
    flaw.message := basalt_jsonschema.text(value) || ' is not of type "array"';
  elsif key in ('allOf', 'anyOf', 'oneOf', 'prefixItems') and value = '[]' then
    flaw.message := '[] has less than 1 item';
  elsif pg_catalog.jsonb_typeof(value) = 'array' and (key in ('allOf', 'anyOf', 'oneOf', 'prefixItems') or key = 'items' and draft <= 8) then
    for place in 0 .. pg_catalog.jsonb_array_length(value) - 1 loop
      flaw := basalt_jsonschema.flaw(ctx, base, value -> place, path || '/' || place, depth);
      exit when flaw.message is not null;
    end loop;
  else
    flaw := basalt_jsonschema.flaw(ctx, base, value, path, depth);
  end if;
  return flaw;
end
$$;

------------------------------------------------------------------------------------------------------------------------
-- The functions of the extension

create function json_matches_schema(schema json, instance json) returns boolean
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return @extschema@.jsonb_matches_schema(schema, instance::jsonb);
end
$$;

create function jsonb_matches_schema(schema json, instance jsonb) returns boolean
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  parsed constant jsonb := schema::jsonb;
  ctx constant jsonb := basalt_jsonschema.context(parsed);
  root constant text := 'json-schema:///';
  flaw constant basalt_jsonschema.flaw := basalt_jsonschema.flaw(ctx, root, parsed, '', 0);
begin
  if flaw.message is not null then
    raise invalid_parameter_value using
      message = 'Invalid schema: ' || flaw.message,
      detail = case when flaw.path <> '' then 'It is at ' || flaw.path || '.' else '' end;
  end if;
  return (basalt_jsonschema.check(ctx, true, root, array[root], 0, parsed, instance)).errors = '{}';
end
$$;

create function jsonschema_is_valid(schema json) returns boolean
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  parsed constant jsonb := schema::jsonb;
  flaw constant basalt_jsonschema.flaw :=
    basalt_jsonschema.flaw(basalt_jsonschema.context(parsed), 'json-schema:///', parsed, '', 0);
begin
  if flaw.message is not null and flaw.path <> '' then
    raise notice 'Invalid JSON schema at path: %', flaw.path;
  end if;
  return flaw.message is null;
end
$$;

create function jsonschema_validation_errors(schema json, instance json) returns text[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  parsed constant jsonb := schema::jsonb;
  ctx constant jsonb := basalt_jsonschema.context(parsed);
  root constant text := 'json-schema:///';
  flaw constant basalt_jsonschema.flaw := basalt_jsonschema.flaw(ctx, root, parsed, '', 0);
begin
  if flaw.message is not null then
    return array[flaw.message];
  end if;
  return (basalt_jsonschema.check(ctx, false, root, array[root], 0, parsed, instance::jsonb)).errors;
end
$$;

comment on function json_matches_schema(json, json) is 'Whether a value is valid by a JSON schema';
comment on function jsonb_matches_schema(json, jsonb) is 'Whether a value is valid by a JSON schema';
comment on function jsonschema_is_valid(json) is 'Whether a JSON schema is one';
comment on function jsonschema_validation_errors(json, json) is 'Why a value is not valid by a JSON schema; nothing if it is';
