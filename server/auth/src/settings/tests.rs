//! What an operator writes about sign-in and what comes of it.

use ::settings::{Environment, Invalid, Reader};

use super::*;

/// Reads the settings, and the keys, which belong to `tokens`.
fn apply(reader: &mut Reader<'_>) -> Result<Settings, Invalid> {
    let files = |path: &Path| vec![path.to_owned()];
    let context = SettingsContext { mails: Some(PathBuf::from("mail")), files: &files };
    reader.apply(&mut tokens::KeyOverrides::default())?;
    Settings::read(reader, &context)
}

/// Reads the settings; returns them and the warnings.
fn all(config: &str, variables: &[(&str, &str)]) -> Result<(Settings, Vec<String>), Invalid> {
    let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let (environment, config) = (Environment::from_pairs(pairs), config.parse().unwrap());
    let mut reader = Reader::new(&environment, &config, &[KNOWN_KEYS]);
    let settings = apply(&mut reader)?;
    Ok((settings, reader.finish()))
}

/// Reads the settings, of which nothing may be unknown.
fn read(config: &str, variables: &[(&str, &str)]) -> Settings {
    let (settings, warnings) = all(config, variables).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    settings
}

fn refusal(config: &str, variables: &[(&str, &str)]) -> String {
    all(config, variables).unwrap_err().to_string()
}

/// Every name of upstream's configuration (`internal/conf` of Supabase Auth, as its splitting of words makes them).
const UPSTREAMS: &str = include_str!("upstream_names.txt");

#[test]
fn every_name_of_upstreams_configuration_is_known() {
    let (environment, config) = (Environment::default(), toml::Table::new());
    let mut reader = Reader::new(&environment, &config, &[KNOWN_KEYS]);
    apply(&mut reader).unwrap();
    let unknown: Vec<&str> = UPSTREAMS.lines().filter(|name| !reader.knows(name)).collect();
    assert_eq!(unknown, [""; 0]);
    assert!(UPSTREAMS.lines().count() > 450, "the list is whole");
}

#[test]
fn an_env_of_supabases_compose_file_is_understood() {
    let settings = read(
        "",
        &[
            ("SITE_URL", "https://row.example"),
            ("ADDITIONAL_REDIRECT_URLS", "https://a.example/**,https://b.example"),
            ("JWT_EXPIRY", "600"),
            ("DISABLE_SIGNUP", "true"),
            ("MAILER_URLPATHS_CONFIRMATION", "/auth/v1/verify"),
            ("ENABLE_EMAIL_SIGNUP", "true"),
            ("ENABLE_EMAIL_AUTOCONFIRM", "false"),
            ("SMTP_ADMIN_EMAIL", "admin@row.example"),
            ("SMTP_HOST", "supabase-mail"),
            ("SMTP_PORT", "2500"),
            ("SMTP_USER", "fake_mail_user"),
            ("SMTP_PASS", "fake_mail_password"),
            ("SMTP_SENDER_NAME", "fake_sender"),
            ("ENABLE_ANONYMOUS_USERS", "true"),
            ("ENABLE_PHONE_SIGNUP", "true"),
            ("ENABLE_PHONE_AUTOCONFIRM", "true"),
        ],
    );
    let smtp = settings.mail.smtp.as_ref().unwrap();
    assert_eq!(
        (smtp.host.as_str(), smtp.port, smtp.user.as_str()),
        ("supabase-mail", 2500, "fake_mail_user")
    );
    assert_eq!(settings.mail.url_paths[&MailKind::Confirmation], "/auth/v1/verify");
    assert_eq!(settings.uri_allow_list.len(), 2);
    assert!(settings.disable_signup && !settings.mail.autoconfirm && settings.sms.autoconfirm);
    assert!(settings.providers.phone && settings.providers.anonymous_users);
    assert_eq!(settings.token.expiry, Duration::from_secs(600));
    assert!(!format!("{settings:?}").contains("fake_mail_password"));
}

