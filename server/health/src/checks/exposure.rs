//! Settings that are unsafe once strangers can reach the server.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::RwLock;

use crate::check::{Check, Scope};
use crate::problem::Finding;

/// The password of the role `postgres`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PasswordSetting {
    /// One that is not known to everybody.
    #[default]
    Own,
    /// The one that everybody knows, of the embedded Postgres.
    Default,
    /// The one that everybody knows, in `DATABASE_URL`.
    DefaultInUrl,
}

/// Whether there are backups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BackupSetting {
    /// They are made.
    #[default]
    On,
    /// No target is set.
    Off,
    /// This is a restored copy, which makes none.
    Copy,
}

/// What strangers could make use of, by the settings.
#[derive(Debug, Clone, Default)]
pub struct Exposure {
    /// The password of `postgres`.
    pub password: PasswordSetting,
    /// Whether there are backups.
    pub backups: BackupSetting,
    /// Whether mails are kept on this machine instead of being sent.
    pub has_inbox: bool,
    /// Whether clients reach the server without TLS, and by which setting.
    pub plain_http: Option<String>,
    /// Whether `postgres` is a superuser.
    pub is_superuser: bool,
    /// Where users are sent after sign-in, if auth is on.
    pub site_url: Option<String>,
    /// Further places where they may be sent, as patterns.
    pub redirect_urls: Vec<String>,
}

/// The exposure of the current settings; cheap to clone.
pub type Exposed = Arc<RwLock<Exposure>>;

impl Check for Exposed {
    fn name(&self) -> &'static str {
        "the settings"
    }

    fn scope(&self) -> Scope {
        Scope::Project
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        let found = self.read().findings();
        async { Ok(found) }.boxed()
    }
}

impl Exposure {
    /// Returns what is unsafe if strangers can reach the server.
    pub fn findings(&self) -> Vec<Finding> {
        let found = [
            self.of_password(),
            self.of_transport(),
            self.of_redirects(),
            self.of_superuser(),
            self.of_backups(),
            self.of_inbox(),
            self.of_site(),
        ];
        found.into_iter().flatten().map(Finding::of_public).collect()
    }

    fn of_password(&self) -> Option<Finding> {
        let (what, remedy) = match self.password {
            PasswordSetting::Own => return None,
            PasswordSetting::Default => (
                "Every program on this machine can log in as postgres with the password \"postgres\", which everybody \
                 knows, and read and change everything",
                "Set basalt.default_database_password = false",
            ),
            PasswordSetting::DefaultInUrl => (
                "The password in DATABASE_URL is \"postgres\", which everybody knows: whoever reaches the database can \
                 read and change everything",
                "Give the role another password (alter role … password), and change DATABASE_URL",
            ),
        };
        Some(Finding::critical("default_database_password", "postgres", [what.to_owned(), remedy.to_owned()]))
    }

    fn of_transport(&self) -> Option<Finding> {
        let setting = self.plain_http.as_ref()?;
        let what = "Passwords, tokens and keys travel without encryption: clients reach the server over http"
            .to_owned();
        let remedy =
            "Set basalt.tls.domains, or let a proxy take HTTPS and set API_EXTERNAL_URL to its https URL \
                      (docs/operating.md, \"TLS and proxies\")"
                .to_owned();
        Some(Finding::critical("plain_http", setting.as_str(), [what, remedy]))
    }

    fn of_redirects(&self) -> Option<Finding> {
        let open: Vec<&str> =
            self.redirect_urls.iter().map(String::as_str).filter(|pattern| is_any_host(pattern)).collect();
        if open.is_empty() {
            return None;
        }
        let what = format!(
            "After sign-in users may be sent to any site ({}), which then has their session: a link is enough to take \
             over an account",
            open.join(", ")
        );
        let remedy = "List the sites in auth.additional_redirect_urls, each with its host".to_owned();
        Some(Finding::critical("redirects_anywhere", "auth", [what, remedy]))
    }

    fn of_superuser(&self) -> Option<Finding> {
        if !self.is_superuser {
            return None;
        }
        let what = "postgres is a superuser: functions and `security definer` functions can read files of this machine \
                    and run programs"
            .to_owned();
        let remedy = "Unset basalt.postgres_superuser, and run `basalt db harden`".to_owned();
        Some(Finding::warning("postgres_is_superuser", "postgres", [what, remedy]))
    }

