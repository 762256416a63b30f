-- Removes from schemas "auth" and "storage" what Supabase Auth has added since its version of 3 October 2022, which
-- added second factors, and Supabase Storage since 2022. Some rows of that time are kept.

drop schema basalt cascade;

drop table auth.mfa_recovery_codes, auth.mfa_recovery_code_sets, auth.scim_tokens, auth.scim_users;
drop table auth.webauthn_credentials, auth.webauthn_challenges, auth.custom_oauth_providers, auth.oauth_client_states,
  auth.oauth_consents, auth.oauth_authorizations, auth.oauth_clients, auth.one_time_tokens, auth.saml_relay_states,
  auth.flow_state, auth.saml_providers, auth.sso_domains, auth.sso_providers cascade;
drop type auth.one_time_token_type, auth.code_challenge_method, auth.oauth_registration_type, auth.oauth_client_type,
  auth.oauth_authorization_status, auth.oauth_response_type;

alter table auth.users
  drop column is_sso_user, drop column deleted_at, drop column is_anonymous,
  alter column phone type varchar(15), alter column phone_change type varchar(15),
  add constraint users_email_key unique (email);

alter table auth.identities
  drop constraint identities_provider_id_provider_unique, drop column email, drop column id;
alter table auth.identities rename column provider_id to id;
alter table auth.identities add constraint identities_pkey primary key (provider, id);
drop index auth.identities_user_id_idx;

alter table auth.sessions
  drop column not_after, drop column refreshed_at, drop column user_agent, drop column ip, drop column tag,
  drop column oauth_client_id, drop column refresh_token_hmac_key, drop column refresh_token_counter, drop column scopes;
drop index auth.sessions_user_id_idx, auth.user_id_created_at_idx;
drop index auth.refresh_tokens_session_id_revoked_idx, auth.refresh_tokens_updated_at_idx;
alter table auth.refresh_tokens
  add constraint refresh_tokens_parent_fkey foreign key (parent) references auth.refresh_tokens (token);
create index refresh_tokens_token_idx on auth.refresh_tokens (token);

alter table auth.mfa_amr_claims drop column id;
alter table auth.mfa_factors
  drop column phone, drop column last_challenged_at, drop column web_authn_credential, drop column web_authn_aaguid,
  drop column last_webauthn_challenge_data;
drop index auth.factor_id_created_at_idx, auth.mfa_factors_user_id_idx, auth.mfa_challenge_created_at_idx;
alter table auth.mfa_challenges drop column otp_code, drop column web_authn_session_data;
alter type auth.factor_type rename to newer_factor_type;
create type auth.factor_type as enum ('totp', 'webauthn');
alter type auth.factor_type owner to supabase_auth_admin;
alter table auth.mfa_factors alter column factor_type type auth.factor_type using factor_type::text::auth.factor_type;
drop type auth.newer_factor_type;
drop index if exists auth.users_phone_change_idx, auth.mfa_challenges_factor_id_idx;

delete from auth.schema_migrations where version > '20221003041400';

alter table storage.buckets
  drop column public cascade, drop column file_size_limit, drop column allowed_mime_types, drop column owner_id;
alter table storage.objects drop column version, drop column owner_id, drop column user_metadata;

insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, created_at, updated_at,
  confirmation_token, recovery_token, email_change_token_new, email_change, raw_app_meta_data, raw_user_meta_data)
values ('00000000-0000-0000-0000-000000000000', '00000000-0000-4000-8000-000000000001', 'authenticated', 'authenticated',
  'old@example.com', '$2b$04$abcdefghijklmnopqrstuuqREtd3VJD2QVZbuFskFSLk6eRIrQoOS', now(), now(), now(), '', '', '', '',
  '{"provider": "email", "providers": ["email"]}', '{}');
insert into auth.sessions (id, user_id, created_at, updated_at, aal)
values ('00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000001', now(), now(), 'aal1');
insert into auth.mfa_amr_claims (session_id, created_at, updated_at, authentication_method)
values ('00000000-0000-4000-8000-000000000002', now(), now(), 'password');
