//! Code of the project that takes part in decisions.

use std::collections::BTreeMap;

use ::settings::{Invalid, Reader, Secret};

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
    pub const ALL: [Self; 7] = [
        Self::CustomAccessToken,
        Self::SendEmail,
        Self::SendSms,
        Self::MfaVerificationAttempt,
        Self::PasswordVerificationAttempt,
        Self::BeforeUserCreated,
        Self::AfterUserCreated,
    ];

    /// Returns the name in upstream's settings, lowercase: `custom_access_token`, ….
    pub const fn setting(self) -> &'static str {
        match self {
            Self::CustomAccessToken => "custom_access_token",
            Self::SendEmail => "send_email",
            Self::SendSms => "send_sms",
            Self::MfaVerificationAttempt => "mfa_verification_attempt",
            Self::PasswordVerificationAttempt => "password_verification_attempt",
            Self::BeforeUserCreated => "before_user_created",
            Self::AfterUserCreated => "after_user_created",
        }
    }
}

/// A hook that is switched on.
#[derive(Debug, Clone)]
pub struct Hook {
    /// `https://…`, `http://…` on this machine, or `pg-functions://<any>/<schema>/<function>`.
    pub uri: String,
    /// Secrets that sign calls over HTTP, `v1,whsec_<base64>` each.
    pub secrets: Vec<Secret>,
}

/// The hooks that are switched on.
#[derive(Debug, Clone, Default)]
pub struct HookSettings(pub BTreeMap<HookName, Hook>);

impl HookSettings {
    /// Returns the hook of this name, if it is switched on.
    pub fn get(&self, name: HookName) -> Option<&Hook> {
        self.0.get(&name)
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let mut hooks = Self::default();
        for name in HookName::ALL {
            let names = ("auth.hook", "GOTRUE_HOOK", name.setting());
            let is_enabled = super::named(reader, names, "enabled")?.unwrap_or(false);
            let uri: Option<String> = super::named(reader, names, "uri")?;
            let secrets: String = super::named(reader, names, "secrets")?.unwrap_or_default();
            if !is_enabled {
                continue;
            }
            let key = format!("auth.hook.{}.uri", name.setting());
            let unset = reader.unset(&key, "the hook cannot be called");
            // Without the hook, what it is to refuse would be allowed: the CLI does not start, either.
            let found =
                unset.map_or_else(|| "none".to_owned(), |variable| format!("{variable}, which is not set"));
            let missing = || {
                let variable = format!("GOTRUE_HOOK_{}_URI", name.setting().to_ascii_uppercase());
                let expected =
                    "https://… or pg-functions://postgres/<schema>/<function>, since the hook is enabled";
                Invalid::new(&variable, expected, &found)
            };
            let uri = uri.ok_or_else(missing)?;
            let secrets = secrets.split('|').filter(|secret| !secret.is_empty()).map(Secret::from).collect();
            hooks.0.insert(name, Hook { uri, secrets });
        }
        Ok(hooks)
    }
}
