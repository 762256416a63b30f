//! Second factors and passkeys: `[auth.mfa.*]`, `[auth.passkey]`, `[auth.webauthn]` and their variables.

use std::time::Duration;

use auth::{FactorSettings, MfaSettings, PasskeySettings, PhoneFactorSettings, WebauthnSettings};

use super::{Invalid, Reader, gotrue, optional, otp_length};

/// Shortest life of challenges and unverified factors; upstream raises what is less.
const MINIMUM: Duration = Duration::from_secs(300);

pub(super) fn mfa(reader: &mut Reader<'_>) -> Result<MfaSettings, Invalid> {
    let default = MfaSettings::default();
    Ok(MfaSettings {
        totp: factor(reader, "totp", default.totp)?,
        phone: phone(reader, default.phone)?,
        webauthn: factor(reader, "web_authn", default.webauthn)?,
        max_enrolled_factors: gotrue(
            reader,
            "auth.mfa.max_enrolled_factors",
            "MFA_MAX_ENROLLED_FACTORS",
            default.max_enrolled_factors,
        )?,
        max_verified_factors: gotrue(reader, "", "MFA_MAX_VERIFIED_FACTORS", default.max_verified_factors)?,
        challenge_expiry: gotrue(reader, "", "MFA_CHALLENGE_EXPIRY_DURATION", default.challenge_expiry)?
            .max(MINIMUM),
        factor_expiry: gotrue(reader, "", "MFA_FACTOR_EXPIRY_DURATION", default.factor_expiry)?.max(MINIMUM),
    })
}

fn factor(reader: &mut Reader<'_>, name: &str, default: FactorSettings) -> Result<FactorSettings, Invalid> {
    let upper = name.to_ascii_uppercase();
    let mut switch = |what: &str, default: bool| {
        let key = format!("auth.mfa.{name}.{what}_enabled");
        gotrue(reader, &key, &format!("MFA_{upper}_{}_ENABLED", what.to_ascii_uppercase()), default)
    };
    Ok(FactorSettings {
        enroll: switch("enroll", default.enroll)?,
        verify: switch("verify", default.verify)?,
    })
}

fn phone(reader: &mut Reader<'_>, default: PhoneFactorSettings) -> Result<PhoneFactorSettings, Invalid> {
    let frequency = if reader.has_config() { Duration::from_secs(5) } else { default.max_frequency };
    Ok(PhoneFactorSettings {
        enabled: factor(reader, "phone", default.enabled)?,
        otp_length: otp_length(
            reader,
            "auth.mfa.phone.otp_length",
            "MFA_PHONE_OTP_LENGTH",
            default.otp_length,
        )?,
        max_frequency: gotrue(reader, "auth.mfa.phone.max_frequency", "MFA_PHONE_MAX_FREQUENCY", frequency)?,
        template: gotrue(reader, "auth.mfa.phone.template", "MFA_PHONE_TEMPLATE", default.template)?,
    })
}

pub(super) fn webauthn(reader: &mut Reader<'_>) -> Result<WebauthnSettings, Invalid> {
    let default = WebauthnSettings::default();
    Ok(WebauthnSettings {
        rp_id: optional(reader, "auth.webauthn.rp_id", "WEBAUTHN_RP_ID")?,
        rp_display_name: optional(reader, "auth.webauthn.rp_display_name", "WEBAUTHN_RP_DISPLAY_NAME")?,
        rp_origins: gotrue(reader, "auth.webauthn.rp_origins", "WEBAUTHN_RP_ORIGINS", default.rp_origins)?,
        challenge_expiry: gotrue(reader, "", "WEBAUTHN_CHALLENGE_EXPIRY_DURATION", default.challenge_expiry)?,
    })
}

pub(super) fn passkeys(reader: &mut Reader<'_>) -> Result<PasskeySettings, Invalid> {
    let default = PasskeySettings::default();
    Ok(PasskeySettings {
        enabled: gotrue(reader, "auth.passkey.enabled", "PASSKEY_ENABLED", default.enabled)?,
        max_per_user: gotrue(reader, "", "PASSKEY_MAX_PASSKEYS_PER_USER", default.max_per_user)?,
    })
}
