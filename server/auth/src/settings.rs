//! Settings of the auth service, one file per area: `[auth]` of `config.toml`, upstream's variables `GOTRUE_*`, and the
//! names that Supabase's compose file uses without the prefix (`SITE_URL`, `SMTP_HOST`, …).

mod encryption;
mod hooks;
mod ignored;
mod inbox;
mod limits;
mod mail;
mod mfa;
mod oauth_server;
mod passwords;
mod providers;
mod reference;
mod saml;
mod security;
mod server;
mod sessions;
mod sms;
#[cfg(test)]
mod tests;
mod third_party;
mod token;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use ::settings::Secret;
use ::settings::{Invalid, KnownKeys, Reader, Value};

pub use encryption::{EncryptionKey, EncryptionSettings};
pub use hooks::{Hook, HookName, HookSettings};
pub use inbox::read_inbox_port;
pub use limits::{LimitSettings, Rate};
pub use mail::{MailHeaders, MailKind, MailSettings, SmtpSettings};
pub use mfa::{
    FactorSettings, MfaSettings, PasskeySettings, PhoneFactorSettings, RecoveryCodeSettings, WebauthnSettings,
};
pub use oauth_server::OauthServerSettings;
pub use passwords::{CharacterSets, PasswordSettings};
pub use providers::{OauthProvider, ProviderSettings, Web3Settings};
pub use reference::settings_reference;
pub use saml::SamlSettings;
pub use security::{Captcha, CaptchaProvider, SecuritySettings};
pub use server::ServerSettings;
pub use sessions::SessionSettings;
pub use sms::{Messagebird, Moment, SmsProvider, SmsSettings, Textlocal, Twilio, TwilioVerify, Vonage};
pub use third_party::read_third_parties;
pub use token::TokenSettings;

/// Names that the service knows although no setting has them.
pub const KNOWN_KEYS: KnownKeys = KnownKeys {
    silent: &["local_smtp.admin_email", "local_smtp.sender_name"],
    without_effect: &[("local_smtp.pop3_port", "", NO_SMTP), ("local_smtp.smtp_port", "", NO_SMTP)],
    off_by_default: &[
        "auth.captcha",
        "auth.email.notification.*",
        "auth.external.*",
        "auth.hook.*",
        "auth.sms.*",
        "auth.third_party.*",
        "auth.web3.*",
    ],
    // If such a key is `env(NAME)` and the variable is not set, it keeps this text, and the provider refuses it. Thus
    // the server starts, and no provider is silently off. The Supabase CLI keeps the text of every key.
    kept_references: &[
        "auth.captcha.secret",
        "auth.external.*.client_id",
        "auth.external.*.secret",
        "auth.sms.*.access_key",
        "auth.sms.*.account_sid",
        "auth.sms.*.api_key",
        "auth.sms.*.api_secret",
        "auth.sms.*.auth_token",
        "auth.sms.*.from",
        "auth.sms.*.message_service_sid",
        "auth.sms.*.originator",
        "auth.sms.*.sender",
    ],
    prefixes: &["GOTRUE_"],
    ..KnownKeys::NONE
};

const NO_SMTP: &str = "mails are shown on a page, and taken from the services alone";

/// The shortest time between two text messages to one user in the Supabase CLI's template.
const TEMPLATES_SMS_FREQUENCY: Duration = Duration::from_secs(5);

::settings::settings! {
    /// Settings of the auth service.
    #[derive(Debug, Clone)]
    pub struct Settings {
        /// The URL at which clients reach this service. If it is not set, it is the API's URL with `/auth/v1`.
        #[setting(variables = ["GOTRUE_API_EXTERNAL_URL"], key = "auth.external_url")]
        pub external_url: String = "http://127.0.0.1:54321/auth/v1".to_owned(),
        /// The URL of the site. Links in mails and sign-ins lead users there if the request names no other URL.
        #[setting(variables = ["GOTRUE_SITE_URL", "SITE_URL"], key = "auth.site_url")]
        pub site_url: String = "http://127.0.0.1:3000".to_owned(),
        /// Further URLs to which users may be sent; patterns such as `https://*.example.org/**` are allowed.
        #[setting(
            variables = ["GOTRUE_URI_ALLOW_LIST", "ADDITIONAL_REDIRECT_URLS"],
            key = "auth.additional_redirect_urls"
        )]
        pub uri_allow_list: Vec<String> = Vec::new(),
        /// Whether sign-ups are refused. By default the opposite of `auth.enable_signup`.
        #[setting(variables = ["GOTRUE_DISABLE_SIGNUP", "DISABLE_SIGNUP"])]
        pub disable_signup: bool = false,
        /// How long one request may take.
        #[setting(variables = ["GOTRUE_API_MAX_REQUEST_DURATION"])]
        pub request_timeout: Duration = Duration::from_secs(10),
        /// Whether the audit log is not written to the database.
        #[setting(variables = ["GOTRUE_AUDIT_LOG_DISABLE_POSTGRES"])]
        pub audit_log_disabled: bool = false,
        /// Whether requests that change something also delete some expired rows.
        #[setting(variables = ["GOTRUE_DB_CLEANUP_ENABLED"])]
        pub cleanup_enabled: bool = false,
        /// Whether `/admin/users` accepts `cursor` and `limit` instead of page numbers.
        #[setting(variables = ["GOTRUE_EXPERIMENTAL_CURSOR_PAGINATION_ENABLED"])]
        pub cursor_pagination: bool = false,
        /// Whether the documents that describe SCIM are served.
        #[setting(variables = ["GOTRUE_EXPERIMENTAL_SCIM_ENABLED"])]
        pub scim_enabled: bool = false,
        /// Whether a user with a confirmed e-mail address gets an identity of the provider `email` together with the
        /// first password.
        #[setting(variables = ["GOTRUE_EXPERIMENTAL_CREATE_EMAIL_IDENTITY_ON_PASSWORD_SET_ENABLED"])]
        pub identity_for_first_password: bool = true,
        /// Access tokens.
        pub token: TokenSettings = TokenSettings::default(),
        /// When sessions end.
        pub sessions: SessionSettings = SessionSettings::default(),
        /// Rules for passwords.
        pub passwords: PasswordSettings = PasswordSettings::default(),
        /// Mails and how they are sent.
        pub mail: MailSettings = MailSettings::default(),
        /// Text messages and how they are sent.
        pub sms: SmsSettings = SmsSettings::default(),
        /// Ways to sign in.
        pub providers: ProviderSettings = ProviderSettings::default(),
        /// Second factors.
        pub mfa: MfaSettings = MfaSettings::default(),
        /// The site as a relying party of WebAuthn.
        pub webauthn: WebauthnSettings = WebauthnSettings::default(),
        /// Sign-in with passkeys.
        pub passkeys: PasskeySettings = PasskeySettings::default(),
        /// SAML single sign-on.
        pub saml: SamlSettings = SamlSettings::default(),
        /// This service as an OAuth server for other applications.
        pub oauth_server: OauthServerSettings = OauthServerSettings::default(),
        /// Hooks: functions or URLs of the project that auth calls.
        pub hooks: HookSettings = HookSettings::default(),
        /// Refresh tokens, captcha, changes of passwords.
        pub security: SecuritySettings = SecuritySettings::default(),
        /// Encryption of the secrets that are stored in the database.
        pub encryption: EncryptionSettings = EncryptionSettings::default(),
        /// Rate limits.
        pub limits: LimitSettings = LimitSettings::default(),
    }
}

