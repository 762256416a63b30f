//! The reference of the service's settings.

use ::settings::reference as section;

use super::encryption::KeySettings;
use super::mfa::Factors;
use super::providers::DomainsAndChains;
use super::*;

/// What has names of its own, and so is in no table.
const NAMED: &str = "\
## Auth: what has names of its own

- Sign-up and confirmations: `auth.enable_signup` (`true` by default) is the opposite of `GOTRUE_DISABLE_SIGNUP`;
  `auth.email.enable_confirmations` and `auth.sms.enable_confirmations` are that of the variables `…_AUTOCONFIRM`.
- Mail server: `auth.email.smtp.enabled = false` switches off the one that `config.toml` names.
- Mails: `auth.email.template.<kind>` has `subject` and `content_path`, a file; `auth.email.notification.<kind>` has
  `enabled`, too. The variables are `GOTRUE_MAILER_SUBJECTS_<KIND>`, `GOTRUE_MAILER_TEMPLATES_<KIND>` (URLs) and
  `GOTRUE_MAILER_NOTIFICATIONS_<KIND>_ENABLED`; the first two of notifications end in `_NOTIFICATION`.
  `GOTRUE_MAILER_URLPATHS_<KIND>` (also without `GOTRUE_`) is the path that links open.
- Text messages: `GOTRUE_SMS_PROVIDER` names who sends them: `twilio`, `twilio_verify`, `messagebird`, `textlocal` or
  `vonage`.
- Providers: `auth.external.<name>` has `enabled`, `client_id` (a list), `secret`, `redirect_uri`, `url`,
  `skip_nonce_check` and `email_optional`. The variables are `GOTRUE_EXTERNAL_<NAME>_ENABLED`, ….
- Hooks: `auth.hook.<name>` has `enabled`, `uri` and `secrets` (separated by `|`). The variables are
  `GOTRUE_HOOK_<NAME>_ENABLED`, `GOTRUE_HOOK_<NAME>_URI` and `GOTRUE_HOOK_<NAME>_SECRETS`.
- Third parties, whose tokens all services but auth take: `auth.third_party.<name>` has `enabled` and, for `firebase`,
  `project_id`; for `auth0`, `tenant` and `tenant_region`; for `aws_cognito`, `user_pool_id` and `user_pool_region`; for
  `clerk`, `domain`; for `workos`, `issuer_url`.
";

/// The page of mails has a table of its own.
const INBOX: &str = "\
## Inbox

`local_smtp.port` (`BASALT_INBOX_PORT`; `54324` by default; earlier `inbucket.port`) is the port of the page that shows
mails which are kept instead of being sent; `local_smtp.enabled = false` switches it off.
";

/// Returns the sections of all tables of the service, for the reference of settings.
pub fn settings_reference() -> String {
    [
        section::<Settings>("Auth", ""),
        section::<TokenSettings>("Auth: tokens", ""),
        section::<SessionSettings>("Auth: sessions", ""),
        section::<PasswordSettings>("Auth: passwords", ""),
        section::<SecuritySettings>("Auth: security", ""),
        section::<Captcha>("Auth: captcha", ""),
        section::<KeySettings>("Auth: encryption", ""),
        section::<LimitSettings>("Auth: rate limits", ""),
        section::<MailSettings>("Auth: mails", ""),
        section::<SmtpSettings>("Auth: mail server", ""),
        section::<SmsSettings>("Auth: text messages", ""),
        section::<Twilio>("Auth: Twilio", ""),
        section::<TwilioVerify>("Auth: Twilio Verify", ""),
        section::<Messagebird>("Auth: MessageBird", ""),
        section::<Textlocal>("Auth: Textlocal", ""),
        section::<Vonage>("Auth: Vonage", ""),
        section::<ProviderSettings>("Auth: ways to sign in", ""),
        section::<DomainsAndChains>("Auth: linking domains and wallets", ""),
        section::<Factors>("Auth: kinds of second factors", ""),
        section::<MfaSettings>("Auth: second factors", ""),
        section::<PhoneFactorSettings>("Auth: text messages as second factor", ""),
        section::<RecoveryCodeSettings>("Auth: recovery codes", ""),
        section::<WebauthnSettings>("Auth: WebAuthn", ""),
        section::<PasskeySettings>("Auth: passkeys", ""),
        section::<SamlSettings>("Auth: SAML", ""),
        section::<OauthServerSettings>("Auth: OAuth server", ""),
        NAMED.to_owned(),
        section::<ServerSettings>("Auth in a server of its own", ""),
        INBOX.to_owned(),
    ]
    .join("\n")
}
