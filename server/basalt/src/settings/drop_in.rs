//! Settings of a server that stands in for the `postgrest` binary: its environment variables and its configuration
//! file, with its defaults.
//!
//! Source: PostgREST's documentation, "Configuration".

mod file;
mod libpq;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::value::Value;
use super::{Flags, Invalid, Service};

/// The prefix of the variables.
const PREFIX: &str = "PGRST_";

/// How long a transaction may take: as long as Postgres' own `statement_timeout` lets it, short of for ever.
const LONGEST_TRANSACTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Settings that PostgREST has given up: a token is kept until it expires.
const WITHOUT_EFFECT: [&str; 1] = ["jwt_cache_max_lifetime"];

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a port of a host, which may be one of the names `*`, `*4`, `!4`, `*6` and `!6`.
    Port(String, u16),
    /// On a Unix socket of this mode.
    Socket(PathBuf, u32),
}

/// A server that stands in for the `postgrest` binary.
#[derive(Clone)]
pub(crate) struct DropIn {
    /// The service.
    pub(crate) rest: rest::Settings,
    /// The database, as the authenticator.
    pub(crate) database: database::Settings,
    /// Where clients are answered.
    pub(crate) place: Place,
    /// Where operators are answered.
    pub(crate) admin: Option<Place>,
    /// Whether the port may be shared with other processes. `server-reuseport`. Default: false.
    pub(crate) reuse_port: bool,
    /// Whether the database is waited for when it is gone; else the process ends. `db-pool-automatic-recovery`.
    /// Default: true.
    pub(crate) recovers: bool,
    /// `log-level`.
    pub(crate) log_level: Option<String>,
    /// What the operator should know about the settings.
    pub(crate) warnings: Vec<String>,
}

impl fmt::Debug for DropIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropIn").field("rest", &self.rest).field("place", &self.place).finish_non_exhaustive()
    }
}

/// Settings that are put together from several variables.
struct Parts {
    drop_in: DropIn,
    channel: String,
    listens: bool,
    socket: Option<PathBuf>,
    socket_mode: u32,
    admin_host: Option<String>,
    admin_port: Option<u16>,
    admin_socket: Option<PathBuf>,
    admin_socket_mode: u32,
}

impl DropIn {
    /// A configuration file with every setting and its default.
    pub(crate) const EXAMPLE: &str = include_str!("drop_in/example.conf");

    /// Reads the process's variables and the file of `flags`; see [`Self::read`].
    ///
    /// Errors: as there.
    pub(crate) fn load(flags: &Flags) -> Result<Option<Self>, Invalid> {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self::read(flags, std::env::vars_os().filter_map(text))
    }

