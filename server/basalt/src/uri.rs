//! Helpers for connection parameters of databases that are not embedded.

use std::net::IpAddr;

use embedded::DEFAULT_PASSWORD;
use postgres::conninfo::Conninfo;

/// Parameters of Prisma's URLs. Source: Prisma's documentation on its PostgreSQL connector. `supa` is Vercel's.
const ORM_PARAMETERS: [&str; 9] = [
    "schema",
    "connection_limit",
    "pool_timeout",
    "pgbouncer",
    "socket_timeout",
    "statement_cache_size",
    "sslaccept",
    "sslidentity",
    "supa",
];

/// Returns `server` with the login of another role.
///
/// Poolers that serve many projects expect the project as a suffix of the role's name, `postgres.project`; the suffix
/// of the current role is kept.
pub(crate) fn for_role(server: &Conninfo, role: &str, password: &str) -> Conninfo {
    let mut server = server.clone();
    let tenant = server.get("user").and_then(|user| user.split_once('.')).map(|(_, tenant)| tenant);
    let role = tenant.map_or_else(|| role.to_owned(), |tenant| format!("{role}.{tenant}"));
    server.set("user", role);
    server.set("password", password);
    server
}

/// Splits `server` into its parameters without the password, which may appear in a process list, and the password.
pub(crate) fn without_password(server: &Conninfo) -> (Conninfo, Option<String>) {
    let password = server.get("password").map(str::to_owned);
    (without(server, |name| name == "password"), password)
}

/// Reports whether `server` is the default of the Supabase CLI's local database, at one of `ports` of this machine.
pub(crate) fn is_local_default(server: &Conninfo, ports: &[u16]) -> bool {
    let is = |name, values: &[&str]| server.get(name).is_some_and(|value| values.contains(&value));
    is("user", &[DEFAULT_PASSWORD])
        && is("password", &[DEFAULT_PASSWORD])
        && is("host", &["127.0.0.1", "localhost", "::1"])
        && is("dbname", &["postgres"])
        && server.get("port").and_then(|port| port.parse().ok()).is_some_and(|port| ports.contains(&port))
}

/// Reports whether all hosts of `server` are this machine's own.
pub(crate) fn is_of_this_machine(server: &Conninfo) -> bool {
    let hosts = ["host", "hostaddr"].into_iter().filter_map(|name| server.get(name));
    hosts.flat_map(|hosts| hosts.split(',')).all(|host| host.starts_with('/') || is_local_host(host))
}

/// Reports whether the host of a URL, which may have a port, is this machine's own.
pub(crate) fn is_local_host(host: &str) -> bool {
    let port = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let is_loopback = |name: &str| name.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    let name = port.map_or(host, |(name, _)| name);
    name == "localhost" || is_loopback(name.trim_matches(['[', ']'])) || is_loopback(host)
}

/// Returns `server` without the parameters that object-relational mappers add and that libpq does not know.
pub(crate) fn without_orm_parameters(server: &Conninfo) -> Conninfo {
    without(server, |name| ORM_PARAMETERS.contains(&name))
}

/// Returns `server` without the parameters whose names are `foreign`.
pub(crate) fn without(server: &Conninfo, foreign: impl Fn(&str) -> bool) -> Conninfo {
    let mut server = server.clone();
    server.retain(|name| !foreign(name));
    server
}

/// Describes `server` by its database and host, without the login.
pub(crate) fn describe(server: &Conninfo) -> String {
    let host = match server.host_ports().join(",") {
        none if none.is_empty() => "the default host".to_owned(),
        hosts => hosts,
    };
    match server.get("dbname") {
        None => format!("the default database on {host}"),
        Some(name) => format!("the database {name} on {host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Conninfo {
        text.parse().unwrap()
    }

    #[test]
    fn only_the_login_is_replaced() {
        for (given, expected) in [
            (
                "postgresql://postgres:s%40crt@db.example:5432/app?sslmode=require",
                "postgresql://authenticator:p%2Fw@db.example:5432/app?sslmode=require",
            ),
            ("postgres://localhost/x", "postgresql://authenticator:p%2Fw@localhost/x"),
            (
                "postgres://postgres.abc:x@pooler:6543/postgres",
                "postgresql://authenticator.abc:p%2Fw@pooler:6543/postgres",
            ),
            ("host=h user=postgres", "postgresql://authenticator:p%2Fw@h"),
        ] {
            assert_eq!(for_role(&server(given), "authenticator", "p/w").to_uri(), expected);
        }
    }

    #[test]
    fn the_local_default_is_recognized_by_all_its_parts() {
        let ports = [54322, 6000];
        for local in [
            "postgresql://postgres:postgres@127.0.0.1:54322/postgres",
            "postgres://postgres:postgres@localhost:6000/postgres?schema=public",
            "postgresql://postgres:postgres@[::1]:54322/postgres",
            "host=127.0.0.1 port=54322 user=postgres password=postgres dbname=postgres",
        ] {
            assert!(is_local_default(&server(local), &ports), "{local}");
        }
        for other in [
            "postgresql://postgres:postgres@127.0.0.1:5432/postgres",
            "postgresql://postgres:postgres@127.0.0.1:54322/app",
            "postgresql://postgres:secret@127.0.0.1:54322/postgres",
            "postgresql://me:postgres@127.0.0.1:54322/postgres",
            "postgresql://postgres:postgres@db.example:54322/postgres",
            "postgresql://postgres:postgres@127.0.0.1/postgres",
        ] {
            assert!(!is_local_default(&server(other), &ports), "{other}");
        }
    }

    #[test]
    fn a_description_does_not_contain_the_login() {
        for (uri, description) in [
            (
                "postgres://me:secret@db.example:5432/app?sslmode=require",
                "the database app on db.example:5432",
            ),
            ("postgres://me:a@b@one,two:1", "the default database on one,two:1"),
            ("host=db port=5433 dbname='app' password=secret", "the database app on db:5433"),
            ("user=me", "the default database on the default host"),
        ] {
            assert_eq!(describe(&server(uri)), description);
        }
    }

    #[test]
    fn parameters_of_mappers_are_left_out() {
        for (given, expected) in [
            ("postgres://h/d?schema=public", "postgresql://h/d"),
            (
                "postgres://h/d?pgbouncer=true&sslmode=require&connection_limit=1",
                "postgresql://h/d?sslmode=require",
            ),
            ("postgres://me:a?b@h/d", "postgresql://me:a%3Fb@h/d"),
            ("host=h", "postgresql://h"),
        ] {
            assert_eq!(without_orm_parameters(&server(given)).to_uri(), expected);
        }
    }

    #[test]
    fn passwords_are_separated() {
        for (given, uri, password) in [
            ("postgres://me:a%20b@h/d", "postgresql://me@h/d", Some("a b")),
            ("postgres://h/d", "postgresql://h/d", None),
            ("postgres://me:a?b@h?sslmode=require", "postgresql://me@h?sslmode=require", Some("a?b")),
            ("host=h user=me password='a b'", "postgresql://me@h", Some("a b")),
        ] {
            let (rest, secret) = without_password(&server(given));
            assert_eq!((rest.to_uri().as_str(), secret.as_deref()), (uri, password));
        }
    }
}
