//! Mails and how they are sent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use ::settings::{Invalid, Reader, Secret, Value};
use gotemplate::{Format, Template};

use super::{SettingsContext, otp_length, own_secret};

::settings::words! {
    /// The kinds of mails, by their lowercase names in upstream's settings. The first six contain a code, the others
    /// report a change.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum MailKind {
        /// Confirms the address of a new user.
        Confirmation = "confirmation",
        /// Invites somebody whom an administrator has added.
        Invite = "invite",
        /// Signs in a user who forgot the password.
        Recovery = "recovery",
        /// Signs in a user whose address is confirmed.
        MagicLink = "magic_link",
        /// Confirms a new address, or the current address' consent to the new one.
        EmailChange = "email_change",
        /// Confirms the user's identity before a change of the password.
        Reauthentication = "reauthentication",
        /// The password was changed.
        PasswordChanged = "password_changed",
        /// The address was changed; this mail goes to the old address.
        EmailChanged = "email_changed",
        /// The phone number was changed.
        PhoneChanged = "phone_changed",
        /// A way to sign in was added.
        IdentityLinked = "identity_linked",
        /// A way to sign in was removed.
        IdentityUnlinked = "identity_unlinked",
        /// A second factor was added.
        MfaFactorEnrolled = "mfa_factor_enrolled",
        /// A second factor was removed.
        MfaFactorUnenrolled = "mfa_factor_unenrolled",
    }
}

impl MailKind {
    /// Returns the name of the kind in hooks and links: `signup`, …, `password_changed_notification`, ….
    pub(crate) const fn action_type(self) -> &'static str {
        match self {
            Self::Confirmation => "signup",
            Self::Invite => "invite",
            Self::Recovery => "recovery",
            Self::MagicLink => "magiclink",
            Self::EmailChange => "email_change",
            Self::Reauthentication => "reauthentication",
            Self::PasswordChanged => "password_changed_notification",
            Self::EmailChanged => "email_changed_notification",
            Self::PhoneChanged => "phone_changed_notification",
            Self::IdentityLinked => "identity_linked_notification",
            Self::IdentityUnlinked => "identity_unlinked_notification",
            Self::MfaFactorEnrolled => "mfa_factor_enrolled_notification",
            Self::MfaFactorUnenrolled => "mfa_factor_unenrolled_notification",
        }
    }

    /// Returns whether the mail reports a change and carries no code.
    pub const fn is_notification(self) -> bool {
        !matches!(
            self,
            Self::Confirmation
                | Self::Invite
                | Self::Recovery
                | Self::MagicLink
                | Self::EmailChange
                | Self::Reauthentication
        )
    }
}

::settings::settings! {
    /// Mails and how they are sent. With a `config.toml` the defaults are those of the Supabase CLI's template.
    #[derive(Debug, Clone)]
    pub struct MailSettings {
        /// The mail server. Without one, mails are stored in [`folder`](Self::folder).
        pub smtp: Option<SmtpSettings> = None,
        /// The folder in which mails are stored if there is no mail server. Without a folder they are dropped, with a
        /// warning.
        pub folder: Option<PathBuf> = None,
        /// The shortest time between two mails of the same kind to the same user. If there is a `config.toml`, the
        /// default is 1 s.
        #[setting(variables = ["GOTRUE_SMTP_MAX_FREQUENCY"], key = "auth.email.max_frequency")]
        pub max_frequency: Duration = Duration::from_secs(60),
        /// Whether new addresses count as confirmed at once. By default the opposite of
        /// `auth.email.enable_confirmations`; if there is a `config.toml` that does not set this key, the default is
        /// `true`.
        #[setting(variables = ["GOTRUE_MAILER_AUTOCONFIRM", "ENABLE_EMAIL_AUTOCONFIRM"])]
        pub autoconfirm: bool = false,
        /// Whether a change of the address must be confirmed from both addresses, the old and the new one.
        #[setting(
            variables = ["GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED"],
            key = "auth.email.double_confirm_changes"
        )]
        pub secure_email_change: bool = true,
        /// Whether users of a provider may sign in although the provider has not verified their address.
        #[setting(variables = ["GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS"])]
        pub allow_unverified_sign_ins: bool = false,
        /// How long codes and links in mails are valid. If there is a `config.toml`, the default is one hour.
        #[setting(variables = ["GOTRUE_MAILER_OTP_EXP"], key = "auth.email.otp_expiry")]
        pub otp_expiry: Duration = Duration::from_secs(86_400),
        /// The number of digits of a code, 6 to 10.
        #[setting(variables = ["GOTRUE_MAILER_OTP_LENGTH"], key = "auth.email.otp_length", check = otp_length)]
        pub otp_length: usize = 6,
        /// Further hosts of this service. If a request was sent to one of them, the links in its mails lead to this
        /// host instead of the host of the external URL. Write the port, too, if the links need one.
        #[setting(variables = ["GOTRUE_MAILER_EXTERNAL_HOSTS"])]
        pub external_hosts: Vec<String> = Vec::new(),
        /// The only addresses to which mails are sent. Empty: all.
        #[setting(variables = ["GOTRUE_EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES"])]
        pub authorized_addresses: Vec<String> = Vec::new(),
        /// Subjects that replace the built-in ones.
        pub subjects: BTreeMap<MailKind, String> = BTreeMap::new(),
        /// Templates that replace the built-in ones: URLs, paths below the site's URL, or files after `file:`.
        pub templates: BTreeMap<MailKind, String> = BTreeMap::new(),
        /// Templates that replace the built-in ones and those of [`templates`](Self::templates), as they are.
        pub contents: BTreeMap<MailKind, String> = BTreeMap::new(),
        /// The paths of links, by kind. The default is `/verify` below the external URL.
        pub url_paths: BTreeMap<MailKind, String> = BTreeMap::new(),
        /// The kinds of notifications that are sent.
        pub notifications: BTreeSet<MailKind> = BTreeSet::new(),
        /// The maximum size of a template in bytes.
        #[setting(variables = ["GOTRUE_MAILER_TEMPLATE_MAX_SIZE"])]
        pub template_max_size: usize = 1_000_000,
        /// How long a template is used before it is fetched again.
        #[setting(variables = ["GOTRUE_MAILER_TEMPLATE_MAX_AGE"])]
        pub template_max_age: Duration = Duration::from_secs(600),
        /// How long to wait after a template could not be fetched.
        #[setting(variables = ["GOTRUE_MAILER_TEMPLATE_RETRY_INTERVAL"])]
        pub template_retry_interval: Duration = Duration::from_secs(10),
    }
}

