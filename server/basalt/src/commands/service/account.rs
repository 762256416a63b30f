//! The user that a service runs as.

use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::Path;
use std::process::Command;

use super::systemd;
use crate::error::Error;
use crate::settings::display_path;

/// The user that is made where none is named.
pub(super) const DEFAULT: &str = "basalt";

/// A user of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// Returns the user of this name; `None` if [`Self::make`] can make it.
    ///
    /// Errors: if another user than [`DEFAULT`] does not exist.
    pub(super) fn find(user: &str) -> Result<Option<Self>, Error> {
        let number = |flag: &str| {
            let output = Command::new("id").args([flag, "--", user]).output().ok()?;
            String::from_utf8_lossy(&output.stdout).trim().parse().ok()
        };
        match (number("-u"), number("-g")) {
            (Some(uid), Some(gid)) => Ok(Some(Self { uid, gid })),
            _ if user == DEFAULT => Ok(None),
            _ => Err(Error::Advice(format!("--user: this machine has no user {user:?}"))),
        }
    }

    /// Makes a system user, which cannot log in and has no home.
    pub(super) fn make(user: &str) -> Result<Self, Error> {
        let words = ["--system", "--user-group", "--home-dir", "/nonexistent", "--no-create-home"];
        systemd::succeed(Command::new("useradd").args(words).args(["--shell", "/usr/sbin/nologin", user]))?;
        let made = Self::find(user)?;
        made.ok_or_else(|| {
            Error::Advice(format!("useradd has made the user {user}, but id does not know it"))
        })
    }

    /// Returns its number.
    pub(super) const fn uid(&self) -> u32 {
        self.uid
    }

    /// Creates `folder` for this user alone, if it does not exist.
    pub(super) fn own_new_folder(&self, folder: &Path) -> Result<(), Error> {
        if folder.exists() {
            return Ok(());
        }
        let making = || Error::io(format!("make {} for the service", display_path(folder)));
        if let Some(parent) = folder.parent() {
            std::fs::create_dir_all(parent).map_err(making())?;
        }
        std::fs::DirBuilder::new().mode(0o700).create(folder).map_err(making())?;
        // It stays out of the version control of the project around it.
        let ignored = folder.join(".gitignore");
        std::fs::write(&ignored, "*\n").map_err(making())?;
        for path in [&ignored, folder] {
            chown(path, Some(self.uid), Some(self.gid)).map_err(making())?;
        }
        Ok(())
    }
}
