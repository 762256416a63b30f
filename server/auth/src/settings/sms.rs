//! Text messages and how they are sent.

use std::collections::BTreeMap;
use std::time::Duration;

use ::settings::{Invalid, Reader, Secret, Table, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::otp_length;

/// The provider that sends text messages.
#[derive(Debug, Clone)]
pub enum SmsProvider {
    /// Twilio's messages.
    Twilio(Twilio),
    /// Twilio Verify, which makes the codes itself.
    TwilioVerify(TwilioVerify),
    /// MessageBird.
    Messagebird(Messagebird),
    /// Textlocal.
    Textlocal(Textlocal),
    /// Vonage.
    Vonage(Vonage),
}

impl SmsProvider {
    /// Returns the name in `GOTRUE_SMS_PROVIDER`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Twilio { .. } => "twilio",
            Self::TwilioVerify { .. } => "twilio_verify",
            Self::Messagebird { .. } => "messagebird",
            Self::Textlocal { .. } => "textlocal",
            Self::Vonage { .. } => "vonage",
        }
    }
}

::settings::settings! {
    /// An account at Twilio for messages.
    #[derive(Debug, Clone)]
    pub struct Twilio {
        /// Whether this provider sends the messages, if `GOTRUE_SMS_PROVIDER` names none.
        #[setting(variables = [], key = "auth.sms.twilio.enabled")]
        pub enabled: bool = false,
        /// The id of the account.
        #[setting(variables = ["GOTRUE_SMS_TWILIO_ACCOUNT_SID"], key = "auth.sms.twilio.account_sid")]
        pub account_sid: String = String::new(),
        /// The token of the account.
        #[setting(variables = ["GOTRUE_SMS_TWILIO_AUTH_TOKEN"], key = "auth.sms.twilio.auth_token")]
        pub auth_token: Secret = Secret::default(),
        /// The id of a messaging service, or the number of the sender.
        #[setting(variables = ["GOTRUE_SMS_TWILIO_MESSAGE_SERVICE_SID"], key = "auth.sms.twilio.message_service_sid")]
        pub message_service_sid: String = String::new(),
        /// The id of the template for WhatsApp messages. Empty: no template.
        #[setting(variables = ["GOTRUE_SMS_TWILIO_CONTENT_SID"], key = "auth.sms.twilio.content_sid"; may_be_empty)]
        pub content_sid: String = String::new(),
    }
}

::settings::settings! {
    /// An account at Twilio for codes.
    #[derive(Debug, Clone)]
    pub struct TwilioVerify {
        /// Whether this provider sends the messages, if `GOTRUE_SMS_PROVIDER` names none.
        #[setting(variables = [], key = "auth.sms.twilio_verify.enabled")]
        pub enabled: bool = false,
        /// The id of the account.
        #[setting(variables = ["GOTRUE_SMS_TWILIO_VERIFY_ACCOUNT_SID"], key = "auth.sms.twilio_verify.account_sid")]
        pub account_sid: String = String::new(),
        /// The token of the account.
        #[setting(variables = ["GOTRUE_SMS_TWILIO_VERIFY_AUTH_TOKEN"], key = "auth.sms.twilio_verify.auth_token")]
        pub auth_token: Secret = Secret::default(),
        /// The id of the verification service.
        #[setting(
            variables = ["GOTRUE_SMS_TWILIO_VERIFY_MESSAGE_SERVICE_SID"],
            key = "auth.sms.twilio_verify.message_service_sid"
        )]
        pub message_service_sid: String = String::new(),
    }
}

::settings::settings! {
    /// An account at MessageBird.
    #[derive(Debug, Clone)]
    pub struct Messagebird {
        /// Whether this provider sends the messages, if `GOTRUE_SMS_PROVIDER` names none.
        #[setting(variables = [], key = "auth.sms.messagebird.enabled")]
        pub enabled: bool = false,
        /// The key of the account.
        #[setting(variables = ["GOTRUE_SMS_MESSAGEBIRD_ACCESS_KEY"], key = "auth.sms.messagebird.access_key")]
        pub access_key: Secret = Secret::default(),
        /// The name or number of the sender.
        #[setting(variables = ["GOTRUE_SMS_MESSAGEBIRD_ORIGINATOR"], key = "auth.sms.messagebird.originator")]
        pub originator: String = String::new(),
    }
}