    /// Reads `variables`, which win over the file of `flags`; `None` unless `--only rest` is given and there is such a
    /// file or `PGRST_DB_URI` names the database.
    ///
    /// Errors: [`Invalid`] with the name of the first setting that cannot be used.
    pub(crate) fn read(
        flags: &Flags,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Option<Self>, Invalid> {
        let Some([Service::Rest]) = flags.only.as_deref() else { return Ok(None) };
        let environment: Vec<(String, String)> = variables.into_iter().collect();
        let mut of_file = match &flags.file {
            Some(path) => file::read(path, &environment)?,
            None => Vec::new(),
        };
        let mut variables: Vec<(String, String)> = environment
            .iter()
            .filter_map(|(name, value)| {
                Some((name.strip_prefix(PREFIX)?.to_ascii_lowercase(), value.clone()))
            })
            .collect();
        variables.sort();
        of_file.retain(|(name, _)| !variables.iter().any(|(variable, _)| variable == name));
        let uri =
            variables.iter().chain(&of_file).find(|(name, value)| name == "db_uri" && !value.is_empty());
        let uri = match (uri, &flags.file) {
            (Some((_, uri)), _) => contents("db_uri", uri)?,
            (None, Some(_)) => "postgresql://".to_owned(),
            (None, None) => return Ok(None),
        };
        let uri = libpq::completed(&uri, &environment);
        let mut parts = Parts::new(&uri);
        for (name, value) in of_file.iter().chain(&variables) {
            parts.set(name, value)?;
        }
        Ok(Some(parts.finish(flags)))
    }

    /// Names and values of the settings that are not the service's, as a configuration file has them.
    pub(crate) fn named(&self) -> Vec<(&'static str, String)> {
        let quoted = |text: &str| format!("\"{text}\"");
        let seconds = |duration: Duration| duration.as_secs().to_string();
        let database = &self.database;
        let mut named = vec![
            ("db-channel", quoted(database.channel.as_deref().unwrap_or_default())),
            ("db-channel-enabled", database.channel.is_some().to_string()),
            ("db-pool", database.pool_size.to_string()),
            ("db-pool-acquisition-timeout", seconds(database.acquisition_timeout)),
            ("db-pool-automatic-recovery", self.recovers.to_string()),
            ("db-pool-max-idletime", seconds(database.max_idle_time)),
            ("db-pool-max-lifetime", seconds(database.max_lifetime)),
            ("db-prepared-statements", database.prepared_statements.to_string()),
            ("db-uri", quoted("…")),
            ("log-level", quoted(self.log_level.as_deref().unwrap_or_default())),
            ("server-reuseport", self.reuse_port.to_string()),
        ];
        match &self.admin {
            Some(Place::Port(host, port)) => {
                named.extend([("admin-server-host", quoted(host)), ("admin-server-port", port.to_string())]);
            }
            Some(Place::Socket(path, _)) => {
                named.push(("admin-server-unix-socket", quoted(&path.to_string_lossy())));
            }
            None => {}
        }
        if let Place::Socket(path, _) = &self.place {
            named.push(("server-unix-socket", quoted(&path.to_string_lossy())));
        }
        named
    }
}

impl Parts {
    fn new(uri: &str) -> Self {
        let database = database::Settings {
            application_name: "basalt-rest".to_owned(),
            transaction_timeout: LONGEST_TRANSACTION,
            ..database::Settings::new(uri)
        };
        let rest = rest::Settings::default();
        let place = Place::Port(rest.server_host.clone(), rest.server_port);
        Self {
            drop_in: DropIn {
                rest,
                database,
                place,
                admin: None,
                reuse_port: false,
                recovers: true,
                log_level: None,
                warnings: Vec::new(),
            },
            channel: "pgrst".to_owned(),
            listens: true,
            socket: None,
            socket_mode: 0o660,
            admin_host: None,
            admin_port: None,
            admin_socket: None,
            admin_socket_mode: 0o660,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Invalid> {
        if value.is_empty() && name != "db_extra_search_path" {
            return Ok(());
        }
        let database = &mut self.drop_in.database;
        match name {
            "db_uri" => {}
            "log_level" => self.drop_in.log_level = Some(value.to_owned()),
            "server_reuseport" => self.drop_in.reuse_port = boolean(name, value)?,
            "db_pool_automatic_recovery" => self.drop_in.recovers = boolean(name, value)?,
            "db_pool" => database.pool_size = parsed(name, value)?,
            "db_pool_acquisition_timeout" => database.acquisition_timeout = seconds(name, value)?,
            "db_pool_max_lifetime" => database.max_lifetime = seconds(name, value)?,
            "db_pool_max_idletime" | "db_pool_timeout" => database.max_idle_time = seconds(name, value)?,
            "db_prepared_statements" => database.prepared_statements = boolean(name, value)?,
            "db_read_uris" => {
                database.replica_uris = super::services::uris(value);
            }
            "db_channel" => value.clone_into(&mut self.channel),
            "db_channel_enabled" => self.listens = boolean(name, value)?,
            "server_unix_socket" => self.socket = Some(PathBuf::from(value)),
            "server_unix_socket_mode" => self.socket_mode = mode(name, value)?,
            "admin_server_host" => self.admin_host = Some(value.to_owned()),
            "admin_server_port" => self.admin_port = Some(parsed(name, value)?),
            "admin_server_unix_socket" => self.admin_socket = Some(PathBuf::from(value)),
            "admin_server_unix_socket_mode" => self.admin_socket_mode = mode(name, value)?,
            _ => return self.set_of_service(name, value),
        }
        Ok(())
    }

    fn set_of_service(&mut self, name: &str, value: &str) -> Result<(), Invalid> {
        let value = if name == "jwt_secret" { contents(name, value)? } else { value.to_owned() };
        let known = set(&mut self.drop_in.rest, name, &value)?;
        if !known {
            let what =
                if WITHOUT_EFFECT.contains(&name) { "has no effect here" } else { "is unknown and ignored" };
            self.drop_in.warnings.push(format!("{} {what}", variable(name)));
        }
        Ok(())
    }

    fn finish(self, flags: &Flags) -> DropIn {
        let mut drop_in = self.drop_in;
        if let Some(host) = flags.host {
            drop_in.rest.server_host = host.to_string();
        }
        if let Some(port) = flags.port {
            drop_in.rest.server_port = port;
        }
        drop_in.database.channel = self.listens.then_some(self.channel);
        let host = drop_in.rest.server_host.clone();
        drop_in.place = match self.socket {
            Some(path) => Place::Socket(path, self.socket_mode),
            None => Place::Port(host.clone(), drop_in.rest.server_port),
        };
        drop_in.admin = match (self.admin_socket, self.admin_port) {
            (Some(path), _) => Some(Place::Socket(path, self.admin_socket_mode)),
            (None, Some(port)) => Some(Place::Port(self.admin_host.unwrap_or(host), port)),
            (None, None) => None,
        };
        drop_in
    }
}

/// Sets what the variable `PGRST_` and `name` sets. Returns whether the service has such a setting.
pub(super) fn set(settings: &mut rest::Settings, name: &str, value: &str) -> Result<bool, Invalid> {
    settings.set(name, value).map_err(|error| {
        let reason = error.reason.strip_prefix("expected ").unwrap_or(&error.reason);
        let (expected, found) = reason.split_once(", found ").unwrap_or((reason, "none"));
        Invalid::new(&variable(name), expected, &found)
    })
}

fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase())
}

fn refused(name: &str, expected: &str, found: &str) -> Invalid {
    Invalid::new(&variable(name), expected, &format!("{found:?}"))
}

fn parsed<T: FromStr>(name: &str, value: &str) -> Result<T, Invalid> {
    value.trim().parse().map_err(|_| refused(name, "a whole number", value))
}

fn seconds(name: &str, value: &str) -> Result<Duration, Invalid> {
    parsed(name, value).map(Duration::from_secs)
}

fn boolean(name: &str, value: &str) -> Result<bool, Invalid> {
    bool::from_text(value).ok_or_else(|| refused(name, bool::EXPECTED, value))
}

fn mode(name: &str, value: &str) -> Result<u32, Invalid> {
    let mode = u32::from_str_radix(value, 8).ok().filter(|mode| (0o600..=0o777).contains(mode));
    mode.ok_or_else(|| refused(name, "an octal number from 600 to 777", value))
}

/// `value`, or the contents of the file that it names after an `@`.
fn contents(name: &str, value: &str) -> Result<String, Invalid> {
    let Some(path) = value.strip_prefix('@') else { return Ok(value.to_owned()) };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Invalid::new(&variable(name), "a file that can be read", &error))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(only: &[Service], variables: &[(&str, &str)]) -> Result<Option<DropIn>, Invalid> {
        let flags = Flags { only: Some(only.to_vec()), ..Flags::default() };
        DropIn::read(&flags, owned(variables))
    }

