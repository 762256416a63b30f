//! Settings of a server that stands in for the `postgrest` binary: its environment variables and its configuration
//! file, with its defaults.
//!
//! Source: PostgREST's documentation, "Configuration".

mod file;
mod libpq;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use database::conninfo::Conninfo;
use rest::quoted;

use super::value::Value;
use super::{Flags, Invalid, Project, Service};

/// The prefix of the variables.
const PREFIX: &str = "PGRST_";

/// What `db-uri` is unless it is set: everything is libpq's to say.
const NO_URI: &str = "postgresql://";

/// Who may use a Unix socket: its owner and group.
const DEFAULT_MODE: u32 = 0o660;

/// How long a transaction may take: as long as Postgres' own `statement_timeout` lets it, short of for ever.
const LONGEST_TRANSACTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Settings that PostgREST has given up: a token is kept until it expires.
const WITHOUT_EFFECT: [&str; 1] = ["jwt_cache_max_lifetime"];

/// The values of `log-level`.
const LOG_LEVELS: [&str; 5] = ["crit", "error", "warn", "info", "debug"];

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
    /// What the log says of requests, one of [`LOG_LEVELS`]. `log-level`. Default: `error`.
    pub(crate) log_level: String,
    /// `db-uri` as it was given. Not for logs.
    db_uri: String,
    /// `db-read-uris` as it was given. Not for logs.
    db_read_uris: String,
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
    /// file, or `PGRST_DB_URI` names the database, or libpq's own variables do where there is no project.
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
        let uri = match uri {
            Some((_, uri)) => text_of("db_uri", uri)?,
            None if flags.file.is_some() || is_named_by_libpq(flags, &environment)? => NO_URI.to_owned(),
            None => return Ok(None),
        };
        let mut warnings = Vec::new();
        let completed = libpq::completed(&uri, &environment, &mut warnings)?;
        let mut parts = Parts::new(uri, completed, warnings);
        for (name, value) in of_file.iter().chain(&variables) {
            parts.set(name, value)?;
        }
        parts.finish(flags).map(Some)
    }

    /// All settings as a configuration file, in the order of their names, secrets included. Not for logs.
    pub(crate) fn text(&self) -> String {
        let own = self.dumped().into_iter().map(|(name, value)| (name.to_owned(), value));
        let lines = own.chain(self.rest.dumped()).map(|(name, value)| format!("{name} = {value}\n"));
        lines.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }

    /// Names and values of the settings that are not the service's, as a configuration file has them: with the
    /// database's password, if it is in the URI. Not for logs.
    pub(crate) fn dumped(&self) -> Vec<(&'static str, String)> {
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
            ("db-read-uris", quoted(&self.db_read_uris)),
            ("db-uri", quoted(&self.db_uri)),
            ("log-level", quoted(&self.log_level)),
            ("server-reuseport", self.reuse_port.to_string()),
        ];
        let (host, port) = match &self.admin {
            Some(Place::Port(host, port)) => (host, port.to_string()),
            _ => (&self.rest.server_host, quoted("")),
        };
        named.extend([("admin-server-host", quoted(host)), ("admin-server-port", port)]);
        let (path, mode) = socket(self.admin.as_ref());
        named.extend([("admin-server-unix-socket", path), ("admin-server-unix-socket-mode", mode)]);
        let (path, mode) = socket(Some(&self.place));
        named.extend([("server-unix-socket", path), ("server-unix-socket-mode", mode)]);
        named
    }
}

/// Path and mode of a Unix socket, as a configuration file has them.
fn socket(place: Option<&Place>) -> (String, String) {
    let (path, mode) = match place {
        Some(Place::Socket(path, mode)) => (path.to_string_lossy(), *mode),
        _ => (std::borrow::Cow::default(), DEFAULT_MODE),
    };
    (quoted(&path), quoted(&format!("{mode:o}")))
}

/// Whether libpq's own variables name the database, and nothing else does: no project, and no URI of one.
fn is_named_by_libpq(flags: &Flags, variables: &[(String, String)]) -> Result<bool, Invalid> {
    let is_project = || Ok(Project::locate(Path::new("."), false)?.config_path.is_some());
    let has_uri = variables.iter().any(|(name, value)| name == "DATABASE_URL" && !value.is_empty());
    let is_other = flags.project.is_some() || has_uri || !libpq::names_a_server(variables);
    Ok(!is_other && !is_project()?)
}

