use std::collections::BTreeSet;
use std::time::Duration;

/// Settings of the auth service. Names in brackets are upstream's environment variables, without `GOTRUE_`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// URL under which clients reach this service, `…/auth/v1` included (`API_EXTERNAL_URL`).
    pub external_url: String,
    /// Claim `iss` of access tokens (`JWT_ISSUER`). None, the default, means [`external_url`](Self::external_url).
    pub jwt_issuer: Option<String>,
    /// Life of access tokens (`JWT_EXP`). Default one hour.
    pub jwt_expiry: Duration,
    /// Audience of users and tokens when a request names none (`JWT_AUD`). Default `authenticated`.
    pub jwt_audience: String,
    /// Roles whose tokens administer users (`JWT_ADMIN_ROLES`). Default `service_role`, `supabase_admin`.
    pub jwt_admin_roles: Vec<String>,
    /// Refuses new users (`DISABLE_SIGNUP`). Default false.
    pub disable_signup: bool,
    /// Sign-in with e-mail addresses (`EXTERNAL_EMAIL_ENABLED`). Default true.
    pub email_enabled: bool,
    /// Sign-in with phone numbers (`EXTERNAL_PHONE_ENABLED`). Default false.
    pub phone_enabled: bool,
    /// Sign-in without any address (`EXTERNAL_ANONYMOUS_USERS_ENABLED`). Default false.
    pub anonymous_users_enabled: bool,
    /// Names of the OAuth providers that are switched on (`EXTERNAL_<NAME>_ENABLED`), lowercase.
    pub external_providers: BTreeSet<String>,
    /// New e-mail addresses need no confirmation (`MAILER_AUTOCONFIRM`). Default false.
    pub mailer_autoconfirm: bool,
    /// New phone numbers need no confirmation (`SMS_AUTOCONFIRM`). Default false.
    pub sms_autoconfirm: bool,
    /// Who sends text messages (`SMS_PROVIDER`). Default none: empty.
    pub sms_provider: String,
    /// SAML single sign-on (`SAML_ENABLED`). Default false.
    pub saml_enabled: bool,
    /// Passkeys (`PASSKEY_ENABLED`). Default false.
    pub passkey_enabled: bool,
    /// When sessions end.
    pub sessions: SessionSettings,
    /// What passwords must be like.
    pub passwords: PasswordSettings,
    /// Revokes all tokens of a session when one of them is used twice
    /// (`SECURITY_REFRESH_TOKEN_ROTATION_ENABLED`). Default true.
    pub refresh_token_rotation: bool,
    /// How long a replaced refresh token may still be used (`SECURITY_REFRESH_TOKEN_REUSE_INTERVAL`).
    /// Default 0; the Supabase CLI's `config.toml` has 10 s.
    pub refresh_token_reuse_interval: Duration,
    /// Longest time for one request (`API_MAX_REQUEST_DURATION`). Default 10 s.
    pub request_timeout: Duration,
    /// Keeps the audit log out of the database (`AUDIT_LOG_DISABLE_POSTGRES`). Default false.
    pub audit_log_disabled: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            external_url: "http://127.0.0.1:54321/auth/v1".to_owned(),
            jwt_issuer: None,
            jwt_expiry: Duration::from_secs(3600),
            jwt_audience: "authenticated".to_owned(),
            jwt_admin_roles: vec!["service_role".to_owned(), "supabase_admin".to_owned()],
            disable_signup: false,
            email_enabled: true,
            phone_enabled: false,
            anonymous_users_enabled: false,
            external_providers: BTreeSet::new(),
            mailer_autoconfirm: false,
            sms_autoconfirm: false,
            sms_provider: String::new(),
            saml_enabled: false,
            passkey_enabled: false,
            sessions: SessionSettings::default(),
            passwords: PasswordSettings::default(),
            refresh_token_rotation: true,
            refresh_token_reuse_interval: Duration::ZERO,
            request_timeout: Duration::from_secs(10),
            audit_log_disabled: false,
        }
    }
}

impl Settings {
    /// Claim `iss` of access tokens.
    pub(crate) fn issuer(&self) -> &str {
        self.jwt_issuer.as_deref().unwrap_or(&self.external_url)
    }
}

/// When sessions end. Checked at refresh only; access tokens live on until they expire.
#[derive(Debug, Clone, Default)]
pub struct SessionSettings {
    /// Longest life after sign-in (`SESSIONS_TIMEBOX`). Default none.
    pub timebox: Option<Duration>,
    /// Longest time between two refreshes (`SESSIONS_INACTIVITY_TIMEOUT`). Default none.
    pub inactivity_timeout: Option<Duration>,
    /// How long somebody with a second factor may do without it (`SESSIONS_ALLOW_LOW_AAL`). Default none: always.
    pub allow_low_aal: Option<Duration>,
    /// Only the session that was refreshed last goes on (`SESSIONS_SINGLE_PER_USER`). Default false.
    pub single_per_user: bool,
    /// Kinds of sessions that do not end each other (`SESSIONS_TAGS`); sessions of no kind count as the first's.
    pub tags: Vec<String>,
}

/// What passwords must be like, and how they are hashed.
#[derive(Debug, Clone)]
pub struct PasswordSettings {
    /// Fewest characters (`PASSWORD_MIN_LENGTH`), at least 6. Default 6.
    pub min_length: usize,
    /// Sets of characters, each of which must be represented (`PASSWORD_REQUIRED_CHARACTERS`). Default none.
    pub required_characters: Vec<String>,
    /// Hashes computed at the same time. Default: the number of processors, less one if there are several, so that
    /// a flood of sign-ins leaves room for everybody else.
    pub parallel_hashes: usize,
    /// Sign-ins that may wait for their hash; more get 429. Default 100.
    pub queue_length: usize,
}

impl Default for PasswordSettings {
    fn default() -> PasswordSettings {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        PasswordSettings {
            min_length: 6,
            required_characters: Vec::new(),
            parallel_hashes: processors.saturating_sub(1).max(1),
            queue_length: 100,
        }
    }
}
