//! Calls of `systemctl`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::settings::display_path;

/// The manager of services, and one service of it.
#[derive(Debug)]
pub(super) struct Systemd {
    file: PathBuf,
    name: String,
}

impl Systemd {
    /// Returns the running systemd of the machine whose files are in `root`, for the service `name`.
    ///
    /// Errors: if systemd does not run, or this process is not root's.
    pub(super) fn find(root: &Path, name: &str) -> Result<Self, Error> {
        // As sd_booted(3) finds it out.
        if !root.join("run/systemd/system").is_dir() {
            return Err(Error::Advice(
                "systemd does not run here, and nothing was changed. `basalt serve` serves without it; in a container, its \
                 manager starts and restarts the server. `basalt service install --print` prints the unit"
                    .to_owned(),
            ));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(Error::Advice("only root may change services: use sudo".to_owned()));
        }
        let file = root.join("etc/systemd/system").join(format!("{name}.service"));
        Ok(Self { file, name: name.to_owned() })
    }

    /// Returns the path of the unit.
    pub(super) fn file(&self) -> PathBuf {
        self.file.clone()
    }

    /// Returns the name of the service.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Writes the unit, starts the service, now and with the machine, and restarts one that runs already. Does not wait
    /// until it serves.
    pub(super) fn install(&self, text: &str) -> Result<(), Error> {
        let writing = || Error::io(format!("write {}", display_path(&self.file)));
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder).map_err(writing())?;
        }
        let draft = self.file.with_extension("service.tmp");
        std::fs::write(&draft, text).map_err(writing())?;
        std::fs::rename(&draft, &self.file).map_err(writing())?;
        call(&["daemon-reload"])?;
        call(&["enable", &self.name])?;
        restart(&self.name)
    }

    /// Stops the service and removes its unit.
    pub(super) fn uninstall(&self) -> Result<(), Error> {
        call(&["disable", "--now", &self.name])?;
        let removing = Error::io(format!("remove {}", display_path(&self.file)));
        std::fs::remove_file(&self.file).map_err(removing)?;
        call(&["daemon-reload"])?;
        let _ = output(&["reset-failed", &self.name]);
        Ok(())
    }

    /// Returns the state of the service, as systemd names it: `active`, `inactive`, `failed` and so on.
    pub(super) fn state(&self) -> String {
        output(&["is-active", &self.name]).filter(|state| !state.is_empty()).unwrap_or("unknown".to_owned())
    }

    /// Reports whether the service has failed and is not started again.
    pub(super) fn has_failed(&self) -> bool {
        self.state() == "failed"
    }

    /// Returns how often systemd has started the service again since it was asked to start it.
    pub(super) fn restarts(&self) -> u32 {
        property(&self.name, "NRestarts").and_then(|count| count.parse().ok()).unwrap_or_default()
    }

    /// Reports whether the service starts with the machine.
    pub(super) fn is_enabled(&self) -> bool {
        output(&["is-enabled", &self.name]).is_some_and(|state| state == "enabled")
    }
}

/// Returns the process of the service `name`; `None` if it has none.
pub(in crate::commands) fn main_process(name: &str) -> Option<i32> {
    property(name, "MainPID")?.parse().ok().filter(|pid| *pid > 0)
}

fn property(name: &str, property: &str) -> Option<String> {
    output(&["show", &format!("--property={property}"), "--value", name])
}

/// Restarts the service `name`, or starts it. Does not wait until it serves.
pub(in crate::commands) fn restart(name: &str) -> Result<(), Error> {
    // One that has failed before may have used up its starts.
    let _ = output(&["reset-failed", name]);
    call(&["restart", "--no-block", name])
}

fn call(words: &[&str]) -> Result<(), Error> {
    succeed(Command::new("systemctl").args(words))
}

/// Returns what a call prints, which may say something by its status, too.
fn output(words: &[&str]) -> Option<String> {
    let output = Command::new("systemctl").args(words).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs `command`.
///
/// Errors: if it cannot be run or fails, with what it wrote.
pub(super) fn succeed(command: &mut Command) -> Result<(), Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(Error::io(format!("run {program}")))?;
    if output.status.success() {
        return Ok(());
    }
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Advice(format!("`{program} {}` failed ({}): {said}", words.join(" "), output.status)))
}