    /// What a file with this text sets beside `variables`.
    fn of_file(text: &str, variables: &[(&str, &str)]) -> DropIn {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let flags =
            Flags { only: Some(vec![Service::Rest]), file: Some(file.path().to_owned()), ..Flags::default() };
        DropIn::read(&flags, owned(variables)).unwrap().unwrap()
    }

    fn owned(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_rest_on_a_database_of_its_own_is_one() {
        let uri = ("PGRST_DB_URI", "postgres://a@h/d");
        assert!(read(&[Service::Rest], &[]).unwrap().is_none());
        assert!(read(&[Service::Rest, Service::Auth], &[uri]).unwrap().is_none());
        let found = read(&[Service::Rest], &[uri]).unwrap().unwrap();
        assert_eq!(found.place, Place::Port("!4".to_owned(), 3000));
        assert_eq!((found.admin, found.database.channel.as_deref()), (None, Some("pgrst")));
        assert_eq!((found.rest.db_anon_role, found.rest.db_max_rows), (None, None));
    }

    #[test]
    fn the_example_shows_every_setting_and_its_default() {
        let (example, default) = (of_file(DropIn::EXAMPLE, &[]), of_file("", &[]));
        assert_eq!(example.rest, default.rest);
        assert_eq!((example.named(), example.place), (default.named(), default.place.clone()));
        let names = default.rest.named().into_iter().map(|(name, _)| name);
        for name in names.chain(default.named().into_iter().map(|(name, _)| name.to_owned())) {
            assert!(DropIn::EXAMPLE.contains(&format!("{name} = ")), "{name} is missing");
        }
        let commented = DropIn::EXAMPLE.replace("@/etc/basalt/jwt.json", &"x".repeat(32));
        let every = of_file(&commented.replace("\n# ", "\n"), &[]);
        assert_eq!(every.warnings, [""; 0]);
        assert_eq!(every.rest.app_settings.len(), 1);
    }

    #[test]
    fn variables_are_upstreams() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a secret from a file, 32 bytes or more\n").unwrap();
        let secret = format!("@{}", file.path().display());
        let found = read(
            &[Service::Rest],
            &[
                ("PGRST_DB_URI", "postgres://a@h/d"),
                ("PGRST_DB_SCHEMAS", "api"),
                ("PGRST_DB_POOL", "3"),
                ("PGRST_DB_CHANNEL_ENABLED", "false"),
                ("PGRST_DB_EXTRA_SEARCH_PATH", ""),
                ("PGRST_JWT_SECRET", &secret),
                ("PGRST_SERVER_UNIX_SOCKET", "/run/rest"),
                ("PGRST_SERVER_UNIX_SOCKET_MODE", "600"),
                ("PGRST_ADMIN_SERVER_PORT", "3001"),
                ("PGRST_LOG_QUERY", "true"),
                ("PGRST_LOG_LEVEL", "crit"),
                ("PGRST_SERVER_REUSEPORT", "true"),
                ("PGRST_DB_POOL_AUTOMATIC_RECOVERY", "false"),
                ("PGRST_DB_READ_URIS", "postgres://a@h1/d, postgres://a@h2/d,"),
                ("PGRST_DB_READ_STICKY_INTERVAL", "30"),
                ("PGRST_SERVER_MAX_BODY_SIZE", "1048576"),
                ("PGRST_JWT_CACHE_MAX_LIFETIME", "5"),
                ("PGRST_DB_SHEMAS", "x"),
                ("PATH", "/bin"),
            ],
        );
        let found = found.unwrap().unwrap();
        assert_eq!(found.rest.db_schemas, ["api"]);
        assert!(found.rest.db_extra_search_path.is_empty());
        assert_eq!(found.rest.jwt_secret.unwrap().expose(), "a secret from a file, 32 bytes or more");
        assert_eq!((found.database.pool_size, found.database.channel), (3, None));
        assert_eq!(found.place, Place::Socket(PathBuf::from("/run/rest"), 0o600));
        assert_eq!(found.admin, Some(Place::Port("!4".to_owned(), 3001)));
        assert_eq!(
            found.warnings,
            ["PGRST_DB_SHEMAS is unknown and ignored", "PGRST_JWT_CACHE_MAX_LIFETIME has no effect here"]
        );
        assert_eq!(found.database.replica_uris, ["postgres://a@h1/d", "postgres://a@h2/d"]);
        assert_eq!(found.rest.db_read_sticky_interval, Duration::from_secs(30));
        assert_eq!(found.rest.max_body_size, 1 << 20);
        assert!(found.rest.log_query && found.reuse_port && !found.recovers);
        assert_eq!(found.log_level.as_deref(), Some("crit"));
    }

