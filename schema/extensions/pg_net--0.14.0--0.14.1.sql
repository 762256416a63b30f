-- Requests name the request to the API that they were queued by, if there is one and it is part of a trace: the header
-- traceparent of W3C Trace Context, as the API's settings of the transaction have it. One that the caller gives stays.

\echo Use "alter extension pg_net update to '0.14.1'" to load this file. \quit

create or replace function net._enqueue(
  method text, url text, params jsonb, headers jsonb, body bytea, timeout_milliseconds int
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  encoded text[];
  request_id bigint;
  -- Not read as JSON: whatever somebody has put there must not fail here.
  parent constant text := pg_catalog.substring(
    pg_catalog.current_setting('request.headers', true), '"traceparent" *: *"([0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})"'
  );
begin
  if url is null or url !~* '^https?://' then
    raise exception 'url must begin with http:// or https://' using errcode = 'invalid_parameter_value';
  end if;
  select array_agg(net._urlencode_string(key) || '=' || net._urlencode_string(value)) into encoded
  from pg_catalog.jsonb_each_text(params);
  headers := coalesce(headers, '{}');
  if parent is not null and not exists (
    select from pg_catalog.jsonb_object_keys(headers) as name where lower(name) = 'traceparent'
  ) then
    headers := headers || pg_catalog.jsonb_build_object('traceparent', parent);
  end if;
  insert into net.http_request_queue (method, url, headers, body, timeout_milliseconds)
  values (
    method, net._encode_url_with_params_array(url, coalesce(encoded, '{}')), headers, body,
    greatest(coalesce(timeout_milliseconds, 5000), 1)
  )
  returning id into request_id;
  return request_id;
end
$$;
