//! Settings of a server that replaces the `postgrest` binary: those that the REST service reads for it, with flags and
//! with libpq's defaults.
//!
//! Source: PostgREST's documentation, "Configuration".

mod libpq;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rest::StandaloneSettings;
use settings::{Invalid, Secret};

use super::{Invocation, Project, Service};

/// The default of `db-uri`: all parameters are libpq's defaults.
const DEFAULT_URI: &str = "postgresql://";

/// How long a transaction may take, if Postgres' own `statement_timeout` does not end it.
const MAX_TRANSACTION: Duration = Duration::from_secs(24 * 60 * 60);

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A port of a host, which may be one of the names `*`, `*4`, `!4`, `*6` and `!6`.
    Port(String, u16),
    /// A Unix socket with this mode.
    Socket(PathBuf, u32),
}

/// Settings of a server that replaces the `postgrest` binary.
#[derive(Debug, Clone)]
pub(crate) struct DropIn {
    /// Settings of the service and of its server.
    pub(crate) settings: StandaloneSettings,
    /// Settings of the database, with the authenticator's login.
    pub(crate) database: postgres::Settings,
    /// The address of the API.
    pub(crate) address: ListenAddress,
    /// The address of the admin server.
    pub(crate) admin: Option<ListenAddress>,
}

impl DropIn {
    /// Reads the variables and the file of `invocation`. Returns `None` unless `--only rest` is given and the database
    /// is named: by such a file, by `db-uri` or, without a project, by libpq's variables.
    ///
    /// Errors: [`Invalid`] with the name of the first invalid setting.
    pub(crate) fn read(invocation: &Invocation) -> Result<Option<Self>, Invalid> {
        let Some([Service::Rest]) = invocation.only.as_deref() else { return Ok(None) };
        let variables = &invocation.variables;
        let mut settings = StandaloneSettings::read(invocation.file.as_deref(), variables)?;
        if settings.server.db_uri.is_none() {
            if invocation.file.is_none() && !is_named_by_libpq(invocation)? {
                return Ok(None);
            }
            settings.server.db_uri = Some(Secret::from(DEFAULT_URI));
        }
        let server = libpq::complete(settings.database()?, variables, &mut settings.warnings)?;
        let service = &mut settings.service;
        if let Some(host) = invocation.host {
            service.server_host = host.to_string();
        }
        service.server_port = invocation.port.unwrap_or(service.server_port);
        settings.check()?;
        let database = settings.connections.apply_to(postgres::Settings {
            application_name: "basalt-rest".to_owned(),
            transaction_timeout: MAX_TRANSACTION,
            ..postgres::Settings::new(server)
        });
        let (address, admin) = (address(&settings), admin_address(&settings));
        Ok(Some(Self { settings, database, address, admin }))
    }
}

/// Reports whether only libpq's variables name the database: there is no project and no URI.
fn is_named_by_libpq(invocation: &Invocation) -> Result<bool, Invalid> {
    let variables = &invocation.variables;
    let has_uri = variables.get("DATABASE_URL").is_some_and(|uri| !uri.is_empty());
    if invocation.project.is_some() || has_uri || !libpq::names_a_server(variables) {
        return Ok(false);
    }
    Ok(Project::locate(Path::new("."), false)?.config_path.is_none())
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
