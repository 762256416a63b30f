//! The servers that a connection string names, and `target_session_attrs`.
//!
//! Source: PostgreSQL documentation, section 34.1.2.

use std::path::PathBuf;

use tokio_postgres::config::{ChannelBinding, Host, LoadBalanceHosts, TargetSessionAttrs};

use crate::conninfo::{self, Conninfo};
use crate::error::Error;

const DEFAULT_PORT: u16 = 5432;

/// One server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) host: Host,
    pub(crate) port: u16,
    /// The name that its certificate must have, if it differs from `host`.
    pub(crate) name: Option<String>,
}

/// The state that a server must be in: libpq's `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionAttrs {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

/// The state that a server reports when a session begins.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerState {
    is_standby: bool,
    is_read_only: bool,
}

impl ServerState {
    /// Stores a reported parameter, if it is one of the two.
    pub(crate) fn update(&mut self, name: &str, value: &str) {
        match name {
            "in_hot_standby" => self.is_standby = value == "on",
            "default_transaction_read_only" => self.is_read_only = value == "on",
            _ => {}
        }
    }
}

impl SessionAttrs {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        Ok(match text {
            "any" => Self::Any,
            "read-write" => Self::ReadWrite,
            "read-only" => Self::ReadOnly,
            "primary" => Self::Primary,
            "standby" => Self::Standby,
            "prefer-standby" => Self::PreferStandby,
            other => {
                return Err(Error::Configuration(format!(
                    "target_session_attrs is {other:?}: expected any, read-write, read-only, primary, standby or \
                     prefer-standby"
                )));
            }
        })
    }

    /// Reports whether a server in `state` may be used.
    pub(crate) const fn is_met_by(self, state: ServerState) -> bool {
        let ServerState { is_standby, is_read_only } = state;
        match self {
            Self::Any | Self::PreferStandby => true,
            Self::ReadWrite => !is_standby && !is_read_only,
            Self::ReadOnly => is_standby || is_read_only,
            Self::Primary => !is_standby,
            Self::Standby => is_standby,
        }
    }

    /// Returns the nearest value of `tokio-postgres`.
    pub(crate) const fn for_driver(self) -> TargetSessionAttrs {
        match self {
            Self::Any | Self::PreferStandby => TargetSessionAttrs::Any,
            Self::ReadWrite | Self::Primary => TargetSessionAttrs::ReadWrite,
            Self::ReadOnly | Self::Standby => TargetSessionAttrs::ReadOnly,
        }
    }
}

impl Server {
    pub(crate) fn add_to(&self, config: &mut tokio_postgres::Config) -> Result<(), Error> {
        match (&self.host, &self.name) {
            (Host::Unix(folder), _) => config.host_path(folder),
            (Host::Tcp(address), None) => config.host(address),
            (Host::Tcp(address), Some(name)) => {
                let address = address.parse();
                let address =
                    address.map_err(|_| Error::Configuration("hostaddr is not an IP address".to_owned()))?;
                config.host(name).hostaddr(address)
            }
        };
        config.port(self.port);
        Ok(())
    }
}

/// Returns the servers that `host`, `hostaddr` and `port` list. A single port applies to all of them.
pub(crate) fn servers(parameters: &Conninfo) -> Result<Vec<Server>, Error> {
    let list = |name: &str| -> Vec<String> {
        parameters
            .get(name)
            .map_or_else(Vec::new, |values| values.split(',').map(|value| value.trim().to_owned()).collect())
    };
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = names.len().max(addresses.len());
    if count == 0 {
        return Err(Error::Configuration("the database URI names no host".to_owned()));
    }
    let fits = |list: &[String], may_be_single: bool| {
        list.is_empty() || list.len() == count || may_be_single && list.len() == 1
    };
    if !fits(&names, false) || !fits(&addresses, false) || !fits(&ports, true) {
        return Err(Error::Configuration(
            "the database URI has different numbers of hosts and ports".to_owned(),
        ));
    }
    let port = |index: usize| match ports.get(index).or(ports.first()).map(String::as_str) {
        None | Some("") => Ok(DEFAULT_PORT),
        Some(port) => {
            port.parse().map_err(|_| Error::Configuration("the database URI has an invalid port".to_owned()))
        }
    };
    let value = |list: &[String], index: usize| list.get(index).filter(|value| !value.is_empty()).cloned();
    let server = |index| {
        let (name, address) = (value(&names, index), value(&addresses, index));
        let (host, name) = match (name, address) {
            (Some(folder), _) if folder.starts_with('/') => (Host::Unix(PathBuf::from(folder)), None),
            (name, Some(address)) => (Host::Tcp(address), name),
            (name, None) => (Host::Tcp(name.unwrap_or_else(|| "localhost".to_owned())), None),
        };
        Ok(Server { host, port: port(index)?, name })
    };
    (0..count).map(server).collect()
}

/// Applies a parameter to `config`, from which the hot path also reads its login.
///
/// Errors: [`Error::Configuration`] for an unknown parameter and for a value that is not supported.
pub(crate) fn configure(config: &mut tokio_postgres::Config, name: &str, value: &str) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::Configuration(format!("{name} in the database URI: {why}")));
    match name {
        "password" => {
            config.password(value);
        }
        "dbname" => {
            config.dbname(value);
        }
        "options" => {
            config.options(value);
        }
        "channel_binding" => {
            config.channel_binding(match value {
                "disable" => ChannelBinding::Disable,
                "require" => ChannelBinding::Require,
                _ => ChannelBinding::Prefer,
            });
        }
        "load_balance_hosts" => {
            config.load_balance_hosts(match value {
                "random" => LoadBalanceHosts::Random,
                _ => LoadBalanceHosts::Disable,
            });
        }
        "gssencmode" if value == "require" => return refused("GSSAPI is not supported"),
        "sslcert" | "sslkey" => return refused("client certificates are not supported"),
        "replication" => return refused("replication connections are not supported"),
        "application_name"
        | "connect_timeout"
        | "fallback_application_name"
        | "gssencmode"
        | "host"
        | "hostaddr"
        | "keepalives"
        | "keepalives_count"
        | "keepalives_idle"
        | "keepalives_interval"
        | "port"
        | "sslmode"
        | "sslrootcert"
        | "target_session_attrs"
        | "tcp_user_timeout"
        | "user" => {}
        _ if conninfo::is_ignored(name) => {}
        _ => {
            return Err(Error::Configuration(format!(
                "the database URI is not valid: unknown option `{name}`"
            )));
        }
    }
    Ok(())
}
