//! A database's URI for clients that know less than libpq: those of JavaScript.
//!
//! They take a URL of one host and few parameters. Others they hand on to the server, which refuses them
//! (`postgres`), or follow to files that they may not read (`pg` with `sslrootcert`).

use tokio_postgres::config::Host;

use crate::conninfo::Conninfo;
use crate::servers::servers;
use crate::{Error, tls};

/// Returns `given` as `postgresql://user:password@host:port/database` with percent-encoded parts.
///
/// Of several hosts it is the first. Of the parameters, those are kept that the server gets, and an `sslmode` that is
/// a decision: `prefer` and `allow` are none, and `pg` takes them for `require`. Holds the password: not for logs.
///
/// Errors: [`Error::Configuration`] for hosts and ports that cannot be understood, without the password.
pub fn client_uri(given: &Conninfo) -> Result<String, Error> {
    let servers = servers(given)?;
    let server =
        servers.first().ok_or_else(|| Error::Configuration("the database URI names no host".to_owned()))?;
    let host = match (&server.name, &server.host) {
        (Some(name), _) | (None, Host::Tcp(name)) => name.clone(),
        (None, Host::Unix(folder)) => folder.to_string_lossy().into_owned(),
    };
    let user = given.get("user").unwrap_or("postgres");
    let mut known = Conninfo::default();
    known.set("user", user);
    known.set("password", given.get("password").unwrap_or_default());
    known.set("host", host);
    known.set("port", server.port.to_string());
    known.set("dbname", given.get("dbname").unwrap_or(user));
    if let Some(decision) =
        given.get("sslmode").map(tls::Mode::parse).transpose()?.and_then(tls::Mode::decision)
    {
        known.set("sslmode", decision);
    }
    for name in ["application_name", "options"] {
        if let Some(value) = given.get(name) {
            known.set(name, value);
        }
    }
    Ok(known.to_uri())
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
            assert_eq!(client_uri(&given.parse().unwrap()).unwrap(), expected, "{given}");
        }
    }

    #[test]
    fn a_refusal_shows_no_password() {
        let error =
            client_uri(&"postgres://me:s3cret@h:notaport/d".parse().unwrap()).unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}