::settings::settings! {
    /// An account at Textlocal.
    #[derive(Debug, Clone)]
    pub struct Textlocal {
        /// Whether this provider sends the messages, if `GOTRUE_SMS_PROVIDER` names none.
        #[setting(variables = [], key = "auth.sms.textlocal.enabled")]
        pub enabled: bool = false,
        /// The key of the account.
        #[setting(variables = ["GOTRUE_SMS_TEXTLOCAL_API_KEY"], key = "auth.sms.textlocal.api_key")]
        pub api_key: Secret = Secret::default(),
        /// The name or number of the sender.
        #[setting(variables = ["GOTRUE_SMS_TEXTLOCAL_SENDER"], key = "auth.sms.textlocal.sender")]
        pub sender: String = String::new(),
    }
}

::settings::settings! {
    /// An account at Vonage.
    #[derive(Debug, Clone)]
    pub struct Vonage {
        /// Whether this provider sends the messages, if `GOTRUE_SMS_PROVIDER` names none.
        #[setting(variables = [], key = "auth.sms.vonage.enabled")]
        pub enabled: bool = false,
        /// The key of the account.
        #[setting(variables = ["GOTRUE_SMS_VONAGE_API_KEY"], key = "auth.sms.vonage.api_key")]
        pub api_key: String = String::new(),
        /// The secret of the account.
        #[setting(variables = ["GOTRUE_SMS_VONAGE_API_SECRET"], key = "auth.sms.vonage.api_secret")]
        pub api_secret: Secret = Secret::default(),
        /// The name or number of the sender.
        #[setting(variables = ["GOTRUE_SMS_VONAGE_FROM"], key = "auth.sms.vonage.from")]
        pub from: String = String::new(),
    }
}

::settings::settings! {
    /// Text messages and how they are sent.
    #[derive(Debug, Clone)]
    pub struct SmsSettings {
        /// The provider that sends text messages.
        pub provider: Option<SmsProvider> = None,
        /// Whether new numbers count as confirmed at once. By default the opposite of `auth.sms.enable_confirmations`;
        /// if there is a `config.toml` that does not set this key, the default is `true`.
        #[setting(variables = ["GOTRUE_SMS_AUTOCONFIRM", "ENABLE_PHONE_AUTOCONFIRM"])]
        pub autoconfirm: bool = false,
        /// The shortest time between two messages of the same kind to the same user. If there is a `config.toml`, the
        /// default is 5 s.
        #[setting(variables = ["GOTRUE_SMS_MAX_FREQUENCY"], key = "auth.sms.max_frequency")]
        pub max_frequency: Duration = Duration::from_secs(60),
        /// How long codes are valid.
        #[setting(variables = ["GOTRUE_SMS_OTP_EXP"])]
        pub otp_expiry: Duration = Duration::from_secs(60),
        /// The number of digits of a code, 6 to 10.
        #[setting(variables = ["GOTRUE_SMS_OTP_LENGTH"], check = otp_length)]
        pub otp_length: usize = 6,
        /// The text of a message.
        #[setting(variables = ["GOTRUE_SMS_TEMPLATE"], key = "auth.sms.template")]
        pub template: String = "Your code is {{ .Code }}".to_owned(),
        /// Codes for tests, by phone number. To these numbers no messages are sent.
        #[setting(variables = ["GOTRUE_SMS_TEST_OTP"], key = "auth.sms.test_otp", check = bare_numbers)]
        pub test_otps: BTreeMap<String, String> = BTreeMap::new(),
        /// Until when the codes for tests are valid. If it is not set, they stay valid.
        #[setting(variables = ["GOTRUE_SMS_TEST_OTP_VALID_UNTIL"])]
        pub test_otps_valid_until: Option<Moment> = None,
        /// A URL to use instead of the provider's host, such as `https://sms.example.org`.
        #[setting(variables = ["BASALT_SMS_URL"])]
        pub base_url: Option<String> = None,
    }
}

