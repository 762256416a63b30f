//! libpq's connection strings, in both forms (a URI, or `key=value` pairs).
//!
//! Source: PostgreSQL documentation, sections 34.1.1 and 34.1.2.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::error::Error;

/// The characters that are percent-encoded: all except RFC 3986's unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parameters that are accepted and have no effect here: libpq's parameters of TLS and Kerberos that are not
/// supported, those whose value is fixed here, and parameters of frameworks.
const IGNORED: [&str; 22] = [
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

/// Reports whether `name` is a parameter that is accepted and has no effect.
pub(crate) fn is_ignored(name: &str) -> bool {
    IGNORED.contains(&name)
}

/// The parameters of a connection string, in their order. The debug form shows only their names.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Conninfo(Vec<(String, String)>);

impl Conninfo {
    /// Returns the parameters of a login as `role` to `database` at `host`, which is a name, an address or the folder
    /// of a Unix socket.
    pub fn login(host: &str, port: u16, role: &str, password: &str, database: &str) -> Self {
        let port = port.to_string();
        let parameters =
            [("user", role), ("password", password), ("host", host), ("port", &port), ("dbname", database)];
        parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect()
    }

    /// Returns the last value of `name`, unless it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(key, _)| key == name)?;
        Some(found.1.as_str()).filter(|value| !value.is_empty())
    }

    /// Sets `name` to `value` and removes its other values.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.retain(|key| key != name);
        self.0.push((name.to_owned(), value.into()));
    }

    /// Copies user, password and database from `other` if the parameters name no user. An existing password or database
    /// stays.
    pub fn log_in_as(&mut self, other: &Self) {
        if self.get("user").is_some() {
            return;
        }
        for name in ["user", "password", "dbname"] {
            if let (None, Some(value)) = (self.get(name), other.get(name)) {
                let value = value.to_owned();
                self.set(name, value);
            }
        }
    }

    /// Keeps the parameters whose names satisfy `is_kept`.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _)| is_kept(name));
    }

    /// Returns an iterator over names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the hosts (`host`, or without it `hostaddr`) with their ports in the form of a URI: `db:5433`, `[::1]`,
    /// `%2Frun%2Fpostgresql`. A single port applies to all hosts.
    pub fn host_ports(&self) -> Vec<String> {
        let Some(hosts) = self.get("host").or_else(|| self.get("hostaddr")) else { return Vec::new() };
        let ports: Vec<&str> = self.get("port").map_or_else(Vec::new, |ports| ports.split(',').collect());
        let host_port = |(index, host): (usize, &str)| {
            // IPv6 addresses are in brackets and not percent-encoded (RFC 3986, section 3.2.2).
            let host = match host.parse::<Ipv6Addr>() {
                Ok(address) => format!("[{address}]"),
                Err(_) => encoded(host),
            };
            match ports.get(index).or(ports.first().filter(|_| ports.len() == 1)) {
                None | Some(&"") => host,
                Some(port) => format!("{host}:{port}"),
            }
        };
        hosts.split(',').enumerate().map(host_port).collect()
    }

    /// Returns the URI that [`FromStr`] parses into these parameters. It contains the password, if there is one, and
    /// must not be logged.
    pub fn to_uri(&self) -> String {
        let mut uri = "postgresql://".to_owned();
        let has_host = self.get("host").is_some();
        let last = |name: &str| self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value);
        if let Some(user) = last("user") {
            uri.push_str(&encoded(user));
            if let Some(password) = last("password") {
                uri.extend([":", &encoded(password)]);
            }
            uri.push('@');
        }
        if has_host {
            uri.push_str(&self.host_ports().join(","));
        }
        if let Some(database) = self.get("dbname") {
            uri.extend(["/", &encoded(database)]);
        }
        let mut separator = '?';
        for (name, value) in &self.0 {
            let is_written = match name.as_str() {
                "user" | "host" | "dbname" => true,
                "password" => last("user").is_some(),
                "port" => has_host,
                _ => false,
            };
            if !is_written {
                uri.push(separator);
                uri.extend([&encoded(name), "=", &encoded(value)]);
                separator = '&';
            }
        }
        uri
    }
}

impl FromStr for Conninfo {
    type Err = Error;

    /// Parses a URI or `key=value` pairs. If a name occurs twice, the last value counts. Hosts and ports of several
    /// servers are separated by commas.
    ///
    /// Errors: [`Error::Configuration`] for other texts; its message never contains a value.
    fn from_str(text: &str) -> Result<Self, Error> {
        let uri = ["postgresql://", "postgres://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let parsed = uri.map_or_else(|| parse_pairs(text), parse_uri);
        parsed
            .map(Self)
            .map_err(|reason| Error::Configuration(format!("the database URI is not valid: {reason}")))
    }
}

impl settings::Value for Conninfo {
    const EXPECTED: &'static str = "a URI such as postgresql://user:password@host:5432/database";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn show(&self) -> Option<String> {
        Some("…".to_owned())
    }
}

impl FromIterator<(String, String)> for Conninfo {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(parameters: I) -> Self {
        Self(parameters.into_iter().collect())
    }
}

