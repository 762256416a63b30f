//! The data folder: its lock, its cluster, the administrators' passwords.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use atomic_file::sync_folder;
use rustix::fs::{FlockOperation, flock};
use tokio::time::{Instant, sleep};

use super::account::Account;
use super::error::Error;
use super::files::{remove_if_present, write_atomically};
use super::layout::{cluster_in, major_of};
use super::orphan::{self, POLL};

/// How long removing an unfinished cluster may be tried.
const REMOVE_LIMIT: Duration = Duration::from_secs(20);

/// The name of the file with the administrators' passwords.
pub(super) const PASSWORD_FILE: &str = "pgpass";

/// A data folder that this process has locked.
#[derive(Debug)]
pub(super) struct DataDir {
    path: PathBuf,
    /// Locked as long as it is open; the system releases the lock however the process ends.
    lock: File,
}

impl DataDir {
    /// Creates the folder if it is missing (mode 0700) and locks it.
    ///
    /// Errors: [`Error::InUse`] with the process that has locked it.
    pub(super) fn lock(path: &Path) -> Result<Self, Error> {
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        created.map_err(Error::io("create", path))?;
        let path = path.canonicalize().map_err(Error::io("resolve", path))?;
        let file = path.join("basalt.lock");
        let open =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&file);
        let mut lock = open.map_err(Error::io("open", &file))?;
        if let Err(refused) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            if refused != rustix::io::Errno::WOULDBLOCK {
                return Err(Error::io("lock", &file)(refused.into()));
            }
            let mut holder = String::new();
            let _ = lock.read_to_string(&mut holder);
            return Err(Error::InUse { data_dir: path, pid: holder.trim().parse().ok() });
        }
        let written = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
        written.map_err(Error::io("write", &file))?;
        Ok(Self { path, lock })
    }

    /// Unlocks the folder.
    pub(super) fn release(&self) {
        // It fails only for an invalid descriptor.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the cluster's folder, which exists only if the cluster is complete.
    pub(super) fn cluster(&self) -> PathBuf {
        cluster_in(&self.path)
    }

    /// Returns the file with the administrators' passwords, in the format of libpq's password file.
    pub(super) fn password_file(&self) -> PathBuf {
        self.path.join(PASSWORD_FILE)
    }

    /// Returns the major version that made the cluster; `None` if there is no cluster yet.
    pub(super) fn major(&self) -> Result<Option<u32>, Error> {
        major_of(&self.cluster())
    }

    /// Returns the stored password of `role`, if there is one.
    pub(super) fn password(&self, role: &str) -> Result<Option<String>, Error> {
        let file = self.password_file();
        match fs::read_to_string(&file) {
            Ok(text) => Ok(password_of(role, &text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &file)(error)),
        }
    }

    /// Stores the passwords of roles, each once, in place of all that are stored.
    pub(super) fn store_passwords(&self, passwords: &[(&str, &str)]) -> Result<(), Error> {
        let mut lines = String::new();
        for (index, (role, password)) in passwords.iter().enumerate() {
            if passwords[..index].iter().all(|(earlier, _)| earlier != role) {
                lines.push_str(&format!("*:*:*:{role}:{password}\n"));
            }
        }
        write_atomically(&self.password_file(), lines.as_bytes(), 0o600)
    }

    /// Removes the stored passwords.
    pub(super) fn remove_passwords(&self) -> Result<(), Error> {
        remove_if_present(&self.password_file())
    }

    /// Replaces the current cluster by the complete one in `cluster`, and keeps the old one as `kept`. If this is
    /// interrupted, one of the two is in place, or [`Self::recover`] puts it there.
    pub(super) fn replace_cluster(&self, cluster: &Path, kept: &Path) -> Result<(), Error> {
        let upgraded = self.upgraded();
        for (from, to) in [(cluster, &*upgraded), (&*self.cluster(), kept), (&*upgraded, &*self.cluster())] {
            let renamed = fs::rename(from, to).and_then(|()| sync_folder(&self.path));
            renamed.map_err(Error::io("rename", from))?;
        }
        Ok(())
    }

    /// Returns the folder of a complete new cluster that is about to replace the old one.
    fn upgraded(&self) -> PathBuf {
        self.path.join("postgres.upgraded")
    }

    /// Recovers from an interruption: completes an upgrade that had moved the old cluster away, and removes unfinished
    /// clusters. This process holds the lock, so no other one is working there.
    pub(super) async fn recover(&self) -> Result<(), Error> {
        let upgraded = self.upgraded();
        if upgraded.exists() {
            if self.cluster().exists() {
                // The old one may have been written to since.
                fs::remove_dir_all(&upgraded).map_err(Error::io("remove", &upgraded))?;
            } else {
                let renamed = fs::rename(&upgraded, self.cluster()).and_then(|()| sync_folder(&self.path));
                renamed.map_err(Error::io("rename", &upgraded))?;
            }
        }
        let entries = fs::read_dir(&self.path).map_err(Error::io("read", &self.path))?;
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with("postgres.new-") {
                remove_unfinished(&entry.path()).await?;
            }
        }
        Ok(())
    }

    /// Corrects owner and mode of an existing cluster's folder, since Postgres refuses one that others own or can read.
    /// A copy made by root or by a backup program may have both wrong.
    pub(super) fn fix_permissions(&self, account: Option<&Account>) -> Result<(), Error> {
        let cluster = self.cluster();
        if let Some(account) = account {
            let metadata = fs::metadata(&cluster).map_err(Error::io("read", &cluster))?;
            if std::os::unix::fs::MetadataExt::uid(&metadata) != account.uid {
                let real = cluster.canonicalize().map_err(Error::io("resolve", &cluster))?;
                account.take_ownership(&real).map_err(Error::io("change the owner of", &cluster))?;
            }
        }
        let mode = fs::metadata(&cluster).map_err(Error::io("read", &cluster))?.permissions().mode();
        if mode & 0o777 != 0o700 && mode & 0o777 != 0o750 {
            let set = fs::set_permissions(&cluster, fs::Permissions::from_mode(0o700));
            set.map_err(Error::io("set the mode of", &cluster))?;
        }
        Ok(())
    }
}

