//! Settings of the auth service, one file per area.
//!
//! Names in brackets are upstream's environment variables, without `GOTRUE_`.

mod encryption;
mod hooks;
mod limits;
mod mail;
mod mfa;
mod oauth_server;
mod passwords;
mod providers;
mod saml;
mod secret;
mod security;
mod sessions;
mod sms;
mod token;

use std::time::Duration;

pub use encryption::{EncryptionKey, EncryptionSettings};
pub use hooks::{Hook, HookName, HookSettings};
pub use limits::{LimitSettings, Rate};
pub use mail::{MailKind, MailSettings, SmtpSettings};
pub use mfa::{FactorSettings, MfaSettings, PasskeySettings, PhoneFactorSettings, WebauthnSettings};
pub use oauth_server::OauthServerSettings;
pub use passwords::PasswordSettings;
pub use providers::{OauthProvider, ProviderSettings, Web3Settings};
pub use saml::SamlSettings;
pub use secret::Secret;
pub use security::{Captcha, CaptchaProvider, SecuritySettings};
pub use sessions::SessionSettings;
pub use sms::{SmsProvider, SmsSettings};
pub use token::TokenSettings;

/// Settings of the auth service.
#[derive(Debug, Clone)]
pub struct Settings {
    /// URL under which clients reach this service, `…/auth/v1` included (`API_EXTERNAL_URL`).
    pub external_url: String,
    /// Where users come from and are sent back to (`SITE_URL`).
    pub site_url: String,
    /// Globs of further URLs that users may be sent to (`URI_ALLOW_LIST`). Default none.
    pub uri_allow_list: Vec<String>,
    /// Refuses new users (`DISABLE_SIGNUP`). Default false.
    pub disable_signup: bool,
    /// Longest time for one request (`API_MAX_REQUEST_DURATION`). Default 10 s.
    pub request_timeout: Duration,
    /// Keeps the audit log out of the database (`AUDIT_LOG_DISABLE_POSTGRES`). Default false.
    pub audit_log_disabled: bool,
    /// Deletes expired rows as requests come in (`DB_CLEANUP_ENABLED`). Default false.
    pub cleanup_enabled: bool,
    /// Pages of `/admin/users` may be asked for by cursor (`EXPERIMENTAL_CURSOR_PAGINATION_ENABLED`). Default false.
    pub cursor_pagination: bool,
    /// Serves the description of SCIM (`EXPERIMENTAL_SCIM_ENABLED`). Default false.
    pub scim_enabled: bool,
    /// What access tokens say.
    pub token: TokenSettings,
    /// When sessions end.
    pub sessions: SessionSettings,
    /// What passwords must be like.
    pub passwords: PasswordSettings,
    /// Mails and how they are sent.
    pub mail: MailSettings,
    /// Text messages and how they are sent.
    pub sms: SmsSettings,
    /// Ways to sign in.
    pub providers: ProviderSettings,
    /// Second factors.
    pub mfa: MfaSettings,
    /// This site as WebAuthn's relying party.
    pub webauthn: WebauthnSettings,
    /// Passkeys as first factor.
    pub passkeys: PasskeySettings,
    /// SAML single sign-on.
    pub saml: SamlSettings,
    /// This service as somebody else's OAuth server.
    pub oauth_server: OauthServerSettings,
    /// Code of the project that takes part in decisions.
    pub hooks: HookSettings,
    /// Refresh tokens, captcha, changes of passwords.
    pub security: SecuritySettings,
    /// Secrets at rest.
    pub encryption: EncryptionSettings,
    /// How often things may be done.
    pub limits: LimitSettings,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            external_url: "http://127.0.0.1:54321/auth/v1".to_owned(),
            site_url: "http://127.0.0.1:3000".to_owned(),
            uri_allow_list: Vec::new(),
            disable_signup: false,
            request_timeout: Duration::from_secs(10),
            audit_log_disabled: false,
            cleanup_enabled: false,
            cursor_pagination: false,
            scim_enabled: false,
            token: TokenSettings::default(),
            sessions: SessionSettings::default(),
            passwords: PasswordSettings::default(),
            mail: MailSettings::default(),
            sms: SmsSettings::default(),
            providers: ProviderSettings::default(),
            mfa: MfaSettings::default(),
            webauthn: WebauthnSettings::default(),
            passkeys: PasskeySettings::default(),
            saml: SamlSettings::default(),
            oauth_server: OauthServerSettings::default(),
            hooks: HookSettings::default(),
            security: SecuritySettings::default(),
            encryption: EncryptionSettings::default(),
            limits: LimitSettings::default(),
        }
    }
}

impl Settings {
    /// Claim `iss` of access tokens.
    pub(crate) fn issuer(&self) -> &str {
        self.token.issuer.as_deref().unwrap_or(&self.external_url)
    }
}
