//! Parameters that libpq takes from its environment if a connection string does not contain them: from variables, the
//! service file and the password file.
//!
//! Source: PostgREST's documentation, "db-uri"; PostgreSQL documentation, sections 34.1.2 and 34.15 to 34.17.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use postgres::conninfo::Conninfo;
use settings::{Invalid, Variables};

/// libpq's variables with their parameters.
const PARAMETERS: [(&str, &str); 22] = [
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGPASSFILE", "passfile"),
    ("PGDATABASE", "dbname"),
    ("PGSERVICE", "service"),
    ("PGSERVICEFILE", "servicefile"),
    ("PGOPTIONS", "options"),
    ("PGAPPNAME", "application_name"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGCLIENTENCODING", "client_encoding"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGGSSENCMODE", "gssencmode"),
    ("PGKRBSRVNAME", "krbsrvname"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGLOADBALANCEHOSTS", "load_balance_hosts"),
];

/// The variables that name a server.
pub(super) const PLACES: [&str; 3] = ["PGHOST", "PGHOSTADDR", "PGSERVICE"];

/// The folders of Postgres' socket: that of Linux distributions, then Postgres' own default.
const SOCKETS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

fn variable<'v>(variables: &'v Variables, name: &str) -> Option<&'v str> {
    variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

/// Adds the parameters that `given` lacks as libpq does. The default host is the local socket. Problems are added to
/// `warnings`.
///
/// Errors: [`Invalid`] for a service that is not defined.
pub(super) fn complete(
    given: Conninfo,
    variables: &Variables,
    warnings: &mut Vec<String>,
) -> Result<Conninfo, Invalid> {
    let mut all = given;
    let of_environment = |name: &str| {
        let (variable_name, _) = PARAMETERS.iter().find(|(_, parameter)| *parameter == name)?;
        variable(variables, variable_name).map(str::to_owned)
    };
    if let Some(service) = all.get("service").map(str::to_owned).or_else(|| of_environment("service")) {
        add_missing(&mut all, read_service(&service, variables)?);
    }
    let is_placed = ["host", "hostaddr"].iter().any(|name| all.get(name).is_some());
    let of_variables = PARAMETERS
        .iter()
        .filter(|(_, parameter)| !is_placed || !matches!(*parameter, "host" | "hostaddr"))
        .filter_map(|(name, parameter)| {
            Some(((*parameter).to_owned(), variable(variables, name)?.to_owned()))
        });
    add_missing(&mut all, of_variables.collect());
    if ["host", "hostaddr"].iter().all(|name| all.get(name).is_none()) {
        let socket = SOCKETS.into_iter().find(|folder| Path::new(folder).is_dir()).unwrap_or("localhost");
        add_missing(&mut all, vec![("host".to_owned(), socket.to_owned())]);
    }
    let user = account_name().unwrap_or_else(|| "postgres".to_owned());
    add_missing(&mut all, vec![("user".to_owned(), user)]);
    if let Some(password) = read_password(&all, variables, warnings).filter(|_| all.get("password").is_none())
    {
        all.set("password", password);
    }
    Ok(all)
}

/// Adds those of `more` that are not in `parameters`.
fn add_missing(parameters: &mut Conninfo, more: Vec<(String, String)>) {
    for (name, value) in more {
        if parameters.get(&name).is_none() {
            parameters.set(&name, value);
        }
    }
}

/// Returns the path of the file `name` in the home folder.
fn in_home(name: &str, variables: &Variables) -> Option<PathBuf> {
    variable(variables, "HOME").map(|home| Path::new(home).join(name))
}

/// Reads the parameters of `service` in the service file: `key=value` lines under its name in brackets.
fn read_service(service: &str, variables: &Variables) -> Result<Vec<(String, String)>, Invalid> {
    let own = variable(variables, "PGSERVICEFILE").map(PathBuf::from);
    let own = own.or_else(|| in_home(".pg_service.conf", variables));
    let shared = variable(variables, "PGSYSCONFDIR").map(|folder| Path::new(folder).join("pg_service.conf"));
    let texts = [own, shared].into_iter().flatten().filter_map(|path| std::fs::read_to_string(path).ok());
    let sections = texts.filter_map(|text| section(&text, service)).next();
    sections
        .ok_or_else(|| Invalid::new("service", "one that the service file defines", &format!("{service:?}")))
}

fn section(text: &str, name: &str) -> Option<Vec<(String, String)>> {
    let heading = format!("[{name}]");
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != heading);
    lines.next()?;
    let own = lines.take_while(|line| !line.starts_with('['));
    let pairs = own.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    Some(pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect())
}

/// Returns the name of the account that the process runs under, which is libpq's default user.
fn account_name() -> Option<String> {
    let own = rustix::process::geteuid().as_raw().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == own).then(|| name.to_owned())
    })
}

