//! The reference of the service's settings.

use ::settings::reference as section;

use super::encryption::KeySettings;
use super::mfa::Factors;
use super::providers::DomainsAndChains;
use super::*;

/// Settings whose names contain a name of the project's choice, so that no table has them.
const NAMED: &str = "\
## Auth: names that contain a name of yours

- Sign-up and confirmations: `auth.enable_signup` (`true` by default) is the opposite of `GOTRUE_DISABLE_SIGNUP`;
  `auth.email.enable_confirmations` and `auth.sms.enable_confirmations` are the opposite of the variables
  `…_AUTOCONFIRM`.
- Mail server: `auth.email.smtp.enabled = false` switches off the mail server that `config.toml` names.
- Mails: `auth.email.template.<kind>` has the keys `subject`, `content_path` (a file) and
  `content` (the text itself). `auth.email.notification.<kind>` has the same keys and `enabled`. The variables are `GOTRUE_MAILER_SUBJECTS_<KIND>`,
  `GOTRUE_MAILER_TEMPLATES_<KIND>` (a URL) and `GOTRUE_MAILER_NOTIFICATIONS_<KIND>_ENABLED`. For notifications, the
  first two end in `_NOTIFICATION`. `GOTRUE_MAILER_URLPATHS_<KIND>` (also without `GOTRUE_`) is the path of links.
- Text messages: `GOTRUE_SMS_PROVIDER` names the provider: `twilio`, `twilio_verify`, `messagebird`, `textlocal` or
  `vonage`.
- Providers: `auth.external.<name>` has the keys `enabled`, `client_id` (a list), `secret`, `redirect_uri`, `url`,
  `skip_nonce_check` and `email_optional`. The variables are `GOTRUE_EXTERNAL_<NAME>_ENABLED`, ….
- Hooks: `auth.hook.<name>` has the keys `enabled`, `uri` and `secrets` (separated by `|`). The variables are
  `GOTRUE_HOOK_<NAME>_ENABLED`, `GOTRUE_HOOK_<NAME>_URI` and `GOTRUE_HOOK_<NAME>_SECRETS`.
- Third parties, whose tokens all services except auth accept: `auth.third_party.<name>` has the key `enabled`. Further
  keys are `project_id` for `firebase`; `tenant` and `tenant_region` for `auth0`; `user_pool_id` and `user_pool_region`
  for `aws_cognito`; `domain` for `clerk`; `issuer_url` for `workos`.
";

/// The settings of the inbox, which are in a table of their own in `config.toml`.
const INBOX: &str = "\
## Inbox

While no mail server is set, mails are stored instead of sent, and a page shows them. `local_smtp.port`
(`BASALT_INBOX_PORT`; `54324` by default; earlier `inbucket.port`) is the port of this page.
`local_smtp.enabled = false` switches the page off.
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
