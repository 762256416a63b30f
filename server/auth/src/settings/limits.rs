use std::time::Duration;

/// How often something may happen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// How many.
    pub events: f64,
    /// In which time. None: in an hour, counted from the first of them.
    pub per: Option<Duration>,
}

/// How often things may be done. All but the first and the mails count per value of a header.
#[derive(Debug, Clone)]
pub struct LimitSettings {
    /// The header whose first item tells clients apart (`RATE_LIMIT_HEADER`); requests without it are not limited.
    /// Default none: clients are told apart by their address, and those on this machine are not limited.
    pub header: Option<String>,
    /// Requests for codes and sign-ups in five minutes, per endpoint (`RATE_LIMIT_OTP`). Default 30.
    pub otp: f64,
    /// Requests for tokens in five minutes (`RATE_LIMIT_TOKEN_REFRESH`). Default 150.
    pub token: f64,
    /// Sign-ins with wallets in five minutes (`RATE_LIMIT_WEB3`). Default 30.
    pub web3: f64,
    /// Verifications in five minutes (`RATE_LIMIT_VERIFY`). Default 30.
    pub verify: f64,
    /// Single sign-ons in five minutes (`RATE_LIMIT_SSO`). Default 30.
    pub sso: f64,
    /// Passkey ceremonies in five minutes (`RATE_LIMIT_PASSKEY`). Default 30.
    pub passkey: f64,
    /// Anonymous users in an hour (`RATE_LIMIT_ANONYMOUS_USERS`). Default 30.
    pub anonymous_users: f64,
    /// Challenges and verifications of second factors in a minute (`MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY`).
    /// Default 15.
    pub mfa: f64,
    /// SAML assertions in five minutes (`SAML_RATE_LIMIT_ASSERTION`). Default 15.
    pub saml_assertion: f64,
    /// OAuth clients that register themselves in five minutes (`RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER`).
    /// Default 10.
    pub oauth_client_registration: f64,
    /// All mails (`RATE_LIMIT_EMAIL_SENT`). Default 30 in an hour.
    pub mails: Rate,
    /// All text messages (`RATE_LIMIT_SMS_SENT`). Default 30 in an hour.
    pub text_messages: Rate,
    /// Whether each process counts alone and in memory, and only what has the header, as upstream does: for a database
    /// that has nothing but schema `auth`. Default false: all nodes count together.
    pub per_process: bool,
}

impl Default for LimitSettings {
    fn default() -> LimitSettings {
        let hourly = Rate { events: 30.0, per: None };
        LimitSettings {
            header: None,
            otp: 30.0,
            token: 150.0,
            web3: 30.0,
            verify: 30.0,
            sso: 30.0,
            passkey: 30.0,
            anonymous_users: 30.0,
            mfa: 15.0,
            saml_assertion: 15.0,
            oauth_client_registration: 10.0,
            mails: hourly,
            text_messages: hourly,
            per_process: false,
        }
    }
}
