//! Who may connect to the database from other machines.

use postgres::{Database, text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Changes, document_of, json};
use crate::Error;
use crate::gate::GateRules;

/// The networks that stand for all addresses.
const ALL: (&str, &str) = ("0.0.0.0/0", "::/0");

/// What is set; the default admits everybody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NetworkSettings {
    /// The networks of IPv4 that may connect; none of either kind: all, unless it is `nobody`.
    #[serde(default)]
    pub(crate) v4: Vec<String>,
    /// The networks of IPv6.
    #[serde(default)]
    pub(crate) v6: Vec<String>,
    /// Whether it was asked for that no network may connect.
    #[serde(default)]
    pub(crate) nobody: bool,
    /// Whether connections have to be encrypted.
    #[serde(default)]
    pub(crate) needs_tls: bool,
}

impl NetworkSettings {
    /// Returns the networks of IPv4 and those of IPv6 that may connect.
    pub(crate) fn allowed(&self) -> (Vec<String>, Vec<String>) {
        match self.has_none() && !self.nobody {
            true => (vec![ALL.0.to_owned()], vec![ALL.1.to_owned()]),
            false => (self.v4.clone(), self.v6.clone()),
        }
    }

    /// Returns the rules for the port of the database. Errors: the first that is no network.
    pub(crate) fn rules(&self) -> Result<GateRules, String> {
        let (v4, v6) = self.allowed();
        GateRules::parse(&v4, &v6, self.needs_tls)
    }

    /// Reports whether no network is named.
    pub(crate) fn has_none(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }

    /// Returns the networks, each with its kind.
    pub(crate) fn described(&self) -> Vec<Value> {
        let (v4, v6) = self.allowed();
        let described = |kind: &'static str, list: Vec<String>| {
            list.into_iter().map(move |address| serde_json::json!({ "address": address, "type": kind }))
        };
        described("v4", v4).chain(described("v6", v6)).collect()
    }
}

/// Returns what is set for a project.
pub(crate) async fn read(database: &Database, project: &str) -> Result<NetworkSettings, Error> {
    let sql = "select coalesce(network, '{}') from basalt_platform.projects where ref = $1";
    Ok(document_of(database, sql, vec![text(project)]).await?.unwrap_or_default())
}

/// Sets it.
pub(crate) async fn write(
    database: &Database,
    project: &str,
    settings: &NetworkSettings,
) -> Result<(), Error> {
    let sql = "update basalt_platform.projects set network = $2::jsonb where ref = $1 returning 'null'";
    let changes = Changes::new().and(sql, vec![text(project), json(settings)]);
    changes.commit::<Value>(database).await.map(drop)
}
