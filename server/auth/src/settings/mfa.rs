//! Second factors and passkeys.

use std::time::Duration;

use ::settings::{Invalid, Reader};

use super::otp_length;

::settings::settings! {
    /// Second factors.
    #[derive(Debug, Clone)]
    pub struct MfaSettings {
        /// One-time passwords of an authenticator app.
        pub totp: FactorSettings = FactorSettings { enroll: true, verify: true },
        /// Codes by text message.
        pub phone: PhoneFactorSettings = PhoneFactorSettings::default(),
        /// Security keys.
        pub webauthn: FactorSettings = FactorSettings::default(),
        /// Recovery codes.
        pub recovery_codes: RecoveryCodeSettings = RecoveryCodeSettings::default(),
        /// How many factors a user may have.
        #[setting(variables = ["GOTRUE_MFA_MAX_ENROLLED_FACTORS"], key = "auth.mfa.max_enrolled_factors")]
        pub max_enrolled_factors: usize = 10,
        /// How many verified factors a user may have.
        #[setting(variables = ["GOTRUE_MFA_MAX_VERIFIED_FACTORS"])]
        pub max_verified_factors: usize = 10,
        /// How long a challenge is valid, at least 300 s.
        #[setting(variables = ["GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION"], check = super::at_least_five_minutes)]
        pub challenge_expiry: Duration = Duration::from_secs(300),
        /// How long a factor that is not verified and has no challenge is kept, at least 300 s.
        #[setting(variables = ["GOTRUE_MFA_FACTOR_EXPIRY_DURATION"], check = super::at_least_five_minutes)]
        pub factor_expiry: Duration = Duration::from_secs(300),
    }
}

/// What users may do with a kind of factor.
#[derive(Debug, Clone, Copy, Default)]
pub struct FactorSettings {
    /// Add new factors.
    pub enroll: bool,
    /// Use factors.
    pub verify: bool,
}

::settings::settings! {
    /// What users may do with each kind of factor, as operators write it.
    pub(super) struct Factors {
        /// Whether users may add authenticator apps.
        #[setting(variables = ["GOTRUE_MFA_TOTP_ENROLL_ENABLED"], key = "auth.mfa.totp.enroll_enabled")]
        totp_enroll: bool = true,
        /// Whether users may verify with authenticator apps.
        #[setting(variables = ["GOTRUE_MFA_TOTP_VERIFY_ENABLED"], key = "auth.mfa.totp.verify_enabled")]
        totp_verify: bool = true,
        /// Whether users may add phones.
        #[setting(variables = ["GOTRUE_MFA_PHONE_ENROLL_ENABLED"], key = "auth.mfa.phone.enroll_enabled")]
        phone_enroll: bool = false,
        /// Whether users may verify with phones.
        #[setting(variables = ["GOTRUE_MFA_PHONE_VERIFY_ENABLED"], key = "auth.mfa.phone.verify_enabled")]
        phone_verify: bool = false,
        /// Whether users may add security keys.
        #[setting(variables = ["GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED"], key = "auth.mfa.web_authn.enroll_enabled")]
        webauthn_enroll: bool = false,
        /// Whether users may verify with security keys.
        #[setting(variables = ["GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED"], key = "auth.mfa.web_authn.verify_enabled")]
        webauthn_verify: bool = false,
        /// Whether users may create recovery codes.
        #[setting(variables = ["GOTRUE_MFA_RECOVERY_CODES_ENROLL_ENABLED"])]
        recovery_codes_enroll: bool = false,
        /// Whether users may verify with recovery codes.
        #[setting(variables = ["GOTRUE_MFA_RECOVERY_CODES_VERIFY_ENABLED"])]
        recovery_codes_verify: bool = false,
    }
}

impl MfaSettings {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let (mut mfa, mut factors) = (Self::default(), Factors::default());
        if reader.has_config() {
            mfa.phone.max_frequency = super::TEMPLATES_SMS_FREQUENCY;
        }
        reader.apply(&mut mfa)?;
        reader.apply(&mut mfa.phone)?;
        reader.apply(&mut mfa.recovery_codes)?;
        reader.apply(&mut factors)?;
        mfa.totp = FactorSettings { enroll: factors.totp_enroll, verify: factors.totp_verify };
        mfa.phone.enabled = FactorSettings { enroll: factors.phone_enroll, verify: factors.phone_verify };
        mfa.webauthn = FactorSettings { enroll: factors.webauthn_enroll, verify: factors.webauthn_verify };
        mfa.recovery_codes.enabled =
            FactorSettings { enroll: factors.recovery_codes_enroll, verify: factors.recovery_codes_verify };
        Ok(mfa)
    }
}