impl MailSettings {
    pub(super) fn read(reader: &mut Reader<'_>, context: &SettingsContext<'_>) -> Result<Self, Invalid> {
        let mut mail = Self { folder: context.mails.clone(), ..Self::default() };
        if reader.has_config() {
            // With a `config.toml`, the defaults are those of the CLI's template; without one, those of upstream.
            mail.autoconfirm = true;
            mail.max_frequency = Duration::from_secs(1);
            mail.otp_expiry = Duration::from_secs(3600);
        }
        let confirmations: Option<bool> = reader.get("auth.email.enable_confirmations", &[])?;
        mail.autoconfirm = confirmations.map_or(mail.autoconfirm, |confirmations| !confirmations);
        reader.apply(&mut mail)?;
        mail.smtp = SmtpSettings::read(reader)?;
        for kind in MailKind::ALL {
            mail.read_texts(reader, context, kind)?;
        }
        for kind in [MailKind::Invite, MailKind::Confirmation, MailKind::Recovery, MailKind::EmailChange] {
            let name = format!("MAILER_URLPATHS_{}", kind.name().to_ascii_uppercase());
            let path: Option<String> = reader.get("", &[&format!("GOTRUE_{name}"), &name])?;
            mail.url_paths.extend(path.map(|path| (kind, path)));
        }
        if mail.autoconfirm && mail.allow_unverified_sign_ins {
            let name = "GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS";
            return Err(Invalid::new(name, "false where mail addresses need no confirmation", &true));
        }
        Ok(mail)
    }

