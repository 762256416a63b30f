//! Settings of a server that replaces the `postgrest` binary: its environment variables and its configuration file, with
//! its defaults.
//!
//! Source: PostgREST's documentation, "Configuration".

mod file;
mod libpq;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use database::conninfo::Conninfo;
use rest::{Connections, Server, variable};
use settings::{Invalid, Secret};

use super::{Flags, Project, Service};

/// The default of `db-uri`: all parameters are libpq's defaults.
const DEFAULT_URI: &str = "postgresql://";

/// How long a transaction may take, if Postgres' own `statement_timeout` does not end it.
const MAX_TRANSACTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Former settings of PostgREST that have no effect: tokens are cached until they expire.
const IGNORED: [&str; 1] = ["PGRST_JWT_CACHE_MAX_LIFETIME"];

/// The beginning of the example of a configuration file.
const EXAMPLE_HEADING: &str = "\
## Settings of `basalt serve --only rest FILE`, which replaces PostgREST, with their defaults.
## Each can be a variable instead, which overrides the file: db-max-rows is PGRST_DB_MAX_ROWS. \"$(NAME)\" is a
## variable's value.

";

/// The end of the example.
const EXAMPLE_APP_SETTINGS: &str = "\
## Settings of Postgres for every request, under any name: current_setting('app.settings.name').
# app.settings.name = \"value\"
";

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A port of a host, which may be one of the names `*`, `*4`, `!4`, `*6` and `!6`.
    Port(String, u16),
    /// A Unix socket with this mode.
    Socket(PathBuf, u32),
}

/// Settings of a server that replaces the `postgrest` binary.
#[derive(Clone)]
pub(crate) struct DropIn {
    /// Settings of the service.
    pub(crate) rest: rest::Settings,
    /// Settings of the server server the service.
    pub(crate) server: Server,
    /// Settings of the database, with the authenticator's login.
    pub(crate) database: database::Settings,
    /// The address of the API.
    pub(crate) address: ListenAddress,
    /// The address of the admin server.
    pub(crate) admin: Option<ListenAddress>,
    /// What the operator should know about the settings.
    pub(crate) warnings: Vec<String>,
    connections: Connections,
}

impl fmt::Debug for DropIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropIn")
            .field("rest", &self.rest)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The tables of all settings.
#[derive(Default)]
struct Tables {
    rest: rest::Settings,
    server: Server,
    connections: Connections,
    warnings: Vec<String>,
}

impl DropIn {
    /// Returns a configuration file with every setting and its default.
    pub(crate) fn example() -> String {
        [
            EXAMPLE_HEADING,
            &rest::example::<Server>(),
            &rest::example::<Connections>(),
            &rest::example::<rest::Settings>(),
            EXAMPLE_APP_SETTINGS,
        ]
        .concat()
    }

    /// Reads the process's variables and the file of `flags`; see [`Self::read`].
    ///
    /// Errors: those of [`Self::read`].
    pub(crate) fn load(flags: &Flags) -> Result<Option<Self>, Invalid> {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self::read(flags, std::env::vars_os().filter_map(text))
    }

