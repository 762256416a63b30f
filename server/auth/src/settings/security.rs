use std::time::Duration;

use super::Secret;

/// Refresh tokens, captcha, changes of passwords.
#[derive(Debug, Clone)]
pub struct SecuritySettings {
    /// Revokes all tokens of a session when one of them is used twice (`SECURITY_REFRESH_TOKEN_ROTATION_ENABLED`).
    /// Default true.
    pub refresh_token_rotation: bool,
    /// How long a replaced refresh token may still be used (`SECURITY_REFRESH_TOKEN_REUSE_INTERVAL`).
    /// Default 0; the Supabase CLI's `config.toml` has 10 s.
    pub refresh_token_reuse_interval: Duration,
    /// Replaced refresh tokens of the second format may always be used (`SECURITY_REFRESH_TOKEN_ALLOW_REUSE`).
    /// Default false.
    pub refresh_token_allow_reuse: bool,
    /// Format of new refresh tokens: 2 for counted and signed ones, else rows of a table
    /// (`SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION`). Default 0.
    pub refresh_token_algorithm: u8,
    /// How many refreshes of a hundred replace a token of the first format by one of the second
    /// (`SECURITY_REFRESH_TOKEN_UPGRADE_PERCENTAGE`). Default 0.
    pub refresh_token_upgrade_percentage: u8,
    /// A new password needs a code by mail when the session is older than a day
    /// (`SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION`). Default false.
    pub password_change_requires_reauthentication: bool,
    /// A new password needs the current one (`SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD`). Default false.
    pub password_change_requires_current: bool,
    /// Users may link identities themselves (`SECURITY_MANUAL_LINKING_ENABLED`). Default false.
    pub manual_linking: bool,
    /// Proof of being human that some endpoints demand (`SECURITY_CAPTCHA_*`). Default none.
    pub captcha: Option<Captcha>,
    /// Reads the client's address from header `sb-forwarded-for` (`SECURITY_SB_FORWARDED_FOR_ENABLED`).
    /// Default false.
    pub sb_forwarded_for: bool,
}

impl Default for SecuritySettings {
    fn default() -> SecuritySettings {
        SecuritySettings {
            refresh_token_rotation: true,
            refresh_token_reuse_interval: Duration::ZERO,
            refresh_token_allow_reuse: false,
            refresh_token_algorithm: 0,
            refresh_token_upgrade_percentage: 0,
            password_change_requires_reauthentication: false,
            password_change_requires_current: false,
            manual_linking: false,
            captcha: None,
            sb_forwarded_for: false,
        }
    }
}

/// Proof of being human.
#[derive(Debug, Clone)]
pub struct Captcha {
    /// Who judges it (`SECURITY_CAPTCHA_PROVIDER`).
    pub provider: CaptchaProvider,
    /// This site's secret there (`SECURITY_CAPTCHA_SECRET`).
    pub secret: Secret,
    /// Where to ask in place of the provider's own address (`BASALT_CAPTCHA_URL`). Default none.
    pub url: Option<String>,
    /// How long to wait for the answer (`SECURITY_CAPTCHA_TIMEOUT`). Upstream's default is 10 s, which is more than a
    /// request may take here.
    pub timeout: Duration,
}

/// Who judges captchas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptchaProvider {
    /// hCaptcha.
    Hcaptcha,
    /// Cloudflare's Turnstile.
    Turnstile,
}
