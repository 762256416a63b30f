//! A database's URI for JavaScript's Postgres clients, which support less than libpq.
//!
//! They accept a URL of one host and few parameters. Other parameters are passed on to the server, which refuses them
//! (`postgres`), or name files that the client may not read (`pg` with `sslrootcert`).

use tokio_postgres::config::Host;

use crate::conninfo::Conninfo;
use crate::error::Error;
use crate::servers::servers;
use crate::tls;

/// Returns `conninfo` as `postgresql://user:password@host:port/database` with percent-encoded parts.
///
/// Only the first of several hosts is kept. Of the parameters, `application_name`, `options` and `sslmode` are kept; an
/// `sslmode` of `prefer` or `allow` is left out, since `pg` treats these as `require`. The result contains the password
/// and must not be logged.
///
/// Errors: [`Error::Configuration`] for invalid hosts and ports; its message never contains the password.
pub fn client_uri(conninfo: &Conninfo) -> Result<String, Error> {
    let servers = servers(conninfo)?;
    let server =
        servers.first().ok_or_else(|| Error::Configuration("the database URI names no host".to_owned()))?;
    let host = match (&server.name, &server.host) {
        (Some(name), _) | (None, Host::Tcp(name)) => name.clone(),
        (None, Host::Unix(folder)) => folder.to_string_lossy().into_owned(),
    };
    let user = conninfo.get("user").unwrap_or("postgres");
    let mut reduced = Conninfo::default();
    reduced.set("user", user);
    reduced.set("password", conninfo.get("password").unwrap_or_default());
    reduced.set("host", host);
    reduced.set("port", server.port.to_string());
    reduced.set("dbname", conninfo.get("dbname").unwrap_or(user));
    let mode = conninfo.get("sslmode").map(tls::Mode::parse).transpose()?;
    if let Some(mode) = mode.and_then(tls::Mode::strict_name) {
        reduced.set("sslmode", mode);
    }
    for name in ["application_name", "options"] {
        if let Some(value) = conninfo.get(name) {
            reduced.set(name, value);
        }
    }
    Ok(reduced.to_uri())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_only_libpq_supports_are_removed() {
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
    fn error_messages_do_not_contain_the_password() {
        let error =
            client_uri(&"postgres://me:s3cret@h:notaport/d".parse().unwrap()).unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}
