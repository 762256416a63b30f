-- What the platform interface keeps: the project's identity, access tokens, agents, API keys, secrets, deployed functions, and a
-- log of changes. The schema belongs to the server; no role of the API has a right to it. Who may read every table, such
-- as "postgres", sees hashes of tokens, and secrets that are sealed with a key which is not in the database.

create schema if not exists basalt_platform;
comment on schema basalt_platform is 'What the platform interface keeps; belongs to the server';
revoke all on schema basalt_platform from public;

create table if not exists basalt_platform.projects (
  ref text primary key check (ref ~ '^[a-z]{20}$'),
  name text not null,
  network jsonb,
  created_at timestamptz not null default now()
);
comment on table basalt_platform.projects is 'The project of this server';
comment on column basalt_platform.projects.network is 'Who may connect to the database from other machines; null: everybody';

create table if not exists basalt_platform.oauth_clients (
  id text primary key,
  name text not null,
  redirect_uris text[] not null,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now()
);
comment on table basalt_platform.oauth_clients is 'Agents that have registered to ask an operator for access';

create table if not exists basalt_platform.access_tokens (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  hash bytea not null unique,
  hint text not null,
  scopes text[],
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  used_at timestamptz,
  client text references basalt_platform.oauth_clients on delete cascade,
  parent uuid references basalt_platform.access_tokens on delete cascade,
  refresh_hash bytea unique,
  refresh_expires_at timestamptz,
  spent_hash bytea unique
);
comment on table basalt_platform.access_tokens is 'Who may manage the server';
comment on column basalt_platform.access_tokens.hash is 'SHA-256 of the token';
comment on column basalt_platform.access_tokens.scopes is 'What the token may do; null: everything';
comment on column basalt_platform.access_tokens.client is 'The agent that has the token; null: an operator has it';
comment on column basalt_platform.access_tokens.spent_hash is 'SHA-256 of the code or refresh token that it was exchanged for';
comment on column basalt_platform.access_tokens.parent is 'The token of the operator who has granted this one, with which it ends';

create table if not exists basalt_platform.oauth_grants (
  hash bytea primary key,
  client text not null references basalt_platform.oauth_clients on delete cascade,
  redirect_uri text not null,
  challenge text not null,
  scopes text[],
  parent uuid not null references basalt_platform.access_tokens on delete cascade,
  created_at timestamptz not null default now()
);
comment on table basalt_platform.oauth_grants is 'What operators have granted to agents, for ten minutes';
comment on column basalt_platform.oauth_grants.hash is 'SHA-256 of the code';

create table if not exists basalt_platform.audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  token uuid,
  name text not null,
  address inet,
  project text,
  action text not null,
  detail jsonb not null
);
comment on table basalt_platform.audit_log is 'Every change over the platform interface: who, from where, what';
create index if not exists audit_log_at on basalt_platform.audit_log (at);

create table if not exists basalt_platform.api_keys (
  id uuid primary key default gen_random_uuid(),
  project text not null references basalt_platform.projects on update cascade on delete cascade,
  kind text not null check (kind in ('publishable', 'secret')),
  name text not null,
  description text,
  prefix text not null,
  hash bytea not null unique,
  sealed bytea not null,
  template jsonb,
  inserted_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (project, name)
);
comment on table basalt_platform.api_keys is 'API keys in addition to those that follow from the server''s secret';
comment on column basalt_platform.api_keys.hash is 'SHA-256 of the key';
comment on column basalt_platform.api_keys.sealed is 'The key, encrypted';

create table if not exists basalt_platform.secrets (
  project text not null references basalt_platform.projects on update cascade on delete cascade,
  name text not null,
  sealed bytea not null,
  digest text not null,
  updated_at timestamptz not null default now(),
  primary key (project, name)
);
comment on table basalt_platform.secrets is 'Variables of edge functions';
comment on column basalt_platform.secrets.sealed is 'The value, encrypted';
comment on column basalt_platform.secrets.digest is 'SHA-256 of the value, hexadecimal';

create table if not exists basalt_platform.functions (
  id uuid primary key default gen_random_uuid(),
  project text not null references basalt_platform.projects on update cascade on delete cascade,
  slug text not null,
  version integer,
  last_version integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (project, slug)
);
comment on table basalt_platform.functions is 'Edge functions that were deployed to the server';
comment on column basalt_platform.functions.version is 'The version that takes calls; null before the first one does';
comment on column basalt_platform.functions.last_version is 'The number of the newest version, which may not take calls yet';

create table if not exists basalt_platform.function_versions (
  function uuid not null references basalt_platform.functions on delete cascade,
  version integer not null,
  name text not null,
  verify_jwt boolean not null,
  entrypoint_path text not null,
  import_map_path text,
  static_patterns text[] not null default '{}',
  lock text,
  digest text not null,
  created_at timestamptz not null default now(),
  primary key (function, version)
);
comment on table basalt_platform.function_versions is 'Versions of deployed functions, which never change';
comment on column basalt_platform.function_versions.lock is 'Versions and checksums of imported modules: the text of deno.lock';
comment on column basalt_platform.function_versions.digest is 'SHA-256 over the files and what belongs to them, hexadecimal';

create table if not exists basalt_platform.file_contents (
  hash bytea primary key,
  content bytea not null
);
comment on table basalt_platform.file_contents is 'Contents of files of deployed functions, by their SHA-256';

create table if not exists basalt_platform.function_files (
  function uuid not null,
  version integer not null,
  path text not null,
  hash bytea not null references basalt_platform.file_contents,
  primary key (function, version, path),
  foreign key (function, version) references basalt_platform.function_versions on delete cascade
);
comment on table basalt_platform.function_files is 'The files of each version of a deployed function';
create index if not exists function_files_hash on basalt_platform.function_files (hash);

-- Reads all data, and writes none: queries of the platform interface that may only read run as this role.
do $platform$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'supabase_read_only_user') then
    create role supabase_read_only_user login bypassrls connection limit 20;
    alter role supabase_read_only_user set default_transaction_read_only = on;
    grant pg_read_all_data, pg_monitor to supabase_read_only_user;
  end if;
exception
  when insufficient_privilege then
    raise notice 'supabase_read_only_user is not created: that takes a superuser';
end
$platform$;
