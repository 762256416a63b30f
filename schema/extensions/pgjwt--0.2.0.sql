-- The functions of the extension pgjwt (names, arguments and results as they are there), on pgcrypto.

\echo Use "create extension pgjwt" to load this file. \quit

create function @extschema@.url_encode(data bytea) returns text
language sql immutable strict parallel safe
return pg_catalog.rtrim(pg_catalog.translate(pg_catalog.encode(data, 'base64'), E'+/\n', '-_'), '=');

create function @extschema@.url_decode(data text) returns bytea
language sql immutable strict parallel safe
return pg_catalog.decode(
  pg_catalog.rpad(pg_catalog.translate(data, '-_', '+/'), (pg_catalog.length(data) + 3) / 4 * 4, '='), 'base64'
);

-- An algorithm that is not known has no signature.
create function @extschema@.algorithm_sign(signables text, secret text, algorithm text) returns text
language sql immutable parallel safe
return @extschema@.url_encode(
  @extschema:pgcrypto@.hmac(
    signables, secret,
    case algorithm when 'HS256' then 'sha256' when 'HS384' then 'sha384' when 'HS512' then 'sha512' end
  )
);

create function @extschema@.sign(payload json, secret text, algorithm text default 'HS256') returns text
language sql immutable parallel safe
begin atomic
  select signables || '.' || @extschema@.algorithm_sign(signables, secret, algorithm)
  from (
    select
      @extschema@.url_encode(
        pg_catalog.convert_to(pg_catalog.json_build_object('alg', algorithm, 'typ', 'JWT')::text, 'utf8')
      ) || '.' || @extschema@.url_encode(pg_catalog.convert_to(payload::text, 'utf8')) as signables
  ) as parts;
end;

create function @extschema@.try_cast_double(inp text) returns double precision
language plpgsql immutable parallel safe
as $$
begin
  return inp::double precision;
exception when others then
  return null;
end
$$;

-- Valid is what is signed with the secret and lies between "nbf" and "exp", as far as the token has them.
create function @extschema@.verify(token text, secret text, algorithm text default 'HS256')
returns table(header json, payload json, valid boolean)
language sql stable parallel safe
begin atomic
  select
    decoded.header,
    decoded.payload,
    coalesce(decoded.signed, false) and pg_catalog.tstzrange(
      pg_catalog.to_timestamp(@extschema@.try_cast_double(decoded.payload ->> 'nbf')),
      pg_catalog.to_timestamp(@extschema@.try_cast_double(decoded.payload ->> 'exp'))
    ) @> current_timestamp
  from (
    select
      pg_catalog.convert_from(@extschema@.url_decode(parts[1]), 'utf8')::json as header,
      pg_catalog.convert_from(@extschema@.url_decode(parts[2]), 'utf8')::json as payload,
      parts[3] = @extschema@.algorithm_sign(parts[1] || '.' || parts[2], secret, algorithm) as signed
    from pg_catalog.regexp_split_to_array(token, '\.') as parts
  ) as decoded;
end;

comment on function @extschema@.sign(json, text, text) is 'A token with this payload, signed with the secret';
comment on function @extschema@.verify(text, text, text) is 'What a token holds, and whether it is signed with the secret and valid now';
