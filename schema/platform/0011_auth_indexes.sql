-- skip if: exists (select from basalt.platform_migrations where version = '0003' and adopted)

-- Indexes of schema "auth" beside those of hosted Supabase: for the number that somebody is about to have, for challenges of
-- factors, and for foreign keys to rows that are deleted at every sign-in of a kind, or with every user. Without them
-- Postgres reads the whole table. A database that came with a schema "auth" of its own keeps it as it is.

create index users_phone_change_idx on auth.users (phone_change) where phone_change <> '';
create index mfa_challenges_factor_id_idx on auth.mfa_challenges (factor_id);
create index saml_relay_states_flow_state_id_idx on auth.saml_relay_states (flow_state_id);
create index oauth_authorizations_user_id_idx on auth.oauth_authorizations (user_id);
