//! What strangers could make use of, by the settings.

use ::health::checks::{BackupSetting, Exposure, PasswordSetting, is_on_this_machine};
use embedded::{Cluster, DEFAULT_PASSWORD};

use crate::settings::Settings;

/// Reports whether strangers can reach the server of `settings`: it listens beyond this machine, serves HTTPS, has a URL
/// elsewhere, or is behind a proxy.
pub(crate) fn is_public(settings: &Settings) -> bool {
    let has_url = settings.server.external_url.as_deref().is_some_and(|url| !is_on_this_machine(url));
    let has_https = settings.tls.is_on() && !settings.tls.host.is_loopback();
    !settings.server.host.is_loopback() || has_url || has_https || settings.gateway.trusted_proxies > 0
}

/// Returns the exposure of `settings`.
pub(crate) fn of(settings: &Settings) -> Exposure {
    let auth = settings.services.auth.as_ref();
    Exposure {
        password: password(settings),
        backups: backups(settings),
        has_inbox: auth.is_some_and(|auth| auth.mail.smtp.is_none() && auth.mail.folder.is_some()),
        plain_http: plain_http(settings).map(str::to_owned),
        is_superuser: is_superuser(settings),
        site_url: auth.map(|auth| auth.site_url.clone()),
        redirect_urls: auth.map(|auth| auth.uri_allow_list.clone()).unwrap_or_default(),
    }
}

fn password(settings: &Settings) -> PasswordSetting {
    match &settings.database.url {
        None if settings.has_default_password() => PasswordSetting::Default,
        Some(url) if url.get("password") == Some(DEFAULT_PASSWORD) => PasswordSetting::DefaultInUrl,
        _ => PasswordSetting::Own,
    }
}

fn backups(settings: &Settings) -> BackupSetting {
    match &settings.backup.target {
        None => BackupSetting::Off,
        Some(_) if backup::is_copy(&settings.data_dir) => BackupSetting::Copy,
        Some(_) => BackupSetting::On,
    }
}

/// Returns the setting by which clients reach the server without TLS, if they do.
fn plain_http(settings: &Settings) -> Option<&'static str> {
    match settings.server.external_url.as_deref() {
        Some(url) => (url.starts_with("http://") && !is_on_this_machine(url)).then_some("API_EXTERNAL_URL"),
        // Without a proxy, whoever connects here is a client.
        None => (!settings.server.host.is_loopback() && settings.gateway.trusted_proxies == 0)
            .then_some("BASALT_HOST"),
    }
}

fn is_superuser(settings: &Settings) -> bool {
    let is_set = settings.database.postgres_superuser;
    let is_in_force = || matches!(Cluster::is_postgres_superuser(&settings.data_dir), Ok(Some(true)));
    settings.database.url.is_none() && (is_set || is_in_force())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Invocation;

    fn settings(variables: &[(&str, &str)]) -> (tempfile::TempDir, Settings) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.toml"), "").unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let invocation = Invocation {
            variables: variables.collect(),
            project: Some(folder.path().to_owned()),
            ..Invocation::default()
        };
        let settings = Settings::load(&invocation).unwrap();
        (folder, settings)
    }

    fn names(variables: &[(&str, &str)]) -> Vec<&'static str> {
        let (_folder, settings) = settings(variables);
        of(&settings).findings().iter().map(|finding| finding.name).collect()
    }

    const SAFE: [(&str, &str); 6] = [
        ("BASALT_DEFAULT_DATABASE_PASSWORD", "false"),
        ("API_EXTERNAL_URL", "https://shop.example"),
        ("SITE_URL", "https://shop.example"),
        ("BASALT_BACKUP_TARGET", "s3://backups/shop"),
        ("GOTRUE_SMTP_HOST", "mail.example"),
        ("GOTRUE_SMTP_ADMIN_EMAIL", "shop@shop.example"),
    ];

    #[test]
    fn a_server_is_public_if_others_can_reach_it() {
        for (variables, expected) in [
            (vec![], false),
            (vec![("BASALT_HOST", "0.0.0.0")], true),
            (vec![("BASALT_HOST", "::1")], false),
            (vec![("API_EXTERNAL_URL", "https://shop.example")], true),
            (vec![("API_EXTERNAL_URL", "http://localhost:8000")], false),
            (vec![("BASALT_TRUSTED_PROXIES", "1")], true),
            (vec![("BASALT_TLS_DOMAINS", "shop.example")], true),
        ] {
            let (_folder, settings) = settings(&variables);
            assert_eq!(is_public(&settings), expected, "{variables:?}");
        }
    }

    #[test]
    fn the_defaults_are_for_this_machine_and_safe_settings_have_no_finding() {
        let defaults = ["default_database_password", "backups_off", "inbox_on", "site_url_is_local"];
        assert_eq!(names(&[]), defaults);
        assert_eq!(names(&SAFE), [""; 0]);
    }

    #[test]
    fn each_unsafe_setting_is_read() {
        for (variable, value, name) in [
            ("BASALT_DEFAULT_DATABASE_PASSWORD", "true", "default_database_password"),
            ("DATABASE_URL", "postgres://postgres:postgres@db.example/postgres", "default_database_password"),
            ("API_EXTERNAL_URL", "http://shop.example", "plain_http"),
            ("BASALT_POSTGRES_SUPERUSER", "true", "postgres_is_superuser"),
            ("SITE_URL", "http://127.0.0.1:3000", "site_url_is_local"),
            ("GOTRUE_URI_ALLOW_LIST", "https://shop.example/**,https://**", "redirects_anywhere"),
        ] {
            let mut variables = SAFE.to_vec();
            variables.retain(|(known, _)| *known != variable);
            variables.push((variable, value));
            assert_eq!(names(&variables), [name], "{variable}");
        }
        let listens = [&SAFE[..1], &SAFE[2..], &[("BASALT_HOST", "0.0.0.0")]].concat();
        assert_eq!(names(&listens), ["plain_http"]);
        let is_behind_proxy = [&listens[..], &[("BASALT_TRUSTED_PROXIES", "1")]].concat();
        assert_eq!(names(&is_behind_proxy), [""; 0]);
    }
}