    /// Reads `variables`, which override the file of `flags`. Returns `None` unless `--only rest` is given and the
    /// database is named: by such a file, by `PGRST_DB_URI` or, without a project, by libpq's variables.
    ///
    /// Errors: [`Invalid`] with the name of the first invalid setting.
    pub(crate) fn read(
        flags: &Flags,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Option<Self>, Invalid> {
        let Some([Service::Rest]) = flags.only.as_deref() else { return Ok(None) };
        let environment: Vec<(String, String)> = variables.into_iter().collect();
        let mut file_settings = match &flags.file {
            Some(path) => file::read(path, &environment)?,
            None => Vec::new(),
        };
        let in_capitals = |(name, value): &(String, String)| (name.to_ascii_uppercase(), value.clone());
        let mut variables: Vec<(String, String)> =
            environment.iter().filter(|(name, _)| name.starts_with("PGRST_")).map(in_capitals).collect();
        variables.sort();
        file_settings.retain(|(name, _)| !variables.iter().any(|(variable, _)| variable == name));
        let mut tables = Tables::default();
        for (name, value) in file_settings.iter().chain(&variables) {
            tables.set(name, value)?;
        }
        let uri = match &tables.server.db_uri {
            Some(uri) => uri.expose().to_owned(),
            None if flags.file.is_some() || is_named_by_libpq(flags, &environment)? => DEFAULT_URI.to_owned(),
            None => return Ok(None),
        };
        tables.server.db_uri = Some(Secret::from(uri.as_str()));
        let server = libpq::complete(&uri, &environment, &mut tables.warnings)?;
        tables.finish(server, flags).map(Some)
    }

    /// Returns all settings as a configuration file, sorted by name. It contains secrets and must not be logged.
    pub(crate) fn text(&self) -> String {
        let all = [self.server.dumped(), self.connections.dumped(), self.rest.dumped()].concat();
        let lines = all.into_iter().map(|(name, value)| format!("{name} = {value}\n"));
        lines.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }
}

/// Reports whether only libpq's variables name the database: there is no project and no URI.
fn is_named_by_libpq(flags: &Flags, variables: &[(String, String)]) -> Result<bool, Invalid> {
    let is_project = || Ok(Project::locate(Path::new("."), false)?.config_path.is_some());
    let has_uri = variables.iter().any(|(name, value)| name == "DATABASE_URL" && !value.is_empty());
    let is_other = flags.project.is_some() || has_uri || !libpq::names_a_server(variables);
    Ok(!is_other && !is_project()?)
}

impl Tables {
    /// Sets the setting of the variable `name`.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Invalid> {
        match (name, value.strip_prefix('@')) {
            ("PGRST_JWT_SECRET", Some(path)) => {
                self.rest.jwt_secret = Some(Secret::from(contents(name, path)?));
                return Ok(());
            }
            ("PGRST_DB_URI", Some(path)) => {
                let text = String::from_utf8(contents(name, path)?);
                let text = text.map_err(|_| Invalid::new(name, "text in UTF-8", &"other bytes"))?;
                self.server.db_uri = Some(Secret::from(text.trim())).filter(|uri| !uri.is_empty());
                return Ok(());
            }
            _ => {}
        }
        let is_known = settings::set(&mut self.server, name, value)?
            || settings::set(&mut self.connections, name, value)?
            || self.rest.set(name.trim_start_matches("PGRST_"), value)?;
        if !is_known && !value.is_empty() {
            let what = if IGNORED.contains(&name) { "has no effect here" } else { "is unknown and ignored" };
            self.warnings.push(format!("{name} {what}"));
        }
        Ok(())
    }

    /// Combines the tables, with the database on `database_server`.
    ///
    /// Errors: [`Invalid`] for settings that cannot be used together, and for an invalid secret.
    fn finish(self, database_server: Conninfo, flags: &Flags) -> Result<DropIn, Invalid> {
        let Self { mut rest, server, connections, warnings } = self;
        if let Some(host) = flags.host {
            rest.server_host = host.to_string();
        }
        if let Some(port) = flags.port {
            rest.server_port = port;
        }
        // Port 0 means any free port, so it may be set for both.
        if server.admin_port.is_some_and(|port| port != 0 && port == rest.server_port) {
            let name = variable("admin-server-port");
            return Err(Invalid::new(&name, "another port than server-port", &rest.server_port));
        }
        if let Some(secret) = &rest.jwt_secret {
            let keys = tokens::Verifier::from_secret(secret.expose(), rest.jwt_secret_is_base64);
            let expected = "a secret of 32 bytes or more, a JWK or a JWKS";
            keys.map_err(|error| Invalid::new(&variable("jwt-secret"), expected, &error))?;
        }
        let address = match &server.unix_socket {
            Some(path) => ListenAddress::Socket(path.clone(), server.unix_socket_mode.0),
            None => ListenAddress::Port(rest.server_host.clone(), rest.server_port),
        };
        let admin_host = server.admin_host.as_ref().unwrap_or(&rest.server_host);
        let admin = match (&server.admin_unix_socket, server.admin_port) {
            (Some(path), _) => Some(ListenAddress::Socket(path.clone(), server.admin_unix_socket_mode.0)),
            (None, Some(port)) => Some(ListenAddress::Port(admin_host.clone(), port)),
            (None, None) => None,
        };
        let database = connections.apply_to(database::Settings {
            application_name: "basalt-rest".to_owned(),
            transaction_timeout: MAX_TRANSACTION,
            ..database::Settings::new(database_server)
        });
        Ok(DropIn { rest, server, database, address, admin, warnings, connections })
    }
}

/// Returns the contents of the file at `path`, which the setting `name` refers to, without the end of the last line.
fn contents(name: &str, path: &str) -> Result<Vec<u8>, Invalid> {
    let read = std::fs::read(path);
    let mut bytes = read.map_err(|error| Invalid::new(name, "a file that can be read", &error))?;
    bytes.pop_if(|last| *last == b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests;
