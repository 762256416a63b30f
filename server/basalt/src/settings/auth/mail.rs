//! `[auth.email]`, `GOTRUE_MAILER_*` and `GOTRUE_SMTP_*`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use auth::{MailKind, MailSettings, Secret, SmtpSettings};

use super::{Invalid, Places, Reader, gotrue, optional, otp_length};
use crate::settings::Project;

/// Folder of mails below the data folder, where no mail server is set.
const FOLDER: &str = "mail";

pub(super) fn read(reader: &mut Reader<'_>, places: Places<'_>) -> Result<MailSettings, Invalid> {
    let default = MailSettings::default();
    let has_config = reader.has_config();
    let confirmations: Option<bool> = reader.get("auth.email.enable_confirmations", &[])?;
    let double_confirm = reader.get("auth.email.double_confirm_changes", &[])?;
    let double_confirm: bool = double_confirm.unwrap_or(default.secure_email_change);
    // Where a config.toml says nothing, the CLI's template does: no confirmations, a mail a second, codes that last
    // an hour. Without a file upstream's defaults hold.
    let autoconfirm = confirmations.map_or(has_config, |confirmations| !confirmations);
    let (frequency, expiry) =
        if has_config { (1, 3600) } else { (default.max_frequency.as_secs(), default.otp_expiry.as_secs()) };
    let (subjects, templates, notifications) = texts(reader, places.project)?;
    Ok(MailSettings {
        smtp: smtp(reader)?,
        folder: Some(places.data_dir.join(FOLDER)),
        max_frequency: gotrue(
            reader,
            "auth.email.max_frequency",
            "SMTP_MAX_FREQUENCY",
            Duration::from_secs(frequency),
        )?,
        autoconfirm: reader
            .get("", &["GOTRUE_MAILER_AUTOCONFIRM", "ENABLE_EMAIL_AUTOCONFIRM"])?
            .unwrap_or(autoconfirm),
        secure_email_change: gotrue(reader, "", "MAILER_SECURE_EMAIL_CHANGE_ENABLED", double_confirm)?,
        allow_unverified_sign_ins: gotrue(
            reader,
            "",
            "MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS",
            default.allow_unverified_sign_ins,
        )?,
        otp_expiry: gotrue(reader, "auth.email.otp_expiry", "MAILER_OTP_EXP", Duration::from_secs(expiry))?,
        otp_length: otp_length(reader, "auth.email.otp_length", "MAILER_OTP_LENGTH", default.otp_length)?,
        external_hosts: gotrue(reader, "", "MAILER_EXTERNAL_HOSTS", default.external_hosts)?,
        authorized_addresses: gotrue(
            reader,
            "",
            "EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES",
            default.authorized_addresses,
        )?,
        subjects,
        templates,
        url_paths: url_paths(reader)?,
        notifications,
        template_max_size: gotrue(reader, "", "MAILER_TEMPLATE_MAX_SIZE", default.template_max_size)?,
        template_max_age: gotrue(reader, "", "MAILER_TEMPLATE_MAX_AGE", default.template_max_age)?,
        template_retry_interval: gotrue(
            reader,
            "",
            "MAILER_TEMPLATE_RETRY_INTERVAL",
            default.template_retry_interval,
        )?,
    })
}

