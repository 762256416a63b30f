//! Which ports the server does not leave for others.

use ::settings::Environment;

use super::{Invocation, Project, Server};

/// The ports that `config.toml` names: other tools read them there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FixedPorts {
    /// Whether that of the API is one.
    pub(crate) api: bool,
    /// Whether that of the embedded Postgres is one.
    pub(crate) database: bool,
}

impl FixedPorts {
    /// Returns them; none if the operator allows any port, and none that a flag or a variable has replaced.
    pub(super) fn of(
        invocation: &Invocation,
        project: &Project,
        environment: &Environment,
        server: &Server,
    ) -> Self {
        if invocation.any_port || server.any_port {
            return Self::default();
        }
        let names = |table: &str| project.config.get(table).is_some_and(|table| table.get("port").is_some());
        Self {
            api: names("api") && invocation.port.is_none() && !environment.is_set("BASALT_PORT"),
            database: names("db") && !environment.is_set("BASALT_DATABASE_PORT"),
        }
    }
}
