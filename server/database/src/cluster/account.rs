//! Who runs Postgres. Postgres refuses to run as root, so where Basalt is root (in containers) another user has to,
//! who may not be able to reach the folders that root works in.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::binaries::Binaries;
use super::error::Error;

/// Users that are taken, in order, where the data has no owner yet.
const USUAL: [&str; 2] = ["postgres", "nobody"];

/// How long `postgres --version` may take.
const RUN_LIMIT: Duration = Duration::from_secs(10);

/// The unprivileged user that runs Postgres for a Basalt that runs as root.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Account {
    /// `None` where this process is an ordinary user, who then runs Postgres itself.
    ///
    /// Data that is there already decides: its owner goes on owning it, whatever users a new image has.
    pub(super) fn choose(cluster: &Path) -> Result<Option<Self>, Error> {
        let own = rustix::process::geteuid().as_raw();
        let facts = match fs::metadata(cluster) {
            Ok(facts) => Some(facts),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("read", cluster)(error)),
        };
        if own != 0 {
            return match facts {
                Some(facts) if facts.uid() != own => {
                    Err(Error::Owner { folder: cluster.to_owned(), owner: facts.uid(), uid: own })
                }
                _ => Ok(None),
            };
        }
        if let Some(facts) = facts
            && facts.uid() != 0
        {
            return Ok(Some(Self { uid: facts.uid(), gid: facts.gid() }));
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let account = USUAL.iter().find_map(|name| Self::named(name, &users));
        let reason = || "/etc/passwd has neither a user postgres nor nobody to run it".to_owned();
        account.map(Some).ok_or_else(|| Error::Root { reason: reason() })
    }

    /// `name` in the text of a passwd(5) file; never root.
    fn named(name: &str, users: &str) -> Option<Self> {
        users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let is_it = fields.next() == Some(name);
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            (is_it && uid != 0).then_some(Self { uid, gid })
        })
    }

    /// Whether the permission bits of `path` and of all folders above it let this user in.
    pub(super) fn reaches(&self, path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else { return false };
        path.ancestors().all(|step| {
            fs::metadata(step).is_ok_and(|facts| {
                let bits = if facts.uid() == self.uid {
                    facts.mode() >> 6
                } else if facts.gid() == self.gid {
                    facts.mode() >> 3
                } else {
                    facts.mode()
                };
                bits & 0o1 != 0
            })
        })
    }

    /// Whether this user can start the programs, which also says that it can read their libraries.
    pub(super) async fn can_run(&self, binaries: &Binaries) -> bool {
        let mut command = Command::new(binaries.program("postgres"));
        command.arg("--version").current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        run_as(&mut command, Some(self));
        matches!(timeout(RUN_LIMIT, command.status()).await, Ok(Ok(status)) if status.success())
    }

    /// Gives `path`, and all that is in it where it is a folder, to this user. Links are not followed.
    pub(super) fn own(&self, path: &Path) -> io::Result<()> {
        lchown(path, Some(self.uid), Some(self.gid))?;
        if fs::symlink_metadata(path)?.is_dir() {
            for entry in fs::read_dir(path)? {
                self.own(&entry?.path())?;
            }
        }
        Ok(())
    }
}

/// Makes `command` run as `account`. Its groups are given up too, which the standard library sees to for root.
pub(super) fn run_as(command: &mut Command, account: Option<&Account>) {
    if let Some(account) = account {
        command.uid(account.uid).gid(account.gid);
    }
}

/// A folder as another user's process can name it, although folders above it are closed to that user.
///
/// On Linux the name is `/proc/self/fd/N` of a descriptor that is opened here and inherited: following it starts at
/// the folder itself, and only the folder's own permissions count.
#[derive(Debug)]
pub(super) struct Doorway {
    path: PathBuf,
    /// Open until the process that inherits it is started.
    _folder: Option<File>,
}

impl Doorway {
    /// A way into `folder` for `account`; the folder's own path wherever that does.
    pub(super) fn open(folder: &Path, account: Option<&Account>) -> Result<Self, Error> {
        let closed = account.is_some_and(|account| !account.reaches(folder));
        if !closed {
            return Ok(Self { path: folder.to_owned(), _folder: None });
        }
        if !cfg!(target_os = "linux") {
            let reason = format!("the user that runs it instead cannot reach {}", folder.display());
            return Err(Error::Root { reason });
        }
        let open = File::open(folder).and_then(|file| {
            rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
            Ok(file)
        });
        let file = open.map_err(Error::io("open", folder))?;
        Ok(Self { path: PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())), _folder: Some(file) })
    }

    /// The name to give to the process.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes `folder` with `mode` for `account` (else for this process), or takes it where it is there and nobody else
/// owns it: in a shared place such as `/tmp`, another user may have made it to be entrusted with what goes in.
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
    let facts = fs::symlink_metadata(folder).map_err(Error::io("read", folder))?;
    let own = rustix::process::geteuid().as_raw();
    let trusted = facts.uid() == own || account.is_some_and(|account| account.uid == facts.uid());
    if !facts.is_dir() || !trusted {
        let source = io::Error::new(io::ErrorKind::PermissionDenied, "it is not a folder of this user's");
        return Err(Error::Io { action: "use", path: folder.to_owned(), source });
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(mode))
        .map_err(Error::io("set the mode of", folder))?;
    if let Some(account) = account
        && facts.uid() != account.uid
    {
        let given = lchown(folder, Some(account.uid), Some(account.gid));
        given.map_err(Error::io("change the owner of", folder))?;
    }
    Ok(())
}
