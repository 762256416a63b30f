//! Settings of the auth service: `[auth]` of `config.toml` and the variables `GOTRUE_*`.

use std::time::Duration;

use auth::{
    MailSettings, PasswordSettings, ProviderSettings, SecuritySettings, SessionSettings, Settings,
    SmsSettings, TokenSettings,
};

use super::{Invalid, Reader};

/// Reads them. `api_url` is where clients reach the API.
pub(super) fn read(reader: &mut Reader<'_>, api_url: &str) -> Result<Settings, Invalid> {
    let default = Settings::default();
    let has_config = reader.has_config();
    let external_url: Option<String> = reader.get("auth.external_url", &["GOTRUE_API_EXTERNAL_URL"])?;
    let signup: bool = reader.get("auth.enable_signup", &[])?.unwrap_or(true);
    let confirmations: Option<bool> = reader.get("auth.email.enable_confirmations", &[])?;
    let phone_confirmations: Option<bool> = reader.get("auth.sms.enable_confirmations", &[])?;
    // Where a config.toml says nothing, the CLI's template does: no confirmations. Without a file upstream's
    // defaults hold.
    let autoconfirm = |confirmations: Option<bool>, default: bool| match confirmations {
        Some(confirmations) => !confirmations,
        None => has_config || default,
    };
    Ok(Settings {
        external_url: external_url.unwrap_or_else(|| format!("{api_url}/auth/v1")),
        site_url: reader.get("auth.site_url", &["GOTRUE_SITE_URL", "SITE_URL"])?.unwrap_or(default.site_url),
        uri_allow_list: reader
            .get("auth.additional_redirect_urls", &["GOTRUE_URI_ALLOW_LIST", "ADDITIONAL_REDIRECT_URLS"])?
            .unwrap_or(default.uri_allow_list),
        disable_signup: reader.get("", &["GOTRUE_DISABLE_SIGNUP", "DISABLE_SIGNUP"])?.unwrap_or(!signup),
        request_timeout: reader
            .get("", &["GOTRUE_API_MAX_REQUEST_DURATION"])?
            .unwrap_or(default.request_timeout),
        audit_log_disabled: reader
            .get("", &["GOTRUE_AUDIT_LOG_DISABLE_POSTGRES"])?
            .unwrap_or(default.audit_log_disabled),
        token: token(reader)?,
        sessions: sessions(reader)?,
        passwords: passwords(reader)?,
        mail: MailSettings {
            autoconfirm: reader
                .get("", &["GOTRUE_MAILER_AUTOCONFIRM", "ENABLE_EMAIL_AUTOCONFIRM"])?
                .unwrap_or_else(|| autoconfirm(confirmations, default.mail.autoconfirm)),
            ..default.mail
        },
        sms: SmsSettings {
            autoconfirm: reader
                .get("", &["GOTRUE_SMS_AUTOCONFIRM", "ENABLE_PHONE_AUTOCONFIRM"])?
                .unwrap_or_else(|| autoconfirm(phone_confirmations, default.sms.autoconfirm)),
            ..default.sms
        },
        providers: providers(reader)?,
        security: security(reader)?,
        ..default
    })
}

fn token(reader: &mut Reader<'_>) -> Result<TokenSettings, Invalid> {
    let default = TokenSettings::default();
    Ok(TokenSettings {
        issuer: reader.get("auth.jwt_issuer", &["GOTRUE_JWT_ISSUER"])?,
        expiry: reader.get("auth.jwt_expiry", &["GOTRUE_JWT_EXP", "JWT_EXPIRY"])?.unwrap_or(default.expiry),
        audience: reader.get("", &["GOTRUE_JWT_AUD"])?.unwrap_or(default.audience),
        default_role: reader.get("", &["GOTRUE_JWT_DEFAULT_GROUP_NAME"])?.unwrap_or(default.default_role),
        admin_roles: reader.get("", &["GOTRUE_JWT_ADMIN_ROLES"])?.unwrap_or(default.admin_roles),
    })
}

