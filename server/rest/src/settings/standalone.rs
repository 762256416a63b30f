//! All settings of a server that runs this service alone: its environment variables and its configuration file.
//!
//! Source: PostgREST's documentation, "Configuration".

use std::collections::BTreeSet;
use std::path::Path;

use ::settings::{Invalid, Secret, Table, Variables};
use postgres::conninfo::Conninfo;

use super::text::example;
use super::{Connections, Server, Settings, file, variable};

/// Former settings of PostgREST that have no effect: tokens are cached until they expire.
const IGNORED: [&str; 1] = ["PGRST_JWT_CACHE_MAX_LIFETIME"];

/// The beginning of the example of a configuration file.
const EXAMPLE_HEADING: &str = "\
## Settings of `basalt postgrest FILE`, which replaces PostgREST, with their defaults.
## Each can be a variable instead, which overrides the file: db-max-rows is PGRST_DB_MAX_ROWS. \"$(NAME)\" is a
## variable's value.

";

/// The end of the example.
const EXAMPLE_APP_SETTINGS: &str = "\
## Settings of Postgres for every request, under any name: current_setting('app.settings.name').
# app.settings.name = \"value\"
";

/// All settings of a server that runs this service alone.
#[derive(Debug, Clone, Default)]
pub struct StandaloneSettings {
    /// Settings of the service.
    pub service: Settings,
    /// Where the server listens, and where its database is.
    pub server: Server,
    /// Connections to the database.
    pub connections: Connections,
    /// What the operator should know about the settings.
    pub warnings: Vec<String>,
}

impl StandaloneSettings {
    /// Returns a configuration file with every setting and its default.
    pub fn example() -> String {
        [
            EXAMPLE_HEADING,
            &example::<Server>(),
            &example::<Connections>(),
            &example::<Settings>(),
            EXAMPLE_APP_SETTINGS,
        ]
        .concat()
    }

    /// Reads the settings among `variables`, which override those of the configuration file at `path`.
    ///
    /// Errors: [`Invalid`] with the name of the first setting that cannot be used.
    pub fn read(path: Option<&Path>, variables: &Variables) -> Result<Self, Invalid> {
        let mut of_file = path.map_or_else(|| Ok(Vec::new()), |path| file::read(path, variables))?;
        let own = variables.iter().filter(|(name, _)| name.starts_with("PGRST_"));
        let mut own: Vec<(String, String)> =
            own.map(|(name, value)| (name.to_ascii_uppercase(), value.clone())).collect();
        own.sort();
        of_file.retain(|(name, _)| !own.iter().any(|(variable, _)| variable == name));
        let mut settings = Self::default();
        for (name, value) in of_file.iter().chain(&own) {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    /// Sets the setting of the variable `name`. `@path` stands for the contents of a file.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Invalid> {
        match (name, value.strip_prefix('@')) {
            ("PGRST_JWT_SECRET", Some(path)) => {
                self.service.jwt_secret = Some(Secret::from(contents(name, path)?));
                return Ok(());
            }
            ("PGRST_DB_URI", Some(path)) => {
                let text = String::from_utf8(contents(name, path)?);
                let text = text.map_err(|_| Invalid::new(name, "text in UTF-8", &"other bytes"))?;
                self.server.db_uri = Some(Secret::from(text.trim().to_owned())).filter(|uri| !uri.is_empty());
                return Ok(());
            }
            _ => {}
        }
        let is_known = ::settings::set(&mut self.server, name, value)?
            || ::settings::set(&mut self.connections, name, value)?
            || self.service.set(name.trim_start_matches("PGRST_"), value)?;
        if !is_known && !value.is_empty() {
            self.warnings.push(if IGNORED.contains(&name) {
                format!("{name} has no effect here")
            } else {
                let known = names::<Server>().chain(names::<Connections>());
                ::settings::unknown("setting", name, known.chain(names::<Settings>()))
            });
        }
        Ok(())
    }

    /// Returns what `db-uri` says of the database.
    ///
    /// Errors: [`Invalid`] for a URI of another form.
    pub fn database(&self) -> Result<Conninfo, Invalid> {
        let Some(uri) = &self.server.db_uri else { return Ok(Conninfo::default()) };
        uri.expose().parse().map_err(|error: postgres::Error| {
            Invalid::new(&variable("db-uri"), "a URI of libpq's form", &error)
        })
    }

    /// Checks settings that no table checks.
    ///
    /// Errors: [`Invalid`] for an admin server on the service's own port, and for a secret that is none.
    pub fn check(&self) -> Result<(), Invalid> {
        let port = self.service.server_port;
        // Port 0 means any free port, so it may be set for both.
        if port != 0 && self.server.admin_port == Some(port) {
            return Err(Invalid::new(&variable("admin-server-port"), "another port than server-port", &port));
        }
        if let Some(secret) = &self.service.jwt_secret {
            let keys = tokens::Verifier::from_secret(secret.expose(), self.service.jwt_secret_is_base64);
            let expected = "a secret of 32 bytes or more, a JWK or a JWKS";
            keys.map_err(|error| Invalid::new(&variable("jwt-secret"), expected, &error))?;
        }
        Ok(())
    }

    /// Returns all settings as a configuration file, sorted by name. It contains secrets and must not be logged.
    pub fn text(&self) -> String {
        let all = [self.server.dumped(), self.connections.dumped(), self.service.dumped()].concat();
        let lines = all.into_iter().map(|(name, value)| format!("{name} = {value}\n"));
        lines.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// Returns the names of the variables of the settings in `T`.
fn names<T: Table>() -> impl Iterator<Item = &'static str> {
    T::settings().flat_map(|setting| setting.variables).copied()
}

/// Returns the contents of the file at `path`, which the setting `name` refers to, without the end of the last line.
fn contents(name: &str, path: &str) -> Result<Vec<u8>, Invalid> {
    let read = std::fs::read(path);
    let mut bytes = read.map_err(|error| Invalid::new(name, "a file that can be read", &error))?;
    bytes.pop_if(|last| *last == b'\n');
    Ok(bytes)
}