/// Reads the password of the first of the servers that has one in the password file.
fn read_password(parameters: &Conninfo, variables: &Variables, warnings: &mut Vec<String>) -> Option<String> {
    let value = |name| parameters.get(name);
    let path = value("passfile").map(PathBuf::from).or_else(|| in_home(".pgpass", variables))?;
    let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        warnings.push(format!("{} is not read: others may read it; its mode should be 0600", path.display()));
        return None;
    }
    let text = std::fs::read_to_string(&path).ok()?;
    let user = value("user")?;
    let database = value("dbname").unwrap_or(user);
    let hosts: Vec<&str> = value("host").or_else(|| value("hostaddr"))?.split(',').collect();
    let ports: Vec<&str> = value("port").unwrap_or_default().split(',').collect();
    hosts.iter().enumerate().find_map(|(index, host)| {
        let host = if SOCKETS.contains(host) { "localhost" } else { host };
        let port = ports.get(index).or(ports.first()).filter(|port| !port.is_empty()).unwrap_or(&"5432");
        let wanted = [host, port, database, user];
        text.lines().find_map(|line| password(line, wanted))
    })
}

/// Returns the password in a line `host:port:database:user:password` if it matches the four `wanted` values. `*`
/// matches anything; a backslash escapes the next character.
fn password(line: &str, wanted: [&str; 4]) -> Option<String> {
    let mut rest = line.strip_prefix('#').map_or(Some(line), |_| None)?;
    for wanted in wanted {
        let (field, after, is_escaped) = field(rest)?;
        if field != wanted && (is_escaped || field != "*") {
            return None;
        }
        rest = after;
    }
    let mut characters = rest.chars();
    let mut password = String::new();
    while let Some(character) = characters.next() {
        password.push(if character == '\\' { characters.next()? } else { character });
    }
    Some(password)
}

/// Returns the text before the first colon, the text after it, and whether there was an escape in the former.
fn field(text: &str) -> Option<(String, &str, bool)> {
    let (mut field, mut is_escaped) = (String::new(), false);
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            ':' => return Some((field, &text[at + 1..], is_escaped)),
            '\\' => {
                is_escaped = true;
                field.push(characters.next()?.1);
            }
            plain => field.push(plain),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parameters of `uri`, completed from `variables`.
    fn with(uri: &str, variables: &[(&str, &str)]) -> Conninfo {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        complete(uri.parse().unwrap(), &owned, &mut Vec::new()).unwrap()
    }

    fn assert_has(found: &Conninfo, expected: &[(&str, &str)]) {
        for (name, value) in expected {
            assert_eq!(found.get(name), Some(*value), "{name}");
        }
    }

    #[test]
    fn variables_add_missing_parameters_of_the_uri() {
        let all = [
            ("PGHOST", "/run/pg,db.example"),
            ("PGPORT", "5433,5434"),
            ("PGUSER", "web user"),
            ("PGPASSWORD", "it's"),
            ("PGDATABASE", "app"),
            ("PGAPPNAME", "shop"),
            ("PGTARGETSESSIONATTRS", "read-write"),
        ];
        let expected = [
            ("host", "/run/pg,db.example"),
            ("port", "5433,5434"),
            ("user", "web user"),
            ("password", "it's"),
            ("dbname", "app"),
            ("application_name", "shop"),
            ("target_session_attrs", "read-write"),
        ];
        assert_has(&with("postgresql://", &all), &expected);
        assert_has(
            &with("postgres://me@h:1/d", &all),
            &[("host", "h"), ("port", "1"), ("user", "me"), ("dbname", "d")],
        );
        assert_has(
            &with("host=h application_name=mine", &all),
            &[("host", "h"), ("application_name", "mine")],
        );
        assert_eq!(with("hostaddr=127.0.0.1", &all).get("host"), None);
    }

    #[test]
    fn without_a_host_it_is_the_local_socket() {
        let found = with("postgresql:///app", &[]);
        assert!(found.get("host").is_some_and(|host| host.starts_with('/')), "{found:?}");
        assert!(found.get("user").is_some());
    }

    #[test]
    fn services_are_defined_in_their_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[other]\nhost=x\n# mine\n[shop]\nhost=h\nport = 6432\n[last]\nuser=y\n")
            .unwrap();
        let path = file.path().to_str().unwrap();
        let found =
            with("postgresql://me@/", &[("PGSERVICE", "shop"), ("PGSERVICEFILE", path), ("PGHOST", "not")]);
        assert_has(&found, &[("host", "h"), ("port", "6432"), ("user", "me")]);
        assert!(complete("service=none".parse().unwrap(), &Variables::new(), &mut Vec::new()).is_err());
    }

    #[test]
    fn passwords_are_read_from_the_password_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = "# all\nh:5432:app:me:a\\:b\\\\c\n*:*:*:you:other\nlocalhost:5432:*:me:of the socket\n";
        std::fs::write(file.path(), lines).unwrap();
        let mode =
            |mode| std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o600);
        let variables = [("PGPASSFILE", file.path().to_str().unwrap())];
        let password = |uri: &str| with(uri, &variables).get("password").map(str::to_owned);
        assert_eq!(password("postgres://me@h/app").as_deref(), Some("a:b\\c"));
        assert_eq!(password("postgres://me@x,h/app").as_deref(), Some("a:b\\c"));
        assert_eq!(password("postgres://you@h:1/app").as_deref(), Some("other"));
        assert_eq!(password("postgres://me:own@h/app").as_deref(), Some("own"));
        assert_eq!(password("postgres://me@h/other"), None);
        assert_eq!(password("postgres://me@/x?host=/tmp").as_deref(), Some("of the socket"));
        mode(0o644);
        assert_eq!(password("postgres://me@h/app"), None);
    }
}