/// Removes a cluster that an interrupted start or upgrade has left. Its Postgres is stopped. Its `initdb`, whose
/// process ID is not known, may still write or remove files there until it fails because one is missing, so the removal
/// is repeated.
async fn remove_unfinished(staging: &Path) -> Result<(), Error> {
    let until = Instant::now() + REMOVE_LIMIT;
    loop {
        orphan::clear(&staging.join("data"), |_| ()).await?;
        match fs::remove_dir_all(staging) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                if Instant::now() > until {
                    return Err(Error::io("remove", staging)(error));
                }
                sleep(POLL).await;
            }
            _ => return Ok(()),
        }
    }
}

/// Returns the password of `role` in the text of a password file whose lines name no host, port and database.
pub(super) fn password_of(role: &str, text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut fields = line.rsplitn(3, ':');
        let password = fields.next()?;
        (fields.next()? == role && !password.is_empty()).then(|| password.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a data folder with these clusters, each of which contains a file with its own name.
    fn data(clusters: &[&str]) -> (tempfile::TempDir, DataDir) {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::lock(folder.path()).unwrap();
        for name in clusters {
            fs::create_dir(data.path.join(name)).unwrap();
            fs::write(data.path.join(name).join("name"), name).unwrap();
        }
        (folder, data)
    }

    /// Returns the names of the clusters, and the original name of the current one.
    fn clusters(data: &DataDir) -> (Vec<String>, String) {
        let entries = fs::read_dir(&data.path).unwrap().map(|entry| entry.unwrap().file_name());
        let names = entries.map(|name| name.into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with("postgres")).collect();
        names.sort();
        (names, fs::read_to_string(data.cluster().join("name")).unwrap())
    }

    #[test]
    fn a_new_cluster_replaces_the_old_one_which_is_kept() {
        let (_folder, data) = data(&["postgres", "postgres.new-1"]);
        data.replace_cluster(&data.path.join("postgres.new-1"), &data.path.join("postgres.16")).unwrap();
        let expected = vec!["postgres".to_owned(), "postgres.16".to_owned()];
        assert_eq!(clusters(&data), (expected, "postgres.new-1".to_owned()));
    }

    #[tokio::test]
    async fn an_unfinished_cluster_is_removed_while_its_initdb_still_writes() {
        let (_folder, data) = data(&["postgres", "postgres.new-1"]);
        let staging = data.path.join("postgres.new-1");
        let (begun, has_begun) = std::sync::mpsc::channel();
        let writer = std::thread::spawn(move || {
            let until = Instant::now() + Duration::from_millis(200);
            let mut names = (0..).map(|number: u32| staging.join(number.to_string()));
            // `initdb`, too, ends at the first file that it cannot create.
            while Instant::now() < until && fs::write(names.next().unwrap(), "").is_ok() {
                let _ = begun.send(());
            }
        });
        has_begun.recv().unwrap();
        data.recover().await.unwrap();
        writer.join().unwrap();
        assert_eq!(clusters(&data).0, ["postgres"]);
    }

    #[tokio::test]
    async fn an_interrupted_replacement_ends_with_one_complete_cluster() {
        for (left, names, in_place) in [
            // The old one may be in use again.
            (&["postgres", "postgres.upgraded"][..], &["postgres"][..], "postgres"),
            (&["postgres.16", "postgres.upgraded"], &["postgres", "postgres.16"], "postgres.upgraded"),
            (&["postgres", "postgres.16", "postgres.new-1"], &["postgres", "postgres.16"], "postgres"),
        ] {
            let (_folder, data) = data(left);
            data.recover().await.unwrap();
            let names = names.iter().map(ToString::to_string).collect();
            assert_eq!(clusters(&data), (names, in_place.to_owned()), "{left:?}");
        }
    }
}