impl fmt::Debug for Conninfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Returns `text` percent-encoded for a URI.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Parses what follows the scheme of a URI.
fn parse_uri(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            found.push((name.to_owned(), value));
        }
    };
    // As in libpq, a password may contain a question mark.
    let authority = text.find('/').unwrap_or(text.len());
    let (credentials, rest) = match text[..authority].rfind('@') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => ("", text),
    };
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    add("user", decoded(user)?);
    add("password", decoded(password)?);
    let (hierarchy, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (servers, database) = hierarchy.split_once('/').unwrap_or((hierarchy, ""));
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
            // JDBC's name for `sslmode=require`.
            ("ssl", value) if value == "true" => add("sslmode", "require".to_owned()),
            (name, value) => add(name, value),
        }
    }
    Ok(found)
}

/// Splits a server into its host, without the brackets of an IPv6 address, and its port; each may be empty.
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
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| "a part of it is not UTF-8".to_owned())
}

/// Parses `key=value` pairs. There may be spaces around `=`, and values may be quoted.
fn parse_pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or("a parameter has no value")?;
        let name = name.trim_end();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err("a parameter has no value".to_owned());
        }
        let (value, after) = parse_value(after.trim_start())?;
        found.push((name.to_owned(), value));
        rest = after.trim_start();
    }
    Ok(found)
}

/// Returns the value that `text` begins with, and what follows it.
fn parse_value(text: &str) -> Result<(String, &str), String> {
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

    fn assert_parsed(text: &str, expected: &[(&str, &str)]) {
        let found: Conninfo = text.parse().unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn uris_are_parsed() {
        assert_parsed("postgresql://", &[]);
        assert_parsed(
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
        assert_parsed(
            "postgresql://%2Frun%2Fpg,db.example:6432,/app",
            &[("host", "/run/pg,db.example,"), ("port", ",6432,"), ("dbname", "app")],
        );
        assert_parsed(
            "postgres:///d?host=%2Fa,%2Fb&port=1,2",
            &[("dbname", "d"), ("host", "/a,/b"), ("port", "1,2")],
        );
    }

    #[test]
    fn pairs_are_unquoted() {
        assert_parsed(
            "host = h  user='it\\'s me' options=a\\ b",
            &[("host", "h"), ("user", "it's me"), ("options", "a b")],
        );
        assert_parsed("user='a \\\\ \\'b' dbname=''", &[("user", "a \\ 'b"), ("dbname", "")]);
    }

    #[test]
    fn parameters_are_the_same_after_conversion_to_a_uri_and_back() {
        for (text, uri) in [
            ("host=h port=5433 user=me password='p/w' dbname='a b'", "postgresql://me:p%2Fw@h:5433/a%20b"),
            ("host=::1,/run/pg port=5433", "postgresql://[::1]:5433,%2Frun%2Fpg:5433"),
            ("postgres://a:1,b:2/d?sslmode=require", "postgresql://a:1,b:2/d?sslmode=require"),
            ("password=x options='-c a=b'", "postgresql://?password=x&options=-c%20a%3Db"),
            ("hostaddr=127.0.0.1 port=1 dbname=d", "postgresql:///d?hostaddr=127.0.0.1&port=1"),
        ] {
            let given: Conninfo = text.parse().unwrap();
            assert_eq!(given.to_uri(), uri);
            let reparsed: Conninfo = uri.parse().unwrap();
            for (name, _) in given.iter().filter(|(name, _)| *name != "port") {
                assert_eq!(reparsed.get(name), given.get(name), "{name} of {uri}");
            }
        }
    }

    #[test]
    fn set_replaces_all_values_and_debug_hides_them() {
        let mut parameters: Conninfo = "user=a user=b password=s3cret".parse().unwrap();
        parameters.set("user", "c");
        assert_eq!(parameters.to_uri(), "postgresql://c:s3cret@");
        assert!(!format!("{parameters:?}").contains("s3cret"));
    }

    #[test]
    fn a_login_is_copied_if_there_is_none() {
        let parse = |text: &str| text.parse::<Conninfo>().unwrap();
        let primary = parse("postgres://u:p@h1/d");
        let logged_in = |text: &str| {
            let mut conninfo = parse(text);
            conninfo.log_in_as(&primary);
            conninfo.to_uri()
        };
        assert_eq!(logged_in("postgres://h2:5433"), "postgresql://u:p@h2:5433/d");
        assert_eq!(logged_in("postgres://h2/other"), "postgresql://u:p@h2/other");
        assert_eq!(
            logged_in("postgres://own@h2/d"),
            "postgresql://own@h2/d",
            "whoever names a user means it"
        );
    }

    #[test]
    fn error_messages_contain_no_value() {
        for text in [
            "s3cret",
            "postgres://u@[::1/d?a=s3cret",
            "password='s3cret",
            "a s3cret=x",
            "postgres://h/d?s3cret",
        ] {
            let error = text.parse::<Conninfo>().unwrap_err().to_string();
            assert!(error.contains("not valid") && !error.contains("s3cret"), "{error}");
        }
    }
}
