//! Settings of `basalt postgrest`: those that the REST service reads for PostgREST, completed by libpq's defaults.
//!
//! Source: PostgREST's documentation, "Configuration".

mod libpq;

use std::path::Path;
use std::time::Duration;

use rest::StandaloneSettings;
use settings::{Invalid, Secret, Variables};

use super::{Invocation, ListenAddress, Project};

/// The variable that names the database.
const URI: &str = "PGRST_DB_URI";

/// The default of `db-uri`: all parameters are libpq's defaults.
const DEFAULT_URI: &str = "postgresql://";

/// How long a transaction may take, if Postgres' own `statement_timeout` does not end it.
const MAX_TRANSACTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Settings of `basalt postgrest`.
#[derive(Debug, Clone)]
pub(crate) struct PostgrestSettings {
    /// Settings of the service and of its server.
    pub(crate) standalone: StandaloneSettings,
    /// Settings of the database, with the authenticator's login.
    pub(crate) database: postgres::Settings,
    /// The address of the API.
    pub(crate) address: ListenAddress,
    /// The address of the admin server.
    pub(crate) admin: Option<ListenAddress>,
}

impl PostgrestSettings {
    /// Reads PostgREST's configuration file and `variables`, which override it.
    ///
    /// Errors: [`Invalid`] with the name of the first invalid setting.
    pub(crate) fn read(file: Option<&Path>, variables: &Variables) -> Result<Self, Invalid> {
        let mut standalone = StandaloneSettings::read(file, variables)?;
        standalone.server.db_uri.get_or_insert_with(|| Secret::from(DEFAULT_URI));
        let server = libpq::complete(standalone.database()?, variables, &mut standalone.warnings)?;
        standalone.check()?;
        let database = standalone.connections.apply_to(postgres::Settings {
            application_name: "basalt-rest".to_owned(),
            transaction_timeout: MAX_TRANSACTION,
            ..postgres::Settings::new(server)
        });
        let (address, admin) = (address(&standalone), admin_address(&standalone));
        Ok(Self { standalone, database, address, admin })
    }

    /// Returns the variable of `invocation` by which `postgrest` would find its database: `PGRST_DB_URI` or, if nothing
    /// names a project or its database, one of libpq's.
    ///
    /// Errors: [`Invalid`] for a project in the current folder whose settings cannot be read.
    pub(crate) fn variable_in(invocation: &Invocation) -> Result<Option<&'static str>, Invalid> {
        let is_set = |name: &str| invocation.variables.get(name).is_some_and(|value| !value.is_empty());
        if is_set(URI) {
            return Ok(Some(URI));
        }
        let is_of_project = invocation.project.is_some() || is_set("DATABASE_URL");
        let Some(place) = libpq::PLACES.into_iter().find(|place| is_set(place) && !is_of_project) else {
            return Ok(None);
        };
        let is_in_project = Project::locate(Path::new("."), false)?.config_path.is_some();
        Ok((!is_in_project).then_some(place))
    }
}

fn address(StandaloneSettings { service, server, .. }: &StandaloneSettings) -> ListenAddress {
    match &server.unix_socket {
        Some(path) => ListenAddress::Socket(path.clone(), server.unix_socket_mode.0),
        None => ListenAddress::Port(service.server_host.clone(), service.server_port),
    }
}

fn admin_address(StandaloneSettings { service, server, .. }: &StandaloneSettings) -> Option<ListenAddress> {
    if let Some(path) = &server.admin_unix_socket {
        return Some(ListenAddress::Socket(path.clone(), server.admin_unix_socket_mode.0));
    }
    let host = server.admin_host.as_ref().unwrap_or(&service.server_host);
    server.admin_port.map(|port| ListenAddress::Port(host.clone(), port))
}

#[cfg(test)]
mod tests;
