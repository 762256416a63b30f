use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::Secret;

/// The mails that there are. The first six carry a code, the others tell of a change that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MailKind {
    /// Confirms the address of a new user.
    Confirmation,
    /// Invites somebody whom an administrator has added.
    Invite,
    /// Lets somebody in who forgot the password.
    Recovery,
    /// Signs a confirmed user in.
    MagicLink,
    /// Confirms a new address, or that it may replace the current one.
    EmailChange,
    /// Confirms that the user is still the same before the password changes.
    Reauthentication,
    /// The password was changed.
    PasswordChanged,
    /// The address was changed; goes to the old one.
    EmailChanged,
    /// The phone number was changed.
    PhoneChanged,
    /// A way to sign in was added.
    IdentityLinked,
    /// A way to sign in was removed.
    IdentityUnlinked,
    /// A second factor was added.
    MfaFactorEnrolled,
    /// A second factor was removed.
    MfaFactorUnenrolled,
}

impl MailKind {
    /// All kinds.
    pub const ALL: [MailKind; 13] = [
        MailKind::Confirmation,
        MailKind::Invite,
        MailKind::Recovery,
        MailKind::MagicLink,
        MailKind::EmailChange,
        MailKind::Reauthentication,
        MailKind::PasswordChanged,
        MailKind::EmailChanged,
        MailKind::PhoneChanged,
        MailKind::IdentityLinked,
        MailKind::IdentityUnlinked,
        MailKind::MfaFactorEnrolled,
        MailKind::MfaFactorUnenrolled,
    ];

    /// The name in upstream's settings, lowercase: `confirmation`, …, `password_changed`, ….
    pub const fn name(self) -> &'static str {
        match self {
            MailKind::Confirmation => "confirmation",
            MailKind::Invite => "invite",
            MailKind::Recovery => "recovery",
            MailKind::MagicLink => "magic_link",
            MailKind::EmailChange => "email_change",
            MailKind::Reauthentication => "reauthentication",
            MailKind::PasswordChanged => "password_changed",
            MailKind::EmailChanged => "email_changed",
            MailKind::PhoneChanged => "phone_changed",
            MailKind::IdentityLinked => "identity_linked",
            MailKind::IdentityUnlinked => "identity_unlinked",
            MailKind::MfaFactorEnrolled => "mfa_factor_enrolled",
            MailKind::MfaFactorUnenrolled => "mfa_factor_unenrolled",
        }
    }

    /// What hooks and links call the kind: `signup`, …, `password_changed_notification`, ….
    pub(crate) const fn action_type(self) -> &'static str {
        match self {
            MailKind::Confirmation => "signup",
            MailKind::Invite => "invite",
            MailKind::Recovery => "recovery",
            MailKind::MagicLink => "magiclink",
            MailKind::EmailChange => "email_change",
            MailKind::Reauthentication => "reauthentication",
            MailKind::PasswordChanged => "password_changed_notification",
            MailKind::EmailChanged => "email_changed_notification",
            MailKind::PhoneChanged => "phone_changed_notification",
            MailKind::IdentityLinked => "identity_linked_notification",
            MailKind::IdentityUnlinked => "identity_unlinked_notification",
            MailKind::MfaFactorEnrolled => "mfa_factor_enrolled_notification",
            MailKind::MfaFactorUnenrolled => "mfa_factor_unenrolled_notification",
        }
    }

    /// Whether the mail tells of a change and carries no code.
    pub const fn is_notification(self) -> bool {
        !matches!(
            self,
            MailKind::Confirmation
                | MailKind::Invite
                | MailKind::Recovery
                | MailKind::MagicLink
                | MailKind::EmailChange
                | MailKind::Reauthentication
        )
    }
}