    fn of_backups(&self) -> Option<Finding> {
        let (what, remedy) = match self.backups {
            BackupSetting::On => return None,
            BackupSetting::Off => (
                "There are no backups: a machine that burns takes everything with it",
                "Set basalt.backup.target and a passphrase (docs/operating.md, \"Backups\")",
            ),
            BackupSetting::Copy => (
                "There are no backups, since this is a restored copy",
                "Run `basalt backup adopt`, if it takes the place of the original",
            ),
        };
        Some(Finding::warning("backups_off", "backups", [what.to_owned(), remedy.to_owned()]))
    }

    fn of_inbox(&self) -> Option<Finding> {
        if !self.has_inbox {
            return None;
        }
        let what = "Mails are kept on this machine instead of being sent: users get no links, and every program here \
                    can read them"
            .to_owned();
        let remedy = "Set the mail server in auth.email.smtp".to_owned();
        Some(Finding::warning("inbox_on", "auth", [what, remedy]))
    }

    fn of_site(&self) -> Option<Finding> {
        let site = self.site_url.as_deref().filter(|site| is_on_this_machine(site))?;
        let what = format!("Links in mails and redirects lead to {site}, which is each user's own machine");
        let remedy = "Set auth.site_url to the URL of your site".to_owned();
        Some(Finding::warning("site_url_is_local", "auth", [what, remedy]))
    }
}

/// Reports whether a pattern of URLs leaves the host open: it has stars there, and no name. The scheme of an app leads
/// to that app, whatever follows.
fn is_any_host(pattern: &str) -> bool {
    let (scheme, rest) = pattern.split_once("://").unwrap_or(("", pattern));
    if !matches!(scheme, "" | "http" | "https") && !scheme.contains('*') {
        return false;
    }
    let host = rest.split('/').next().unwrap_or_default();
    host.contains('*') && !host.contains(|c: char| c.is_ascii_alphanumeric())
}

/// Reports whether the host of `url` is the loopback one.
pub fn is_on_this_machine(url: &str) -> bool {
    let Ok(url) = url::Url::parse(url) else { return false };
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity;

    fn names(exposure: &Exposure) -> Vec<&'static str> {
        exposure.findings().iter().map(|finding| finding.name).collect()
    }

    #[test]
    fn each_unsafe_setting_is_found_alone() {
        let safe = Exposure { site_url: Some("https://shop.example".to_owned()), ..Exposure::default() };
        assert_eq!(names(&safe), [""; 0]);
        let of = |change: fn(&mut Exposure)| {
            let mut exposure = safe.clone();
            change(&mut exposure);
            names(&exposure)
        };
        assert_eq!(of(|it| it.password = PasswordSetting::Default), ["default_database_password"]);
        assert_eq!(of(|it| it.password = PasswordSetting::DefaultInUrl), ["default_database_password"]);
        assert_eq!(of(|it| it.backups = BackupSetting::Off), ["backups_off"]);
        assert_eq!(of(|it| it.backups = BackupSetting::Copy), ["backups_off"]);
        assert_eq!(of(|it| it.has_inbox = true), ["inbox_on"]);
        assert_eq!(of(|it| it.plain_http = Some("BASALT_HOST".to_owned())), ["plain_http"]);
        assert_eq!(of(|it| it.is_superuser = true), ["postgres_is_superuser"]);
        assert_eq!(of(|it| it.site_url = Some("http://localhost:3000".to_owned())), ["site_url_is_local"]);
        assert_eq!(of(|it| it.redirect_urls = vec!["https://**".to_owned()]), ["redirects_anywhere"]);
    }

    #[test]
    fn the_findings_are_of_public_servers() {
        let exposure =
            Exposure { password: PasswordSetting::Default, has_inbox: true, ..Exposure::default() };
        let found = exposure.findings();
        assert!(found.iter().all(|finding| finding.is_of_public));
        assert_eq!([found[0].severity, found[1].severity], [Severity::Critical, Severity::Warning]);
    }

    #[test]
    fn a_pattern_is_open_if_its_host_is_only_stars() {
        for open in ["**", "*", "https://**", "https://*", "https://*.*/**", "http://*:*/cb", "*://**"] {
            assert!(is_any_host(open), "{open}");
        }
        for closed in [
            "https://shop.example/**",
            "https://*.shop.example/**",
            "https://*-team.vercel.app/**",
            "app://**",
            "http://localhost:*/**",
        ] {
            assert!(!is_any_host(closed), "{closed}");
        }
    }

    #[test]
    fn local_urls_are_told_from_others() {
        for local in
            ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:3000/a", "http://app.localhost"]
        {
            assert!(is_on_this_machine(local), "{local}");
        }
        for other in
            ["https://shop.example", "http://localhost.example", "http://192.168.0.2", "app://home", ""]
        {
            assert!(!is_on_this_machine(other), "{other}");
        }
    }
}
