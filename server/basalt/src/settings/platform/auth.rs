//! The settings of auth by their names in the platform interface, which are those of GoTrue's variables in lower case
//! and without the prefix.

use ::auth::{HookName, MailKind, Rate, Settings};
use ::platform::{Field, Form};
use serde_json::{Value, json};
use settings::{Invalid, Reader, Secret};

/// The OAuth providers that the platform interface knows.
const PROVIDERS: [&str; 21] = [
    "apple",
    "azure",
    "bitbucket",
    "discord",
    "facebook",
    "figma",
    "github",
    "gitlab",
    "google",
    "kakao",
    "keycloak",
    "linkedin_oidc",
    "notion",
    "slack",
    "slack_oidc",
    "spotify",
    "twitch",
    "twitter",
    "workos",
    "x",
    "zoom",
];

/// The accounts at senders of text messages: the table, the part of the name, and whether it is a secret.
const ACCOUNTS: [(&str, &str, bool); 14] = [
    ("messagebird", "access_key", true),
    ("messagebird", "originator", false),
    ("textlocal", "api_key", true),
    ("textlocal", "sender", false),
    ("twilio", "account_sid", false),
    ("twilio", "auth_token", true),
    ("twilio", "content_sid", false),
    ("twilio", "message_service_sid", false),
    ("twilio_verify", "account_sid", false),
    ("twilio_verify", "auth_token", true),
    ("twilio_verify", "message_service_sid", false),
    ("vonage", "api_key", false),
    ("vonage", "api_secret", true),
    ("vonage", "from", false),
];

/// Returns all of them.
///
/// Errors: those of the reader.
pub(super) fn fields(reader: &mut Reader<'_>, settings: &Settings) -> Result<Vec<Field>, Invalid> {
    let mut fields =
        [ways_to_sign_in(settings), codes(settings), factors(settings), sessions(settings)].concat();
    let mut written = Written { reader, fields: Vec::new() };
    written.mail_server(settings)?;
    written.mails()?;
    written.text_messages()?;
    written.providers()?;
    written.hooks()?;
    written.captcha()?;
    fields.append(&mut written.fields);
    Ok(fields)
}

fn ways_to_sign_in(settings: &Settings) -> Vec<Field> {
    use Form::{Address, Flag, List, Number, Text};
    let (providers, passwords) = (&settings.providers, &settings.passwords);
    let saml = &settings.saml;
    let required = settings::Value::show(&passwords.required_characters).unwrap_or_default();
    let (oauth, webauthn) = (&settings.oauth_server, &settings.webauthn);
    rows([
        ("site_url", "auth.site_url", Address, json!(settings.site_url)),
        ("uri_allow_list", "auth.additional_redirect_urls", List, json!(settings.uri_allow_list.join(","))),
        ("disable_signup", "GOTRUE_DISABLE_SIGNUP", Flag, json!(settings.disable_signup)),
        ("external_email_enabled", "auth.email.enabled", Flag, json!(providers.email)),
        ("external_phone_enabled", "auth.sms.enabled", Flag, json!(providers.phone)),
        (
            "external_anonymous_users_enabled",
            "auth.enable_anonymous_sign_ins",
            Flag,
            json!(providers.anonymous_users),
        ),
        ("external_web3_solana_enabled", "auth.web3.solana.enabled", Flag, json!(providers.solana.enabled)),
        (
            "external_web3_ethereum_enabled",
            "auth.web3.ethereum.enabled",
            Flag,
            json!(providers.ethereum.enabled),
        ),
        ("custom_oauth_enabled", "GOTRUE_CUSTOM_OAUTH_ENABLED", Flag, json!(providers.custom_oauth)),
        (
            "custom_oauth_max_providers",
            "GOTRUE_CUSTOM_OAUTH_MAX_PROVIDERS",
            Number,
            json!(providers.custom_oauth_max),
        ),
        ("password_min_length", "auth.minimum_password_length", Number, json!(passwords.min_length)),
        ("password_required_characters", "auth.password_requirements", Text, json!(required)),
        ("password_hibp_enabled", "GOTRUE_PASSWORD_HIBP_ENABLED", Flag, json!(passwords.leaked_check)),
        ("saml_enabled", "GOTRUE_SAML_ENABLED", Flag, json!(saml.enabled)),
        ("saml_external_url", "GOTRUE_SAML_EXTERNAL_URL", Text, json!(saml.external_url)),
        (
            "saml_allow_encrypted_assertions",
            "GOTRUE_SAML_ALLOW_ENCRYPTED_ASSERTIONS",
            Flag,
            json!(saml.allow_encrypted_assertions),
        ),
        ("passkey_enabled", "auth.passkey.enabled", Flag, json!(settings.passkeys.enabled)),
        ("webauthn_rp_id", "auth.webauthn.rp_id", Text, json!(webauthn.rp_id)),
        ("webauthn_rp_display_name", "auth.webauthn.rp_display_name", Text, json!(webauthn.rp_display_name)),
        ("webauthn_rp_origins", "auth.webauthn.rp_origins", List, listed(&webauthn.rp_origins)),
        ("oauth_server_enabled", "auth.oauth_server.enabled", Flag, json!(oauth.enabled)),
        (
            "oauth_server_allow_dynamic_registration",
            "auth.oauth_server.allow_dynamic_registration",
            Flag,
            json!(oauth.allow_dynamic_registration),
        ),
        (
            "oauth_server_authorization_path",
            "auth.oauth_server.authorization_url_path",
            Text,
            json!(oauth.authorization_path),
        ),
    ])
}

