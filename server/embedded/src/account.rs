//! The user that Postgres runs as. Postgres refuses to run as root, so if Basalt runs as root (in containers), Postgres
//! runs as another user, who may not have access to the folders that root works in.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::process::Command;
use tokio::time::timeout;

use super::error::Error;

/// The users that are tried, in order, if there is no data yet.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// How long `postgres --version` may take.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// The unprivileged user that Postgres runs as if Basalt runs as root.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Account {
    /// Chooses the user. Returns `None` if this process is not root; Postgres then runs as its user.
    ///
    /// Existing data keeps its owner, even if a new container image has other users.
    pub(super) fn choose(cluster: &Path) -> Result<Option<Self>, Error> {
        let own = rustix::process::geteuid().as_raw();
        let metadata = match fs::metadata(cluster) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("read", cluster)(error)),
        };
        if own != 0 {
            return match metadata {
                Some(metadata) if metadata.uid() != own => {
                    Err(Error::Owner { folder: cluster.to_owned(), owner: metadata.uid(), uid: own })
                }
                _ => Ok(None),
            };
        }
        if let Some(metadata) = metadata
            && metadata.uid() != 0
        {
            return Ok(Some(Self { uid: metadata.uid(), gid: metadata.gid() }));
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let account = CANDIDATES.iter().find_map(|name| Self::find(name, &users));
        let reason = || "/etc/passwd has neither a user postgres nor nobody to run it".to_owned();
        account.map(Some).ok_or_else(|| Error::Root { reason: reason() })
    }

    /// Returns the owner of `folder`, if this process is root and the owner is not.
    pub(super) fn owner_of(folder: &Path) -> Result<Option<Self>, Error> {
        let metadata = fs::metadata(folder).map_err(Error::io("read", folder))?;
        let is_other = rustix::process::geteuid().is_root() && metadata.uid() != 0;
        Ok(is_other.then(|| Self { uid: metadata.uid(), gid: metadata.gid() }))
    }

    /// Finds the user `name` in the text of a passwd(5) file; never root.
    fn find(name: &str, users: &str) -> Option<Self> {
        users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let is_match = fields.next() == Some(name);
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            (is_match && uid != 0).then_some(Self { uid, gid })
        })
    }

    /// Reports whether the permission bits of `path` and of all folders above it give this user access.
    pub(super) fn can_reach(&self, path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else { return false };
        path.ancestors().all(|folder| {
            fs::metadata(folder).is_ok_and(|metadata| {
                let bits = if metadata.uid() == self.uid {
                    metadata.mode() >> 6
                } else if metadata.gid() == self.gid {
                    metadata.mode() >> 3
                } else {
                    metadata.mode()
                };
                bits & 0o1 != 0
            })
        })
    }

    /// Reports whether this user can start `program`, which includes reading its libraries.
    pub(super) async fn can_run(&self, program: &Path) -> bool {
        let mut command = Command::new(program);
        command.arg("--version").current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        run_as(&mut command, Some(self));
        matches!(timeout(VERSION_TIMEOUT, command.status()).await, Ok(Ok(status)) if status.success())
    }

    /// Makes this user the owner of `path` and, if it is a folder, of everything in it. Links are not followed.
    pub(super) fn take_ownership(&self, path: &Path) -> io::Result<()> {
        lchown(path, Some(self.uid), Some(self.gid))?;
        if fs::symlink_metadata(path)?.is_dir() {
            for entry in fs::read_dir(path)? {
                self.take_ownership(&entry?.path())?;
            }
        }
        Ok(())
    }
}

/// Makes `account`, if there is one, the owner of `path` and of everything in it.
pub(super) fn give(path: &Path, account: Option<&Account>) -> Result<(), Error> {
    let changed = account.map_or(Ok(()), |account| account.take_ownership(path));
    changed.map_err(Error::io("change the owner of", path))
}

/// Makes `command` run as `account`. If this process is root, the standard library also drops its groups.
pub(super) fn run_as(command: &mut Command, account: Option<&Account>) {
    if let Some(account) = account {
        command.uid(account.uid).gid(account.gid);
    }
}

/// A path to a folder for another user's process, even if that user has no access to the folders above it.
///
/// On Linux the path is then `/proc/self/fd/N` of a descriptor that is opened here and inherited by the process: it
/// resolves to the folder directly, so that only the folder's own permissions count.
#[derive(Debug)]
pub(super) struct FolderAccess {
    path: PathBuf,
    /// Kept open until the process that inherits it is started.
    folder: Option<File>,
    /// Held while the descriptor has the number of a [`Slot`].
    _turn: Option<MutexGuard<'static, ()>>,
}