    /// Reads the subject and the template of one kind, and whether mails of this kind are sent.
    fn read_texts(
        &mut self,
        reader: &mut Reader<'_>,
        context: &SettingsContext<'_>,
        kind: MailKind,
    ) -> Result<(), Invalid> {
        let name = kind.name().to_ascii_uppercase();
        let (suffix, table) =
            if kind.is_notification() { ("_NOTIFICATION", "notification") } else { ("", "template") };
        let key = |part: &str| format!("auth.email.{table}.{}.{part}", kind.name());
        let subject = reader.get(&key("subject"), &[&format!("GOTRUE_MAILER_SUBJECTS_{name}{suffix}")])?;
        self.subjects.extend(subject.map(|subject| (kind, subject)));
        let template: Option<String> =
            reader.get("", &[&format!("GOTRUE_MAILER_TEMPLATES_{name}{suffix}")])?;
        let content: Option<String> = reader.get(&key("content"), &[])?;
        let content = content.filter(|content| !content.is_empty() && template.is_none());
        for (part, text) in [("content", &content), ("subject", &self.subjects.get(&kind).cloned())] {
            let broken = text.as_ref().and_then(|text| Template::parse(text, Format::Html).err());
            if let Some(error) = broken.filter(|_| reader.is_managed(&key(part))) {
                return Err(Invalid::new(&key(part), "a template that can be read", &error));
            }
        }
        self.contents.extend(content.map(|content| (kind, content)));
        let path: Option<PathBuf> = reader.get(&key("content_path"), &[])?;
        let file = path.map(|path| {
            let found = (context.files)(&path).into_iter().find(|candidate| candidate.is_file());
            let missing = || Invalid::new(&key("content_path"), "a file that exists", &path.display());
            found.map(|file| format!("file:{}", file.display())).ok_or_else(missing)
        });
        self.templates.extend(template.or(file.transpose()?).map(|template| (kind, template)));
        if kind.is_notification() {
            let variable = format!("GOTRUE_MAILER_NOTIFICATIONS_{name}_ENABLED");
            let is_sent: Option<bool> = reader.get(&key("enabled"), &[&variable])?;
            self.notifications.extend(is_sent.filter(|is_sent| *is_sent).map(|_| kind));
        }
        Ok(())
    }
}

::settings::settings! {
    /// The mail server.
    #[derive(Debug, Clone)]
    pub struct SmtpSettings {
        /// The host name of the mail server. If it is not set, no mails are sent.
        #[setting(variables = ["GOTRUE_SMTP_HOST", "SMTP_HOST"], key = "auth.email.smtp.host")]
        pub host: String = String::new(),
        /// The port of the mail server.
        #[setting(variables = ["GOTRUE_SMTP_PORT", "SMTP_PORT"], key = "auth.email.smtp.port")]
        pub port: u16 = 587,
        /// The user name for the login at the mail server. Empty: no login.
        #[setting(variables = ["GOTRUE_SMTP_USER", "SMTP_USER"], key = "auth.email.smtp.user")]
        pub user: String = String::new(),
        /// The password for the login at the mail server.
        #[setting(variables = ["GOTRUE_SMTP_PASS", "SMTP_PASS"], key = "auth.email.smtp.pass")]
        pub password: Secret = Secret::default(),
        /// The address of the sender.
        #[setting(variables = ["GOTRUE_SMTP_ADMIN_EMAIL", "SMTP_ADMIN_EMAIL"], key = "auth.email.smtp.admin_email")]
        pub admin_email: String = String::new(),
        /// The name of the sender.
        #[setting(variables = ["GOTRUE_SMTP_SENDER_NAME", "SMTP_SENDER_NAME"], key = "auth.email.smtp.sender_name")]
        pub sender_name: String = String::new(),
        /// Further headers of all mails; each can have several values.
        #[setting(variables = ["GOTRUE_SMTP_HEADERS"])]
        pub headers: MailHeaders = MailHeaders::default(),
        /// A PEM file with the certificate of an authority that is trusted for the mail server, in addition to those of
        /// the system.
        #[setting(variables = ["BASALT_SMTP_ROOT_CERTIFICATE"])]
        pub root_certificate: Option<PathBuf> = None,
    }
}

impl SmtpSettings {
    /// Reads the settings. `None` if no mail server is set or it is switched off.
    fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, Invalid> {
        let smtp: Self = reader.read()?;
        let enabled: Option<bool> = reader.get("auth.email.smtp.enabled", &[])?;
        // `enabled` switches off only a mail server of `config.toml`; one that was set elsewhere is always used.
        let is_off = enabled == Some(false)
            && reader.is_in_config(&["auth", "email", "smtp", "host"])
            && !reader.is_managed("auth.email.smtp.host");
        if smtp.host.is_empty() || is_off {
            return Ok(None);
        }
        own_secret(reader, "auth.email.smtp.host", "auth.email.smtp.pass", &smtp.password)?;
        if smtp.admin_email.is_empty() {
            let effect = "no mail server is set, and mails are kept";
            if reader.unset("auth.email.smtp.admin_email", effect).is_some() {
                return Ok(None);
            }
            let expected = "the address that mails are from, since a mail server is set";
            return Err(Invalid::new("GOTRUE_SMTP_ADMIN_EMAIL", expected, &"none"));
        }
        Ok(Some(smtp))
    }
}

/// Headers of mails, by name.
#[derive(Debug, Clone, Default)]
pub struct MailHeaders(pub BTreeMap<String, Vec<String>>);

impl Value for MailHeaders {
    const EXPECTED: &'static str = r#"a JSON object of lists such as {"X-Kind": ["$messageType"]}"#;

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).map(Self).ok()
    }

    fn show(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| "…".to_owned())
    }
}
