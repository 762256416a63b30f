//! Finds pgBackRest on this machine.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::error::Error;

/// The name of the program.
const NAME: &str = "pgbackrest";

/// The oldest version that is used: the first that works with Postgres 17. Source: release notes of 2.53.1.
const OLDEST: (u32, u32) = (2, 54);

/// How long the program may take to say its version.
const LIMIT: Duration = Duration::from_secs(10);

/// How to get the program.
const ADVICE: &str = "install the package pgbackrest (Debian 13 or newer; elsewhere from apt.postgresql.org or \
     yum.postgresql.org), or name the program in BASALT_PGBACKREST";

/// A pgBackRest that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// Its version, such as `2.55.1`.
    pub version: String,
}

impl Program {
    /// Finds the program that `named` is, or that is on `PATH`.
    ///
    /// Errors: [`Error::Advice`] if there is none, or only one that is too old.
    pub async fn find(named: Option<&Path>) -> Result<Self, Error> {
        let candidates = named.map_or_else(on_path, |path| vec![path.to_owned()]);
        let mut outdated = None;
        for path in candidates {
            let Some(version) = version_of(&path).await else { continue };
            match is_recent(&version) {
                true => return Ok(Self { path, version }),
                false => outdated = Some((path, version)),
            }
        }
        let (major, minor) = OLDEST;
        Err(Error::Advice(match (outdated, named) {
            (Some((path, version)), _) => format!(
                "backups need pgBackRest {major}.{minor} or newer, and {} is {version}: {ADVICE}",
                path.display()
            ),
            (None, Some(path)) => format!("{} is not pgBackRest: {ADVICE}", path.display()),
            (None, None) => format!("backups need pgBackRest, which was not found: {ADVICE}"),
        }))
    }
}

fn on_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let mut found: Vec<PathBuf> =
        folders.map(|folder| folder.join(NAME)).filter(|path| path.is_file()).collect();
    found.dedup();
    found
}

async fn version_of(path: &Path) -> Option<String> {
    let mut command = Command::new(path);
    command.arg("version").current_dir("/").kill_on_drop(true);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let output = timeout(LIMIT, command.output()).await.ok()?.ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    Some(printed.trim().strip_prefix("pgBackRest ")?.to_owned())
}

fn is_recent(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    });
    let found: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    found >= OLDEST
}

#[cfg(test)]
mod tests {
    use super::is_recent;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, recent) in
            [("2.45", false), ("2.54.0", true), ("2.55.1", true), ("2.60.0dev", true), ("3.0", true)]
        {
            assert_eq!(is_recent(version), recent, "{version}");
        }
    }
}
