//! The trial of a new program, before it takes the place of another one: does it run here, and does it serve?

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};

use super::version::Version;
use crate::error::Error;
use crate::instance::Instance;
use crate::settings::Settings;

const VERSION_LIMIT: Duration = Duration::from_secs(10);
const START_LIMIT: Duration = Duration::from_secs(90);
const STOP_LIMIT: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(100);

/// What a trial has of the environment: it must not find the project's settings, its backups or its ports.
const VARIABLES: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR"];

/// Tries `program`: it must have this version and, unless the project names a database elsewhere, serve an empty
/// folder.
///
/// Errors: what it does not do.
pub(super) async fn run(settings: &Settings, program: &Path, version: &Version) -> Result<(), Error> {
    let failed = |what: String| Error::Advice(format!("the new program {what}"));
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(VERSION_LIMIT, command.output()).await;
    let output = output.map_err(|_| failed("does not say its version".to_owned()))?;
    let output = output.map_err(|error| failed(format!("cannot be run: {error}")))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || said != format!("basalt {version}") {
        return Err(failed(format!("should be basalt {version}, and says {said:?} ({})", output.status)));
    }
    // Where there is a database elsewhere, Postgres' programs may be missing here.
    if settings.database.url.is_some() {
        return Ok(());
    }
    let folder = Scratch::new()?;
    let served = serve(settings, program, &folder.0).await;
    served.map_err(|what| failed(format!("does not serve an empty folder: {what}")))
}

/// A folder that is removed when this is dropped.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> Result<Self, Error> {
        use std::os::unix::fs::DirBuilderExt as _;
        let folder = std::env::temp_dir().join(format!("basalt-trial-{}", uuid::Uuid::new_v4().simple()));
        let making = Error::io("make a folder for the trial");
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map_err(making)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn serve(settings: &Settings, program: &Path, folder: &Path) -> Result<(), String> {
    std::fs::write(folder.join("config.toml"), "").map_err(|error| error.to_string())?;
    let (data_dir, log) = (folder.join("data"), folder.join("log"));
    let output = std::fs::File::create(&log).map_err(|error| error.to_string())?;
    let mut command = command(settings, program);
    command.arg("--project").arg(folder).arg("--data-dir").arg(&data_dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let served = wait(&mut child, &data_dir).await;
    stop(child).await;
    served.map_err(|what| {
        let log = std::fs::read_to_string(log).unwrap_or_default();
        let last: Vec<_> = log.lines().rev().take(3).collect();
        format!("{what}: {}", last.into_iter().rev().collect::<Vec<_>>().join(" "))
    })
}

/// Returns the command that serves with the Postgres that the project has.
fn command(settings: &Settings, program: &Path) -> Command {
    let variables = VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let mut command = Command::new(program);
    command.args(["serve", "--only", "rest", "--port", "0", "--log-format", "text"]);
    command.env_clear().envs(variables).env("BASALT_ADMIN_PORT", "0").env("BASALT_ANY_PORT", "true");
    // A file of the project may name it; a package of npm is found from the project's folder.
    command.envs(settings.database.binaries.as_ref().map(|folder| ("POSTGRES_BIN", folder)));
    command.current_dir(&settings.project.root);
    command
}

async fn wait(child: &mut Child, data_dir: &Path) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < START_LIMIT {
        if Instance::find_ready(data_dir).await.is_some() {
            return Ok(());
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("it ends ({status})"));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(format!("it is not ready after {} s", START_LIMIT.as_secs()))
}

/// Ends the trial in order, so that its Postgres is not left behind.
async fn stop(mut child: Child) {
    if let Some(pid) = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        let _ = kill_process(pid, Signal::TERM);
    }
    if timeout(STOP_LIMIT, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Invocation;

    #[test]
    fn a_trial_has_the_projects_postgres_and_no_other_setting_of_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.toml"), "").unwrap();
        std::fs::write(folder.path().join(".env"), "POSTGRES_BIN=/opt/postgres/bin\nBASALT_PORT=80\n")
            .unwrap();
        let invocation = Invocation { project: Some(folder.path().to_owned()), ..Invocation::default() };
        let command = command(&Settings::load(&invocation).unwrap(), Path::new("basalt"));
        let variable = |wanted: &str| {
            let found = command.as_std().get_envs().find(|(name, _)| *name == wanted);
            found.and_then(|(_, value)| value).map(|value| value.to_string_lossy().into_owned())
        };
        assert_eq!(variable("POSTGRES_BIN").as_deref(), Some("/opt/postgres/bin"));
        assert_eq!(variable("BASALT_PORT"), None);
        assert_eq!(command.as_std().get_current_dir(), Some(folder.path()));
    }
}
