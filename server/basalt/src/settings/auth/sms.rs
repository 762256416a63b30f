//! `[auth.sms]` and `GOTRUE_SMS_*`.

use std::collections::BTreeMap;
use std::time::Duration;

use auth::{SmsProvider, SmsSettings};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Invalid, Reader, gotrue, optional, otp_length, secret};

const NAMES: [&str; 5] = ["twilio", "twilio_verify", "messagebird", "textlocal", "vonage"];

pub(super) fn read(reader: &mut Reader<'_>) -> Result<SmsSettings, Invalid> {
    let default = SmsSettings::default();
    let has_config = reader.has_config();
    let confirmations: Option<bool> = reader.get("auth.sms.enable_confirmations", &[])?;
    // As with mails, the CLI's template speaks where a config.toml says nothing.
    let autoconfirm = confirmations.map_or(has_config, |confirmations| !confirmations);
    let frequency = if has_config { Duration::from_secs(5) } else { default.max_frequency };
    Ok(SmsSettings {
        provider: provider(reader)?,
        autoconfirm: reader
            .get("", &["GOTRUE_SMS_AUTOCONFIRM", "ENABLE_PHONE_AUTOCONFIRM"])?
            .unwrap_or(autoconfirm),
        max_frequency: gotrue(reader, "auth.sms.max_frequency", "SMS_MAX_FREQUENCY", frequency)?,
        otp_expiry: gotrue(reader, "", "SMS_OTP_EXP", default.otp_expiry)?,
        otp_length: otp_length(reader, "", "SMS_OTP_LENGTH", default.otp_length)?,
        template: gotrue(reader, "auth.sms.template", "SMS_TEMPLATE", default.template)?,
        test_otps: test_otps(reader)?,
        test_otps_valid_until: valid_until(reader)?,
        base_url: reader.get("", &["BASALT_SMS_URL"])?,
    })
}

/// The provider that is named, or the one that is switched on in `config.toml`.
fn provider(reader: &mut Reader<'_>) -> Result<Option<SmsProvider>, Invalid> {
    let named: Option<String> = optional(reader, "", "SMS_PROVIDER")?;
    let mut chosen = named.clone();
    for name in NAMES {
        let enabled: Option<bool> = reader.get(&format!("auth.sms.{name}.enabled"), &[])?;
        if enabled == Some(true) && chosen.is_none() {
            chosen = Some(name.to_owned());
        }
    }
    // All are read, so that what is set for one that is off counts as known.
    let mut all = Vec::new();
    for name in NAMES {
        all.push(read_provider(reader, name)?);
    }
    let Some(chosen) = chosen else { return Ok(None) };
    let Some(provider) = all.into_iter().find(|provider| provider.name() == chosen) else {
        return Err(Invalid::new(
            "GOTRUE_SMS_PROVIDER",
            &format!("one of {}", NAMES.join(", ")),
            &format!("{chosen:?}"),
        ));
    };
    check(&provider)?;
    Ok(Some(provider))
}

fn read_provider(reader: &mut Reader<'_>, provider: &str) -> Result<SmsProvider, Invalid> {
    let names = |part: &str| {
        let name = format!("SMS_{}_{}", provider.to_ascii_uppercase(), part.to_ascii_uppercase());
        (format!("auth.sms.{provider}.{part}"), name)
    };
    let text = |reader: &mut Reader<'_>, part: &str| {
        let (key, name) = names(part);
        gotrue(reader, &key, &name, String::new())
    };
    let hidden = |reader: &mut Reader<'_>, part: &str| {
        let (key, name) = names(part);
        secret(reader, &key, &name)
    };
    Ok(match provider {
        "twilio" => SmsProvider::Twilio {
            account_sid: text(reader, "account_sid")?,
            auth_token: hidden(reader, "auth_token")?,
            message_service_sid: text(reader, "message_service_sid")?,
            content_sid: text(reader, "content_sid")?,
        },
        "twilio_verify" => SmsProvider::TwilioVerify {
            account_sid: text(reader, "account_sid")?,
            auth_token: hidden(reader, "auth_token")?,
            message_service_sid: text(reader, "message_service_sid")?,
        },
        "messagebird" => SmsProvider::Messagebird {
            access_key: hidden(reader, "access_key")?,
            originator: text(reader, "originator")?,
        },
        "textlocal" => {
            SmsProvider::Textlocal { api_key: hidden(reader, "api_key")?, sender: text(reader, "sender")? }
        }
        _ => SmsProvider::Vonage {
            api_key: text(reader, "api_key")?,
            api_secret: hidden(reader, "api_secret")?,
            from: text(reader, "from")?,
        },
    })
}

/// Refuses a provider that lacks something.
fn check(provider: &SmsProvider) -> Result<(), Invalid> {
    let parts: Vec<(&str, bool)> = match provider {
        SmsProvider::Twilio { account_sid, auth_token, message_service_sid, .. }
        | SmsProvider::TwilioVerify { account_sid, auth_token, message_service_sid } => vec![
            ("ACCOUNT_SID", account_sid.is_empty()),
            ("AUTH_TOKEN", auth_token.is_empty()),
            ("MESSAGE_SERVICE_SID", message_service_sid.is_empty()),
        ],
        SmsProvider::Messagebird { access_key, originator } => {
            vec![("ACCESS_KEY", access_key.is_empty()), ("ORIGINATOR", originator.is_empty())]
        }
        SmsProvider::Textlocal { api_key, sender } => {
            vec![("API_KEY", api_key.is_empty()), ("SENDER", sender.is_empty())]
        }
        SmsProvider::Vonage { api_key, api_secret, from } => vec![
            ("API_KEY", api_key.is_empty()),
            ("API_SECRET", api_secret.is_empty()),
            ("FROM", from.is_empty()),
        ],
    };
    let name = provider.name();
    match parts.into_iter().find(|(_, is_missing)| *is_missing) {
        Some((part, _)) => {
            let variable = format!("GOTRUE_SMS_{}_{part}", name.to_ascii_uppercase());
            Err(Invalid::new(&variable, &format!("what {name} needs to send messages"), &"none"))
        }
        None => Ok(()),
    }
}

/// Codes by phone number, which is kept without plus sign and blanks.
fn test_otps(reader: &mut Reader<'_>) -> Result<BTreeMap<String, String>, Invalid> {
    let pairs: BTreeMap<String, String> =
        gotrue(reader, "auth.sms.test_otp", "SMS_TEST_OTP", BTreeMap::new())?;
    Ok(pairs.into_iter().map(|(phone, code)| (phone.replace(['+', ' '], ""), code)).collect())
}

fn valid_until(reader: &mut Reader<'_>) -> Result<Option<OffsetDateTime>, Invalid> {
    let name = "SMS_TEST_OTP_VALID_UNTIL";
    let Some(text) = optional::<String>(reader, "", name)? else { return Ok(None) };
    OffsetDateTime::parse(text.trim(), &Rfc3339).map(Some).map_err(|_| {
        Invalid::new(&format!("GOTRUE_{name}"), "a moment such as 2030-01-31T12:00:00Z", &format!("{text:?}"))
    })
}
