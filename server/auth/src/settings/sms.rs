use std::collections::BTreeMap;
use std::time::Duration;

use time::OffsetDateTime;

use super::Secret;

/// Who sends text messages.
#[derive(Debug, Clone)]
pub enum SmsProvider {
    /// Twilio's messages (`SMS_TWILIO_*`).
    Twilio {
        /// `ACCOUNT_SID`
        account_sid: String,
        /// `AUTH_TOKEN`
        auth_token: Secret,
        /// `MESSAGE_SERVICE_SID`: a messaging service or a sender's number.
        message_service_sid: String,
        /// `CONTENT_SID`: the template of WhatsApp messages; empty for none.
        content_sid: String,
    },
    /// Twilio's own codes (`SMS_TWILIO_VERIFY_*`).
    TwilioVerify {
        /// `ACCOUNT_SID`
        account_sid: String,
        /// `AUTH_TOKEN`
        auth_token: Secret,
        /// `MESSAGE_SERVICE_SID`: the verification service.
        message_service_sid: String,
    },
    /// MessageBird (`SMS_MESSAGEBIRD_*`).
    Messagebird {
        /// `ACCESS_KEY`
        access_key: Secret,
        /// `ORIGINATOR`
        originator: String,
    },
    /// Textlocal (`SMS_TEXTLOCAL_*`).
    Textlocal {
        /// `API_KEY`
        api_key: Secret,
        /// `SENDER`
        sender: String,
    },
    /// Vonage (`SMS_VONAGE_*`).
    Vonage {
        /// `API_KEY`
        api_key: String,
        /// `API_SECRET`
        api_secret: Secret,
        /// `FROM`
        from: String,
    },
}

impl SmsProvider {
    /// The name in `SMS_PROVIDER`.
    pub const fn name(&self) -> &'static str {
        match self {
            SmsProvider::Twilio { .. } => "twilio",
            SmsProvider::TwilioVerify { .. } => "twilio_verify",
            SmsProvider::Messagebird { .. } => "messagebird",
            SmsProvider::Textlocal { .. } => "textlocal",
            SmsProvider::Vonage { .. } => "vonage",
        }
    }
}

/// Text messages and how they are sent.
#[derive(Debug, Clone)]
pub struct SmsSettings {
    /// Who sends them (`SMS_PROVIDER`). Default none.
    pub provider: Option<SmsProvider>,
    /// New numbers need no confirmation (`SMS_AUTOCONFIRM`). Default false.
    pub autoconfirm: bool,
    /// Shortest time between two messages of one kind to one user (`SMS_MAX_FREQUENCY`). Default one minute.
    pub max_frequency: Duration,
    /// Life of codes (`SMS_OTP_EXP`). Default 60 s.
    pub otp_expiry: Duration,
    /// Digits of a code (`SMS_OTP_LENGTH`), 6 to 10. Default 6.
    pub otp_length: usize,
    /// Text of a message (`SMS_TEMPLATE`). Default `Your code is {{ .Code }}`.
    pub template: String,
    /// Codes by phone number for which nothing is sent (`SMS_TEST_OTP`). Default none.
    pub test_otps: BTreeMap<String, String>,
    /// When those codes cease to work (`SMS_TEST_OTP_VALID_UNTIL`). Default never.
    pub test_otps_valid_until: Option<OffsetDateTime>,
    /// Where to ask in place of the provider's own host, scheme included (`BASALT_SMS_URL`). Default none.
    pub base_url: Option<String>,
}

impl Default for SmsSettings {
    fn default() -> SmsSettings {
        SmsSettings {
            provider: None,
            autoconfirm: false,
            max_frequency: Duration::from_secs(60),
            otp_expiry: Duration::from_secs(60),
            otp_length: 6,
            template: "Your code is {{ .Code }}".to_owned(),
            test_otps: BTreeMap::new(),
            test_otps_valid_until: None,
            base_url: None,
        }
    }
}

impl SmsSettings {
    /// The code that always works for `phone`, if there is one now.
    pub(crate) fn test_otp(&self, phone: &str) -> Option<&str> {
        let valid = self.test_otps_valid_until.is_none_or(|until| OffsetDateTime::now_utc() < until);
        self.test_otps.get(phone).filter(|_| valid).map(String::as_str)
    }
}
