//! A database's URI for clients that know less than libpq: those of JavaScript.
//!
//! They take a URL of one host and few parameters. Others they hand on to the server, which refuses them
//! (`postgres`), or follow to files that they may not read (`pg` with `sslrootcert`).

use tokio_postgres::config::Host;

use crate::cluster::{encoded, uri};
use crate::connect::Target;
use crate::{Error, Settings};

/// Another form of `given`, which may be in either of libpq's: `postgresql://user:password@host:port/database` with
/// percent-encoded parts.
///
/// Of several hosts it is the first. Of the parameters, those are kept that the server gets, and an `sslmode` that is
/// a decision: `prefer` and `allow` are none, and `pg` takes them for `require`. Holds the password: not for logs.
///
/// Errors: [`Error::Configuration`] for a URI that cannot be understood, without its password.
pub fn client_uri(given: &str) -> Result<String, Error> {
    let settings = Settings { application_name: String::new(), ..Settings::new(given) };
    let Target { config, mode, .. } = Target::from_uri(given, &settings)?;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(folder)) => folder.to_string_lossy().into_owned(),
        None => config.get_hostaddrs().first().map(ToString::to_string).unwrap_or_default(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let user = config.get_user().unwrap_or("postgres");
    let password = String::from_utf8_lossy(config.get_password().unwrap_or_default());
    let mut url = uri(&host, port, user, &password, config.get_dbname().unwrap_or(user));
    let parameters = [
        ("sslmode", mode.decision()),
        ("application_name", config.get_application_name().filter(|name| !name.is_empty())),
        ("options", config.get_options()),
    ];
    let mut separator = '?';
    for (name, value) in parameters {
        if let Some(value) = value {
            url.extend([separator.to_string().as_str(), name, "=", &encoded(value)]);
            separator = '&';
        }
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_libpq_understands_is_taken_out() {
        for (given, expected) in [
            ("postgresql://me:pw@db.example:6432/app", "postgresql://me:pw@db.example:6432/app"),
            ("postgres://me:p%40:s%2Fs@h/app", "postgresql://me:p%40%3As%2Fs@h:5432/app"),
            ("postgres://me:pw@h/app?sslmode=prefer&connect_timeout=3", "postgresql://me:pw@h:5432/app"),
            (
                "postgres://me:pw@h/app?sslmode=verify-full&sslrootcert=/ca.pem",
                "postgresql://me:pw@h:5432/app?sslmode=verify-full",
            ),
            (
                "postgres://me:pw@h1,h2:1/app?target_session_attrs=read-write&sslmode=require",
                "postgresql://me:pw@h1:5432/app?sslmode=require",
            ),
            ("postgres://me@h?pgbouncer=true&sslmode=disable", "postgresql://me:@h:5432/me?sslmode=disable"),
            (r"host=h port=1 user=me password='it\'s' dbname=app", "postgresql://me:it%27s@h:1/app"),
            ("postgres://me:pw@[::1]:5433/app", "postgresql://me:pw@[::1]:5433/app"),
            (
                "postgres://me:pw@h/app?options=-c%20role%3Dx&application_name=my%20app",
                "postgresql://me:pw@h:5432/app?application_name=my%20app&options=-c%20role%3Dx",
            ),
        ] {
            let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/tls/authority.pem");
            let given = given.replace("/ca.pem", authority);
            assert_eq!(client_uri(&given).unwrap(), expected, "{given}");
        }
    }

    #[test]
    fn a_refusal_shows_no_password() {
        let error = client_uri("postgres://me:s3cret@h:notaport/d").unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}
