//! Settings of the platform interface, and what it tells about the other services' settings.

use ::platform::{ServiceConfig, Settings};
use serde_json::{Map, Value, json};
use settings::{Invalid, Reader};

use super::{Project, Server, Services};

/// The folder of snippets, as the Supabase CLI has it.
const SNIPPETS: &str = "snippets";

/// Reads the settings. The name of the project is, by default, `project_id` or that of its folder.
pub(super) fn read(
    reader: &mut Reader<'_>,
    project: &Project,
    server: &Server,
    services: &Services,
) -> Result<Settings, Invalid> {
    let mut settings: Settings = reader.read()?;
    let id: Option<String> = reader.get("project_id", &[])?;
    if settings.project_ref.is_none() {
        // A project that was linked to hosted Supabase keeps its reference.
        settings.project_ref = id.clone().filter(|id| is_reference(id));
    }
    let folder = || project.root.file_name().map(|name| name.to_string_lossy().into_owned());
    settings.name = settings.name.take().or(id).or_else(folder);
    settings.is_local = server.host.is_loopback();
    settings.snippets = project.base.join(SNIPPETS);
    settings.config = config(services);
    Ok(settings)
}

fn is_reference(text: &str) -> bool {
    text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns what the interface tells about the settings of `services`; nothing about one that is off.
fn config(services: &Services) -> ServiceConfig {
    ServiceConfig {
        rest: services.rest.as_ref().map(|rest| self::rest(rest, &services.connections)).unwrap_or_default(),
        auth: services.auth.as_ref().map(auth).unwrap_or_default(),
        storage: services.storage.as_ref().map(storage).unwrap_or_default(),
        realtime: services.realtime.as_ref().map(realtime).unwrap_or_default(),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn rest(settings: &rest::Settings, connections: &rest::Connections) -> Map<String, Value> {
    object(json!({
        "db_schema": settings.db_schemas.join(","),
        "db_extra_search_path": settings.db_extra_search_path.join(","),
        "max_rows": settings.db_max_rows.unwrap_or(0),
        "db_pool": connections.pool,
    }))
}

fn auth(settings: &auth::Settings) -> Map<String, Value> {
    let (mail, sms, mfa) = (&settings.mail, &settings.sms, &settings.mfa);
    let (providers, passwords, security) = (&settings.providers, &settings.passwords, &settings.security);
    let (sessions, limits) = (&settings.sessions, &settings.limits);
    let seconds = |time: Option<std::time::Duration>| time.map_or(0, |time| time.as_secs());
    let mut fields = object(json!({
        "site_url": settings.site_url,
        "uri_allow_list": settings.uri_allow_list.join(","),
        "disable_signup": settings.disable_signup,
        "jwt_exp": settings.token.expiry.as_secs(),
        "external_email_enabled": providers.email,
        "external_phone_enabled": providers.phone,
        "external_anonymous_users_enabled": providers.anonymous_users,
        "external_web3_solana_enabled": providers.solana.enabled,
        "external_web3_ethereum_enabled": providers.ethereum.enabled,
        "mailer_autoconfirm": mail.autoconfirm,
        "mailer_secure_email_change_enabled": mail.secure_email_change,
        "mailer_allow_unverified_email_sign_ins": mail.allow_unverified_sign_ins,
        "mailer_otp_exp": mail.otp_expiry.as_secs(),
        "mailer_otp_length": mail.otp_length,
        "smtp_max_frequency": mail.max_frequency.as_secs(),
        "sms_autoconfirm": sms.autoconfirm,
        "sms_max_frequency": sms.max_frequency.as_secs(),
        "sms_otp_exp": sms.otp_expiry.as_secs(),
        "sms_otp_length": sms.otp_length,
    }));
    fields.extend(object(json!({
        "password_min_length": passwords.min_length,
        "password_required_characters": passwords.required_characters.0.join(":"),
        "password_hibp_enabled": passwords.leaked_check,
        "mfa_max_enrolled_factors": mfa.max_enrolled_factors,
        "mfa_totp_enroll_enabled": mfa.totp.enroll,
        "mfa_totp_verify_enabled": mfa.totp.verify,
        "mfa_phone_enroll_enabled": mfa.phone.enabled.enroll,
        "mfa_phone_verify_enabled": mfa.phone.enabled.verify,
        "mfa_phone_otp_length": mfa.phone.otp_length,
        "mfa_phone_max_frequency": mfa.phone.max_frequency.as_secs(),
        "mfa_phone_template": mfa.phone.template,
        "mfa_web_authn_enroll_enabled": mfa.webauthn.enroll,
        "mfa_web_authn_verify_enabled": mfa.webauthn.verify,
        "passkey_enabled": settings.passkeys.enabled,
    })));
    fields.extend(object(json!({
        "refresh_token_rotation_enabled": security.refresh_token_rotation,
        "security_refresh_token_reuse_interval": security.refresh_token_reuse_interval.as_secs(),
        "security_update_password_require_reauthentication": security.password_change_requires_reauthentication,
        "security_update_password_require_current_password": security.password_change_requires_current,
        "sessions_timebox": seconds(sessions.timebox),
        "sessions_inactivity_timeout": seconds(sessions.inactivity_timeout),
        "sessions_single_per_user": sessions.single_per_user,
        "rate_limit_anonymous_users": limits.anonymous_users,
        "rate_limit_email_sent": limits.mails.events,
        "rate_limit_sms_sent": limits.text_messages.events,
        "rate_limit_otp": limits.otp,
        "rate_limit_verify": limits.verify,
        "rate_limit_token_refresh": limits.token,
        "rate_limit_web3": limits.web3,
    })));
    if let Some(smtp) = &mail.smtp {
        fields.extend(object(json!({
            "smtp_host": smtp.host,
            "smtp_port": smtp.port.to_string(),
            "smtp_user": smtp.user,
            "smtp_admin_email": smtp.admin_email,
            "smtp_sender_name": smtp.sender_name,
        })));
    }
    for (name, provider) in &providers.oauth {
        fields.insert(format!("external_{name}_enabled"), json!(true));
        fields.insert(format!("external_{name}_client_id"), json!(provider.client_ids.join(",")));
    }
    fields
}

fn storage(settings: &storage::Settings) -> Map<String, Value> {
    object(json!({
        "file_size_limit": settings.file_size_limit.0,
        "image_transformation": settings.image_transformation,
        "s3_protocol": settings.s3_enabled,
        "vectors": settings.vectors_enabled,
        "max_vector_buckets": settings.max_vector_buckets,
        "max_vector_indexes": settings.max_vector_indexes,
    }))
}

fn realtime(settings: &realtime::Settings) -> Map<String, Value> {
    object(json!({
        "private_only": settings.private_only,
        "connection_pool": settings.pool_size,
        "max_concurrent_users": settings.max_concurrent_users,
        "max_events_per_second": settings.max_events_per_second,
        "max_channels_per_client": settings.max_channels_per_client,
        "max_joins_per_second": settings.max_joins_per_second,
        "max_presence_events_per_second": settings.max_presence_events_per_second,
        "max_payload_size_in_kb": settings.max_payload_size_kb,
    }))
}