#[test]
fn upstreams_variables_of_every_area_are_understood() {
    let settings = read(
        "",
        &[
            ("GOTRUE_SMTP_MAX_FREQUENCY", "5s"),
            ("GOTRUE_MAILER_OTP_EXP", "3600"),
            ("GOTRUE_MAILER_OTP_LENGTH", "8"),
            ("GOTRUE_MAILER_SUBJECTS_INVITE", "Join us"),
            ("GOTRUE_MAILER_TEMPLATES_PASSWORD_CHANGED_NOTIFICATION", "/mails/changed.html"),
            ("GOTRUE_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED", "true"),
            ("GOTRUE_SMS_PROVIDER", "vonage"),
            ("GOTRUE_SMS_VONAGE_API_KEY", "k"),
            ("GOTRUE_SMS_VONAGE_API_SECRET", "hunter2"),
            ("GOTRUE_SMS_VONAGE_FROM", "Row"),
            ("GOTRUE_SMS_TEST_OTP", "+49 15:123456"),
            ("GOTRUE_SMS_TEST_OTP_VALID_UNTIL", "2030-01-31T12:00:00Z"),
            ("GOTRUE_HOOK_SEND_SMS_ENABLED", "true"),
            ("GOTRUE_HOOK_SEND_SMS_URI", "https://example.org/sms"),
            ("GOTRUE_HOOK_SEND_SMS_SECRETS", "v1,whsec_YQ==|v1,whsec_Yg=="),
            ("GOTRUE_EXTERNAL_GITHUB_ENABLED", "true"),
            ("GOTRUE_EXTERNAL_GITHUB_CLIENT_ID", "id"),
            ("GOTRUE_EXTERNAL_GITHUB_SECRET", "hunter2"),
            ("GOTRUE_EXTERNAL_WEB3_SOLANA_ENABLED", "true"),
            ("GOTRUE_EXPERIMENTAL_PROVIDER_LINKING_DOMAINS", "custom:a=social, google=social"),
            ("GOTRUE_SECURITY_CAPTCHA_ENABLED", "true"),
            ("GOTRUE_SECURITY_CAPTCHA_PROVIDER", "turnstile"),
            ("GOTRUE_SECURITY_CAPTCHA_SECRET", "hunter2"),
            ("GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION", "2"),
            ("GOTRUE_MFA_PHONE_ENROLL_ENABLED", "true"),
            ("GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION", "10"),
            ("GOTRUE_PASSKEY_ENABLED", "true"),
            ("GOTRUE_WEBAUTHN_RP_ORIGINS", "https://a.example,https://b.example"),
            ("GOTRUE_RATE_LIMIT_EMAIL_SENT", "10/6m"),
            ("GOTRUE_RATE_LIMIT_VERIFY", "7.5"),
            ("GOTRUE_PASSWORD_HIBP_ENABLED", "true"),
            ("GOTRUE_OAUTH_SERVER_ENABLED", "true"),
            ("GOTRUE_SESSIONS_TIMEBOX", "1.5h"),
            ("GOTRUE_DB_DRIVER", "postgres"),
            ("GOTRUE_API_HOST", "0.0.0.0"),
        ],
    );
    assert_eq!(settings.mail.max_frequency, Duration::from_secs(5));
    assert_eq!((settings.mail.otp_length, settings.mail.otp_expiry), (8, Duration::from_secs(3600)));
    assert_eq!(settings.mail.subjects[&MailKind::Invite], "Join us");
    assert_eq!(settings.mail.templates[&MailKind::PasswordChanged], "/mails/changed.html");
    assert!(settings.mail.notifications.contains(&MailKind::PasswordChanged));
    assert_eq!(settings.sms.provider.as_ref().unwrap().name(), "vonage");
    assert_eq!(settings.sms.test_otps["4915"], "123456");
    assert_eq!(settings.hooks.get(HookName::SendSms).unwrap().secrets.len(), 2);
    assert_eq!(settings.providers.oauth["github"].client_ids, ["id"]);
    assert!(settings.providers.solana.enabled && !settings.providers.ethereum.enabled);
    assert_eq!(settings.providers.linking_domains["custom:a"], "social");
    assert_eq!(settings.security.captcha.as_ref().unwrap().provider, CaptchaProvider::Turnstile);
    assert_eq!(settings.security.refresh_token_algorithm, 2);
    assert!(
        settings.mfa.phone.enabled.enroll && !settings.mfa.phone.enabled.verify && settings.mfa.totp.enroll
    );
    assert_eq!(settings.mfa.challenge_expiry, Duration::from_secs(300));
    assert!(settings.passkeys.enabled && settings.passwords.leaked_check && settings.oauth_server.enabled);
    assert_eq!(settings.limits.mails, Rate { events: 10.0, per: Some(Duration::from_secs(360)) });
    assert_eq!(settings.limits.verify.to_string(), "7.5");
    assert_eq!(settings.sessions.timebox, Some(Duration::from_secs(5400)));
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn a_config_toml_of_the_supabase_cli_is_understood() {
    let config = r#"
        project_id = "x"
        [auth]
        enable_manual_linking = true
        [auth.rate_limit]
        email_sent = 2
        sms_sent = 3
        sign_in_sign_ups = 4
        [auth.email]
        double_confirm_changes = false
        secure_password_change = true
        otp_length = 7
        [auth.email.smtp]
        enabled = true
        host = "smtp.example"
        port = 465
        user = "apikey"
        pass = "env(MAIL_KEY)"
        admin_email = "admin@row.example"
        sender_name = "Row"
        [auth.email.template.invite]
        subject = "You have been invited"
        [auth.sms]
        enabled = true
        [auth.sms.test_otp]
        4152127777 = "123456"
        [auth.sms.twilio]
        enabled = true
        account_sid = "AC"
        message_service_sid = "MG"
        auth_token = "env(MAIL_KEY)"
        [auth.hook.custom_access_token]
        enabled = true
        uri = "pg-functions://postgres/public/claims"
        [auth.mfa.totp]
        enroll_enabled = false
        [auth.external.google]
        enabled = true
        client_id = "a,b"
        secret = "env(MAIL_KEY)"
        skip_nonce_check = true
        [auth.web3.solana]
        enabled = true
        [auth.captcha]
        enabled = true
        provider = "hcaptcha"
        secret = "env(MAIL_KEY)"
        [auth.oauth_server]
        enabled = true
        authorization_url_path = "/consent"
    "#;
    let settings = read(config, &[("MAIL_KEY", "hunter2")]);
    let smtp = settings.mail.smtp.as_ref().unwrap();
    assert_eq!((smtp.port, smtp.password.expose()), (465, "hunter2"));
    assert!(!settings.mail.secure_email_change && settings.security.manual_linking);
    assert!(settings.security.password_change_requires_reauthentication && !settings.mfa.totp.enroll);
    assert_eq!(settings.mail.subjects[&MailKind::Invite], "You have been invited");
    assert_eq!(settings.sms.test_otps["4152127777"], "123456");
    assert_eq!(settings.sms.provider.as_ref().unwrap().name(), "twilio");
    assert_eq!(settings.providers.oauth["google"].client_ids, ["a", "b"]);
    assert!(settings.providers.oauth["google"].skip_nonce_check && settings.providers.solana.enabled);
    assert_eq!(settings.oauth_server.authorization_path, "/consent");
    assert_eq!(settings.limits.mails, Rate { events: 2.0, per: None });
    assert!(settings.hooks.get(HookName::CustomAccessToken).is_some());
    assert_eq!(
        (settings.mail.max_frequency, settings.sms.max_frequency),
        (Duration::from_secs(1), Duration::from_secs(5))
    );
}

#[test]
fn mails_kept_on_this_server_have_a_very_high_limit() {
    let mails = |config: &str, variables: &[(&str, &str)]| read(config, variables).limits.mails.events;
    assert!(mails("[auth.rate_limit]\nemail_sent = 2", &[]) > 10_000.0);
    assert!((mails("", &[("GOTRUE_RATE_LIMIT_EMAIL_SENT", "5")]) - 5.0).abs() < f64::EPSILON);
    assert!(mails("", &[]) > 10_000.0);
}

#[test]
fn where_users_of_providers_go_is_set_by_url() {
    let providers = |variables: &[(&str, &str)]| read("", variables).providers;
    let set = providers(&[
        ("GOTRUE_CUSTOM_OAUTH_EXTERNAL_URL", "https://auth.row.example/auth/v1"),
        ("GOTRUE_CUSTOM_OAUTH_ALLOW_PRIVATE_ADDRESSES", "true"),
        ("GOTRUE_EXTERNAL_REDIRECT_URL", "myapp://in"),
    ]);
    assert_eq!(set.custom_oauth_external_url, "https://auth.row.example/auth/v1");
    assert!(set.custom_oauth_private_addresses);
    assert_eq!(set.redirect_url, "myapp://in");
    assert_eq!(
        providers(&[("GOTRUE_EXTERNAL_REDIRECTURL", "https://b.example")]).redirect_url,
        "https://b.example"
    );
    assert_eq!(providers(&[]).redirect_url, "");
    for name in ["GOTRUE_CUSTOM_OAUTH_EXTERNAL_URL", "GOTRUE_EXTERNAL_REDIRECT_URL"] {
        assert!(refusal("", &[(name, "/in")]).contains(name), "{name}");
    }
    let name = "GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL";
    assert!(refusal("", &[(name, "0")]).contains(name));
}

#[test]
fn wrong_and_missing_values_are_refused_by_name() {
    for (variables, expected) in [
        (
            &[("GOTRUE_SMTP_HOST", "mail.example")][..],
            "GOTRUE_SMTP_ADMIN_EMAIL: expected the address that mails are from, since a mail server is set, found none",
        ),
        (
            &[("GOTRUE_MAILER_OTP_LENGTH", "4")],
            "GOTRUE_MAILER_OTP_LENGTH: expected a number of digits from 6 to 10, found \"4\"",
        ),
        (
            &[("GOTRUE_SMS_PROVIDER", "pigeon")],
            "GOTRUE_SMS_PROVIDER: expected one of twilio, twilio_verify, messagebird, textlocal, vonage, found \"pigeon\"",
        ),
        (
            &[("GOTRUE_SMS_PROVIDER", "vonage")],
            "GOTRUE_SMS_VONAGE_API_KEY: expected what vonage needs to send messages, found none",
        ),
        (&[("GOTRUE_SMTP_MAX_FREQUENCY", "soon")], "GOTRUE_SMTP_MAX_FREQUENCY: expected a number of seconds"),
        (
            &[("GOTRUE_RATE_LIMIT_OTP", "-1")],
            "GOTRUE_RATE_LIMIT_OTP: expected a number from 0 on, found \"-1\"",
        ),
        (
            &[("GOTRUE_RATE_LIMIT_EMAIL_SENT", "1/x")],
            "GOTRUE_RATE_LIMIT_EMAIL_SENT: expected a number an hour",
        ),
        (&[("GOTRUE_HOOK_SEND_SMS_ENABLED", "true")], "GOTRUE_HOOK_SEND_SMS_URI: expected https://"),
        (
            &[("GOTRUE_SECURITY_CAPTCHA_ENABLED", "true")],
            "GOTRUE_SECURITY_CAPTCHA_SECRET: expected this site's secret",
        ),
        (
            &[("GOTRUE_EXTERNAL_APPLE_ENABLED", "true")],
            "GOTRUE_EXTERNAL_APPLE_CLIENT_ID: expected the client's id at apple",
        ),
        (
            &[("GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION", "3")],
            "GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION: expected a number from 0 to 2, found \"3\"",
        ),
        (&[("GOTRUE_SAML_ENABLED", "true")], "GOTRUE_SAML_PRIVATE_KEY: expected an RSA key"),
        (&[("GOTRUE_SMTP_HEADERS", "X: y")], "GOTRUE_SMTP_HEADERS: expected a JSON object of lists"),
        (&[("GOTRUE_SMS_TEST_OTP", "123")], "GOTRUE_SMS_TEST_OTP: expected a table of texts"),
        (
            &[
                ("GOTRUE_MAILER_AUTOCONFIRM", "true"),
                ("GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS", "true"),
            ],
            "GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: expected false",
        ),
    ] {
        let message = refusal("", variables);
        assert!(message.starts_with(expected), "{message}");
    }
    let message = refusal("[auth.email.template.invite]\ncontent_path = './no/such.html'", &[]);
    assert_eq!(
        message,
        "auth.email.template.invite.content_path: expected a file that exists, found ./no/such.html"
    );
}

#[test]
fn variables_without_effect_and_misspelt_ones_are_reported() {
    let (_, warnings) = all(
        "",
        &[
            ("GOTRUE_PASSWORD_HIBP_BLOOM_ENABLED", "true"),
            ("GOTRUE_TRACING_ENABLED", "false"),
            ("GOTRUE_MAILER_OTP_LENGHT", "6"),
        ],
    )
    .unwrap();
    assert_eq!(
        warnings,
        [
            "GOTRUE_PASSWORD_HIBP_BLOOM_ENABLED has no effect here: leaked passwords are asked for each time",
            "unknown environment variable GOTRUE_MAILER_OTP_LENGHT is ignored; did you mean GOTRUE_MAILER_OTP_LENGTH?",
        ]
    );
}

#[test]
fn credentials_whose_variable_is_not_set_stop_no_start() {
    let kept = |config: &str, key: &str| {
        let (settings, warnings) = all(config, &[]).unwrap();
        let said = format!("{key} refers to the environment variable NONE, which is not set");
        assert!(matches!(warnings.as_slice(), [only] if only.starts_with(&said)), "{warnings:?}");
        settings
    };
    let github = "[auth.external.github]\nenabled = true\n";
    let settings =
        kept(&format!("{github}client_id = 'env(NONE)'\nsecret = 'x'"), "auth.external.github.client_id");
    assert_eq!(settings.providers.oauth["github"].client_ids, ["env(NONE)"]);
    let settings =
        kept(&format!("{github}client_id = 'x'\nsecret = 'env(NONE)'"), "auth.external.github.secret");
    assert_eq!(settings.providers.oauth["github"].secret.expose(), "env(NONE)");
    let captcha = "[auth.captcha]\nenabled = true\nprovider = 'turnstile'\nsecret = 'env(NONE)'";
    assert!(kept(captcha, "auth.captcha.secret").security.captcha.is_some(), "nobody passes unchecked");
    let twilio = "[auth.sms.twilio]\nenabled = true\naccount_sid = 'x'\nmessage_service_sid = 'x'\n\
                  auth_token = 'env(NONE)'";
    assert!(kept(twilio, "auth.sms.twilio.auth_token").sms.provider.is_some());
    let smtp = "[auth.email.smtp]\nhost = 'h'\nadmin_email = 'env(NONE)'";
    assert!(kept(smtp, "auth.email.smtp.admin_email").mail.smtp.is_none());
    let hook = "[auth.hook.send_sms]\nenabled = true\nuri = 'https://h'\nsecrets = 'env(NONE)'";
    assert!(kept(hook, "auth.hook.send_sms.secrets").hooks.get(HookName::SendSms).is_some());
}

#[test]
fn every_credential_of_a_text_message_may_be_missing() {
    for (provider, keys) in [
        ("twilio", &["account_sid", "message_service_sid", "auth_token"][..]),
        ("twilio_verify", &["account_sid", "message_service_sid", "auth_token"]),
        ("messagebird", &["originator", "access_key"]),
        ("textlocal", &["sender", "api_key"]),
        ("vonage", &["from", "api_key", "api_secret"]),
    ] {
        let lines: String = keys.iter().map(|key| format!("{key} = 'env(NONE)'\n")).collect();
        let config = format!("[auth.sms.{provider}]\nenabled = true\n{lines}");
        let (settings, warnings) = all(&config, &[]).unwrap();
        assert_eq!(settings.sms.provider.as_ref().map(SmsProvider::name), Some(provider));
        assert_eq!(warnings.len(), keys.len(), "{warnings:?}");
    }
}

#[test]
fn a_third_party_whose_variable_is_not_set_is_off() {
    let environment = Environment::default();
    let config = "[auth.third_party.firebase]\nenabled = true\nproject_id = 'env(NONE)'".parse().unwrap();
    let mut reader = Reader::new(&environment, &config, &[KNOWN_KEYS]);
    assert_eq!(read_third_parties(&mut reader), Ok(vec![]));
    let warnings = reader.finish();
    assert_eq!(
        warnings,
        ["auth.third_party.firebase.project_id refers to the environment variable NONE, which is not set; \
          until it is, auth.third_party.firebase is off"]
    );
}

#[test]
fn missing_credentials_stop_the_start() {
    for config in [
        "[auth.external.github]\nenabled = true",
        "[auth.external.github]\nenabled = true\nclient_id = ''",
        "[auth.captcha]\nenabled = true\nsecret = ''",
        "[auth.sms.vonage]\nenabled = true\nfrom = 'x'\napi_key = 'env(NONE)'",
        "[auth.email.smtp]\nhost = 'h'",
        "[auth.hook.send_sms]\nenabled = true",
    ] {
        let refusal = refusal(config, &[]);
        assert!(refusal.ends_with("found none"), "{config}: {refusal}");
    }
    // As with the CLI: what the hook is to refuse would be allowed without it.
    let hook = refusal("[auth.hook.before_user_created]\nenabled = true\nuri = 'env(NONE)'", &[]);
    assert!(hook.ends_with("found NONE, which is not set"), "{hook}");
}
