//! Settings of the auth service: `[auth]` of `config.toml` and the variables `GOTRUE_*`, one file per area.
//!
//! The names that Supabase's compose file uses without the prefix (`SITE_URL`, `SMTP_HOST`, …) are read, too.

mod factors;
mod hooks;
mod ignored;
mod limits;
mod mail;
mod passwords;
mod providers;
mod security;
mod sms;
#[cfg(test)]
mod tests;
pub(super) mod third_party;

use std::path::Path;
use std::time::Duration;

use auth::{OauthServerSettings, SamlSettings, Secret, SessionSettings, Settings, TokenSettings};

use settings::{Invalid, Reader, Value};

use super::Project;

/// Where things are that settings of the service refer to.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    /// The project, whose files templates are.
    pub(super) project: &'a Project,
    /// Folder of everything that must outlive a restart.
    pub(super) data_dir: &'a Path,
    /// Where clients reach the API.
    pub(super) api_url: &'a str,
}

/// Reads them.
pub(super) fn read(reader: &mut Reader<'_>, places: Places<'_>) -> Result<Settings, Invalid> {
    let default = Settings::default();
    let external_url: Option<String> = reader.get("auth.external_url", &["GOTRUE_API_EXTERNAL_URL"])?;
    let signup: bool = reader.get("auth.enable_signup", &[])?.unwrap_or(true);
    ignored::note(reader)?;
    let mail = mail::read(reader, places)?;
    let settings = Settings {
        external_url: external_url.unwrap_or_else(|| format!("{}/auth/v1", places.api_url)),
        site_url: reader.get("auth.site_url", &["GOTRUE_SITE_URL", "SITE_URL"])?.unwrap_or(default.site_url),
        uri_allow_list: reader
            .get("auth.additional_redirect_urls", &["GOTRUE_URI_ALLOW_LIST", "ADDITIONAL_REDIRECT_URLS"])?
            .unwrap_or(default.uri_allow_list),
        disable_signup: reader.get("", &["GOTRUE_DISABLE_SIGNUP", "DISABLE_SIGNUP"])?.unwrap_or(!signup),
        request_timeout: gotrue(reader, "", "API_MAX_REQUEST_DURATION", default.request_timeout)?,
        audit_log_disabled: gotrue(reader, "", "AUDIT_LOG_DISABLE_POSTGRES", default.audit_log_disabled)?,
        cleanup_enabled: gotrue(reader, "", "DB_CLEANUP_ENABLED", default.cleanup_enabled)?,
        cursor_pagination: gotrue(
            reader,
            "",
            "EXPERIMENTAL_CURSOR_PAGINATION_ENABLED",
            default.cursor_pagination,
        )?,
        scim_enabled: gotrue(reader, "", "EXPERIMENTAL_SCIM_ENABLED", default.scim_enabled)?,
        token: token(reader)?,
        sessions: sessions(reader)?,
        passwords: passwords::read(reader)?,
        sms: sms::read(reader)?,
        providers: providers::read(reader)?,
        mfa: factors::mfa(reader)?,
        webauthn: factors::webauthn(reader)?,
        passkeys: factors::passkeys(reader)?,
        saml: saml(reader)?,
        oauth_server: oauth_server(reader)?,
        hooks: hooks::read(reader)?,
        security: security::read(reader)?,
        encryption: security::encryption(reader)?,
        limits: limits::read(reader, mail.smtp.is_some())?,
        mail,
    };
    if settings.mail.autoconfirm && settings.mail.allow_unverified_sign_ins {
        let name = "GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS";
        return Err(Invalid::new(name, "false where mail addresses need no confirmation", &true));
    }
    Ok(settings)
}

/// The value of `GOTRUE_` and `name`, else of `key` in `config.toml`, else `default`.
fn gotrue<T: Value>(reader: &mut Reader<'_>, key: &str, name: &str, default: T) -> Result<T, Invalid> {
    Ok(optional(reader, key, name)?.unwrap_or(default))
}

/// As [`gotrue`]; `None` where neither is set.
fn optional<T: Value>(reader: &mut Reader<'_>, key: &str, name: &str) -> Result<Option<T>, Invalid> {
    reader.get(key, &[&format!("GOTRUE_{name}")])
}

/// A text that must not get into logs; empty where it is not set.
fn secret(reader: &mut Reader<'_>, key: &str, name: &str) -> Result<Secret, Invalid> {
    Ok(Secret::from(gotrue(reader, key, name, String::new())?))
}

