//! libpq's connection strings, in both of their forms, as names and values.
//!
//! Source: PostgreSQL documentation, sections 34.1.1 and 34.1.2.

use percent_encoding::percent_decode_str;

use crate::Error;

/// The parameters of libpq that change nothing here, or nothing that is not so anyway: how TLS and Kerberos are looked
/// for, and what frameworks write beside them.
const WITHOUT_EFFECT: [&str; 22] = [
    "client_encoding",
    "gssdelegation",
    "gsslib",
    "krbsrvname",
    "max_protocol_version",
    "min_protocol_version",
    "passfile",
    "pgbouncer",
    "require_auth",
    "requirepeer",
    "service",
    "servicefile",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkeylogfile",
    "sslnegotiation",
    "sslpassword",
    "sslsni",
];

/// Whether `name` is a parameter that libpq knows and that changes nothing here.
pub(crate) fn is_without_effect(name: &str) -> bool {
    WITHOUT_EFFECT.contains(&name)
}

/// Names and values of `text`, a URI or `key=value` pairs. Of a name that is there twice the last value counts. Hosts
/// and ports of several servers are lists with commas.
///
/// Errors: [`Error::Configuration`], which never repeats a value, for what is neither.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, Error> {
    let uri = ["postgresql://", "postgres://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let parsed = uri.map_or_else(|| pairs(text), of_uri);
    parsed.map_err(|reason| Error::Configuration(format!("the database URI is not valid: {reason}")))
}

/// `parameters` as `key=value` pairs, which [`parse`] gives back.
pub fn format(parameters: &[(String, String)]) -> String {
    let quoted = |value: &str| value.replace('\\', "\\\\").replace('\'', "\\'");
    let pairs: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}='{}'", quoted(value))).collect();
    pairs.join(" ")
}

/// The last value of `name` that is not empty.
pub fn value<'p>(parameters: &'p [(String, String)], name: &str) -> Option<&'p str> {
    let found = parameters.iter().rev().find(|(key, _)| key == name)?;
    Some(found.1.as_str()).filter(|value| !value.is_empty())
}

/// What is behind the scheme of a URI.
fn of_uri(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            found.push((name.to_owned(), value));
        }
    };
    // A password may hold a question mark, as libpq has it.
    let authority = text.find('/').unwrap_or(text.len());
    let (credentials, rest) = match text[..authority].rfind('@') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => ("", text),
    };
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    add("user", decoded(user)?);
    add("password", decoded(password)?);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (servers, database) = place.split_once('/').unwrap_or((place, ""));
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for server in servers.split(',') {
        let (host, port) = host_and_port(server)?;
        hosts.push(decoded(host)?);
        ports.push(decoded(port)?);
    }
    let listed = |values: &[String]| match values.iter().all(String::is_empty) {
        true => String::new(),
        false => values.join(","),
    };
    add("host", listed(&hosts));
    add("port", listed(&ports));
    add("dbname", decoded(database)?);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            return Err("a parameter has no value".to_owned());
        };
        match (decoded(name)?.as_str(), decoded(value)?) {
            // What JDBC calls it.
            ("ssl", value) if value == "true" => add("sslmode", "require".to_owned()),
            (name, value) => add(name, value),
        }
    }
    Ok(found)
}

/// A server's host, without the brackets of an IPv6 address, and its port; each may be empty.
fn host_and_port(server: &str) -> Result<(&str, &str), String> {
    match server.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("an IPv6 address is not closed")?;
            Ok((host, after.strip_prefix(':').unwrap_or(after)))
        }
        None => Ok(server.split_once(':').unwrap_or((server, ""))),
    }
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| "a part of it is no UTF-8".to_owned())
}

/// `key=value` pairs, around whose `=` may be spaces, and whose values may be quoted.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or("a parameter has no value")?;
        let name = name.trim_end();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err("a parameter has no value".to_owned());
        }
        let (value, after) = word(after.trim_start())?;
        found.push((name.to_owned(), value));
        rest = after.trim_start();
    }
    Ok(found)
}

/// The value that `text` begins with, and what follows it.
fn word(text: &str) -> Result<(String, &str), String> {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(is_quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if is_quoted => return Ok((value, &text[at + 1..])),
            _ if !is_quoted && character.is_whitespace() => return Ok((value, &text[at..])),
            _ => value.push(character),
        }
    }
    if is_quoted { Err("a value's quote is not closed".to_owned()) } else { Ok((value, "")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_gives(text: &str, expected: &[(&str, &str)]) {
        let found = parse(text).unwrap();
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn uris_are_taken_apart() {
        assert_gives("postgresql://", &[]);
        assert_gives(
            "postgres://me:a%20b?@[::1]:5433/app?sslmode=disable&ssl=true",
            &[
                ("user", "me"),
                ("password", "a b?"),
                ("host", "::1"),
                ("port", "5433"),
                ("dbname", "app"),
                ("sslmode", "disable"),
                ("sslmode", "require"),
            ],
        );
        assert_gives(
            "postgresql://%2Frun%2Fpg,db.example:6432,/app",
            &[("host", "/run/pg,db.example,"), ("port", ",6432,"), ("dbname", "app")],
        );
        assert_gives(
            "postgres:///d?host=%2Fa,%2Fb&port=1,2",
            &[("dbname", "d"), ("host", "/a,/b"), ("port", "1,2")],
        );
    }

    #[test]
    fn pairs_are_unquoted() {
        assert_gives(
            "host = h  user='it\\'s me' options=a\\ b",
            &[("host", "h"), ("user", "it's me"), ("options", "a b")],
        );
        let parameters = parse("user='a \\\\ \\'b' dbname=''").unwrap();
        assert_eq!(parse(&format(&parameters)).unwrap(), parameters);
    }

    #[test]
    fn mistakes_repeat_no_value() {
        for text in [
            "s3cret",
            "postgres://u@[::1/d?a=s3cret",
            "password='s3cret",
            "a s3cret=x",
            "postgres://h/d?s3cret",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("not valid") && !error.contains("s3cret"), "{error}");
        }
    }
}
