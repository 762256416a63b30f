//! The built-in subjects and templates. Each template fills the blanks of `defaults/layout.html`.

use crate::settings::MailKind;

const LAYOUT: &str = include_str!("defaults/layout.html");

/// Returns the built-in subject; upstream's.
pub(super) const fn subject(kind: MailKind) -> &'static str {
    match kind {
        MailKind::Confirmation => "Confirm your email address",
        MailKind::Invite => "You've been invited",
        MailKind::Recovery => "Reset your password",
        MailKind::MagicLink => "Your sign-in link",
        MailKind::EmailChange => "Confirm your new email address",
        MailKind::Reauthentication => "{{ .Token }} is your verification code",
        MailKind::PasswordChanged => "Your password was changed",
        MailKind::EmailChanged => "Your email address was changed",
        MailKind::PhoneChanged => "Your phone number was changed",
        MailKind::IdentityLinked => "A new sign-in method was linked to your account",
        MailKind::IdentityUnlinked => "A sign-in method was removed from your account",
        MailKind::MfaFactorEnrolled => "A new verification method was added to your account",
        MailKind::MfaFactorUnenrolled => "A verification method was removed from your account",
    }
}

/// Returns the built-in template.
pub(super) fn body(kind: MailKind) -> String {
    let blanks = match kind {
        MailKind::Confirmation => include_str!("defaults/confirmation.html"),
        MailKind::Invite => include_str!("defaults/invite.html"),
        MailKind::Recovery => include_str!("defaults/recovery.html"),
        MailKind::MagicLink => include_str!("defaults/magic_link.html"),
        MailKind::EmailChange => include_str!("defaults/email_change.html"),
        MailKind::Reauthentication => include_str!("defaults/reauthentication.html"),
        MailKind::PasswordChanged => include_str!("defaults/password_changed.html"),
        MailKind::EmailChanged => include_str!("defaults/email_changed.html"),
        MailKind::PhoneChanged => include_str!("defaults/phone_changed.html"),
        MailKind::IdentityLinked => include_str!("defaults/identity_linked.html"),
        MailKind::IdentityUnlinked => include_str!("defaults/identity_unlinked.html"),
        MailKind::MfaFactorEnrolled => include_str!("defaults/mfa_factor_enrolled.html"),
        MailKind::MfaFactorUnenrolled => include_str!("defaults/mfa_factor_unenrolled.html"),
    };
    // What stands between definitions is nothing but line ends.
    let blanks: String = blanks.replace("{{ end }}\n{{ define", "{{ end }}{{ define");
    format!("{}{LAYOUT}", blanks.trim())
}