impl Parts {
    fn new(db_uri: String, server: Conninfo, warnings: Vec<String>) -> Self {
        let database = database::Settings {
            application_name: "basalt-rest".to_owned(),
            transaction_timeout: LONGEST_TRANSACTION,
            ..database::Settings::new(server)
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
                log_level: "error".to_owned(),
                db_uri,
                db_read_uris: String::new(),
                warnings,
            },
            channel: "pgrst".to_owned(),
            listens: true,
            socket: None,
            socket_mode: DEFAULT_MODE,
            admin_host: None,
            admin_port: None,
            admin_socket: None,
            admin_socket_mode: DEFAULT_MODE,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Invalid> {
        let may_be_empty = name == "db_extra_search_path" || name.starts_with("app_settings_");
        if value.is_empty() && !may_be_empty {
            return Ok(());
        }
        let database = &mut self.drop_in.database;
        match name {
            "db_uri" => {}
            "log_level" if LOG_LEVELS.contains(&value) => value.clone_into(&mut self.drop_in.log_level),
            "log_level" => return Err(refused(name, "crit, error, warn, info or debug", value)),
            "server_reuseport" => self.drop_in.reuse_port = boolean(name, value)?,
            "db_pool_automatic_recovery" => self.drop_in.recovers = boolean(name, value)?,
            "db_pool" => database.pool_size = parsed(name, value)?,
            "db_pool_acquisition_timeout" => database.acquisition_timeout = seconds(name, value)?,
            "db_pool_max_lifetime" => database.max_lifetime = seconds(name, value)?,
            "db_pool_max_idletime" | "db_pool_timeout" => database.max_idle_time = seconds(name, value)?,
            "db_prepared_statements" => database.prepared_statements = boolean(name, value)?,
            "db_read_uris" => {
                database.replicas = super::services::uris(value)?;
                value.clone_into(&mut self.drop_in.db_read_uris);
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
        if name == "jwt_secret" && value.starts_with('@') {
            self.drop_in.rest.jwt_secret = Some(rest::Secret::from(contents(name, value)?));
            return Ok(());
        }
        let known = set(&mut self.drop_in.rest, name, value)?;
        if !known {
            let what =
                if WITHOUT_EFFECT.contains(&name) { "has no effect here" } else { "is unknown and ignored" };
            self.drop_in.warnings.push(format!("{} {what}", variable(name)));
        }
        Ok(())
    }

    /// Errors: [`Invalid`] for settings that cannot be used together, and for a secret that is none.
    fn finish(self, flags: &Flags) -> Result<DropIn, Invalid> {
        let mut drop_in = self.drop_in;
        if let Some(host) = flags.host {
            drop_in.rest.server_host = host.to_string();
        }
        if let Some(port) = flags.port {
            drop_in.rest.server_port = port;
        }
        drop_in.database.channel = self.listens.then_some(self.channel);
        let host = drop_in.rest.server_host.clone();
        // Port 0 is any that is free, and not the same one twice.
        if self.admin_port.is_some_and(|port| port != 0 && port == drop_in.rest.server_port) {
            let found = drop_in.rest.server_port;
            return Err(refused("admin_server_port", "another port than server-port", &found.to_string()));
        }
        if let Some(secret) = &drop_in.rest.jwt_secret {
            let keys = tokens::Verifier::from_secret(secret.expose(), drop_in.rest.jwt_secret_is_base64);
            let expected = "a secret of 32 bytes or more, a JWK or a JWKS";
            keys.map_err(|error| Invalid::new(&variable("jwt_secret"), expected, &error))?;
        }
        drop_in.place = match self.socket {
            Some(path) => Place::Socket(path, self.socket_mode),
            None => Place::Port(host.clone(), drop_in.rest.server_port),
        };
        drop_in.admin = match (self.admin_socket, self.admin_port) {
            (Some(path), _) => Some(Place::Socket(path, self.admin_socket_mode)),
            (None, Some(port)) => Some(Place::Port(self.admin_host.unwrap_or(host), port)),
            (None, None) => None,
        };
        Ok(drop_in)
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

/// The contents of the file that `value` names after an `@`, without the end of the last line; else `value` itself.
fn contents(name: &str, value: &str) -> Result<Vec<u8>, Invalid> {
    let Some(path) = value.strip_prefix('@') else { return Ok(value.as_bytes().to_vec()) };
    let read = std::fs::read(path);
    let mut bytes = read.map_err(|error| Invalid::new(&variable(name), "a file that can be read", &error))?;
    bytes.pop_if(|last| *last == b'\n');
    Ok(bytes)
}

/// As [`contents`], without the space around it.
fn text_of(name: &str, value: &str) -> Result<String, Invalid> {
    let text = String::from_utf8(contents(name, value)?);
    let text = text.map_err(|_| Invalid::new(&variable(name), "text in UTF-8", &"other bytes"))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests;
