use std::collections::BTreeMap;

use super::Secret;

/// Where code of the project takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookName {
    /// Rewrites the claims of access tokens.
    CustomAccessToken,
    /// Sends mails instead of SMTP.
    SendEmail,
    /// Sends text messages instead of the provider.
    SendSms,
    /// Judges attempts to verify a second factor.
    MfaVerificationAttempt,
    /// Judges attempts to sign in with a password.
    PasswordVerificationAttempt,
    /// May refuse new users.
    BeforeUserCreated,
    /// Is told of new users.
    AfterUserCreated,
}

impl HookName {
    /// All hooks.
    pub const ALL: [HookName; 7] = [
        HookName::CustomAccessToken,
        HookName::SendEmail,
        HookName::SendSms,
        HookName::MfaVerificationAttempt,
        HookName::PasswordVerificationAttempt,
        HookName::BeforeUserCreated,
        HookName::AfterUserCreated,
    ];

    /// The name in upstream's settings, lowercase: `custom_access_token`, ….
    pub const fn setting(self) -> &'static str {
        match self {
            HookName::CustomAccessToken => "custom_access_token",
            HookName::SendEmail => "send_email",
            HookName::SendSms => "send_sms",
            HookName::MfaVerificationAttempt => "mfa_verification_attempt",
            HookName::PasswordVerificationAttempt => "password_verification_attempt",
            HookName::BeforeUserCreated => "before_user_created",
            HookName::AfterUserCreated => "after_user_created",
        }
    }
}

/// A hook that is switched on.
#[derive(Debug, Clone)]
pub struct Hook {
    /// `https://…`, `http://…` on this machine, or `pg-functions://<any>/<schema>/<function>` (`HOOK_<NAME>_URI`).
    pub uri: String,
    /// Secrets that sign calls over HTTP, `v1,whsec_<base64>` each (`HOOK_<NAME>_SECRETS`, separated by `|`).
    pub secrets: Vec<Secret>,
}

/// The hooks that are switched on (`HOOK_<NAME>_ENABLED`). Default none.
#[derive(Debug, Clone, Default)]
pub struct HookSettings(pub BTreeMap<HookName, Hook>);

impl HookSettings {
    /// The hook of this name, if it is switched on.
    pub fn get(&self, name: HookName) -> Option<&Hook> {
        self.0.get(&name)
    }
}