/// Mails and text messages with codes.
fn codes(settings: &Settings) -> Vec<Field> {
    use Form::{Codes, Flag, Number, Text};
    let (mail, sms) = (&settings.mail, &settings.sms);
    let tests: Vec<String> = sms.test_otps.iter().map(|(phone, code)| format!("{phone}={code}")).collect();
    rows([
        ("mailer_autoconfirm", "GOTRUE_MAILER_AUTOCONFIRM", Flag, json!(mail.autoconfirm)),
        (
            "mailer_secure_email_change_enabled",
            "auth.email.double_confirm_changes",
            Flag,
            json!(mail.secure_email_change),
        ),
        (
            "mailer_allow_unverified_email_sign_ins",
            "GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS",
            Flag,
            json!(mail.allow_unverified_sign_ins),
        ),
        ("mailer_otp_exp", "auth.email.otp_expiry", Number, json!(mail.otp_expiry.as_secs())),
        ("mailer_otp_length", "auth.email.otp_length", Number, json!(mail.otp_length)),
        ("smtp_max_frequency", "auth.email.max_frequency", Number, json!(mail.max_frequency.as_secs())),
        ("sms_provider", "GOTRUE_SMS_PROVIDER", Text, json!(sms.provider.as_ref().map(|one| one.name()))),
        ("sms_autoconfirm", "GOTRUE_SMS_AUTOCONFIRM", Flag, json!(sms.autoconfirm)),
        ("sms_max_frequency", "auth.sms.max_frequency", Number, json!(sms.max_frequency.as_secs())),
        ("sms_otp_exp", "GOTRUE_SMS_OTP_EXP", Number, json!(sms.otp_expiry.as_secs())),
        ("sms_otp_length", "GOTRUE_SMS_OTP_LENGTH", Number, json!(sms.otp_length)),
        ("sms_template", "auth.sms.template", Text, json!(sms.template)),
        ("sms_test_otp", "auth.sms.test_otp", Codes, listed(&tests)),
    ])
}

fn factors(settings: &Settings) -> Vec<Field> {
    use Form::{Flag, Number, Text};
    let mfa = &settings.mfa;
    rows([
        (
            "mfa_max_enrolled_factors",
            "auth.mfa.max_enrolled_factors",
            Number,
            json!(mfa.max_enrolled_factors),
        ),
        ("mfa_totp_enroll_enabled", "auth.mfa.totp.enroll_enabled", Flag, json!(mfa.totp.enroll)),
        ("mfa_totp_verify_enabled", "auth.mfa.totp.verify_enabled", Flag, json!(mfa.totp.verify)),
        ("mfa_phone_enroll_enabled", "auth.mfa.phone.enroll_enabled", Flag, json!(mfa.phone.enabled.enroll)),
        ("mfa_phone_verify_enabled", "auth.mfa.phone.verify_enabled", Flag, json!(mfa.phone.enabled.verify)),
        ("mfa_phone_otp_length", "auth.mfa.phone.otp_length", Number, json!(mfa.phone.otp_length)),
        (
            "mfa_phone_max_frequency",
            "auth.mfa.phone.max_frequency",
            Number,
            json!(mfa.phone.max_frequency.as_secs()),
        ),
        ("mfa_phone_template", "auth.mfa.phone.template", Text, json!(mfa.phone.template)),
        (
            "mfa_web_authn_enroll_enabled",
            "auth.mfa.web_authn.enroll_enabled",
            Flag,
            json!(mfa.webauthn.enroll),
        ),
        (
            "mfa_web_authn_verify_enabled",
            "auth.mfa.web_authn.verify_enabled",
            Flag,
            json!(mfa.webauthn.verify),
        ),
    ])
}

