//! Functions that are deployed to the server while it runs.
//!
//! A new version is started beside the one that serves. When it is ready it takes the calls, and the process before it
//! ends with its last call: no call is lost, and a version that does not start replaces nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::worker::Processes;
use crate::{DeployedFunction, Functions, Inner, Secrets};

/// How long the download of what a function imports may take.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(120);

/// A version whose process is ready, and that gets no calls yet.
pub struct Booted {
    functions: Arc<Inner>,
    processes: Arc<Processes>,
}

impl Functions {
    /// Downloads what the version `deployed` imports, and writes the versions and checksums of it into its lock.
    ///
    /// Errors: what to tell the person who deploys it, in Deno's words.
    pub async fn download_imports(&self, deployed: &DeployedFunction) -> Result<(), String> {
        let host = &self.0.host;
        let folder = host.sockets.join(uuid::Uuid::new_v4().simple().to_string());
        let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        let output = async {
            let mut command = host.cache_command(deployed, &folder).await?;
            Ok::<_, String>(timeout(DOWNLOAD_LIMIT, command.output()).await)
        };
        let output = output.await;
        let _ = std::fs::remove_dir_all(&folder);
        match output? {
            Ok(Ok(Output { status, .. })) if status.success() => Ok(()),
            Ok(Ok(Output { stderr, .. })) => Err(String::from_utf8_lossy(&stderr).trim().to_owned()),
            Ok(Err(error)) => Err(format!("Deno cannot be run: {error}")),
            Err(_) => Err(format!("the modules were not downloaded within {} s", DOWNLOAD_LIMIT.as_secs())),
        }
    }

    /// Starts a process of the version `deployed` beside the one that serves, and waits until it is ready.
    ///
    /// Errors: what to tell the person who deploys it, in Deno's words where it has written any.
    pub async fn boot(&self, deployed: &DeployedFunction) -> Result<Booted, String> {
        let processes = Arc::new(Processes::new(&self.0.host, deployed));
        match processes.boot().await {
            Ok(()) => Ok(Booted { functions: Arc::clone(&self.0), processes }),
            Err(reason) => Err(reason),
        }
    }

    /// Makes `deployments` the functions that were deployed to the server, without starting them. Those that were
    /// deployed before in the same version go on.
    pub fn set_deployments(&self, deployments: BTreeMap<String, DeployedFunction>) {
        let before = std::mem::replace(&mut *self.0.host.deployments.write(), deployments.clone());
        let changed = before.keys().chain(deployments.keys());
        for name in changed.filter(|name| before.get(*name) != deployments.get(*name)) {
            self.0.forget(name);
        }
    }

    /// Sets the variables that were set over the platform interface. The next call of each function sees them.
    pub fn set_secrets(&self, secrets: Secrets) {
        let host = &self.0.host;
        if *host.secrets.read() == secrets {
            return;
        }
        *host.secrets.write() = secrets;
        host.configure(host.configuration().settings.clone());
        self.0.renew_all();
    }

    /// Returns the folder of the version that serves the function `name`: that of its deployment, or the functions
    /// folder; `None` if there is no such function.
    pub fn served_from(&self, name: &str) -> Option<PathBuf> {
        let found = self.0.host.find(name)?;
        Some(match found.deployment {
            Some(deployment) => deployment.folder,
            None => self.0.host.configuration().settings.folder.clone(),
        })
    }
}

impl Booted {
    /// Gives this version the calls of its function from now on. The process before it ends with its last call.
    pub fn take_calls(self) {
        let deployed = self.processes.deployed().clone();
        let name = deployed.name.clone();
        self.functions.host.deployments.write().insert(name.clone(), deployed);
        // If somebody works in the functions folder, the function of that folder serves.
        let is_served =
            self.functions.host.find(&name).is_some_and(|found| found == *self.processes.deployed());
        if is_served {
            let before = self.functions.processes.write().insert(name, Arc::clone(&self.processes));
            if let Some(before) = before {
                before.replace();
            }
        }
    }
}

impl Drop for Booted {
    fn drop(&mut self) {
        let name = &self.processes.deployed().name;
        let is_used =
            self.functions.processes.read().get(name).is_some_and(|used| Arc::ptr_eq(used, &self.processes));
        if !is_used {
            self.processes.renew();
        }
    }
}

impl Inner {
    /// Makes the next call of the function `name` look for it again.
    fn forget(&self, name: &str) {
        if let Some(processes) = self.processes.write().remove(name) {
            processes.replace();
        }
    }
}
