//! Rate limits.

use std::time::Duration;

use ::settings::{Invalid, Reader, Value};

/// How many mails may be stored in a folder per hour. The number is very high, because such mails are not sent and cost
/// nothing.
const KEPT_MAILS: Rate = Rate { events: 360_000.0, per: None };
const HOURLY: Rate = Rate { events: 30.0, per: None };

/// How often something may happen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// How many times.
    pub events: f64,
    /// In how much time. `None`: in an hour, counted from the first time.
    pub per: Option<Duration>,
}

/// A number per hour, or `<number>/<duration>`: this number at once, and one more each time the duration has passed.
impl Value for Rate {
    const EXPECTED: &'static str = "a number an hour such as 30, or a burst and a pause such as 10/6m";

    fn from_text(text: &str) -> Option<Self> {
        let Some((events, per)) = text.split_once('/') else {
            return f64::from_text(text).map(|events| Self { events, per: None });
        };
        let events: u32 = events.trim().parse().ok()?;
        let per = Duration::from_text(per).filter(|per| !per.is_zero())?;
        Some(Self { events: f64::from(events), per: Some(per) })
    }

    fn show(&self) -> Option<String> {
        let Self { events, per } = self;
        Some(per.map_or_else(|| events.to_string(), |per| format!("{events}/{per:?}")))
    }
}

::settings::settings! {
    /// Rate limits. All are counted for each client, except for mails and text messages.
    #[derive(Debug, Clone)]
    pub struct LimitSettings {
        /// The header whose first item identifies the client. Requests without this header are not limited. If the
        /// setting is not set, the address identifies the client, and programs on this machine are not limited.
        #[setting(variables = ["GOTRUE_RATE_LIMIT_HEADER"])]
        pub header: Option<String> = None,
        /// Requests for codes and sign-ups in five minutes, for each endpoint.
        #[setting(variables = ["GOTRUE_RATE_LIMIT_OTP"], key = "auth.rate_limit.sign_in_sign_ups")]
        pub otp: f64 = 30.0,
        /// Requests for tokens in five minutes.
        #[setting(variables = ["GOTRUE_RATE_LIMIT_TOKEN_REFRESH"], key = "auth.rate_limit.token_refresh")]
        pub token: f64 = 150.0,
        /// Sign-ins with wallets in five minutes.
        #[setting(variables = ["GOTRUE_RATE_LIMIT_WEB3"], key = "auth.rate_limit.web3")]
        pub web3: f64 = 30.0,
        /// Verifications of codes and links in five minutes.
        #[setting(variables = ["GOTRUE_RATE_LIMIT_VERIFY"], key = "auth.rate_limit.token_verifications")]
        pub verify: f64 = 30.0,
        /// Single sign-ons in five minutes.
        #[setting(variables = ["GOTRUE_RATE_LIMIT_SSO"])]
        pub sso: f64 = 30.0,
        /// Requests for passkeys (registrations and sign-ins) in five minutes.
        #[setting(variables = ["GOTRUE_RATE_LIMIT_PASSKEY"])]
        pub passkey: f64 = 30.0,
        /// New anonymous users in an hour.
        #[setting(variables = ["GOTRUE_RATE_LIMIT_ANONYMOUS_USERS"], key = "auth.rate_limit.anonymous_users")]
        pub anonymous_users: f64 = 30.0,
        /// Challenges and verifications of second factors in a minute.
        #[setting(variables = ["GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY"])]
        pub mfa: f64 = 15.0,
        /// SAML assertions in five minutes.
        #[setting(variables = ["GOTRUE_SAML_RATE_LIMIT_ASSERTION"])]
        pub saml_assertion: f64 = 15.0,
        /// OAuth clients that register themselves in five minutes. The first name follows from upstream's code, the
        /// second is in its documentation.
        #[setting(variables = [
            "GOTRUE_RATE_LIMIT_O_AUTH_DYNAMIC_CLIENT_REGISTER",
            "GOTRUE_RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER"
        ])]
        pub oauth_client_registration: f64 = 10.0,
        /// Mails of all clients together. Each network gets only its share (`basalt.network_shares`). Without a mail
        /// server the key of `config.toml` has no effect, and the limit is very high.
        #[setting(variables = ["GOTRUE_RATE_LIMIT_EMAIL_SENT"], key = "auth.rate_limit.email_sent")]
        pub mails: Rate = HOURLY,
        /// Text messages of all clients together. Each network gets only its share (`basalt.network_shares`).
        #[setting(variables = ["GOTRUE_RATE_LIMIT_SMS_SENT"], key = "auth.rate_limit.sms_sent")]
        pub text_messages: Rate = HOURLY,
        /// Whether each process counts alone, in memory, and only requests with the header, as upstream does. This is
        /// for a database that has only the schema `auth`. Otherwise all nodes count together.
        pub per_process: bool = false,
    }
}

impl LimitSettings {
    /// Reads the limits. `sends_mail` says whether a mail server is set.
    pub(super) fn read(reader: &mut Reader<'_>, sends_mail: bool) -> Result<Self, Invalid> {
        let mut settings: Self = reader.read()?;
        // As in the CLI, the number in `config.toml` is only for mails that a mail server sends.
        if !sends_mail && !reader.is_in_environment("GOTRUE_RATE_LIMIT_EMAIL_SENT") {
            settings.mails = KEPT_MAILS;
        }
        Ok(settings)
    }
}