/// Sessions, tokens and limits.
fn sessions(settings: &Settings) -> Vec<Field> {
    use Form::{Flag, Hours, List, Number};
    let (sessions, security, limits) = (&settings.sessions, &settings.security, &settings.limits);
    let hours =
        |time: Option<std::time::Duration>| json!(time.map_or(0.0, |time| time.as_secs_f64() / 3600.0));
    rows([
        ("jwt_exp", "auth.jwt_expiry", Number, json!(settings.token.expiry.as_secs())),
        (
            "refresh_token_rotation_enabled",
            "auth.enable_refresh_token_rotation",
            Flag,
            json!(security.refresh_token_rotation),
        ),
        (
            "security_refresh_token_reuse_interval",
            "auth.refresh_token_reuse_interval",
            Number,
            json!(security.refresh_token_reuse_interval.as_secs()),
        ),
        (
            "security_update_password_require_reauthentication",
            "auth.email.secure_password_change",
            Flag,
            json!(security.password_change_requires_reauthentication),
        ),
        (
            "security_update_password_require_current_password",
            "auth.email.require_current_password",
            Flag,
            json!(security.password_change_requires_current),
        ),
        (
            "security_manual_linking_enabled",
            "auth.enable_manual_linking",
            Flag,
            json!(security.manual_linking),
        ),
        (
            "security_sb_forwarded_for_enabled",
            "GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED",
            Flag,
            json!(security.sb_forwarded_for),
        ),
        ("sessions_timebox", "auth.sessions.timebox", Hours, hours(sessions.timebox)),
        (
            "sessions_inactivity_timeout",
            "auth.sessions.inactivity_timeout",
            Hours,
            hours(sessions.inactivity_timeout),
        ),
        (
            "sessions_single_per_user",
            "GOTRUE_SESSIONS_SINGLE_PER_USER",
            Flag,
            json!(sessions.single_per_user),
        ),
        ("sessions_tags", "GOTRUE_SESSIONS_TAGS", List, listed(&sessions.tags)),
        (
            "rate_limit_anonymous_users",
            "auth.rate_limit.anonymous_users",
            Number,
            json!(limits.anonymous_users),
        ),
        ("rate_limit_sms_sent", "auth.rate_limit.sms_sent", Number, json!(limits.text_messages.events)),
        ("rate_limit_otp", "auth.rate_limit.sign_in_sign_ups", Number, json!(limits.otp)),
        ("rate_limit_verify", "auth.rate_limit.token_verifications", Number, json!(limits.verify)),
        ("rate_limit_token_refresh", "auth.rate_limit.token_refresh", Number, json!(limits.token)),
        ("rate_limit_web3", "auth.rate_limit.web3", Number, json!(limits.web3)),
    ])
}

fn rows<const N: usize>(rows: [(&str, &str, Form, Value); N]) -> Vec<Field> {
    rows.into_iter().map(|(name, setting, form, value)| Field::new(name, setting, form, value)).collect()
}

fn listed(items: &[String]) -> Value {
    if items.is_empty() { Value::Null } else { json!(items.join(",")) }
}

/// Settings that count only together with others, such as the credentials of a provider. They are shown as they are
/// written, also while the others switch them off.
struct Written<'r, 'a> {
    reader: &'r mut Reader<'a>,
    fields: Vec<Field>,
}

impl Written<'_, '_> {
    /// Adds the field `name`, whose setting has the key `key`. `default` is its value if it is not set.
    fn add(&mut self, name: &str, key: &str, form: Form, default: Value) -> Result<(), Invalid> {
        let variable = format!("GOTRUE_{}", name.to_ascii_uppercase());
        let names = &[variable.as_str()];
        let field = match form {
            Form::Secret => {
                let secret: Option<Secret> = self.reader.get(key, names)?;
                Field::secret(name, key, secret.filter(|secret| !secret.is_empty()))
            }
            _ => {
                let value = match form {
                    Form::Flag => self.reader.get::<bool>(key, names)?.map(|value| json!(value)),
                    Form::Number => self.reader.get::<f64>(key, names)?.map(|value| json!(value)),
                    Form::List => self.reader.get::<Vec<String>>(key, names)?.map(|items| listed(&items)),
                    _ => self.reader.get::<String>(key, names)?.map(|value| json!(value)),
                };
                Field::new(name, key, form, value.unwrap_or(default))
            }
        };
        self.fields.push(field);
        Ok(())
    }

