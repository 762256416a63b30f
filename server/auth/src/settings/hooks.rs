//! Hooks: functions or URLs of the project that auth calls.

use std::collections::BTreeMap;

use ::settings::{Invalid, Reader, Secret};

::settings::words! {
    /// The hooks, by their lowercase names in upstream's settings.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum HookName {
        /// Rewrites the claims of access tokens.
        CustomAccessToken = "custom_access_token",
        /// Sends mails instead of the mail server.
        SendEmail = "send_email",
        /// Sends text messages instead of the provider.
        SendSms = "send_sms",
        /// Decides about attempts to verify a second factor.
        MfaVerificationAttempt = "mfa_verification_attempt",
        /// Decides about attempts to sign in with a password.
        PasswordVerificationAttempt = "password_verification_attempt",
        /// May refuse new users.
        BeforeUserCreated = "before_user_created",
        /// Is called after a user was created.
        AfterUserCreated = "after_user_created",
    }
}

/// A hook that is switched on.
#[derive(Debug, Clone, Default)]
pub struct Hook {
    /// `https://…`, `http://…` on this machine, or `pg-functions://<any>/<schema>/<function>`.
    pub uri: String,
    /// Secrets that sign calls over HTTP, `v1,whsec_<base64>` each.
    pub secrets: Vec<Secret>,
    /// Whether a URL leads to public addresses only: it was set over the platform interface, whose callers get no way
    /// into the network that this server stands in.
    pub is_public: bool,
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
            let names = ("auth.hook", "GOTRUE_HOOK", name.name());
            let is_enabled = super::named(reader, names, "enabled")?.unwrap_or(false);
            let uri: Option<String> = super::named(reader, names, "uri")?;
            let secrets: String = super::named(reader, names, "secrets")?.unwrap_or_default();
            if !is_enabled {
                continue;
            }
            let key = format!("auth.hook.{}.uri", name.name());
            let unset = reader.unset(&key, "the hook cannot be called");
            // The start fails, as that of the CLI does: without the hook, what it should refuse would be allowed.
            let found =
                unset.map_or_else(|| "none".to_owned(), |variable| format!("{variable}, which is not set"));
            let missing = || {
                let variable = format!("GOTRUE_HOOK_{}_URI", name.name().to_ascii_uppercase());
                let expected =
                    "https://… or pg-functions://postgres/<schema>/<function>, since the hook is enabled";
                Invalid::new(&variable, expected, &found)
            };
            let uri = uri.ok_or_else(missing)?;
            let secrets = secrets.split('|').filter(|secret| !secret.is_empty()).map(Secret::from).collect();
            let is_public = reader.is_managed(&key);
            hooks.0.insert(name, Hook { uri, secrets, is_public });
        }
        Ok(hooks)
    }
}
