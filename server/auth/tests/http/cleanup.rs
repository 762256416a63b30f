//! Deletion of expired rows.

use std::time::Duration;

use auth::Settings;
use http::StatusCode;

use crate::harness::Server;
use crate::upstream::allow_unreadable_rows;

/// Rows of every kind, one that has expired and one that has not.
const ROWS: &str = "
  insert into auth.flow_state (id, provider_type, authentication_method, created_at)
    select gen_random_uuid(), 'email', 'magiclink', now() - interval '1 hour' * hours
    from unnest(array[1, 25]) as hours;
  insert into auth.webauthn_challenges (challenge_type, session_data, expires_at)
    select 'authentication', '{}', now() + interval '1 hour' * hours from unnest(array[1, -1]) as hours;
  insert into auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at)
    select gen_random_uuid(), u.id, status || hours, 'totp', status::auth.factor_status,
      now() - interval '1 hour' * hours, now()
    from auth.users u, unnest(array[1, 25]) as hours, unnest(array['verified', 'unverified']) as status;
  insert into auth.mfa_challenges (id, factor_id, created_at, ip_address)
    select gen_random_uuid(), f.id, now() - interval '1 hour' * hours, '::1'
    from auth.mfa_factors f, unnest(array[1, 25]) as hours where f.friendly_name = 'verified1';
  insert into auth.sessions (id, user_id, created_at, not_after)
    select gen_random_uuid(), u.id, now(), now() - interval '1 hour' * hours
    from auth.users u, unnest(array[1, 73]) as hours;
  insert into auth.refresh_tokens (token, user_id, revoked, created_at, updated_at, session_id)
    select 'token' || hours, s.user_id, true, now(), now() - interval '1 hour' * hours, s.id
    from auth.sessions s, unnest(array[1, 25]) as hours where s.not_after > now() - interval '2 hours';
  insert into auth.sessions (id, user_id, tag, created_at, refreshed_at)
    select gen_random_uuid(), u.id, tag, now() - age, now() - refreshed from auth.users u, (values
      ('kept', interval '1 hour', interval '1 hour'), ('too old', interval '40 hours', interval '1 hour'),
      ('inactive', interval '30 hours', interval '29 hours'), ('never used', interval '30 hours', null)
    ) as session (tag, age, refreshed);
  insert into auth.users (id, is_anonymous, created_at)
    select gen_random_uuid(), true, now() - interval '1 day' * days from unnest(array[29, 31]) as days;
  insert into auth.oauth_client_states (id, provider_type, created_at)
    select gen_random_uuid(), 'x', now() - interval '1 hour' * hours from unnest(array[1, 25]) as hours;
  insert into auth.sso_providers (id) values (gen_random_uuid());
  insert into auth.saml_relay_states (id, sso_provider_id, request_id, created_at)
    select gen_random_uuid(), p.id, 'x', now() - interval '1 hour' * hours
    from auth.sso_providers p, unnest(array[1, 25]) as hours;
  insert into auth.oauth_clients
    (id, registration_type, redirect_uris, grant_types, token_endpoint_auth_method)
    values (gen_random_uuid(), 'manual', 'myapp://callback', 'authorization_code', 'none');
  insert into auth.oauth_authorizations (id, authorization_id, client_id, redirect_uri, scope, created_at, expires_at)
    select gen_random_uuid(), 'request' || hours, c.id, c.redirect_uris, 'email', now() - interval '26 hours',
      now() - interval '1 hour' * hours
    from auth.oauth_clients c, unnest(array[1, 25]) as hours;";

const LEFT: &str = "select (select count(*) from auth.flow_state) || ' ' ||
  (select count(*) from auth.webauthn_challenges) || ' ' || (select count(*) from auth.mfa_factors) || ' ' ||
  (select count(*) from auth.mfa_challenges) || ' ' ||
  (select count(*) from auth.sessions where not_after is not null) || ' ' ||
  (select count(*) from auth.refresh_tokens where token like 'token%') || ' ' ||
  (select string_agg(tag, ',' order by created_at) from auth.sessions where tag is not null) || ' ' ||
  (select count(*) from auth.users where is_anonymous) || ' ' ||
  (select count(*) from auth.oauth_client_states) || ' ' || (select count(*) from auth.saml_relay_states)
  || ' ' || (select count(*) from auth.oauth_authorizations)";

async fn left_after_sign_ins(settings: Settings) -> String {
    let server = Server::with(settings).await;
    server.user("ada@example.com").await;
    server.sql(&(allow_unreadable_rows() + ROWS)).await;
    // As many as there are statements, which take turns.
    for _ in 0..14 {
        assert_eq!(server.sign_in("ada@example.com").await.status, StatusCode::OK);
    }
    server.text(LEFT).await
}

#[tokio::test]
async fn expired_rows_go_as_requests_come_in() {
    let mut settings = Settings { cleanup_enabled: true, ..Settings::default() };
    settings.providers.anonymous_users = true;
    settings.sessions.timebox = Some(Duration::from_secs(12 * 3600));
    settings.sessions.inactivity_timeout = Some(Duration::from_secs(3600));
    assert_eq!(left_after_sign_ins(settings).await, "1 1 3 1 1 1 kept 1 1 1 1");
}

#[tokio::test]
async fn they_stay_unless_the_settings_ask_for_it() {
    assert_eq!(
        left_after_sign_ins(Settings::default()).await,
        "2 2 4 2 2 2 too old,inactive,never used,kept 2 2 2 2"
    );
}
