//! The least and the greatest numbers of settings.

use serde_json::Value;

use crate::Error;
use crate::managed::Section;

/// The limits that the description of Supabase's Management API names.
const LIMITS: &[(Section, &str, i64, i64)] = &[
    (Section::Auth, "jwt_exp", 0, 604_800),
    (Section::Auth, "mailer_otp_exp", 0, 2_147_483_647),
    (Section::Auth, "mailer_otp_length", 6, 10),
    (Section::Auth, "mfa_max_enrolled_factors", 0, 2_147_483_647),
    (Section::Auth, "mfa_phone_max_frequency", 0, 32_767),
    (Section::Auth, "mfa_phone_otp_length", 0, 32_767),
    (Section::Auth, "password_min_length", 6, 32_767),
    (Section::Auth, "rate_limit_anonymous_users", 1, 2_147_483_647),
    (Section::Auth, "rate_limit_email_sent", 1, 2_147_483_647),
    (Section::Auth, "rate_limit_otp", 1, 2_147_483_647),
    (Section::Auth, "rate_limit_sms_sent", 1, 2_147_483_647),
    (Section::Auth, "rate_limit_token_refresh", 1, 2_147_483_647),
    (Section::Auth, "rate_limit_verify", 1, 2_147_483_647),
    (Section::Auth, "rate_limit_web3", 1, 2_147_483_647),
    (Section::Auth, "security_refresh_token_reuse_interval", 0, 2_147_483_647),
    (Section::Auth, "sms_max_frequency", 0, 32_767),
    (Section::Auth, "sms_otp_exp", 0, 2_147_483_647),
    (Section::Auth, "sms_otp_length", 0, 32_767),
    (Section::Auth, "smtp_max_frequency", 0, 32_767),
    (Section::Realtime, "connection_pool", 1, 100),
    (Section::Realtime, "max_bytes_per_second", 1, 10_000_000),
    (Section::Realtime, "max_channels_per_client", 1, 10_000),
    (Section::Realtime, "max_concurrent_users", 1, 50_000),
    (Section::Realtime, "max_events_per_second", 1, 50_000),
    (Section::Realtime, "max_joins_per_second", 1, 5_000),
    (Section::Realtime, "max_payload_size_in_kb", 1, 10_000),
    (Section::Realtime, "max_presence_events_per_second", 1, 5_000),
    (Section::Rest, "db_pool", 0, 1_000),
    (Section::Rest, "max_rows", 0, 1_000_000),
    (Section::Storage, "fileSizeLimit", 0, 536_870_912_000),
];

/// Checks the number that the setting `name` is to have.
///
/// Errors: 400 beyond its limits.
pub(super) fn check(section: Section, name: &str, value: &Value) -> Result<(), Error> {
    let limit = LIMITS.iter().find(|(of, known, ..)| *of == section && *known == name);
    let Some((_, _, least, most)) = limit else { return Ok(()) };
    #[expect(clippy::cast_precision_loss, reason = "the limits are far below 2^53")]
    let is_within = value.as_f64().is_none_or(|number| (*least as f64..=*most as f64).contains(&number));
    match is_within {
        true => Ok(()),
        false => Err(Error::invalid(format!("{name}: expected a number from {least} to {most}"))),
    }
}
