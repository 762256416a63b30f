-- skip if: exists (select from basalt.platform_migrations where version = '0003' and adopted) and exists (select from pg_attribute where attrelid = to_regclass('auth.custom_oauth_providers') and attname = 'custom_claims_allowlist') and exists (select from pg_attribute where attrelid = to_regclass('storage.objects') and attname = 'user_metadata')

-- Schemas "auth" and "storage" of a database that came with older ones: every step of Supabase Auth since October 2022,
-- when it learned second factors, and the columns of Supabase Storage that this server writes. Each step looks at what is
-- there, so that it does not matter at which of them the database stands. Tables that are missing altogether get the form
-- that 0003_auth.sql and 0004_auth_factors.sql give them.

-- What is made here belongs to whoever owns the accounts, since the auth service itself has to go on from here. The server
-- looks before whether this role may become the owner.
do $$
begin
  perform pg_catalog.set_config('role', pg_catalog.pg_get_userbyid(relowner), true)
  from pg_catalog.pg_class where oid = 'auth.users'::regclass;
end $$;

-- Types.
do $$
declare
  missing record;
begin
  for missing in
    select t.name, t.labels from (values
      ('aal_level', array['aal1', 'aal2', 'aal3']),
      ('code_challenge_method', array['s256', 'plain']),
      ('one_time_token_type', array['confirmation_token', 'reauthentication_token', 'recovery_token',
        'email_change_token_new', 'email_change_token_current', 'phone_change_token']),
      ('oauth_registration_type', array['dynamic', 'manual']),
      ('oauth_client_type', array['public', 'confidential']),
      ('oauth_authorization_status', array['pending', 'approved', 'denied', 'expired']),
      ('oauth_response_type', array['code'])
    ) t (name, labels)
    where to_regtype('auth.' || t.name) is null
  loop
    execute pg_catalog.format('create type auth.%I as enum (%s)', missing.name,
      (select string_agg(pg_catalog.quote_literal(label), ', ' order by place)
       from unnest(missing.labels) with ordinality l (label, place)));
  end loop;
end $$;
alter type auth.factor_type add value if not exists 'phone';

-- Accounts and their identities.
alter table auth.users
  add column if not exists is_sso_user boolean not null default false,
  add column if not exists deleted_at timestamptz,
  add column if not exists is_anonymous boolean not null default false;
alter table auth.users drop constraint if exists users_email_key;
create unique index if not exists users_email_partial_key on auth.users (email) where is_sso_user = false;
create index if not exists users_is_anonymous_idx on auth.users (is_anonymous);

-- Numbers were of 15 characters. A view or a rule of the project that reads them keeps them so, which harms nobody.
do $$
begin
  if exists (
    select from pg_catalog.pg_attribute
    where attrelid = 'auth.users'::regclass and attname = 'phone' and atttypid = 'varchar'::regtype
  ) then
    alter table auth.users alter column phone type text, alter column phone_change type text;
  end if;
exception
  when feature_not_supported or dependent_objects_still_exist then
    raise notice 'auth.users.phone keeps its type, since other objects depend on it';
end $$;

do $$
begin
  if not exists (
    select from pg_catalog.pg_attribute
    where attrelid = 'auth.identities'::regclass and attname = 'provider_id' and not attisdropped
  ) then
    alter table auth.identities rename column id to provider_id;
    alter table auth.identities drop constraint if exists identities_pkey;
    alter table auth.identities
      add column id uuid not null default gen_random_uuid(),
      add constraint identities_pkey primary key (id),
      add constraint identities_provider_id_provider_unique unique (provider_id, provider);
  end if;
  if not exists (
    select from pg_catalog.pg_attribute
    where attrelid = 'auth.identities'::regclass and attname = 'email' and not attisdropped
  ) then
    -- Accounts with a password had no identity of their own before identities told addresses.
    insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at)
    select u.id::text, u.id, jsonb_build_object('sub', u.id, 'email', u.email), 'email', now(), now()
    from auth.users u
    where u.email is not null and (u.encrypted_password <> '' or u.invited_at is not null)
      and not exists (select from auth.identities i where i.user_id = u.id);
    update auth.identities i
    set identity_data = i.identity_data || jsonb_build_object('email', u.email), updated_at = now()
    from auth.users u
    where u.id = i.user_id and i.provider = 'email' and i.identity_data ->> 'email' is null and u.email is not null;
    alter table auth.identities
      add column email text generated always as (lower(identity_data ->> 'email')) stored;
  end if;
