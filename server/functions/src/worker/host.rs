//! What all functions share: settings, variables, deployments, and the folder of their sockets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::process::Command;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::imports::{self, Imports};
use super::places::Places;
use super::process::Launch;
use crate::deno::NoDeno;
use crate::find_deno;
use crate::metrics::Metrics;
use crate::session::{Overrides, WAITING_LINES};
use crate::settings::{DeployedFunction, Secrets, Settings};
use crate::watch::FileWatcher;

/// The state that all functions share.
pub(crate) struct Host {
    /// The current settings. A function that runs keeps those with which its slot was made.
    configuration: RwLock<Arc<Configuration>>,
    /// The variables that were set over the platform interface.
    pub(crate) secrets: RwLock<Secrets>,
    /// The platform's variables.
    platform: Secrets,
    /// The functions that were deployed to the server, by name.
    pub(crate) deployments: RwLock<BTreeMap<String, DeployedFunction>>,
    /// The program, if there is one.
    pub(crate) deno: Result<PathBuf, NoDeno>,
    /// Our script.
    pub(crate) script: PathBuf,
    /// A folder for the sockets, which no other user can enter.
    pub(crate) sockets: PathBuf,
    /// Cancelled when the server stops.
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    pub(crate) metrics: Metrics,
    /// Those for processes.
    pub(super) places: Places,
    /// Watches the files of functions, if that is wanted.
    pub(crate) watcher: FileWatcher,
    /// Those of the session that has begun, if any.
    pub(crate) overrides: RwLock<Option<Overrides>>,
    /// The lines that functions write to their logs, for a session.
    pub(crate) lines: broadcast::Sender<String>,
}

/// The settings, and what follows from them.
pub(crate) struct Configuration {
    pub(crate) settings: Settings,
    /// The environment that every function gets.
    pub(crate) environment: BTreeMap<String, String>,
}

impl Configuration {
    fn new(settings: Settings, secrets: &Secrets, platform: &Secrets) -> Self {
        let mut environment = settings.secrets.0.clone();
        environment.extend(secrets.0.clone());
        environment.extend(platform.0.clone());
        Self { settings, environment }
    }
}

impl Host {
    /// Returns the state of the functions of `settings`, which get the variables of the `platform`. `script` starts
    /// each of them, and their sockets are in the folder `sockets`.
    pub(crate) fn new(settings: Settings, platform: Secrets, script: PathBuf, sockets: PathBuf) -> Self {
        Self {
            deno: find_deno(&settings),
            places: Places::new(settings.limits.processes),
            configuration: RwLock::new(Arc::new(Configuration::new(
                settings,
                &Secrets::default(),
                &platform,
            ))),
            secrets: RwLock::default(),
            deployments: RwLock::default(),
            platform,
            script,
            sockets,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            metrics: Metrics::default(),
            watcher: FileWatcher::default(),
            overrides: RwLock::default(),
            lines: broadcast::Sender::new(WAITING_LINES),
        }
    }

    /// Returns the current settings.
    pub(crate) fn configuration(&self) -> Arc<Configuration> {
        Arc::clone(&self.configuration.read())
    }

    /// Changes the settings for the slots that are made from now on.
    pub(crate) fn configure(&self, settings: Settings) {
        let configuration = Configuration::new(settings, &self.secrets.read(), &self.platform);
        *self.configuration.write() = Arc::new(configuration);
    }

    /// Returns the function `name`, with the settings of the session. Where one of the project's folder and one that
    /// was deployed have that name, it is the one that was deployed, unless the folder is being worked in.
    pub(crate) fn find(&self, name: &str) -> Option<DeployedFunction> {
        let configuration = self.configuration();
        let of_folder = || configuration.settings.find(name).filter(|found| found.function.enabled);
        let deployed = || self.deployments.read().get(name).cloned();
        let mut found = match self.is_worked_in() {
            true => of_folder().or_else(deployed),
            false => deployed().or_else(of_folder),
        }?;
        if self.overrides.read().as_ref().is_some_and(|overrides| overrides.is_open) {
            found.function.verify_jwt = false;
        }
        Some(found)
    }

    /// Returns the command that downloads what `deployed` imports. It may need `folder`, which is empty.
    ///
    /// Errors: there is no Deno, or a deployment imports files that are not its own.
    pub(crate) async fn cache_command(
        &self,
        deployed: &DeployedFunction,
        folder: &Path,
    ) -> Result<Command, String> {
        let configuration = self.configuration();
        let mut launch = Launch {
            deno: self.deno.as_ref().map_err(ToString::to_string)?,
            script: &self.script,
            deployed,
            folder,
            environment: &BTreeMap::new(),
            settings: &configuration.settings,
            lines: &self.lines,
            imports: Imports::default(),
            own_map: None,
        };
        if let Some(deployment) = &deployed.deployment {
            launch.imports = imports::read_own(&launch, &deployment.folder).await?;
            launch.map_runtime_types();
        }
        Ok(launch.cache_command())
    }

    /// Reports whether somebody works in the functions folder: its files are watched.
    fn is_worked_in(&self) -> bool {
        self.configuration().settings.watch || self.overrides.read().is_some()
    }
}
