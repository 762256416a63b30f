//! What libpq's environment variables say of a connection where its URI says nothing.
//!
//! Source: PostgREST's documentation, "db-uri"; PostgreSQL documentation, sections 34.1.1 and 34.15.

use std::path::Path;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::uri::{self, Parts};

/// Variables and the parameters that they stand for.
const PARAMETERS: [(&str, &str); 9] = [
    ("PGHOST", "host"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGDATABASE", "dbname"),
    ("PGOPTIONS", "options"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
];

/// Where Postgres has its socket: as Linux distributions build it, else as it comes.
const SOCKETS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// `uri`, in either of libpq's forms, with what it leaves out taken from `variables`; the host is the local socket in
/// the end.
pub(super) fn completed(uri: &str, variables: &[(String, String)]) -> String {
    let variable = |wanted: &str| {
        let found = variables.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    };
    match uri::split(uri) {
        Some(parts) => of_uri(&parts, variable),
        None => {
            let missing = missing(&keys(uri), variable).into_iter();
            let missing = missing.map(|(name, value)| format!(" {name}='{}'", uri::quoted(value)));
            uri.to_owned() + &missing.collect::<String>()
        }
    }
}

fn of_uri<'v>(parts: &Parts<'_>, variable: impl Fn(&str) -> Option<&'v str>) -> String {
    let (place, query) = parts.rest.split_once('?').unwrap_or((parts.rest, ""));
    let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
    let credentials = parts.credentials.unwrap_or_default();
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let mut given: Vec<&str> = query.split('&').filter_map(|pair| Some(pair.split_once('=')?.0)).collect();
    let named = [("user", user), ("password", password), ("dbname", database), ("host", hosts)];
    given.extend(named.iter().filter(|(_, part)| !part.is_empty()).map(|(name, _)| *name));
    let mut hosts = hosts.to_owned();
    if !hosts.is_empty() {
        // A port is of its host, which is told here.
        if let Some(port) = variable("PGPORT").filter(|_| !given.contains(&"port")) {
            let with_port = |host: &str| match host.rfind(':') > host.rfind(']') {
                true => host.to_owned(),
                false => format!("{host}:{port}"),
            };
            hosts = hosts.split(',').map(with_port).collect::<Vec<_>>().join(",");
        }
        given.push("port");
    }
    let at = if credentials.is_empty() { "" } else { "@" };
    let mut whole = format!("{}://{credentials}{at}{hosts}/{database}", parts.scheme);
    let missing = missing(&given, variable);
    let missing = missing
        .iter()
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    let query: Vec<String> =
        query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).chain(missing).collect();
    if !query.is_empty() {
        whole = format!("{whole}?{}", query.join("&"));
    }
    whole
}

/// The keys of `key=value` pairs, around whose `=` may be spaces, and whose values may be quoted.
fn keys(pairs: &str) -> Vec<&str> {
    let mut keys = Vec::new();
    let mut rest = pairs;
    while let Some((key, after)) = rest.split_once('=') {
        keys.push(key.trim());
        let value = after.trim_start();
        let is_quoted = value.starts_with('\'');
        let mut is_escaped = false;
        let end = value.char_indices().skip(usize::from(is_quoted)).find(|(_, character)| {
            let is_plain = !std::mem::replace(&mut is_escaped, false);
            is_escaped = is_plain && *character == '\\';
            is_plain && if is_quoted { *character == '\'' } else { character.is_whitespace() }
        });
        rest = end.map_or("", |(at, character)| &value[at + character.len_utf8()..]);
    }
    keys
}

/// Names and values of the parameters that are not `given`.
fn missing<'v>(given: &[&str], variable: impl Fn(&str) -> Option<&'v str>) -> Vec<(&'static str, &'v str)> {
    let socket = SOCKETS.into_iter().find(|folder| Path::new(folder).is_dir());
    let value = |name: &str, parameter: &str| match parameter {
        "host" => variable(name).or(socket),
        _ => variable(name),
    };
    let is_given = |parameter: &str| match parameter {
        "host" => given.contains(&"host") || given.contains(&"hostaddr"),
        _ => given.contains(&parameter),
    };
    let asked = PARAMETERS.into_iter().filter(|(_, parameter)| !is_given(parameter));
    asked.filter_map(|(name, parameter)| Some((parameter, value(name, parameter)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(uri: &str, variables: &[(&str, &str)]) -> String {
        let owned: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        completed(uri, &owned)
    }

    const ALL: [(&str, &str); 5] = [
        ("PGHOST", "db.example"),
        ("PGPORT", "5433"),
        ("PGUSER", "web user"),
        ("PGPASSWORD", "it's"),
        ("PGDATABASE", "app"),
    ];

    #[test]
    fn what_is_left_out_comes_from_variables() {
        assert_eq!(
            with("postgresql://", &ALL),
            "postgresql:///?host=db%2Eexample&port=5433&user=web%20user&password=it%27s&dbname=app"
        );
        assert_eq!(
            with("host=h dbname=d", &ALL),
            "host=h dbname=d port='5433' user='web user' password='it\\'s'"
        );
        assert_eq!(
            with("postgres://me@a,[::1],b:1/d?sslmode=require", &ALL),
            "postgres://me@a:5433,[::1]:5433,b:1/d?sslmode=require&password=it%27s"
        );
    }

    #[test]
    fn what_is_said_stays() {
        let whole = "postgres://me:p%40@h:5432/d?sslmode=require";
        assert_eq!(with(whole, &ALL), whole);
        assert_eq!(with("postgres://me:p@h/d", &[]), "postgres://me:p@h/d");
        let all = "hostaddr=127.0.0.1 port=1 user=u password=p dbname=d";
        assert_eq!(with(all, &ALL), all);
        let question = "postgres://me:p?q@h:5432/d";
        assert_eq!(with(question, &ALL), question);
        let spaced = r"host = h port =1 user= u password='a dbname=\' b' options=a\ dbname=c";
        assert_eq!(with(spaced, &ALL), format!("{spaced} dbname='app'"));
    }

    #[test]
    fn nothing_at_all_means_the_local_socket() {
        let found = with("postgres://me@/d", &[]);
        assert!(found.starts_with("postgres://me@/d?host=%2F"), "{found}");
    }
}