/// Mails and how they are sent.
#[derive(Debug, Clone)]
pub struct MailSettings {
    /// The server that takes mails. None, the default: mails are kept in [`folder`](Self::folder).
    pub smtp: Option<SmtpSettings>,
    /// Where mails are kept as files without an SMTP server. Default none: they are dropped with a warning.
    pub folder: Option<PathBuf>,
    /// Shortest time between two mails of one kind to one user (`SMTP_MAX_FREQUENCY`). Default one minute.
    pub max_frequency: Duration,
    /// New addresses need no confirmation (`MAILER_AUTOCONFIRM`). Default false.
    pub autoconfirm: bool,
    /// Both addresses must confirm a change (`MAILER_SECURE_EMAIL_CHANGE_ENABLED`). Default true.
    pub secure_email_change: bool,
    /// Providers' unverified addresses sign in, too (`MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS`). Default false.
    pub allow_unverified_sign_ins: bool,
    /// Life of codes and links (`MAILER_OTP_EXP`). Default one day.
    pub otp_expiry: Duration,
    /// Digits of a code (`MAILER_OTP_LENGTH`), 6 to 10. Default 6.
    pub otp_length: usize,
    /// Hosts that links point to in place of the external URL's where requests come to them (`MAILER_EXTERNAL_HOSTS`),
    /// with their port if they are to have one. Default none.
    pub external_hosts: Vec<String>,
    /// The only addresses that get mails (`EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES`). Default none: all.
    pub authorized_addresses: Vec<String>,
    /// Subjects that replace the built-in ones (`MAILER_SUBJECTS_<KIND>`).
    pub subjects: BTreeMap<MailKind, String>,
    /// Templates that replace the built-in ones (`MAILER_TEMPLATES_<KIND>`): URLs, paths below the site's URL, or
    /// files after `file:`.
    pub templates: BTreeMap<MailKind, String>,
    /// Paths that links open, by kind (`MAILER_URLPATHS_<KIND>`). Default `/verify` below the external URL.
    pub url_paths: BTreeMap<MailKind, String>,
    /// Notifications that are sent (`MAILER_NOTIFICATIONS_<KIND>_ENABLED`). Default none.
    pub notifications: BTreeSet<MailKind>,
    /// Largest template in bytes (`MAILER_TEMPLATE_MAX_SIZE`). Default 1,000,000.
    pub template_max_size: usize,
    /// How long a fetched template is used (`MAILER_TEMPLATE_MAX_AGE`). Default ten minutes.
    pub template_max_age: Duration,
    /// Pause after a template could not be fetched (`MAILER_TEMPLATE_RETRY_INTERVAL`). Default 10 s.
    pub template_retry_interval: Duration,
}

impl Default for MailSettings {
    fn default() -> MailSettings {
        MailSettings {
            smtp: None,
            folder: None,
            max_frequency: Duration::from_secs(60),
            autoconfirm: false,
            secure_email_change: true,
            allow_unverified_sign_ins: false,
            otp_expiry: Duration::from_secs(86_400),
            otp_length: 6,
            external_hosts: Vec::new(),
            authorized_addresses: Vec::new(),
            subjects: BTreeMap::new(),
            templates: BTreeMap::new(),
            url_paths: BTreeMap::new(),
            notifications: BTreeSet::new(),
            template_max_size: 1_000_000,
            template_max_age: Duration::from_secs(600),
            template_retry_interval: Duration::from_secs(10),
        }
    }
}

/// The server that takes mails.
#[derive(Debug, Clone)]
pub struct SmtpSettings {
    /// Its name (`SMTP_HOST`).
    pub host: String,
    /// Its port (`SMTP_PORT`). Upstream's default is 587.
    pub port: u16,
    /// Who logs in there (`SMTP_USER`); empty for nobody.
    pub user: String,
    /// The user's password (`SMTP_PASS`).
    pub password: Secret,
    /// Who mails are from (`SMTP_ADMIN_EMAIL`).
    pub admin_email: String,
    /// The name of who mails are from (`SMTP_SENDER_NAME`).
    pub sender_name: String,
    /// Further headers of mails, several values each (`SMTP_HEADERS`, a JSON object of arrays).
    pub headers: BTreeMap<String, Vec<String>>,
    /// PEM file of a certificate authority that the server's certificate may come from, besides the system's
    /// (`BASALT_SMTP_ROOT_CERTIFICATE`). Default none.
    pub root_certificate: Option<PathBuf>,
}
