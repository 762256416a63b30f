//! SQL expressions that build JSON documents of rows: what is read of a user, a session, a factor and others, and what
//! is kept secret.

use super::pending_code::Kind;

/// Returns a SQL expression: the public JSON document of the row of `auth.users` named `alias`, without its secrets.
pub(super) fn user(alias: &str) -> String {
    format!(
        "({bare} || jsonb_build_object(
          'identities', coalesce((
            select jsonb_agg({identity} order by i.created_at, i.id) from auth.identities i where i.user_id = {alias}.id
          ), '[]'),
          'factors', coalesce((
            select jsonb_agg({factor} order by f.created_at, f.id)
            from auth.mfa_factors f where f.user_id = {alias}.id
          ), '[]')
        ))",
        bare = bare_user(alias),
        identity = identity("i"),
        factor = factor("f"),
    )
}

/// Returns a SQL expression: as [`user`], with no identities and no factors.
pub(super) fn bare_user(alias: &str) -> String {
    format!(
        "(to_jsonb({alias}) - array[
          'encrypted_password', 'confirmation_token', 'recovery_token', 'email_change_token_new',
          'email_change_token_current', 'phone_change_token', 'reauthentication_token'
        ] || '{{\"identities\": [], \"factors\": []}}'::jsonb)"
    )
}

/// Returns a SQL expression: the document of [`Account`](super::users::Account) for the row of `auth.users` named
/// `alias`.
pub(super) fn account(alias: &str) -> String {
    let pending: Vec<_> = Kind::ALL
        .iter()
        .map(|kind| {
            let (column, sent_at) = (kind.name(), kind.sent_at());
            format!(
                "'{column}', jsonb_build_object('hash', coalesce({alias}.{column}, ''),
                   'age', extract(epoch from now() - {alias}.{sent_at}))"
            )
        })
        .collect();
    format!(
        "jsonb_build_object(
           'user', {user},
           'encrypted_password', {alias}.encrypted_password,
           'banned', coalesce({alias}.banned_until > now(), false),
           'email_change_confirm_status', coalesce({alias}.email_change_confirm_status, 0),
           'pending', jsonb_build_object({pending})
         )",
        user = user(alias),
        pending = pending.join(", "),
    )
}

/// Returns a SQL expression: the document of [`Identity`](crate::store::model::user::Identity) for the row of
/// `auth.identities` named `alias`.
pub(super) fn identity(alias: &str) -> String {
    format!("to_jsonb({alias})")
}

/// Returns a SQL expression: the public JSON document of the row of `auth.mfa_factors` named `alias`, without its
/// secrets.
pub(super) fn factor(alias: &str) -> String {
    format!("(to_jsonb({alias}) - array['secret', 'web_authn_credential'])")
}

/// Returns a SQL expression: what [`Session`](crate::store::model::session::Session) reads from the row of
/// `auth.sessions` named `alias`.
pub(super) fn session(alias: &str) -> String {
    format!(
        "jsonb_strip_nulls(jsonb_build_object(
           'id', {alias}.id, 'created_at', extract(epoch from {alias}.created_at),
           'age', extract(epoch from now() - {alias}.created_at), 'aal', {alias}.aal,
           'oauth_client_id', {alias}.oauth_client_id, 'scopes', {alias}.scopes,
           'refresh_token_hmac_key', {alias}.refresh_token_hmac_key,
           'refresh_token_counter', {alias}.refresh_token_counter
         ))"
    )
}

/// Returns a SQL expression: claim `amr` of the session with the id in `session`, newest first.
pub(super) fn amr(session: &str) -> String {
    format!(
        "coalesce((
           select jsonb_agg(jsonb_build_object(
             'method', a.authentication_method, 'timestamp', floor(extract(epoch from a.updated_at))::bigint
           ) order by a.updated_at desc)
           from auth.mfa_amr_claims a where a.session_id = {session}
         ), '[]')"
    )
}

