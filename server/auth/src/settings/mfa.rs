use std::time::Duration;

/// Second factors.
#[derive(Debug, Clone)]
pub struct MfaSettings {
    /// One-time passwords of an app (`MFA_TOTP_*`). Default on.
    pub totp: FactorSettings,
    /// Codes by text message (`MFA_PHONE_*`). Default off.
    pub phone: PhoneFactorSettings,
    /// Security keys (`MFA_WEB_AUTHN_*`). Default off.
    pub webauthn: FactorSettings,
    /// Most factors of one user (`MFA_MAX_ENROLLED_FACTORS`). Default 10.
    pub max_enrolled_factors: usize,
    /// Most verified ones (`MFA_MAX_VERIFIED_FACTORS`). Default 10.
    pub max_verified_factors: usize,
    /// Life of a challenge (`MFA_CHALLENGE_EXPIRY_DURATION`), at least and by default 300 s.
    pub challenge_expiry: Duration,
    /// Life of an unverified factor without a challenge (`MFA_FACTOR_EXPIRY_DURATION`). Default 300 s.
    pub factor_expiry: Duration,
}

impl Default for MfaSettings {
    fn default() -> MfaSettings {
        MfaSettings {
            totp: FactorSettings { enroll: true, verify: true },
            phone: PhoneFactorSettings::default(),
            webauthn: FactorSettings::default(),
            max_enrolled_factors: 10,
            max_verified_factors: 10,
            challenge_expiry: Duration::from_secs(300),
            factor_expiry: Duration::from_secs(300),
        }
    }
}

/// What may be done with a kind of factor.
#[derive(Debug, Clone, Copy, Default)]
pub struct FactorSettings {
    /// New ones (`ENROLL_ENABLED`).
    pub enroll: bool,
    /// Challenges (`VERIFY_ENABLED`).
    pub verify: bool,
}

/// Codes by text message as second factor.
#[derive(Debug, Clone)]
pub struct PhoneFactorSettings {
    /// What may be done with them. Default nothing.
    pub enabled: FactorSettings,
    /// Digits of a code (`MFA_PHONE_OTP_LENGTH`), 6 to 10. Default 6.
    pub otp_length: usize,
    /// Shortest time between two messages (`MFA_PHONE_MAX_FREQUENCY`). Default one minute.
    pub max_frequency: Duration,
    /// Text of a message (`MFA_PHONE_TEMPLATE`). Default `Your code is {{ .Code }}`.
    pub template: String,
}

impl Default for PhoneFactorSettings {
    fn default() -> PhoneFactorSettings {
        PhoneFactorSettings {
            enabled: FactorSettings::default(),
            otp_length: 6,
            max_frequency: Duration::from_secs(60),
            template: "Your code is {{ .Code }}".to_owned(),
        }
    }
}

/// This site as WebAuthn's relying party.
#[derive(Debug, Clone)]
pub struct WebauthnSettings {
    /// Its domain (`WEBAUTHN_RP_ID`). Default none: the host of the site's URL.
    pub rp_id: Option<String>,
    /// Its name for people (`WEBAUTHN_RP_DISPLAY_NAME`). Default none: its domain.
    pub rp_display_name: Option<String>,
    /// Origins of its pages (`WEBAUTHN_RP_ORIGINS`). Default none: that of the site's URL.
    pub rp_origins: Vec<String>,
    /// Life of a challenge (`WEBAUTHN_CHALLENGE_EXPIRY_DURATION`). Default five minutes.
    pub challenge_expiry: Duration,
}

impl Default for WebauthnSettings {
    fn default() -> WebauthnSettings {
        WebauthnSettings {
            rp_id: None,
            rp_display_name: None,
            rp_origins: Vec::new(),
            challenge_expiry: Duration::from_secs(300),
        }
    }
}

/// Passkeys as first factor.
#[derive(Debug, Clone)]
pub struct PasskeySettings {
    /// Whether there are any (`PASSKEY_ENABLED`). Default false.
    pub enabled: bool,
    /// Most of one user (`PASSKEY_MAX_PASSKEYS_PER_USER`). Default 10.
    pub max_per_user: usize,
}

impl Default for PasskeySettings {
    fn default() -> PasskeySettings {
        PasskeySettings { enabled: false, max_per_user: 10 }
    }
}