    /// Adds those of the mail server, if there is one.
    fn mail_server(&mut self, settings: &Settings) -> Result<(), Invalid> {
        let smtp = settings.mail.smtp.as_ref();
        let text = |text: Option<&String>| json!(text.filter(|text| !text.is_empty()));
        let port = smtp.map(|smtp| smtp.port.to_string());
        let key = |part: &str| format!("auth.email.smtp.{part}");
        self.fields.extend([
            Field::new("smtp_host", key("host"), Form::MailServer, text(smtp.map(|smtp| &smtp.host))),
            Field::new("smtp_port", key("port"), Form::Text, json!(port)),
            Field::new("smtp_user", key("user"), Form::Text, text(smtp.map(|smtp| &smtp.user))),
            Field::secret(
                "smtp_pass",
                key("pass"),
                smtp.map(|smtp| smtp.password.clone()).filter(|password| !password.is_empty()),
            ),
            Field::new(
                "smtp_admin_email",
                key("admin_email"),
                Form::Text,
                text(smtp.map(|smtp| &smtp.admin_email)),
            ),
            Field::new(
                "smtp_sender_name",
                key("sender_name"),
                Form::Text,
                text(smtp.map(|smtp| &smtp.sender_name)),
            ),
        ]);
        // Without a mail server the limit is another one.
        let (key, variable) = ("auth.rate_limit.email_sent", "GOTRUE_RATE_LIMIT_EMAIL_SENT");
        let limit: Option<Rate> = self.reader.get(key, &[variable])?;
        let events = limit.map_or(30.0, |limit| limit.events);
        self.fields.push(Field::new("rate_limit_email_sent", key, Form::Number, json!(events)));
        Ok(())
    }

    fn mails(&mut self) -> Result<(), Invalid> {
        for kind in MailKind::ALL {
            let (name, is_notification) = (kind.name(), kind.is_notification());
            let (table, end) =
                if is_notification { ("notification", "_notification") } else { ("template", "") };
            let key = |part: &str| format!("auth.email.{table}.{name}.{part}");
            self.add(&format!("mailer_subjects_{name}{end}"), &key("subject"), Form::Text, Value::Null)?;
            // No variable has the text itself.
            let content: Option<String> = self.reader.get(&key("content"), &[])?;
            let field = format!("mailer_templates_{name}{end}_content");
            self.fields.push(Field::new(field, key("content"), Form::Text, json!(content)));
            if is_notification {
                let field = format!("mailer_notifications_{name}_enabled");
                self.add(&field, &key("enabled"), Form::Flag, json!(false))?;
            }
        }
        Ok(())
    }

    fn text_messages(&mut self) -> Result<(), Invalid> {
        for (table, part, is_secret) in ACCOUNTS {
            let form = if is_secret { Form::Secret } else { Form::Text };
            self.add(&format!("sms_{table}_{part}"), &format!("auth.sms.{table}.{part}"), form, Value::Null)?;
        }
        let (name, variable) = ("sms_test_otp_valid_until", "GOTRUE_SMS_TEST_OTP_VALID_UNTIL");
        let value: Option<String> = self.reader.get("", &[variable])?;
        self.fields.push(Field::new(name, variable, Form::Text, json!(value)));
        Ok(())
    }

    fn providers(&mut self) -> Result<(), Invalid> {
        for provider in PROVIDERS {
            for (part, form, default) in [
                ("enabled", Form::Flag, json!(false)),
                ("client_id", Form::List, Value::Null),
                ("secret", Form::Secret, Value::Null),
                ("url", Form::Url, Value::Null),
                ("skip_nonce_check", Form::Flag, Value::Null),
                ("email_optional", Form::Flag, json!(false)),
            ] {
                let key = format!("auth.external.{provider}.{part}");
                self.add(&format!("external_{provider}_{part}"), &key, form, default)?;
            }
        }
        Ok(())
    }

    fn hooks(&mut self) -> Result<(), Invalid> {
        for hook in HookName::ALL.map(HookName::name) {
            for (part, form, default) in [
                ("enabled", Form::Flag, json!(false)),
                ("uri", Form::Hook, Value::Null),
                ("secrets", Form::Secret, Value::Null),
            ] {
                self.add(&format!("hook_{hook}_{part}"), &format!("auth.hook.{hook}.{part}"), form, default)?;
            }
        }
        Ok(())
    }

    fn captcha(&mut self) -> Result<(), Invalid> {
        self.add("security_captcha_enabled", "auth.captcha.enabled", Form::Flag, json!(false))?;
        self.add("security_captcha_provider", "auth.captcha.provider", Form::Text, Value::Null)?;
        self.add("security_captcha_secret", "auth.captcha.secret", Form::Secret, Value::Null)
    }
}
