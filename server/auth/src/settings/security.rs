//! Refresh tokens, captcha, changes of passwords.

use std::time::Duration;

use ::settings::{Invalid, Reader, Secret};

/// Longest time that a captcha may take; upstream waits longer than a request may last here.
const CAPTCHA_TIMEOUT: Duration = Duration::from_secs(8);

::settings::settings! {
    /// Refresh tokens, captcha, changes of passwords.
    #[derive(Debug, Clone)]
    pub struct SecuritySettings {
        /// Revokes all tokens of a session when one of them is used twice.
        #[setting(
            variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED"],
            key = "auth.enable_refresh_token_rotation"
        )]
        pub refresh_token_rotation: bool = true,
        /// How long a replaced refresh token may still be used. The Supabase CLI's template has 10 s.
        #[setting(
            variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL"],
            key = "auth.refresh_token_reuse_interval"
        )]
        pub refresh_token_reuse_interval: Duration = Duration::ZERO,
        /// Replaced refresh tokens of the second format may always be used.
        #[setting(variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_ALLOW_REUSE"])]
        pub refresh_token_allow_reuse: bool = false,
        /// Format of new refresh tokens: 2 for counted and signed ones, else rows of a table.
        #[setting(variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION"], check = at_most_two)]
        pub refresh_token_algorithm: u8 = 0,
        /// How many refreshes of a hundred replace a token of the first format by one of the second.
        #[setting(variables = ["GOTRUE_SECURITY_REFRESH_TOKEN_UPGRADE_PERCENTAGE"], check = at_most_a_hundred)]
        pub refresh_token_upgrade_percentage: u8 = 0,
        /// A new password needs a code by mail when the session is older than a day.
        #[setting(
            variables = ["GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION"],
            key = "auth.email.secure_password_change"
        )]
        pub password_change_requires_reauthentication: bool = false,
        /// A new password needs the current one.
        #[setting(
            variables = ["GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD"],
            key = "auth.email.require_current_password"
        )]
        pub password_change_requires_current: bool = false,
        /// Users may link identities themselves.
        #[setting(variables = ["GOTRUE_SECURITY_MANUAL_LINKING_ENABLED"], key = "auth.enable_manual_linking")]
        pub manual_linking: bool = false,
        /// Proof of being human that some endpoints demand.
        pub captcha: Option<Captcha> = None,
        /// Reads the client's address from header `sb-forwarded-for`.
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
    /// Proof of being human.
    #[derive(Debug, Clone)]
    pub struct Captcha {
        /// Whether it is demanded.
        #[setting(variables = ["GOTRUE_SECURITY_CAPTCHA_ENABLED"], key = "auth.captcha.enabled")]
        pub enabled: bool = false,
        /// Who judges it.
        #[setting(variables = ["GOTRUE_SECURITY_CAPTCHA_PROVIDER"], key = "auth.captcha.provider")]
        pub provider: CaptchaProvider = CaptchaProvider::Hcaptcha,
        /// This site's secret there.
        #[setting(variables = ["GOTRUE_SECURITY_CAPTCHA_SECRET"], key = "auth.captcha.secret")]
        pub secret: Secret = Secret::default(),
        /// Where to ask in place of the provider's own address.
        #[setting(variables = ["BASALT_CAPTCHA_URL"])]
        pub url: Option<String> = None,
        /// How long to wait for the answer, at most 8 s: a request may not take longer here.
        #[setting(variables = ["GOTRUE_SECURITY_CAPTCHA_TIMEOUT"], check = within_a_request)]
        pub timeout: Duration = CAPTCHA_TIMEOUT,
    }
}

fn within_a_request(timeout: Duration) -> Result<Duration, &'static str> {
    Ok(timeout.min(CAPTCHA_TIMEOUT))
}

::settings::words! {
    /// Who judges captchas.
    pub enum CaptchaProvider: "hcaptcha or turnstile" {
        /// hCaptcha.
        Hcaptcha = "hcaptcha",
        /// Cloudflare's Turnstile.
        Turnstile = "turnstile",
    }
}
