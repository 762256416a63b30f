-- Accounts for the benchmark of auth: so many :people with the same :password, each with so many :sessions. Refresh
-- tokens are numbers of twelve digits, from :first on.

select extensions.crypt(:'password', extensions.gen_salt('bf', 10)) as hash \gset

truncate auth.users cascade;
truncate auth.audit_log_entries;

with people as (
  insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                          raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
  select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated',
         'fan' || number || '@club.example', :'hash', now(),
         '{"provider": "email", "providers": ["email"]}', '{"full_name": "A Fan"}', now(), now()
  from generate_series(1, :people) number
  returning id, email
)
insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at)
select id::text, id, jsonb_build_object('sub', id, 'email', email), 'email', now(), now() from people;

with sessions as (
  insert into auth.sessions (id, user_id, created_at, updated_at, aal)
  select gen_random_uuid(), id, now(), now(), 'aal1' from auth.users, generate_series(1, :sessions)
  returning id, user_id
), methods as (
  insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
  select gen_random_uuid(), id, now(), now(), 'password' from sessions
)
insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
select '00000000-0000-0000-0000-000000000000', (:first - 1 + row_number() over ())::text, user_id, false,
       now(), now(), id
from sessions;

vacuum (freeze, analyze) auth.users, auth.sessions, auth.refresh_tokens, auth.mfa_amr_claims, auth.identities;