::settings::settings! {
    /// Codes in text messages as a second factor.
    #[derive(Debug, Clone)]
    pub struct PhoneFactorSettings {
        /// What users may do with this kind of factor.
        pub enabled: FactorSettings = FactorSettings::default(),
        /// The number of digits of a code, 6 to 10.
        #[setting(variables = ["GOTRUE_MFA_PHONE_OTP_LENGTH"], key = "auth.mfa.phone.otp_length", check = otp_length)]
        pub otp_length: usize = 6,
        /// The shortest time between two messages. If there is a `config.toml`, the default is 5 s.
        #[setting(variables = ["GOTRUE_MFA_PHONE_MAX_FREQUENCY"], key = "auth.mfa.phone.max_frequency")]
        pub max_frequency: Duration = Duration::from_secs(60),
        /// The text of a message.
        #[setting(variables = ["GOTRUE_MFA_PHONE_TEMPLATE"], key = "auth.mfa.phone.template")]
        pub template: String = "Your code is {{ .Code }}".to_owned(),
    }
}

::settings::settings! {
    /// Recovery codes, for users who have lost their second factor.
    #[derive(Debug, Clone)]
    pub struct RecoveryCodeSettings {
        /// What users may do with this kind of factor.
        pub enabled: FactorSettings = FactorSettings::default(),
        /// How many codes a user gets, 4 to 16.
        #[setting(variables = ["GOTRUE_MFA_RECOVERY_CODES_COUNT"], check = code_count)]
        pub count: usize = 10,
        /// The number of characters of a code, 13 to 32.
        #[setting(variables = ["GOTRUE_MFA_RECOVERY_CODES_CODE_LENGTH"], check = code_length)]
        pub code_length: usize = 16,
        /// After how many wrong codes in a row no code is accepted for some time (the next setting), 3 to 15.
        #[setting(variables = ["GOTRUE_MFA_RECOVERY_CODES_MAX_VERIFY_ATTEMPTS"], check = verify_attempts)]
        pub max_verify_attempts: u32 = 5,
        /// How long no code is accepted after too many wrong ones, 1 min to 24 h.
        #[setting(variables = ["GOTRUE_MFA_RECOVERY_CODES_LOCKOUT_DURATION"], check = lockout_duration)]
        pub lockout_duration: Duration = Duration::from_secs(15 * 60),
    }
}

fn code_count(count: usize) -> Result<usize, &'static str> {
    if (4..=16).contains(&count) { Ok(count) } else { Err("a number of codes from 4 to 16") }
}

fn code_length(length: usize) -> Result<usize, &'static str> {
    if (13..=32).contains(&length) { Ok(length) } else { Err("a number of characters from 13 to 32") }
}

fn verify_attempts(attempts: u32) -> Result<u32, &'static str> {
    if (3..=15).contains(&attempts) { Ok(attempts) } else { Err("a number from 3 to 15") }
}

fn lockout_duration(duration: Duration) -> Result<Duration, &'static str> {
    let (shortest, longest) = (Duration::from_secs(60), Duration::from_secs(24 * 3600));
    if (shortest..=longest).contains(&duration) { Ok(duration) } else { Err("a time from 1m to 24h") }
}

::settings::settings! {
    /// The site as a relying party of WebAuthn.
    #[derive(Debug, Clone)]
    pub struct WebauthnSettings {
        /// The domain of the relying party. The default is the host of the site's URL.
        #[setting(variables = ["GOTRUE_WEBAUTHN_RP_ID"], key = "auth.webauthn.rp_id")]
        pub rp_id: Option<String> = None,
        /// The name of the relying party that users see. The default is its domain.
        #[setting(variables = ["GOTRUE_WEBAUTHN_RP_DISPLAY_NAME"], key = "auth.webauthn.rp_display_name")]
        pub rp_display_name: Option<String> = None,
        /// The origins of the relying party's pages. The default is the origin of the site's URL.
        #[setting(variables = ["GOTRUE_WEBAUTHN_RP_ORIGINS"], key = "auth.webauthn.rp_origins")]
        pub rp_origins: Vec<String> = Vec::new(),
        /// How long a challenge is valid.
        #[setting(variables = ["GOTRUE_WEBAUTHN_CHALLENGE_EXPIRY_DURATION"])]
        pub challenge_expiry: Duration = Duration::from_secs(300),
    }
}

::settings::settings! {
    /// Sign-in with passkeys.
    #[derive(Debug, Clone)]
    pub struct PasskeySettings {
        /// Whether users may sign in with passkeys.
        #[setting(variables = ["GOTRUE_PASSKEY_ENABLED"], key = "auth.passkey.enabled")]
        pub enabled: bool = false,
        /// How many passkeys a user may have.
        #[setting(variables = ["GOTRUE_PASSKEY_MAX_PASSKEYS_PER_USER"])]
        pub max_per_user: usize = 10,
    }
}
