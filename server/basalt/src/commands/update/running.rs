//! The running server of a project, while it becomes another version of itself and perhaps the one before again.

mod launch;

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::commands::serve::wish_for_switch;
use crate::commands::service::systemd;
use crate::console;
use crate::error::Error;
use crate::instance::Instance;
use crate::settings::Settings;
use launch::Launch;

const PAUSE: Duration = Duration::from_millis(250);
/// How long the new server may take until it serves, unless it is watched for longer: migrations run meanwhile.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How often in a row a server that was healthy may fail the check.
const MISSES: u32 = 4;
/// How long a broken server may take to end, and the one before to serve again.
const END_LIMIT: Duration = Duration::from_secs(20);
/// How long a process that is killed may take to be gone. If nobody takes note of its end, it never is.
const KILL_LIMIT: Duration = Duration::from_secs(5);
const RECOVERY_LIMIT: Duration = Duration::from_secs(120);

/// A server that can switch.
pub(super) struct Running {
    instance: Instance,
    pid: Pid,
    /// The service of systemd that it is.
    unit: Option<String>,
    launch: Option<Launch>,
}

impl Running {
    /// Returns the server of the project, if it was started from `program`.
    ///
    /// Errors: if it belongs to another user, or cannot switch.
    pub(super) async fn find(settings: &Settings, program: &Path) -> Result<Option<Self>, Error> {
        let Some(instance) = Instance::find(&settings.data_dir).await else { return Ok(None) };
        if instance.version.is_empty() {
            return Err(Error::Advice(format!(
                "the running server (process {}) is of a version that cannot switch: stop it, update, and start it again",
                instance.pid
            )));
        }
        if instance.program.as_deref() != Some(program) {
            console::note(format_args!(
                "The running server (process {}) was started from another program, and stays as it is.",
                instance.pid
            ));
            return Ok(None);
        }
        let pid = instance.process().ok_or_else(|| {
            Error::Advice(format!(
                "the running server (process {}) belongs to another user: update as that user or as root",
                instance.pid
            ))
        })?;
        let (unit, launch) = (unit_of(instance.pid), Launch::of(instance.pid));
        Ok(Some(Self { instance, pid, unit, launch }))
    }

    /// Has the server become the program at its place, and watches that.
    ///
    /// Errors: why the new server is not healthy.
    pub(super) async fn switch(&self, data_dir: &Path, watch: Duration) -> Result<(), String> {
        self.order(data_dir).map_err(|error| error.to_string())?;
        let begun = Instant::now();
        let (mut healthy_since, mut misses) = (None, 0);
        loop {
            if self.follows(data_dir).await {
                misses = 0;
                if healthy_since.get_or_insert_with(Instant::now).elapsed() >= watch {
                    return Ok(());
                }
            } else if !self.is_alive() {
                return Err("it has ended".to_owned());
            } else if healthy_since.is_some() {
                misses += 1;
                if misses >= MISSES {
                    return Err("it was healthy and is not any more".to_owned());
                }
            } else if begun.elapsed() > START_LIMIT.max(watch) {
                return Err(format!("it is not healthy after {} s", begun.elapsed().as_secs()));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Has the program that is at its place again serve, whatever the one before it does.
    ///
    /// Errors: if nothing serves in the end.
    pub(super) async fn recover(&self, data_dir: &Path) -> Result<(), Error> {
        let broken = Instance::find(data_dir).await.map_or(self.instance.begun, |instance| instance.begun);
        if self.is_alive() {
            self.order(data_dir)?;
            if self.wait(data_dir, broken, END_LIMIT).await {
                return Ok(());
            }
        }
        if self.is_alive() {
            let _ = kill_process(self.pid, Signal::KILL);
            // Until then it has the ports and the data folder.
            let killed = Instant::now();
            while self.is_alive() && killed.elapsed() < KILL_LIMIT {
                tokio::time::sleep(PAUSE).await;
            }
        }
        match (&self.unit, &self.launch) {
            (Some(unit), _) => {
                let _ = systemd::restart(unit);
            }
            (None, Some(launch)) => launch.repeat().map_err(Error::io("start the server again"))?,
            (None, None) => {}
        }
        match self.wait(data_dir, broken, RECOVERY_LIMIT).await {
            true => Ok(()),
            false => Err(Error::Advice(
                "the program before the update is back, but no server runs with it: start it".to_owned(),
            )),
        }
    }

    /// Tells the server to switch.
    fn order(&self, data_dir: &Path) -> Result<(), Error> {
        wish_for_switch(data_dir, self.instance.pid)?;
        kill_process(self.pid, Signal::TERM).map_err(|error| Error::io("signal the server")(error.into()))
    }

    /// Reports whether another start of the server than the one that was found is ready.
    async fn follows(&self, data_dir: &Path) -> bool {
        is_ready_after(data_dir, &[self.instance.begun]).await
    }

    async fn wait(&self, data_dir: &Path, broken: i128, limit: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            if is_ready_after(data_dir, &[self.instance.begun, broken]).await {
                return true;
            }
            tokio::time::sleep(PAUSE).await;
        }
        false
    }

    fn is_alive(&self) -> bool {
        test_kill_process(self.pid).is_ok()
    }
}

/// Reports whether a server is ready that is none of the starts `before`.
async fn is_ready_after(data_dir: &Path, before: &[i128]) -> bool {
    Instance::find_ready(data_dir).await.is_some_and(|instance| !before.contains(&instance.begun))
}

/// Returns the service of systemd whose main process this is.
fn unit_of(pid: i32) -> Option<String> {
    let group = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let unit = group.trim().rsplit('/').next().filter(|name| name.ends_with(".service"))?;
    (systemd::main_process(unit) == Some(pid)).then(|| unit.to_owned())
}