    #[test]
    fn the_database_comes_from_libpqs_variables_where_the_file_is_silent() {
        let found = of_file("db-anon-role = \"web\"\n", &[("PGHOST", "h"), ("PGUSER", "u")]);
        assert_eq!(found.database.uri, "postgresql:///?host=h&user=u");
    }

    #[test]
    fn variables_win_over_the_file() {
        let lines = "db-uri = \"postgres://a@h/d\"\ndb-schemas = \"one\"\ndb-anon-role = \"web\"\nserver-port = 3001\n";
        let found = of_file(lines, &[("PGRST_DB_SCHEMAS", "two")]);
        assert_eq!(
            (found.rest.db_schemas, found.rest.db_anon_role),
            (vec!["two".to_owned()], Some("web".to_owned()))
        );
        assert_eq!(found.place, Place::Port("!4".to_owned(), 3001));
    }

    #[test]
    fn mistakes_are_named() {
        for (name, value) in [
            ("PGRST_DB_POOL", "many"),
            ("PGRST_SERVER_PORT", "http"),
            ("PGRST_SERVER_UNIX_SOCKET_MODE", "999"),
            ("PGRST_JWT_SECRET", "@/nonexistent"),
            ("PGRST_DB_TX_END", "never"),
        ] {
            let error = read(&[Service::Rest], &[("PGRST_DB_URI", "x"), (name, value)]).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{name}: expected")), "{error}");
        }
    }
}
