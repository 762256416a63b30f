//! Connection URIs of databases that are not embedded, and their credentials.

use std::borrow::Cow;

use database::Error;
use database::cluster::DEFAULT_PASSWORD;
use database::conninfo::Conninfo;

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

/// `uri`, in either of libpq's forms, for another role.
///
/// Poolers that serve many projects take them as a suffix of the role's name, `postgres.project`; the suffix of the
/// given URI's role is kept.
///
/// Errors: [`Error::Configuration`] for a URI that cannot be understood.
pub(crate) fn for_role(uri: &str, role: &str, password: &str) -> Result<String, Error> {
    let mut parameters = Conninfo::parse(uri)?;
    let tenant = parameters.get("user").and_then(|user| user.split_once('.')).map(|(_, tenant)| tenant);
    let role = tenant.map_or_else(|| role.to_owned(), |tenant| format!("{role}.{tenant}"));
    parameters.set("user", role);
    parameters.set("password", password);
    Ok(parameters.to_uri())
}

/// `uri` without its password, and the password: what may be shown in a process list, and what may not. One that cannot be
/// understood is nobody's.
pub(crate) fn without_password(uri: &str) -> (String, Option<String>) {
    let Ok(mut parameters) = Conninfo::parse(uri) else { return (uri.to_owned(), None) };
    let password = parameters.get("password").map(str::to_owned);
    parameters.retain(|name| name != "password");
    (parameters.to_uri(), password)
}

/// Whether `uri` is the one that the Supabase CLI gives to everybody's local database, at one of `ports` of this machine.
pub(crate) fn is_local_default(uri: &str, ports: &[u16]) -> bool {
    let Some(parameters) = uri.contains("://").then(|| Conninfo::parse(uri).ok()).flatten() else {
        return false;
    };
    let is = |name, values: &[&str]| parameters.get(name).is_some_and(|value| values.contains(&value));
    is("user", &[DEFAULT_PASSWORD])
        && is("password", &[DEFAULT_PASSWORD])
        && is("host", &["127.0.0.1", "localhost", "::1"])
        && is("dbname", &["postgres"])
        && parameters.get("port").and_then(|port| port.parse().ok()).is_some_and(|port| ports.contains(&port))
}

/// `uri` without the parameters that object-relational mappers keep in theirs and that libpq does not know.
pub(crate) fn without_orm_parameters(uri: &str) -> String {
    without(uri, |name| ORM_PARAMETERS.contains(&name))
}

/// `uri` without the parameters whose names are `foreign`. One that has none, or cannot be understood, stays as it is.
pub(crate) fn without(uri: &str, foreign: impl Fn(&str) -> bool) -> String {
    let Ok(mut parameters) = Conninfo::parse(uri) else { return uri.to_owned() };
    if !parameters.iter().any(|(name, _)| foreign(name)) {
        return uri.to_owned();
    }
    parameters.retain(|name| !foreign(name));
    parameters.to_uri()
}

/// Where `uri` leads: the database and its host, without what it logs in with.
pub(crate) fn place(uri: &str) -> String {
    let Ok(parameters) = Conninfo::parse(uri) else { return "the database of DATABASE_URL".to_owned() };
    let host = match parameters.places().join(",") {
        none if none.is_empty() => "the default host".to_owned(),
        hosts => hosts,
    };
    match parameters.get("dbname") {
        None => format!("the default database on {host}"),
        Some(name) => format!("the database {name} on {host}"),
    }
}

/// `uri` for another database of the same server.
///
/// Errors: [`Error::Configuration`] for a URI that cannot be understood.
pub(crate) fn for_database(uri: &str, database: &str) -> Result<String, Error> {
    let mut parameters = Conninfo::parse(uri)?;
    parameters.set("dbname", database);
    Ok(parameters.to_uri())
}