end $$;
create index if not exists identities_email_idx on auth.identities (email text_pattern_ops);
create index if not exists identities_user_id_idx on auth.identities (user_id);

-- Single sign-on and flows.
drop table if exists auth.sso_sessions;
create table if not exists auth.sso_providers (
  id uuid not null,
  resource_id text,
  created_at timestamptz,
  updated_at timestamptz,
  disabled boolean,
  constraint sso_providers_pkey primary key (id),
  constraint "resource_id not empty" check (resource_id is null or char_length(resource_id) > 0)
);
create unique index if not exists sso_providers_resource_id_idx on auth.sso_providers (lower(resource_id));
alter table auth.sso_providers add column if not exists disabled boolean;
create index if not exists sso_providers_resource_id_pattern_idx on auth.sso_providers (resource_id text_pattern_ops);
create table if not exists auth.sso_domains (
  id uuid not null,
  sso_provider_id uuid not null,
  domain text not null,
  created_at timestamptz,
  updated_at timestamptz,
  constraint sso_domains_pkey primary key (id),
  constraint sso_domains_sso_provider_id_fkey foreign key (sso_provider_id)
    references auth.sso_providers (id) on delete cascade,
  constraint "domain not empty" check (char_length(domain) > 0)
);
create unique index if not exists sso_domains_domain_idx on auth.sso_domains (lower(domain));
create index if not exists sso_domains_sso_provider_id_idx on auth.sso_domains (sso_provider_id);
create table if not exists auth.saml_providers (
  id uuid not null,
  sso_provider_id uuid not null,
  entity_id text not null,
  metadata_xml text not null,
  metadata_url text,
  attribute_mapping jsonb,
  created_at timestamptz,
  updated_at timestamptz,
  name_id_format text,
  constraint saml_providers_pkey primary key (id),
  constraint saml_providers_entity_id_key unique (entity_id),
  constraint saml_providers_sso_provider_id_fkey foreign key (sso_provider_id)
    references auth.sso_providers (id) on delete cascade,
  constraint "metadata_xml not empty" check (char_length(metadata_xml) > 0),
  constraint "metadata_url not empty" check (metadata_url is null or char_length(metadata_url) > 0),
  constraint "entity_id not empty" check (char_length(entity_id) > 0)
);
create index if not exists saml_providers_sso_provider_id_idx on auth.saml_providers (sso_provider_id);
alter table auth.saml_providers add column if not exists name_id_format text;
create table if not exists auth.flow_state (
  id uuid not null,
  user_id uuid,
  auth_code text,
  code_challenge_method auth.code_challenge_method,
  code_challenge text,
  provider_type text not null,
  provider_access_token text,
  provider_refresh_token text,
  created_at timestamptz,
  updated_at timestamptz,
  authentication_method text not null,
  auth_code_issued_at timestamptz,
  invite_token text,
  referrer text,
  oauth_client_state_id uuid,
  linking_target_id uuid,
  email_optional boolean not null default false,
  constraint flow_state_pkey primary key (id)
);
create index if not exists idx_auth_code on auth.flow_state (auth_code);
-- A flow lasts minutes: what is under way meanwhile is a sign-in with a provider.
alter table auth.flow_state
  add column if not exists authentication_method text not null default 'oauth',
  add column if not exists auth_code_issued_at timestamptz,
  add column if not exists invite_token text,
  add column if not exists referrer text,
  add column if not exists oauth_client_state_id uuid,
  add column if not exists linking_target_id uuid,
  add column if not exists email_optional boolean not null default false;
alter table auth.flow_state
  alter column authentication_method drop default,
  alter column auth_code drop not null,
  alter column code_challenge drop not null,
  alter column code_challenge_method drop not null;
