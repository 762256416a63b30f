//! Functions of which the project's folder and a deployment both have one.

use serde::{Deserialize, Serialize};

use crate::Functions;

/// A name that a function of the project's folder and a deployed one both have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Double {
    /// The name.
    pub name: String,
    /// The version of the deployed function if that takes the calls; `None` if it is the one of the folder.
    pub deployed_version: Option<i32>,
}

impl Functions {
    /// Returns the names that a function of the project's folder and a deployed one both have, in their order, and which
    /// of the two takes the calls.
    pub fn doubles(&self) -> Vec<Double> {
        let host = &self.0.host;
        let settings = &host.configuration().settings;
        let names: Vec<String> = host.deployments.read().keys().cloned().collect();
        let of_both = names
            .into_iter()
            .filter(|name| settings.find(name).is_some_and(|of_folder| of_folder.function.enabled));
        let double = |name: String| {
            let deployed_version = host.find(&name)?.deployment.map(|deployment| deployment.version);
            Some(Double { name, deployed_version })
        };
        of_both.filter_map(double).collect()
    }
}