/// Paths that settings refer to.
pub struct SettingsContext<'a> {
    /// The folder of mails that are kept if no mail server is configured; `None` to keep none.
    pub mails: Option<PathBuf>,
    /// Returns the paths at which a template's file may be, in the order in which they are tried.
    pub files: &'a dyn Fn(&Path) -> Vec<PathBuf>,
}

impl Settings {
    /// Reads the settings.
    ///
    /// Errors: [`Invalid`] for the first invalid one.
    pub fn read(reader: &mut Reader<'_>, context: &SettingsContext<'_>) -> Result<Self, Invalid> {
        ignored::note(reader)?;
        let mut settings = Self { external_url: String::new(), ..Self::default() };
        let signup: Option<bool> = reader.get("auth.enable_signup", &[])?;
        settings.disable_signup = signup == Some(false);
        reader.apply(&mut settings)?;
        reader.apply(&mut settings.token)?;
        reader.apply(&mut settings.sessions)?;
        reader.apply(&mut settings.passwords)?;
        reader.apply(&mut settings.webauthn)?;
        reader.apply(&mut settings.passkeys)?;
        reader.apply(&mut settings.oauth_server)?;
        settings.mail = MailSettings::read(reader, context)?;
        settings.sms = SmsSettings::read(reader)?;
        settings.providers = ProviderSettings::read(reader)?;
        settings.mfa = MfaSettings::read(reader)?;
        settings.saml = SamlSettings::read(reader)?;
        settings.hooks = HookSettings::read(reader)?;
        settings.security = SecuritySettings::read(reader)?;
        settings.encryption = EncryptionSettings::read(reader)?;
        settings.limits = LimitSettings::read(reader, settings.mail.smtp.is_some())?;
        Ok(settings)
    }

    /// Makes links lead to the service below the API at `api_url`, unless the settings name another URL. [`Self::read`]
    /// does not set it, because the port of the API is known only later.
    pub fn set_api_url(&mut self, api_url: &str) {
        if self.external_url.is_empty() {
            self.external_url = format!("{api_url}/auth/v1");
        }
    }

    /// Returns the claim `iss` of access tokens.
    pub(crate) fn issuer(&self) -> &str {
        self.token.issuer.as_deref().unwrap_or(&self.external_url)
    }
}

/// Reads the setting `part` of `names`: a table of `config.toml`, a prefix of variables, and the name of the subtable.
fn named<T: Value>(
    reader: &mut Reader<'_>,
    names: (&str, &str, &str),
    part: &str,
) -> Result<Option<T>, Invalid> {
    let (table, prefix, name) = names;
    let variable = format!("{prefix}_{name}_{part}").to_ascii_uppercase();
    reader.get(&format!("{table}.{name}.{part}"), &[&variable])
}

/// Checks that an address which was set over the platform interface comes with a secret of its own: otherwise whoever
/// changes the address would be sent the operator's.
fn own_secret(reader: &Reader<'_>, address: &str, key: &str, secret: &Secret) -> Result<(), Invalid> {
    match reader.is_managed(address) && !reader.is_managed(key) && !secret.is_empty() {
        true => Err(Invalid::new(key, &format!("a value of its own beside that of {address}"), &"none")),
        false => Ok(()),
    }
}

/// Checks the number of digits of a code. If it is not between six and ten, upstream uses six; here it is an error.
fn otp_length(length: usize) -> Result<usize, &'static str> {
    if (6..=10).contains(&length) { Ok(length) } else { Err("a number of digits from 6 to 10") }
}

/// Raises a shorter time to five minutes, as upstream does.
fn at_least_five_minutes(span: Duration) -> Result<Duration, &'static str> {
    Ok(span.max(Duration::from_secs(300)))
}