/// `text` as one word of a shell's command line; plain words stay as they are.
pub(crate) fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._/:@%+,=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_is_exchanged_and_all_else_kept() {
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
            assert_eq!(for_role(given, "authenticator", "p/w").unwrap(), expected);
        }
    }

    #[test]
    fn the_local_default_is_known_by_all_its_parts() {
        let ports = [54322, 6000];
        for local in [
            "postgresql://postgres:postgres@127.0.0.1:54322/postgres",
            "postgres://postgres:postgres@localhost:6000/postgres?schema=public",
            "postgresql://postgres:postgres@[::1]:54322/postgres",
        ] {
            assert!(is_local_default(local, &ports), "{local}");
        }
        for other in [
            "postgresql://postgres:postgres@127.0.0.1:5432/postgres",
            "postgresql://postgres:postgres@127.0.0.1:54322/app",
            "postgresql://postgres:secret@127.0.0.1:54322/postgres",
            "postgresql://me:postgres@127.0.0.1:54322/postgres",
            "postgresql://postgres:postgres@db.example:54322/postgres",
            "postgresql://postgres:postgres@127.0.0.1/postgres",
            "mysql://postgres:postgres@127.0.0.1:54322/postgres",
            "host=127.0.0.1 port=54322 user=postgres password=postgres dbname=postgres",
        ] {
            assert!(!is_local_default(other, &ports), "{other}");
        }
    }

    #[test]
    fn a_place_is_shown_without_its_login() {
        for (uri, shown) in [
            (
                "postgres://me:secret@db.example:5432/app?sslmode=require",
                "the database app on db.example:5432",
            ),
            ("postgres://me:a@b@one,two:1", "the default database on one,two:1"),
            ("host=db port=5433 dbname='app' password=secret", "the database app on db:5433"),
            ("user=me", "the default database on the default host"),
        ] {
            assert_eq!(place(uri), shown);
        }
    }

    #[test]
    fn another_database_of_the_same_server() {
        let uri = "postgres://me:p%2Fw@h:1/app?sslmode=require";
        assert_eq!(for_database(uri, "a b").unwrap(), "postgresql://me:p%2Fw@h:1/a%20b?sslmode=require");
        assert_eq!(for_database("postgres://h", "x").unwrap(), "postgresql://h/x");
        assert_eq!(for_database("host=h dbname=a", "x").unwrap(), "postgresql://h/x");
    }

    #[test]
    fn parameters_of_mappers_are_left_out() {
        for (given, expected) in [
            ("postgres://h/d?schema=public", "postgresql://h/d"),
            (
                "postgres://h/d?pgbouncer=true&sslmode=require&connection_limit=1",
                "postgresql://h/d?sslmode=require",
            ),
            ("postgres://h/d?sslmode=require", "postgres://h/d?sslmode=require"),
            ("postgres://me:a?b@h/d", "postgres://me:a?b@h/d"),
            ("host=h", "host=h"),
        ] {
            assert_eq!(without_orm_parameters(given), expected);
        }
    }

    #[test]
    fn shells_get_a_uri_whole() {
        assert_eq!(shell_word("postgresql://me@h:5432/d"), "postgresql://me@h:5432/d");
        assert_eq!(
            shell_word("postgres://h/d?sslmode=verify-full&sslrootcert=a"),
            "'postgres://h/d?sslmode=verify-full&sslrootcert=a'"
        );
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }

    #[test]
    fn passwords_are_taken_out() {
        for (given, uri, password) in [
            ("postgres://me:a%20b@h/d", "postgresql://me@h/d", Some("a b")),
            ("postgres://h/d", "postgresql://h/d", None),
            ("postgres://me:a?b@h?sslmode=require", "postgresql://me@h?sslmode=require", Some("a?b")),
            ("host=h user=me password='a b'", "postgresql://me@h", Some("a b")),
        ] {
            let (shown, secret) = without_password(given);
            assert_eq!((shown.as_str(), secret.as_deref()), (uri, password));
        }
    }
}
