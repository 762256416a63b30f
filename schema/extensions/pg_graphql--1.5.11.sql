-- The functions of the extension pg_graphql, which every dump of a hosted project creates and grants rights on. There is no
-- GraphQL here: each of them that would answer says so.

\echo Use "create extension pg_graphql" to load this file. \quit

create function @extschema@.exception(message text) returns text
language plpgsql
as $$
begin
  raise exception using errcode = '22000', message = message;
end $$;

create function @extschema@._internal_resolve(
  query text, variables jsonb default '{}', "operationName" text default null, extensions jsonb default null
) returns jsonb
language plpgsql
as $$
begin
  raise feature_not_supported using
    message = 'this server does not answer GraphQL: its extension pg_graphql only makes schemas of hosted projects load',
    hint = 'Use the REST interface, whose embedded resources answer the same questions in one request.';
end $$;

create function @extschema@.resolve(
  query text, variables jsonb default '{}', "operationName" text default null, extensions jsonb default null
) returns jsonb
language sql
begin atomic
  select @extschema@._internal_resolve(query, variables, "operationName", extensions);
end;

create function @extschema@.comment_directive(comment_ text) returns jsonb
language sql immutable
return coalesce(pg_catalog.substring(comment_, '@graphql\((\{.*\})\)')::jsonb, '{}');

create function @extschema@.get_schema_version() returns integer
language sql stable
return 1;

create function @extschema@.increment_schema_version() returns event_trigger
language plpgsql
as $$
begin
end $$;