create index if not exists idx_user_id_auth_method on auth.flow_state (user_id, authentication_method);
create index if not exists flow_state_created_at_idx on auth.flow_state (created_at desc);
create table if not exists auth.saml_relay_states (
  id uuid not null,
  sso_provider_id uuid not null,
  request_id text not null,
  for_email text,
  redirect_to text,
  created_at timestamptz,
  updated_at timestamptz,
  flow_state_id uuid,
  constraint saml_relay_states_pkey primary key (id),
  constraint saml_relay_states_sso_provider_id_fkey foreign key (sso_provider_id)
    references auth.sso_providers (id) on delete cascade,
  constraint saml_relay_states_flow_state_id_fkey foreign key (flow_state_id)
    references auth.flow_state (id) on delete cascade,
  constraint "request_id not empty" check (char_length(request_id) > 0)
);
create index if not exists saml_relay_states_sso_provider_id_idx on auth.saml_relay_states (sso_provider_id);
create index if not exists saml_relay_states_for_email_idx on auth.saml_relay_states (for_email);
alter table auth.saml_relay_states
  drop column if exists from_ip_address,
  add column if not exists flow_state_id uuid references auth.flow_state (id) on delete cascade;
create index if not exists saml_relay_states_created_at_idx on auth.saml_relay_states (created_at desc);
create table if not exists auth.one_time_tokens (
  id uuid not null,
  user_id uuid not null,
  token_type auth.one_time_token_type not null,
  token_hash text not null,
  relates_to text not null,
  created_at timestamp not null default now(),
  updated_at timestamp not null default now(),
  constraint one_time_tokens_pkey primary key (id),
  constraint one_time_tokens_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint one_time_tokens_token_hash_check check (char_length(token_hash) > 0)
);
create index if not exists one_time_tokens_token_hash_hash_idx on auth.one_time_tokens using hash (token_hash);
create index if not exists one_time_tokens_relates_to_hash_idx on auth.one_time_tokens using hash (relates_to);
create unique index if not exists one_time_tokens_user_id_token_type_key on auth.one_time_tokens (user_id, token_type);
-- The OAuth server.
create table if not exists auth.oauth_clients (
  id uuid not null,
  client_secret_hash text,
  registration_type auth.oauth_registration_type not null,
  redirect_uris text not null,
  grant_types text not null,
  client_name text,
  client_uri text,
  logo_uri text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  client_type auth.oauth_client_type not null default 'confidential',
  token_endpoint_auth_method text not null,
  constraint oauth_clients_pkey primary key (id),
  constraint oauth_clients_client_name_length check (char_length(client_name) <= 1024),
  constraint oauth_clients_client_uri_length check (char_length(client_uri) <= 2048),
  constraint oauth_clients_logo_uri_length check (char_length(logo_uri) <= 2048),
  constraint oauth_clients_token_endpoint_auth_method_check
    check (token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post', 'none'))
);
create index if not exists oauth_clients_deleted_at_idx on auth.oauth_clients (deleted_at);
alter table auth.oauth_clients
  alter column client_secret_hash drop not null,
  drop column if exists client_id,
  add column if not exists client_type auth.oauth_client_type not null default 'confidential',
  add column if not exists token_endpoint_auth_method text;
update auth.oauth_clients
set token_endpoint_auth_method = case client_type when 'public' then 'none' else 'client_secret_basic' end
where token_endpoint_auth_method is null;
alter table auth.oauth_clients alter column token_endpoint_auth_method set not null;
create table if not exists auth.oauth_authorizations (
  id uuid not null,
  authorization_id text not null,
  client_id uuid not null,
  user_id uuid,
  redirect_uri text not null,
  scope text not null,
  state text,
  resource text,
  code_challenge text,
  code_challenge_method auth.code_challenge_method,
  response_type auth.oauth_response_type not null default 'code',
  status auth.oauth_authorization_status not null default 'pending',
  authorization_code text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default (now() + interval '3 minutes'),
  approved_at timestamptz,
  nonce text,
  constraint oauth_authorizations_pkey primary key (id),
  constraint oauth_authorizations_authorization_id_key unique (authorization_id),
  constraint oauth_authorizations_authorization_code_key unique (authorization_code),
  constraint oauth_authorizations_client_id_fkey foreign key (client_id)
    references auth.oauth_clients (id) on delete cascade,
  constraint oauth_authorizations_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint oauth_authorizations_redirect_uri_length check (char_length(redirect_uri) <= 2048),
  constraint oauth_authorizations_scope_length check (char_length(scope) <= 4096),
  constraint oauth_authorizations_state_length check (char_length(state) <= 4096),
  constraint oauth_authorizations_resource_length check (char_length(resource) <= 2048),
  constraint oauth_authorizations_code_challenge_length check (char_length(code_challenge) <= 128),
  constraint oauth_authorizations_authorization_code_length check (char_length(authorization_code) <= 255),
  constraint oauth_authorizations_nonce_length check (char_length(nonce) <= 255),
  constraint oauth_authorizations_expires_at_future check (expires_at > created_at)
);
create index if not exists oauth_auth_pending_exp_idx on auth.oauth_authorizations (expires_at) where status = 'pending';
alter table auth.oauth_authorizations add column if not exists nonce text;
create table if not exists auth.oauth_consents (
  id uuid not null,
  user_id uuid not null,
  client_id uuid not null,
  scopes text not null,
  granted_at timestamptz not null default now(),
  revoked_at timestamptz,
  constraint oauth_consents_pkey primary key (id),
  constraint oauth_consents_user_client_unique unique (user_id, client_id),
  constraint oauth_consents_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint oauth_consents_client_id_fkey foreign key (client_id)
    references auth.oauth_clients (id) on delete cascade,
  constraint oauth_consents_scopes_length check (char_length(scopes) <= 2048),
  constraint oauth_consents_scopes_not_empty check (char_length(trim(scopes)) > 0),
  constraint oauth_consents_revoked_after_granted check (revoked_at is null or revoked_at >= granted_at)
);
create index if not exists oauth_consents_active_user_client_idx on auth.oauth_consents (user_id, client_id) where revoked_at is null;
create index if not exists oauth_consents_user_order_idx on auth.oauth_consents (user_id, granted_at desc);
create index if not exists oauth_consents_active_client_idx on auth.oauth_consents (client_id) where revoked_at is null;
create table if not exists auth.oauth_client_states (
  id uuid not null,
  provider_type text not null,
  code_verifier text,
  created_at timestamptz not null,
  constraint oauth_client_states_pkey primary key (id)
);
create index if not exists idx_oauth_client_states_created_at on auth.oauth_client_states (created_at);
create table if not exists auth.custom_oauth_providers (
  id uuid not null default gen_random_uuid(),
  provider_type text not null,
  identifier text not null,
  name text not null,
  client_id text not null,
  client_secret text not null,
  acceptable_client_ids text[] not null default '{}',
  scopes text[] not null default '{}',
  pkce_enabled boolean not null default true,
  attribute_mapping jsonb not null default '{}',
  authorization_params jsonb not null default '{}',
  enabled boolean not null default true,
  email_optional boolean not null default false,
  issuer text,
  discovery_url text,
  skip_nonce_check boolean not null default false,
  cached_discovery jsonb,
  discovery_cached_at timestamptz,
  authorization_url text,
  token_url text,
  userinfo_url text,
  jwks_uri text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  custom_claims_allowlist text[] not null default '{}',
  constraint custom_oauth_providers_pkey primary key (id),
  constraint custom_oauth_providers_identifier_key unique (identifier),
  constraint custom_oauth_providers_provider_type_check check (provider_type in ('oauth2', 'oidc')),
  constraint custom_oauth_providers_identifier_format check (identifier ~ '^[a-z0-9][a-z0-9:-]{0,48}[a-z0-9]$'),
  constraint custom_oauth_providers_name_length check (char_length(name) between 1 and 100),
  constraint custom_oauth_providers_client_id_length check (char_length(client_id) between 1 and 512),
  constraint custom_oauth_providers_oidc_requires_issuer check (provider_type <> 'oidc' or issuer is not null),
  constraint custom_oauth_providers_oidc_issuer_https check (provider_type <> 'oidc' or issuer like 'https://%'),
  constraint custom_oauth_providers_oidc_discovery_url_https
    check (provider_type <> 'oidc' or discovery_url like 'https://%'),
  constraint custom_oauth_providers_oauth2_requires_endpoints check (
    provider_type <> 'oauth2'
    or (authorization_url is not null and token_url is not null and userinfo_url is not null)
  ),
  constraint custom_oauth_providers_authorization_url_https check (authorization_url like 'https://%'),
  constraint custom_oauth_providers_token_url_https check (token_url like 'https://%'),
  constraint custom_oauth_providers_userinfo_url_https check (userinfo_url like 'https://%'),
  constraint custom_oauth_providers_jwks_uri_https check (jwks_uri like 'https://%'),
  constraint custom_oauth_providers_issuer_length check (char_length(issuer) between 1 and 2048),
  constraint custom_oauth_providers_discovery_url_length check (char_length(discovery_url) <= 2048),
  constraint custom_oauth_providers_authorization_url_length check (char_length(authorization_url) <= 2048),
  constraint custom_oauth_providers_token_url_length check (char_length(token_url) <= 2048),
  constraint custom_oauth_providers_userinfo_url_length check (char_length(userinfo_url) <= 2048),
  constraint custom_oauth_providers_jwks_uri_length check (char_length(jwks_uri) <= 2048)
);
create index if not exists custom_oauth_providers_identifier_idx on auth.custom_oauth_providers (identifier);
create index if not exists custom_oauth_providers_provider_type_idx on auth.custom_oauth_providers (provider_type);
create index if not exists custom_oauth_providers_enabled_idx on auth.custom_oauth_providers (enabled);
create index if not exists custom_oauth_providers_created_at_idx on auth.custom_oauth_providers (created_at);
alter table auth.custom_oauth_providers
  add column if not exists custom_claims_allowlist text[] not null default '{}';

-- Sessions and refresh tokens.
alter table auth.refresh_tokens drop constraint if exists refresh_tokens_parent_fkey;
drop index if exists auth.refresh_tokens_token_idx;
create index if not exists refresh_tokens_session_id_revoked_idx on auth.refresh_tokens (session_id, revoked);
create index if not exists refresh_tokens_updated_at_idx on auth.refresh_tokens (updated_at desc);
alter table auth.sessions
  add column if not exists factor_id uuid,
  add column if not exists aal auth.aal_level,
  add column if not exists not_after timestamptz,
  add column if not exists refreshed_at timestamp,
  add column if not exists user_agent text,
  add column if not exists ip inet,
  add column if not exists tag text,
  add column if not exists oauth_client_id uuid,
  add column if not exists refresh_token_hmac_key text,
  add column if not exists refresh_token_counter bigint,
  add column if not exists scopes text;
create index if not exists sessions_user_id_idx on auth.sessions (user_id);
create index if not exists user_id_created_at_idx on auth.sessions (user_id, created_at);
create index if not exists sessions_not_after_idx on auth.sessions (not_after desc);
create index if not exists sessions_oauth_client_id_idx on auth.sessions (oauth_client_id);

-- Second factors and passkeys.
alter table auth.mfa_amr_claims add column if not exists id uuid not null default gen_random_uuid();
alter table auth.mfa_amr_claims alter column id drop default;
alter table auth.mfa_factors
  drop constraint if exists mfa_factors_phone_key,
  add column if not exists phone text,
  add column if not exists last_challenged_at timestamptz,
  add column if not exists web_authn_credential jsonb,
  add column if not exists web_authn_aaguid uuid,
  add column if not exists last_webauthn_challenge_data jsonb;
create unique index if not exists unique_phone_factor_per_user on auth.mfa_factors (user_id, phone);
drop index if exists auth.unique_verified_phone_factor;
create index if not exists factor_id_created_at_idx on auth.mfa_factors (user_id, created_at);
create index if not exists mfa_factors_user_id_idx on auth.mfa_factors (user_id);
alter table auth.mfa_challenges
  add column if not exists otp_code text,
  add column if not exists web_authn_session_data jsonb;
create index if not exists mfa_challenge_created_at_idx on auth.mfa_challenges (created_at desc);
create table if not exists auth.webauthn_credentials (
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  credential_id bytea not null,
  public_key bytea not null,
  attestation_type text not null default '',
  aaguid uuid,
  sign_count bigint not null default 0,
  transports jsonb not null default '[]',
  backup_eligible boolean not null default false,
  backed_up boolean not null default false,
  friendly_name text not null default '',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_used_at timestamptz,
  constraint webauthn_credentials_pkey primary key (id),
  constraint webauthn_credentials_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade
);
create unique index if not exists webauthn_credentials_credential_id_key on auth.webauthn_credentials (credential_id);
create index if not exists webauthn_credentials_user_id_idx on auth.webauthn_credentials (user_id);
create table if not exists auth.webauthn_challenges (
  id uuid not null default gen_random_uuid(),
  user_id uuid,
  challenge_type text not null,
  session_data jsonb not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint webauthn_challenges_pkey primary key (id),
  constraint webauthn_challenges_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint webauthn_challenges_challenge_type_check
    check (challenge_type in ('signup', 'registration', 'authentication'))
);
create index if not exists webauthn_challenges_user_id_idx on auth.webauthn_challenges (user_id);
create index if not exists webauthn_challenges_expires_at_idx on auth.webauthn_challenges (expires_at);
-- Constraints, which know no "if not exists".
do $$
declare
  missing record;
begin
  for missing in
    select c.owner, c.name, c.definition from (values
      ('auth.mfa_amr_claims', 'amr_id_pk', 'primary key (id)'),
      ('auth.mfa_factors', 'mfa_factors_last_challenged_at_key', 'unique (last_challenged_at)'),
      ('auth.sessions', 'sessions_scopes_length', 'check (char_length(scopes) <= 4096)'),
      ('auth.sessions', 'sessions_oauth_client_id_fkey',
        'foreign key (oauth_client_id) references auth.oauth_clients (id) on delete cascade'),
      ('auth.oauth_authorizations', 'oauth_authorizations_nonce_length', 'check (char_length(nonce) <= 255)'),
      ('auth.oauth_clients', 'oauth_clients_token_endpoint_auth_method_check',
        'check (token_endpoint_auth_method in (''client_secret_basic'', ''client_secret_post'', ''none''))')
    ) c (owner, name, definition)
    where not exists (
      select from pg_catalog.pg_constraint k where k.conrelid = c.owner::regclass and k.conname = c.name
    )
  loop
    execute pg_catalog.format('alter table %s add constraint %I %s', missing.owner, missing.name, missing.definition);
  end loop;
end $$;

-- No policy: nobody but the service (and roles that bypass row-level security) sees a row.
do $$
declare
  table_name name;
begin
  foreach table_name in array array[
    'users', 'identities', 'sessions', 'refresh_tokens', 'one_time_tokens', 'flow_state', 'audit_log_entries',
    'instances', 'schema_migrations', 'mfa_factors', 'mfa_challenges', 'mfa_amr_claims', 'sso_providers',
    'sso_domains', 'saml_providers', 'saml_relay_states'
  ]::name[] loop
    execute pg_catalog.format('alter table auth.%I enable row level security', table_name);
    execute pg_catalog.format('grant select on auth.%I to postgres with grant option', table_name);
  end loop;
end $$;

-- So that the auth service goes on from here and repeats none of it.
insert into auth.schema_migrations (version)
select steps.version from unnest(array[
  '00', '20210710035447', '20210722035447', '20210730183235', '20210909172000', '20210927181326', '20211122151130',
  '20211124214934', '20211202183645', '20220114185221', '20220114185340', '20220224000811', '20220323170000', '20220429102000',
  '20220531120530', '20220614074223', '20220811173540', '20221003041349', '20221003041400', '20221011041400', '20221020193600',
  '20221021073300', '20221021082433', '20221027105023', '20221114143122', '20221114143410', '20221125140132', '20221208132122',
  '20221215195500', '20221215195800', '20221215195900', '20230116124310', '20230116124412', '20230131181311', '20230322519590',
  '20230402418590', '20230411005111', '20230508135423', '20230523124323', '20230818113222', '20230914180801', '20231027141322',
  '20231114161723', '20231117164230', '20240115144230', '20240214120130', '20240306115329', '20240314092811', '20240427152123',
  '20240612123726', '20240729123726', '20240802193726', '20240806073726', '20241009103726', '20250717082212', '20250731150234',
  '20250804100000', '20250901200500', '20250903112500', '20250904133000', '20250925093508', '20251007112900', '20251104100000',
  '20251111201300', '20251201000000', '20260115000000', '20260121000000', '20260219120000', '20260302000000', '20260625000000'
]) steps (version)
where not exists (select from auth.schema_migrations done where done.version = steps.version);

reset role;

-- Schema "storage": the columns that this server reads and writes, if another Storage made the tables.
do $$
begin
  perform pg_catalog.set_config('role', pg_catalog.pg_get_userbyid(relowner), true)
  from pg_catalog.pg_class where oid = 'storage.objects'::regclass;
end $$;
alter table storage.buckets
  add column if not exists public boolean default false,
  add column if not exists avif_autodetection boolean default false,
  add column if not exists file_size_limit bigint,
  add column if not exists allowed_mime_types text[],
  add column if not exists owner_id text;
alter table storage.objects
  add column if not exists version text,
  add column if not exists owner_id text,
  add column if not exists user_metadata jsonb;

reset role;