fn providers(reader: &mut Reader<'_>) -> Result<ProviderSettings, Invalid> {
    let default = ProviderSettings::default();
    Ok(ProviderSettings {
        email: reader
            .get("auth.email.enable_signup", &["GOTRUE_EXTERNAL_EMAIL_ENABLED", "ENABLE_EMAIL_SIGNUP"])?
            .unwrap_or(default.email),
        phone: reader
            .get("auth.sms.enable_signup", &["GOTRUE_EXTERNAL_PHONE_ENABLED", "ENABLE_PHONE_SIGNUP"])?
            .unwrap_or(default.phone),
        anonymous_users: reader
            .get(
                "auth.enable_anonymous_sign_ins",
                &["GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED", "ENABLE_ANONYMOUS_USERS"],
            )?
            .unwrap_or(default.anonymous_users),
        ..default
    })
}

fn security(reader: &mut Reader<'_>) -> Result<SecuritySettings, Invalid> {
    let default = SecuritySettings::default();
    Ok(SecuritySettings {
        refresh_token_rotation: reader
            .get("auth.enable_refresh_token_rotation", &["GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED"])?
            .unwrap_or(default.refresh_token_rotation),
        refresh_token_reuse_interval: reader
            .get("auth.refresh_token_reuse_interval", &["GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL"])?
            .unwrap_or(default.refresh_token_reuse_interval),
        ..default
    })
}

fn sessions(reader: &mut Reader<'_>) -> Result<SessionSettings, Invalid> {
    // The CLI's template has no limits; zero stands for none.
    let limit = |span: Option<Duration>| span.filter(|span| !span.is_zero());
    Ok(SessionSettings {
        timebox: limit(reader.get("auth.sessions.timebox", &["GOTRUE_SESSIONS_TIMEBOX"])?),
        inactivity_timeout: limit(
            reader.get("auth.sessions.inactivity_timeout", &["GOTRUE_SESSIONS_INACTIVITY_TIMEOUT"])?,
        ),
        allow_low_aal: limit(reader.get("", &["GOTRUE_SESSIONS_ALLOW_LOW_AAL"])?),
        single_per_user: reader.get("", &["GOTRUE_SESSIONS_SINGLE_PER_USER"])?.unwrap_or(false),
        tags: reader.get("", &["GOTRUE_SESSIONS_TAGS"])?.unwrap_or_default(),
    })
}

fn passwords(reader: &mut Reader<'_>) -> Result<PasswordSettings, Invalid> {
    let default = PasswordSettings::default();
    let key = "auth.minimum_password_length";
    let min_length = reader.get(key, &["GOTRUE_PASSWORD_MIN_LENGTH"])?.unwrap_or(default.min_length);
    if min_length < 6 {
        return Err(Invalid::new(key, "at least 6", &min_length));
    }
    let required: Option<String> = reader.get("", &["GOTRUE_PASSWORD_REQUIRED_CHARACTERS"])?;
    let sets = match required {
        // Sets are separated by colons; a colon within a set is escaped.
        Some(text) => split_sets(&text),
        None => {
            let name: String = reader.get("auth.password_requirements", &[])?.unwrap_or_default();
            requirements(&name)?
        }
    };
    Ok(PasswordSettings { min_length, required_characters: sets, ..default })
}

fn split_sets(text: &str) -> Vec<String> {
    let sets = text.replace("\\:", "\0");
    sets.split(':').filter(|set| !set.is_empty()).map(|set| set.replace('\0', ":")).collect()
}

/// What the CLI's names for requirements stand for.
fn requirements(name: &str) -> Result<Vec<String>, Invalid> {
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const DIGITS: &str = "0123456789";
    const SYMBOLS: &str = "!@#$%^&*()_+-=[]{};'\\:\"|<>?,./`~";
    let letters = [LOWER, UPPER].concat();
    let sets: &[&str] = match name {
        "" => &[],
        "letters_digits" => &[&letters, DIGITS],
        "lower_upper_letters_digits" => &[LOWER, UPPER, DIGITS],
        "lower_upper_letters_digits_symbols" => &[LOWER, UPPER, DIGITS, SYMBOLS],
        other => {
            let expected = "letters_digits, lower_upper_letters_digits or lower_upper_letters_digits_symbols";
            return Err(Invalid::new("auth.password_requirements", expected, &format!("{other:?}")));
        }
    };
    Ok(sets.iter().map(|set| (*set).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_characters_are_split_at_plain_colons() {
        assert_eq!(split_sets("abc:123:a\\:b"), ["abc", "123", "a:b"]);
    }

    #[test]
    fn requirements_have_names() {
        assert_eq!(requirements("lower_upper_letters_digits").unwrap().len(), 3);
        assert!(requirements("strong").unwrap_err().to_string().contains("letters_digits"));
    }
}
