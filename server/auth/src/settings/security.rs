//! Refresh tokens, captcha, changes of passwords.

use std::time::Duration;

use ::settings::{Invalid, Reader, Secret};

/// The longest time that the check of a captcha may take. Upstream waits longer, but a request may not last so long
/// here.
const CAPTCHA_TIMEOUT: Duration = Duration::from_secs(8);

::settings::settings! {
    /// Refresh tokens, captcha, changes of passwords.
    #[derive(Debug, Clone)]
    pub struct SecuritySettings {
        /// Whether all refresh tokens of a session are revoked if one of them is used twice.
        #[setting(
            variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED"],
            key = "auth.enable_refresh_token_rotation"
        )]
        pub refresh_token_rotation: bool = true,
        /// How long a refresh token may still be used after it was replaced. The Supabase CLI's template has 10 s.
        #[setting(
            variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL"],
            key = "auth.refresh_token_reuse_interval"
        )]
        pub refresh_token_reuse_interval: Duration = Duration::ZERO,
        /// Whether refresh tokens of format 2 may be used again after they were replaced, at any time.
        #[setting(variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_ALLOW_REUSE"])]
        pub refresh_token_allow_reuse: bool = false,
        /// The format of new refresh tokens. 2: a signed counter; 0 and 1: a row of a table.
        #[setting(variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION"], check = at_most_two)]
        pub refresh_token_algorithm: u8 = 0,
        /// How many of 100 refreshes replace a token that is a row by one of format 2, if that is the format of new
        /// tokens.
        #[setting(variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_UPGRADE_PERCENTAGE"], check = at_most_a_hundred)]
        pub refresh_token_upgrade_percentage: u8 = 0,
        /// Whether a change of the password needs a code from a mail if the session is older than a day.
        #[setting(
            variables = ["GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION"],
            key = "auth.email.secure_password_change"
        )]
        pub password_change_requires_reauthentication: bool = false,
        /// Whether a change of the password needs the current password.
        #[setting(
            variables = ["GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD"],
            key = "auth.email.require_current_password"
        )]
        pub password_change_requires_current: bool = false,
        /// Whether users may link further identities to their accounts themselves.
        #[setting(variables = ["GOTRUE_SECURITY_MANUAL_LINKING_ENABLED"], key = "auth.enable_manual_linking")]
        pub manual_linking: bool = false,
        /// The captcha that some endpoints require.
        pub captcha: Option<Captcha> = None,
        /// Whether the client's address is read from the header `sb-forwarded-for`.
        #[setting(variables = ["GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED"])]
        pub sb_forwarded_for: bool = false,
    }
}

impl SecuritySettings {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let mut settings: Self = reader.read()?;
        let captcha: Captcha = reader.read()?;
        if captcha.enabled && captcha.secret.expose().trim().is_empty() {
            let expected = "this site's secret at the captcha's provider, since captchas are enabled";
            return Err(Invalid::new("GOTRUE_SECURITY_CAPTCHA_SECRET", expected, &"none"));
        }
        settings.captcha = Some(captcha).filter(|captcha| captcha.enabled);
        Ok(settings)
    }
}

fn at_most_two(version: u8) -> Result<u8, &'static str> {
    if version > 2 { Err("a number from 0 to 2") } else { Ok(version) }
}

fn at_most_a_hundred(percentage: u8) -> Result<u8, &'static str> {
    if percentage > 100 { Err("a number from 0 to 100") } else { Ok(percentage) }
}

::settings::settings! {
    /// A captcha.
    #[derive(Debug, Clone)]
    pub struct Captcha {
        /// Whether sign-ups, sign-ins and similar requests need a captcha.
        #[setting(variables = ["GOTRUE_SECURITY_CAPTCHA_ENABLED"], key = "auth.captcha.enabled")]
        pub enabled: bool = false,
        /// The provider that checks captchas.
        #[setting(variables = ["GOTRUE_SECURITY_CAPTCHA_PROVIDER"], key = "auth.captcha.provider")]
        pub provider: CaptchaProvider = CaptchaProvider::Hcaptcha,
        /// The site's secret at the provider.
        #[setting(variables = ["GOTRUE_SECURITY_CAPTCHA_SECRET"], key = "auth.captcha.secret")]
        pub secret: Secret = Secret::default(),
        /// A URL to use instead of the provider's.
        #[setting(variables = ["BASALT_CAPTCHA_URL"])]
        pub url: Option<String> = None,
        /// How long to wait for the provider's response, at most 8 s.
        #[setting(variables = ["GOTRUE_SECURITY_CAPTCHA_TIMEOUT"], check = within_a_request)]
        pub timeout: Duration = CAPTCHA_TIMEOUT,
    }
}

fn within_a_request(timeout: Duration) -> Result<Duration, &'static str> {
    Ok(timeout.min(CAPTCHA_TIMEOUT))
}

::settings::words! {
    /// The providers that check captchas.
    pub enum CaptchaProvider: "hcaptcha or turnstile" {
        /// hCaptcha.
        Hcaptcha = "hcaptcha",
        /// Cloudflare's Turnstile.
        Turnstile = "turnstile",
    }
}
