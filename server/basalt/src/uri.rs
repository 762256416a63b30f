//! Connection URIs of databases that are not embedded, and their credentials.

use std::borrow::Cow;

use database::cluster::DEFAULT_PASSWORD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// RFC 3986's unreserved characters stay as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

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

/// `uri` for another role. Both of libpq's forms are understood: a URI, and `key=value` pairs.
///
/// Poolers that serve many projects take them as a suffix of the role's name, `postgres.project`; the suffix of the
/// given URI's role is kept. Source: PostgreSQL documentation, section 34.1.1.
pub(crate) fn for_role(uri: &str, role: &str, password: &str) -> String {
    let suffix = user(uri).and_then(|user| user.split_once('.').map(|(_, tenant)| format!(".{tenant}")));
    let role = format!("{role}{}", suffix.unwrap_or_default());
    match split(uri) {
        Some(parts) => format!(
            "{}://{}:{}@{}",
            parts.scheme,
            utf8_percent_encode(&role, ENCODED),
            utf8_percent_encode(password, ENCODED),
            parts.rest
        ),
        // The last of two values for the same key counts.
        None => format!("{uri} user='{}' password='{}'", quoted(&role), quoted(password)),
    }
}

/// `uri` without its password, and the password: what may be shown in a process list, and what may not.
pub(crate) fn without_password(uri: &str) -> (String, Option<String>) {
    let Some(parts) = split(uri) else { return (uri.to_owned(), None) };
    let Some((user, password)) = parts.credentials.and_then(|credentials| credentials.split_once(':')) else {
        return (uri.to_owned(), None);
    };
    let password = percent_decode_str(password).decode_utf8_lossy().into_owned();
    (format!("{}://{user}@{}", parts.scheme, parts.rest), Some(password))
}

/// Whether `uri` is the one that the Supabase CLI gives to everybody's local database, at one of `ports` of this machine.
pub(crate) fn is_local_default(uri: &str, ports: &[u16]) -> bool {
    let Some(parts) = split(uri) else { return false };
    let place = parts.rest.split('?').next().unwrap_or_default();
    let Some((host, port)) = place.strip_suffix("/postgres").and_then(|place| place.rsplit_once(':')) else {
        return false;
    };
    let login = format!("{DEFAULT_PASSWORD}:{DEFAULT_PASSWORD}");
    ["postgres", "postgresql"].contains(&parts.scheme)
        && parts.credentials == Some(login.as_str())
        && ["127.0.0.1", "localhost", "[::1]"].contains(&host)
        && port.parse().is_ok_and(|port| ports.contains(&port))
}

/// `uri` without the parameters that object-relational mappers keep in theirs and that libpq does not know.
pub(crate) fn without_orm_parameters(uri: &str) -> String {
    let Some((place, query)) = split(uri).and(uri.rsplit_once('?')) else { return uri.to_owned() };
    let is_known = |pair: &&str| !ORM_PARAMETERS.contains(&pair.split('=').next().unwrap_or_default());
    let kept: Vec<&str> = query.split('&').filter(is_known).collect();
    if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) }
}

/// Where `uri` leads: the database and its host, without what it logs in with.
pub(crate) fn place(uri: &str) -> String {
    let (host, database) = match split(uri) {
        Some(parts) => {
            let place = parts.rest.split('?').next().unwrap_or_default();
            let (host, database) = place.split_once('/').unwrap_or((place, ""));
            (host.to_owned(), database.to_owned())
        }
        None => {
            let value = |key: &str| {
                let pair = uri
                    .split_whitespace()
                    .filter_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
                    .next_back();
                pair.unwrap_or_default().trim_matches('\'').to_owned()
            };
            let host = if value("host").is_empty() { value("hostaddr") } else { value("host") };
            let port = value("port");
            (if port.is_empty() { host } else { format!("{host}:{port}") }, value("dbname"))
        }
    };
    let host = if host.is_empty() { "the default host".to_owned() } else { host };
    match database.as_str() {
        "" => format!("the default database on {host}"),
        name => format!("the database {name} on {host}"),
    }
}

/// `uri` for another database of the same server.
pub(crate) fn for_database(uri: &str, database: &str) -> String {
    let Some(parts) = split(uri) else { return format!("{uri} dbname='{}'", quoted(database)) };
    let login = parts.credentials.map(|login| format!("{login}@")).unwrap_or_default();
    let (place, query) = match parts.rest.split_once('?') {
        Some((place, query)) => (place, format!("?{query}")),
        None => (parts.rest, String::new()),
    };
    let host = place.split('/').next().unwrap_or_default();
    format!("{}://{login}{host}/{}{query}", parts.scheme, utf8_percent_encode(database, ENCODED))
}

/// `text` as one word of a shell's command line; plain words stay as they are.
pub(crate) fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._/:@%+,=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

/// A URI in front of and behind its credentials, `user` or `user:password`.
pub(crate) struct Parts<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) credentials: Option<&'a str>,
    pub(crate) rest: &'a str,
}

/// The parts of `uri`; `None` for `key=value` pairs. A password may hold a question mark, as libpq has it.
pub(crate) fn split(uri: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = uri.split_once("://")?;
    let authority = rest.find('/').unwrap_or(rest.len());
    match rest[..authority].rfind('@') {
        Some(at) => Some(Parts { scheme, credentials: Some(&rest[..at]), rest: &rest[at + 1..] }),
        None => Some(Parts { scheme, credentials: None, rest }),
    }
}

fn user(uri: &str) -> Option<String> {
    let credentials = split(uri)?.credentials?;
    let user = credentials.split(':').next()?;
    Some(percent_decode_str(user).decode_utf8_lossy().into_owned())
}

/// `text` as it stands between the quotes of a value in `key=value` pairs.
pub(crate) fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_is_exchanged_and_all_else_kept() {
        assert_eq!(
            for_role(
                "postgresql://postgres:s%40crt@db.example:5432/app?sslmode=require",
                "authenticator",
                "p/w"
            ),
            "postgresql://authenticator:p%2Fw@db.example:5432/app?sslmode=require"
        );
        assert_eq!(for_role("postgres://localhost/x", "a", "b"), "postgres://a:b@localhost/x");
        assert_eq!(
            for_role("postgres://postgres.abc:x@pooler:6543/postgres", "authenticator", "p"),
            "postgres://authenticator.abc:p@pooler:6543/postgres"
        );
        assert_eq!(
            for_role("host=h user=postgres", "a", "it's"),
            "host=h user=postgres user='a' password='it\\'s'"
        );
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
        assert_eq!(for_database(uri, "a b"), "postgres://me:p%2Fw@h:1/a%20b?sslmode=require");
        assert_eq!(for_database("postgres://h", "x"), "postgres://h/x");
        assert_eq!(for_database("host=h dbname=a", "x"), "host=h dbname=a dbname='x'");
    }

    #[test]
    fn parameters_of_mappers_are_left_out() {
        for (given, expected) in [
            ("postgres://h/d?schema=public", "postgres://h/d"),
            (
                "postgres://h/d?pgbouncer=true&sslmode=require&connection_limit=1",
                "postgres://h/d?sslmode=require",
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
        let (uri, password) = without_password("postgres://me:a%20b@h/d");
        assert_eq!((uri.as_str(), password.as_deref()), ("postgres://me@h/d", Some("a b")));
        assert_eq!(without_password("postgres://h/d").1, None);
        let (uri, password) = without_password("postgres://me:a?b@h?sslmode=require");
        assert_eq!((uri.as_str(), password.as_deref()), ("postgres://me@h?sslmode=require", Some("a?b")));
    }
}
