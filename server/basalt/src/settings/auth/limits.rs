//! `[auth.rate_limit]` and `GOTRUE_RATE_LIMIT_*`.

use auth::{LimitSettings, Rate};

use super::{Invalid, Reader, gotrue, optional};
use settings::Value;

/// Mails that may go into a folder in an hour: as good as all, since they cost nothing and reach nobody.
const KEPT_MAILS: f64 = 360_000.0;

/// Reads them. `sends_mail` tells whether mails leave this machine.
pub(super) fn read(reader: &mut Reader<'_>, sends_mail: bool) -> Result<LimitSettings, Invalid> {
    let default = LimitSettings::default();
    let key = |part: &str| format!("auth.rate_limit.{part}");
    let mails: Option<PerHour> = optional(reader, &key("email_sent"), "RATE_LIMIT_EMAIL_SENT")?;
    // As in the CLI, the file's number is for mails that leave the machine.
    let from_file = !reader.is_in_environment("GOTRUE_RATE_LIMIT_EMAIL_SENT");
    let kept = Rate { events: KEPT_MAILS, per: None };
    let mails = mails.map(|PerHour(rate)| rate).filter(|_| sends_mail || !from_file);
    // The first is what upstream's splitting of words makes of the setting's name, the second what its documentation calls it.
    let names = ["O_AUTH", "OAUTH"].map(|word| format!("GOTRUE_RATE_LIMIT_{word}_DYNAMIC_CLIENT_REGISTER"));
    let registration: Option<Number> = reader.get("", &[&names[0], &names[1]])?;
    let registration = registration.map_or(default.oauth_client_registration, |Number(number)| number);
    let mut number = |part: &str, name: &str, default: f64| -> Result<f64, Invalid> {
        let Number(number) =
            gotrue(reader, &if part.is_empty() { String::new() } else { key(part) }, name, Number(default))?;
        Ok(number)
    };
    Ok(LimitSettings {
        otp: number("sign_in_sign_ups", "RATE_LIMIT_OTP", default.otp)?,
        token: number("token_refresh", "RATE_LIMIT_TOKEN_REFRESH", default.token)?,
        web3: number("web3", "RATE_LIMIT_WEB3", default.web3)?,
        verify: number("token_verifications", "RATE_LIMIT_VERIFY", default.verify)?,
        sso: number("", "RATE_LIMIT_SSO", default.sso)?,
        passkey: number("", "RATE_LIMIT_PASSKEY", default.passkey)?,
        anonymous_users: number("anonymous_users", "RATE_LIMIT_ANONYMOUS_USERS", default.anonymous_users)?,
        mfa: number("", "MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY", default.mfa)?,
        saml_assertion: number("", "SAML_RATE_LIMIT_ASSERTION", default.saml_assertion)?,
        oauth_client_registration: registration,
        header: optional(reader, "", "RATE_LIMIT_HEADER")?,
        mails: mails.unwrap_or(if sends_mail { default.mails } else { kept }),
        text_messages: optional(reader, &key("sms_sent"), "RATE_LIMIT_SMS_SENT")?
            .map_or(default.text_messages, |PerHour(rate)| rate),
        per_process: default.per_process,
    })
}

/// A number that is not negative and may have a fraction.
struct Number(f64);

impl Value for Number {
    const EXPECTED: &'static str = "a number from 0 on";

    fn from_text(text: &str) -> Option<Self> {
        let number: f64 = text.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(Self(number))
    }

    fn show(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

/// A number an hour, or `<number>/<duration>`: so many at once, and one more each time that the duration has passed.
struct PerHour(Rate);

impl Value for PerHour {
    const EXPECTED: &'static str = "a number an hour such as 30, or a burst and a pause such as 10/6m";

    fn from_text(text: &str) -> Option<Self> {
        let Some((events, per)) = text.split_once('/') else {
            return Number::from_text(text).map(|Number(events)| Self(Rate { events, per: None }));
        };
        let events: u32 = events.trim().parse().ok()?;
        let per = std::time::Duration::from_text(per).filter(|per| !per.is_zero())?;
        Some(Self(Rate { events: f64::from(events), per: Some(per) }))
    }

    fn show(&self) -> Option<String> {
        let Rate { events, per } = self.0;
        Some(per.map_or_else(|| events.to_string(), |per| format!("{events}/{per:?}")))
    }
}
