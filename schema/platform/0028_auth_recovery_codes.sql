-- skip if: exists (select from basalt.platform_migrations where version = '0003' and adopted) and exists (select from pg_attribute where attrelid = to_regclass('auth.mfa_recovery_codes') and attname = 'consumed_at')

-- Schema "auth": what Supabase Auth has added from August 2026 on (its releases 2.197 and 2.198). These are recovery codes
-- of second factors, users and tokens of SCIM, and columns of one-time tokens.

-- It belongs to whoever owns the accounts, as in 0012_older_schemas.sql.
do $$
begin
  perform pg_catalog.set_config('role', pg_catalog.pg_get_userbyid(relowner), true)
  from pg_catalog.pg_class where oid = 'auth.users'::regclass;
end $$;

-- The value cannot be used before the end of this transaction, and is not.
alter type auth.factor_type add value if not exists 'recovery_code';

create table if not exists auth.mfa_recovery_code_sets (
  id uuid not null,
  user_id uuid not null,
  mfa_factor_id uuid not null,
  failed_verification_count integer not null default 0,
  verification_locked_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint mfa_recovery_code_sets_pkey primary key (id),
  constraint mfa_recovery_code_sets_user_id_key unique (user_id),
  constraint mfa_recovery_code_sets_mfa_factor_id_key unique (mfa_factor_id),
  constraint mfa_recovery_code_sets_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint mfa_recovery_code_sets_mfa_factor_id_fkey foreign key (mfa_factor_id)
    references auth.mfa_factors (id) on delete cascade,
  constraint mfa_recovery_code_sets_failed_verification_count_check check (failed_verification_count >= 0)
);
comment on table auth.mfa_recovery_code_sets is 'Recovery codes of an account: one set each, with its own factor';
comment on column auth.mfa_recovery_code_sets.failed_verification_count is 'Wrong codes since the last right one';
comment on column auth.mfa_recovery_code_sets.verification_locked_until is 'No code counts before this moment';

create table if not exists auth.mfa_recovery_codes (
  id uuid not null,
  mfa_recovery_code_set_id uuid not null,
  code_hash text not null,
  consumed_at timestamptz,
  created_at timestamptz not null default now(),
  constraint mfa_recovery_codes_pkey primary key (id),
  constraint mfa_recovery_codes_mfa_recovery_code_set_id_fkey foreign key (mfa_recovery_code_set_id)
    references auth.mfa_recovery_code_sets (id) on delete cascade
);
comment on table auth.mfa_recovery_codes is 'The codes of a set; each is used once';
comment on column auth.mfa_recovery_codes.code_hash is 'Argon2id, in the PHC string format';
create index if not exists mfa_recovery_codes_set_id_idx on auth.mfa_recovery_codes (mfa_recovery_code_set_id);

create table if not exists auth.scim_users (
  id uuid not null,
  sso_provider_id uuid not null,
  user_id uuid,
  resource jsonb not null,
  user_name text not null generated always as (lower(resource ->> 'userName')) stored,
  external_id text generated always as (resource ->> 'externalId') stored,
  active boolean not null generated always as (coalesce((resource ->> 'active')::boolean, true)) stored,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  constraint scim_users_pkey primary key (id),
  constraint scim_users_sso_provider_id_fkey foreign key (sso_provider_id)
    references auth.sso_providers (id) on delete cascade,
  constraint scim_users_user_id_fkey foreign key (user_id) references auth.users (id) on delete set null
);
comment on table auth.scim_users is 'Users as an identity provider describes them by SCIM; not used by this server';
create unique index if not exists scim_users_user_name_key on auth.scim_users (sso_provider_id, user_name)
  where deleted_at is null;
create unique index if not exists scim_users_external_id_key on auth.scim_users (sso_provider_id, external_id)
  where external_id is not null and deleted_at is null;
create index if not exists scim_users_user_id_idx on auth.scim_users (user_id);
create index if not exists scim_users_id_idx on auth.scim_users (sso_provider_id, id) where deleted_at is null;
create index if not exists scim_users_user_name_idx on auth.scim_users (sso_provider_id, user_name collate "C", id)
  where deleted_at is null;
create index if not exists scim_users_created_at_idx on auth.scim_users (sso_provider_id, created_at, id)
  where deleted_at is null;
create index if not exists scim_users_updated_at_idx on auth.scim_users (sso_provider_id, updated_at, id)
  where deleted_at is null;
create index if not exists scim_users_sso_provider_id_idx on auth.scim_users (sso_provider_id);
create index if not exists scim_users_deleted_at_idx on auth.scim_users (deleted_at);

create table if not exists auth.scim_tokens (
  id uuid not null,
  sso_provider_id uuid not null,
  token_hash text not null,
  prefix text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  constraint scim_tokens_pkey primary key (id),
  constraint scim_tokens_sso_provider_id_fkey foreign key (sso_provider_id)
    references auth.sso_providers (id) on delete cascade,
  constraint scim_tokens_token_hash_check check (token_hash ~ '^[0-9a-f]{64}$'),
  constraint scim_tokens_expires_at_future check (expires_at is null or expires_at > created_at),
  constraint scim_tokens_revoked_after_created check (revoked_at is null or revoked_at >= created_at)
);
comment on table auth.scim_tokens is 'Bearer tokens of identity providers for SCIM; not used by this server';
create unique index if not exists scim_tokens_token_hash_key on auth.scim_tokens (token_hash);
create index if not exists scim_tokens_sso_provider_id_idx on auth.scim_tokens (sso_provider_id);
create index if not exists scim_tokens_expires_at_idx on auth.scim_tokens (expires_at);
create index if not exists scim_tokens_revoked_at_idx on auth.scim_tokens (revoked_at);

alter table auth.one_time_tokens
  add column if not exists expires_at timestamptz,
  add column if not exists link_token_hash text;
create index if not exists one_time_tokens_link_token_hash_hash_idx
  on auth.one_time_tokens using hash (link_token_hash);
comment on column auth.one_time_tokens.expires_at is 'Not used by this server, which looks at created_at';
comment on column auth.one_time_tokens.link_token_hash is 'Not used by this server';

-- No policy: nobody but the service (and roles that bypass row-level security) sees a row.
alter table auth.mfa_recovery_code_sets enable row level security;
alter table auth.mfa_recovery_codes enable row level security;
alter table auth.scim_users enable row level security;
alter table auth.scim_tokens enable row level security;

-- So that the auth service goes on from here and repeats none of it.
insert into auth.schema_migrations (version)
select steps.version from unnest(array[
  '20260821000000', '20260821010000', '20260824000000', '20260824000001', '20260831180000', '20260911120000'
]) steps (version)
where not exists (select from auth.schema_migrations done where done.version = steps.version);

reset role;