/// A descriptor whose number is always the same, because several processes have to name a folder alike.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    /// The folder of the cluster.
    Cluster,
    /// The folder of the repository of backups.
    Repository,
}

/// The highest number that a slot may have, so that the table of descriptors stays small.
const HIGHEST_SLOT: u64 = 16_384;

/// The lowest number that the limit of descriptors is taken for.
const LOWEST_SLOT: u64 = 256;

impl Slot {
    /// Returns the number of the descriptor: near the limit of this process, where no other one is.
    fn number(self) -> i32 {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let highest = limit.unwrap_or(HIGHEST_SLOT).clamp(LOWEST_SLOT, HIGHEST_SLOT);
        let number = match self {
            Self::Cluster => highest - 2,
            Self::Repository => highest - 3,
        };
        i32::try_from(number).unwrap_or(i32::MAX)
    }

    /// Waits until no other start of a process uses the number.
    fn turn(self) -> MutexGuard<'static, ()> {
        static TURNS: [Mutex<()>; 2] = [Mutex::new(()), Mutex::new(())];
        TURNS[self as usize].lock()
    }
}

impl FolderAccess {
    /// Returns a path to `folder` for `account`; it is the folder's own path if the account can use that.
    pub(super) fn open(folder: &Path, account: Option<&Account>) -> Result<Self, Error> {
        Self::open_at(folder, account, None)
    }

    /// Does what [`Self::open`] does, with a path that is the same for all processes that are given this folder in this
    /// way. Others wait until the result is dropped.
    pub(super) fn open_in(slot: Slot, folder: &Path, account: Option<&Account>) -> Result<Self, Error> {
        Self::open_at(folder, account, Some(slot))
    }

    fn open_at(folder: &Path, account: Option<&Account>, slot: Option<Slot>) -> Result<Self, Error> {
        let is_reachable = account.is_none_or(|account| account.can_reach(folder));
        if is_reachable {
            return Ok(Self { path: folder.to_owned(), folder: None, _turn: None });
        }
        if !cfg!(target_os = "linux") {
            let reason = format!("the user that runs it instead cannot reach {}", folder.display());
            return Err(Error::Root { reason });
        }
        let turn = slot.map(Slot::turn);
        let open = File::open(folder).and_then(|file| {
            let file = match slot {
                None => file,
                Some(slot) => File::from(rustix::io::fcntl_dupfd_cloexec(&file, slot.number())?),
            };
            rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
            Ok(file)
        });
        let file = open.map_err(Error::io("open", folder))?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Ok(Self { path, folder: Some(file), _turn: turn })
    }

    /// Reports whether it is a descriptor with a number below `limit`.
    pub(super) fn is_below(&self, limit: i32) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.as_raw_fd() < limit)
    }

    /// Returns the path to pass to the process.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates `folder` with `mode` for `account` (or for this process), or uses an existing one if it belongs to that user
/// or to this process: in a shared folder such as `/tmp`, another user may have created it to gain access to its
/// content.
pub(super) fn private_folder(folder: &Path, mode: u32, account: Option<&Account>) -> Result<(), Error> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(Error::io("create", folder)(error));
        }
        _ => {}
    }
    let metadata = fs::symlink_metadata(folder).map_err(Error::io("read", folder))?;
    let own = rustix::process::geteuid().as_raw();
    let is_trusted = metadata.uid() == own || account.is_some_and(|account| account.uid == metadata.uid());
    if !metadata.is_dir() || !is_trusted {
        let source = io::Error::new(io::ErrorKind::PermissionDenied, "it is not a folder of this user's");
        return Err(Error::Io { action: "use", path: folder.to_owned(), source });
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(mode))
        .map_err(Error::io("set the mode of", folder))?;
    if let Some(account) = account
        && metadata.uid() != account.uid
    {
        let changed = lchown(folder, Some(account.uid), Some(account.gid));
        changed.map_err(Error::io("change the owner of", folder))?;
    }
    Ok(())
}

/// Returns the error for a program that could not be started.
pub(super) fn start_error(
    name: &'static str,
    path: &Path,
    account: Option<&Account>,
    error: std::io::Error,
) -> Error {
    match account {
        // The change of the user fails in a container without CAP_SETUID and in a user namespace with one user.
        Some(account) if error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error()) => {
            Error::Root { reason: format!("this process may not become uid {} to start {name}", account.uid) }
        }
        _ => Error::Io { action: "run", path: path.to_owned(), source: error },
    }
}
