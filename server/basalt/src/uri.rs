//! Connection URIs of databases that are not embedded, and their credentials.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// RFC 3986's unreserved characters stay as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

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