/// Returns a SQL expression: the document of [`Passkey`](super::passkeys::Passkey) for the row of
/// `auth.webauthn_credentials` named `alias`.
pub(super) fn passkey(alias: &str) -> String {
    let utc = |column: &str| {
        format!("to_char({alias}.{column} at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
    };
    // Postgres breaks base64 into lines.
    let base64 = |bytes: &str| format!("translate(encode({bytes}, 'base64'), E'\\n', '')");
    format!(
        "jsonb_build_object(
           'id', {alias}.id, 'friendly_name', {alias}.friendly_name,
           'created_at', {created_at}, 'last_used_at', {last_used_at},
           'credential', jsonb_build_object(
             'id', {credential_id}, 'publicKey', {public_key}, 'attestationType', {alias}.attestation_type,
             'transport', {alias}.transports,
             'flags', jsonb_build_object(
               'backupEligible', {alias}.backup_eligible, 'backupState', {alias}.backed_up),
             'authenticator', jsonb_build_object(
               'AAGUID', {aaguid}, 'signCount', {alias}.sign_count)
           )
         )",
        created_at = utc("created_at"),
        last_used_at = utc("last_used_at"),
        credential_id = base64(&format!("{alias}.credential_id")),
        public_key = base64(&format!("{alias}.public_key")),
        aaguid = base64(&format!("uuid_send({alias}.aaguid)")),
    )
}

/// Returns a SQL expression: what [`SsoProvider`](super::sso_providers::SsoProvider) reads from the rows named `p` and
/// `s`, with the domains in `domains`.
pub(super) fn sso_provider(domains: &str) -> String {
    format!(
        "jsonb_build_object(
           'id', p.id, 'resource_id', p.resource_id, 'disabled', p.disabled,
           'created_at', p.created_at, 'updated_at', p.updated_at,
           'domains', coalesce((
             select jsonb_agg(jsonb_build_object('domain', d.domain) order by d.created_at, d.domain)
             from {domains} d where d.sso_provider_id = p.id
           ), '[]'),
           'saml', jsonb_build_object(
             'entity_id', s.entity_id, 'metadata_xml', s.metadata_xml, 'metadata_url', s.metadata_url,
             'attribute_mapping', coalesce(s.attribute_mapping, '{{}}'), 'name_id_format', s.name_id_format,
             'age', extract(epoch from now() - s.updated_at)
           )
         )"
    )
}

/// Returns a SQL expression: the document of [`FlowState`](super::flow_states::FlowState) for the row of
/// `auth.flow_state` named `alias`.
pub(super) fn flow_state(alias: &str) -> String {
    format!(
        "{aged} || jsonb_build_object('code_age', extract(epoch from now() - {alias}.auth_code_issued_at))",
        aged = with_age(alias),
    )
}

/// Returns a SQL expression: the row named `alias` with a member `age`, the seconds since its `created_at`.
pub(super) fn with_age(alias: &str) -> String {
    format!("to_jsonb({alias}) || jsonb_build_object('age', extract(epoch from now() - {alias}.created_at))")
}

/// Returns a SQL expression: the document of [`OauthClient`](super::oauth_clients::OauthClient) for the row of
/// `auth.oauth_clients` named `alias`.
pub(super) fn oauth_client(alias: &str) -> String {
    format!("to_jsonb({alias})")
}

/// Returns a SQL expression: the document of [`Authorization`](super::oauth_authorizations::Authorization) for the row
/// of `auth.oauth_authorizations` named `alias`.
pub(super) fn oauth_authorization(alias: &str) -> String {
    format!(
        "to_jsonb({alias}) || jsonb_build_object('is_expired', now() > {alias}.expires_at, 'client', (
           select {client} from auth.oauth_clients c where c.id = {alias}.client_id and c.deleted_at is null
         ))",
        client = oauth_client("c"),
    )
}

/// Returns a SQL expression: what administrators see of the row of `auth.custom_oauth_providers` named `alias`. Its
/// secret is not part of it.
pub(super) fn custom_provider(alias: &str) -> String {
    format!(
        "to_jsonb({alias}) - array['client_secret', 'cached_discovery', 'discovery_cached_at']
           || jsonb_strip_nulls(jsonb_build_object('discovery_document', {alias}.cached_discovery))"
    )
}