/// The mail server; `None` where none is named or it is switched off.
fn smtp(reader: &mut Reader<'_>) -> Result<Option<SmtpSettings>, Invalid> {
    let mut text = |key: &str, name: &str| -> Result<String, Invalid> {
        let names = [format!("GOTRUE_SMTP_{name}"), format!("SMTP_{name}")];
        let key = format!("auth.email.smtp.{key}");
        Ok(reader.get(&key, &[&names[0], &names[1]])?.unwrap_or_default())
    };
    let (host, user, password) = (text("host", "HOST")?, text("user", "USER")?, text("pass", "PASS")?);
    let (admin_email, sender_name) =
        (text("admin_email", "ADMIN_EMAIL")?, text("sender_name", "SENDER_NAME")?);
    let enabled: Option<bool> = reader.get("auth.email.smtp.enabled", &[])?;
    let port: Option<u16> = reader.get("auth.email.smtp.port", &["GOTRUE_SMTP_PORT", "SMTP_PORT"])?;
    let headers = headers(reader)?;
    let root_certificate: Option<PathBuf> = reader.get("", &["BASALT_SMTP_ROOT_CERTIFICATE"])?;
    // The switch is the file's; whoever names a server in the environment wants it.
    if host.is_empty() || (enabled == Some(false) && reader.is_in_config(&["auth", "email", "smtp", "host"]))
    {
        return Ok(None);
    }
    if admin_email.is_empty() {
        let expected = "the address that mails are from, since a mail server is set";
        return Err(Invalid::new("GOTRUE_SMTP_ADMIN_EMAIL", expected, &"none"));
    }
    Ok(Some(SmtpSettings {
        host,
        port: port.unwrap_or(587),
        user,
        password: Secret::from(password),
        admin_email,
        sender_name,
        headers,
        root_certificate,
    }))
}

fn headers(reader: &mut Reader<'_>) -> Result<BTreeMap<String, Vec<String>>, Invalid> {
    let name = "SMTP_HEADERS";
    let Some(text) = optional::<String>(reader, "", name)? else { return Ok(BTreeMap::new()) };
    serde_json::from_str(&text).map_err(|_| {
        let expected = r#"a JSON object of lists such as {"X-Kind": ["$messageType"]}"#;
        Invalid::new(&format!("GOTRUE_{name}"), expected, &"something else")
    })
}

type Texts = (BTreeMap<MailKind, String>, BTreeMap<MailKind, String>, BTreeSet<MailKind>);

/// Subjects, templates, and which notifications are sent.
fn texts(reader: &mut Reader<'_>, project: &Project) -> Result<Texts, Invalid> {
    let (mut subjects, mut templates, mut notifications) = Texts::default();
    for kind in MailKind::ALL {
        let (suffix, table) = if kind.is_notification() {
            (format!("{}_NOTIFICATION", kind.name()), "notification")
        } else {
            (kind.name().to_owned(), "template")
        };
        let suffix = suffix.to_ascii_uppercase();
        let key = |part: &str| format!("auth.email.{table}.{}.{part}", kind.name());
        if let Some(subject) = optional(reader, &key("subject"), &format!("MAILER_SUBJECTS_{suffix}"))? {
            subjects.insert(kind, subject);
        }
        let path: Option<PathBuf> = reader.get(&key("content_path"), &[])?;
        let template: Option<String> = optional(reader, "", &format!("MAILER_TEMPLATES_{suffix}"))?;
        let file = path.map(|path| content(project, &key("content_path"), path)).transpose()?;
        templates.extend(template.or(file).map(|template| (kind, template)));
        if kind.is_notification() {
            let name = format!("MAILER_NOTIFICATIONS_{}_ENABLED", kind.name().to_ascii_uppercase());
            if gotrue(reader, &key("enabled"), &name, false)? {
                notifications.insert(kind);
            }
        }
    }
    Ok((subjects, templates, notifications))
}

/// The file at `path`, which the CLI reads from the project's folder, and people write beside `config.toml`, too.
fn content(project: &Project, key: &str, path: PathBuf) -> Result<String, Invalid> {
    let candidates = [project.root.join(&path), project.resolve(&path)];
    let found = candidates.iter().find(|candidate| candidate.is_file());
    let found = found.ok_or_else(|| Invalid::new(key, "a file that exists", &path.display()))?;
    Ok(format!("file:{}", found.display()))
}

fn url_paths(reader: &mut Reader<'_>) -> Result<BTreeMap<MailKind, String>, Invalid> {
    let kinds = [MailKind::Invite, MailKind::Confirmation, MailKind::Recovery, MailKind::EmailChange];
    let mut paths = BTreeMap::new();
    for kind in kinds {
        let name = format!("MAILER_URLPATHS_{}", kind.name().to_ascii_uppercase());
        let path: Option<String> = reader.get("", &[&format!("GOTRUE_{name}"), &name])?;
        paths.extend(path.map(|path| (kind, path)));
    }
    Ok(paths)
}