/// Returns `codes` with the phone numbers as they are stored: without plus sign and blanks.
fn bare_numbers(codes: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, &'static str> {
    Ok(codes.into_iter().map(|(phone, code)| (phone.replace(['+', ' '], ""), code)).collect())
}

/// A point in time, in the format of RFC 3339.
#[derive(Debug, Clone, Copy)]
pub struct Moment(pub OffsetDateTime);

impl Value for Moment {
    const EXPECTED: &'static str = "a moment such as 2030-01-31T12:00:00Z";

    fn from_text(text: &str) -> Option<Self> {
        OffsetDateTime::parse(text.trim(), &Rfc3339).map(Self).ok()
    }

    fn show(&self) -> Option<String> {
        self.0.format(&Rfc3339).ok()
    }
}

impl SmsSettings {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let mut sms = Self::default();
        if reader.has_config() {
            // As with mails, the defaults are those of the CLI's template.
            sms.autoconfirm = true;
            sms.max_frequency = super::TEMPLATES_SMS_FREQUENCY;
        }
        let confirmations: Option<bool> = reader.get("auth.sms.enable_confirmations", &[])?;
        sms.autoconfirm = confirmations.map_or(sms.autoconfirm, |confirmations| !confirmations);
        reader.apply(&mut sms)?;
        sms.provider = provider(reader)?;
        Ok(sms)
    }

    /// Returns the code that always works for `phone`, if there is one now.
    pub(crate) fn test_otp(&self, phone: &str) -> Option<&str> {
        let valid = self.test_otps_valid_until.is_none_or(|Moment(until)| OffsetDateTime::now_utc() < until);
        self.test_otps.get(phone).filter(|_| valid).map(String::as_str)
    }
}

/// Reads the provider that `GOTRUE_SMS_PROVIDER` names, or else the first that is switched on in `config.toml`.
fn provider(reader: &mut Reader<'_>) -> Result<Option<SmsProvider>, Invalid> {
    let named: Option<String> = reader.get("", &["GOTRUE_SMS_PROVIDER"])?;
    // All are read, also those that are switched off, so that nothing warns about their keys as unknown.
    let (twilio, twilio_missing): (Twilio, _) = account(reader)?;
    let (verify, verify_missing): (TwilioVerify, _) = account(reader)?;
    let (messagebird, messagebird_missing): (Messagebird, _) = account(reader)?;
    let (textlocal, textlocal_missing): (Textlocal, _) = account(reader)?;
    let (vonage, vonage_missing): (Vonage, _) = account(reader)?;
    let all = [
        (twilio.enabled, twilio_missing, SmsProvider::Twilio(twilio)),
        (verify.enabled, verify_missing, SmsProvider::TwilioVerify(verify)),
        (messagebird.enabled, messagebird_missing, SmsProvider::Messagebird(messagebird)),
        (textlocal.enabled, textlocal_missing, SmsProvider::Textlocal(textlocal)),
        (vonage.enabled, vonage_missing, SmsProvider::Vonage(vonage)),
    ];
    let names = all.each_ref().map(|(.., provider)| provider.name());
    let is_chosen = |is_enabled: bool, provider: &SmsProvider| {
        named.as_deref().map_or(is_enabled, |name| name == provider.name())
    };
    match (all.into_iter().find(|(is_enabled, _, provider)| is_chosen(*is_enabled, provider)), &named) {
        (Some((_, None, provider)), _) => Ok(Some(provider)),
        (Some((_, Some(variable), provider)), _) => {
            let expected = format!("what {} needs to send messages", provider.name());
            Err(Invalid::new(variable, &expected, &"none"))
        }
        (None, None) => Ok(None),
        (None, Some(name)) => {
            let expected = format!("one of {}", names.join(", "));
            Err(Invalid::new("GOTRUE_SMS_PROVIDER", &expected, &format!("{name:?}")))
        }
    }
}

/// Reads an account at a provider. Also returns the first variable that is required and has no value.
fn account<T: Table>(reader: &mut Reader<'_>) -> Result<(T, Option<&'static str>), Invalid> {
    let account: T = reader.read()?;
    let missing = ::settings::text_values(&account)
        .find(|(setting, value)| value.is_none() && !setting.may_be_empty)
        .and_then(|(setting, _)| setting.variables.first().copied());
    Ok((account, missing))
}