/// The number of digits of a code. Upstream takes six for what is not from six to ten; here that is a mistake.
fn otp_length(reader: &mut Reader<'_>, key: &str, name: &str, default: usize) -> Result<usize, Invalid> {
    let length = gotrue(reader, key, name, default)?;
    if !(6..=10).contains(&length) {
        return Err(Invalid::new(&format!("GOTRUE_{name}"), "a number of digits from 6 to 10", &length));
    }
    Ok(length)
}

fn token(reader: &mut Reader<'_>) -> Result<TokenSettings, Invalid> {
    let default = TokenSettings::default();
    Ok(TokenSettings {
        issuer: optional(reader, "auth.jwt_issuer", "JWT_ISSUER")?,
        expiry: reader.get("auth.jwt_expiry", &["GOTRUE_JWT_EXP", "JWT_EXPIRY"])?.unwrap_or(default.expiry),
        audience: gotrue(reader, "", "JWT_AUD", default.audience)?,
        default_role: gotrue(reader, "", "JWT_DEFAULT_GROUP_NAME", default.default_role)?,
        methods: gotrue(reader, "", "JWT_VALID_METHODS", default.methods)?,
        admin_roles: gotrue(reader, "", "JWT_ADMIN_ROLES", default.admin_roles)?,
    })
}

fn sessions(reader: &mut Reader<'_>) -> Result<SessionSettings, Invalid> {
    // The CLI's template has no limits; zero stands for none.
    let limit = |span: Option<Duration>| span.filter(|span| !span.is_zero());
    let inactivity = optional(reader, "auth.sessions.inactivity_timeout", "SESSIONS_INACTIVITY_TIMEOUT")?;
    Ok(SessionSettings {
        timebox: limit(optional(reader, "auth.sessions.timebox", "SESSIONS_TIMEBOX")?),
        inactivity_timeout: limit(inactivity),
        allow_low_aal: limit(optional(reader, "", "SESSIONS_ALLOW_LOW_AAL")?),
        single_per_user: gotrue(reader, "", "SESSIONS_SINGLE_PER_USER", false)?,
        tags: gotrue(reader, "", "SESSIONS_TAGS", Vec::new())?,
    })
}

fn saml(reader: &mut Reader<'_>) -> Result<SamlSettings, Invalid> {
    let default = SamlSettings::default();
    let saml = SamlSettings {
        enabled: gotrue(reader, "", "SAML_ENABLED", default.enabled)?,
        private_key: secret(reader, "", "SAML_PRIVATE_KEY")?,
        private_key_next: secret(reader, "", "SAML_PRIVATE_KEY_NEXT")?,
        external_url: optional(reader, "", "SAML_EXTERNAL_URL")?,
        allow_encrypted_assertions: gotrue(
            reader,
            "",
            "SAML_ALLOW_ENCRYPTED_ASSERTIONS",
            default.allow_encrypted_assertions,
        )?,
        relay_state_validity: gotrue(
            reader,
            "",
            "SAML_RELAY_STATE_VALIDITY_PERIOD",
            default.relay_state_validity,
        )?,
        private_addresses: gotrue(reader, "", "SAML_ALLOW_PRIVATE_ADDRESSES", default.private_addresses)?,
    };
    if saml.enabled && saml.private_key.is_empty() {
        let expected = "an RSA key of at least 2048 bits (PKCS#1 DER in base64) where SAML is enabled";
        return Err(Invalid::new("GOTRUE_SAML_PRIVATE_KEY", expected, &"none"));
    }
    Ok(saml)
}

fn oauth_server(reader: &mut Reader<'_>) -> Result<OauthServerSettings, Invalid> {
    let default = OauthServerSettings::default();
    let authorization_ttl = gotrue(reader, "", "OAUTH_SERVER_AUTHORIZATION_TTL", default.authorization_ttl)?;
    if authorization_ttl.is_zero() {
        let name = "GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL";
        return Err(Invalid::new(name, "a duration such as 10m", &"0"));
    }
    Ok(OauthServerSettings {
        enabled: gotrue(reader, "auth.oauth_server.enabled", "OAUTH_SERVER_ENABLED", default.enabled)?,
        allow_dynamic_registration: gotrue(
            reader,
            "auth.oauth_server.allow_dynamic_registration",
            "OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION",
            default.allow_dynamic_registration,
        )?,
        authorization_path: gotrue(
            reader,
            "auth.oauth_server.authorization_url_path",
            "OAUTH_SERVER_AUTHORIZATION_PATH",
            default.authorization_path,
        )?,
        authorization_ttl,
        default_scope: gotrue(reader, "", "OAUTH_SERVER_DEFAULT_SCOPE", default.default_scope)?,
    })
}
