//! What a server that runs tells the other commands of its project, in a file of the data folder.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

/// How long a server may take to say that it lives.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// A server that runs, with the ports that it really has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Instance {
    /// Its process.
    pub(crate) pid: i32,
    /// Where clients reach the API, without a slash at the end.
    pub(crate) api_url: String,
    /// Where metrics and health are, likewise.
    pub(crate) admin_url: String,
    /// Where the mails are that are kept instead of being sent.
    pub(crate) inbox_url: Option<String>,
    /// Its publishable key, which tells whether a command has the same keys.
    pub(crate) publishable_key: String,
}

/// Takes the file away again when it is dropped.
pub(crate) struct Announced {
    path: PathBuf,
    instance: Instance,
}

impl Instance {
    /// Tells of this server in `data_dir` until what is returned is dropped. Where that is not possible, the log says
    /// so: the server is none the worse for it.
    pub(crate) fn announce(self, data_dir: &Path) -> Option<Announced> {
        let path = path(data_dir);
        let written = write(&path, &self);
        if let Err(error) = written {
            tracing::warn!(%error, path = %path.display(), "other commands will not know that this server runs");
            return None;
        }
        Some(Announced { path, instance: self })
    }

    /// The server that runs on `data_dir`; `None` where none does, whatever the file says.
    pub(crate) async fn find(data_dir: &Path) -> Option<Self> {
        let instance = read(&path(data_dir))?;
        (instance.has_process() && instance.answers().await).then_some(instance)
    }

    /// Whether it has not said that it has ended.
    pub(crate) fn is_announced(&self, data_dir: &Path) -> bool {
        read(&path(data_dir)).as_ref() == Some(self)
    }

    /// The process, while it runs.
    pub(crate) fn process(&self) -> Option<Pid> {
        let pid = Pid::from_raw(self.pid)?;
        // A process of somebody else is one, too, but none that may be signalled.
        test_kill_process(pid).is_ok().then_some(pid)
    }

    fn has_process(&self) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else { return false };
        !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
    }

    /// Whether it says that it lives: after a crash another program may have its process id.
    async fn answers(&self) -> bool {
        let url = format!("{}/health/live", self.admin_url);
        let client = reqwest::Client::builder().no_proxy().timeout(ANSWER_LIMIT).build();
        let Ok(client) = client else { return false };
        client.get(url).send().await.is_ok_and(|answer| answer.status().is_success())
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        // Another server on the same folder may have written its own.
        if read(&self.path).as_ref() == Some(&self.instance) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("server.json")
}

fn read(path: &Path) -> Option<Instance> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes the file beside its place first, so that nobody reads half of it.
fn write(path: &Path, instance: &Instance) -> std::io::Result<()> {
    let draft = path.with_extension("json.tmp");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(&serde_json::to_vec_pretty(instance)?)?;
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(pid: i32) -> Instance {
        Instance {
            pid,
            api_url: "http://127.0.0.1:1".to_owned(),
            admin_url: "http://127.0.0.1:1".to_owned(),
            inbox_url: None,
            publishable_key: "sb_publishable_x".to_owned(),
        }
    }

    #[test]
    fn a_server_takes_away_only_what_it_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let first = instance(1).announce(folder.path()).unwrap();
        let second = instance(2).announce(folder.path()).unwrap();
        drop(first);
        assert_eq!(read(&path(folder.path())), Some(instance(2)));
        drop(second);
        assert_eq!(read(&path(folder.path())), None);
    }

    #[tokio::test]
    async fn a_file_that_outlived_its_server_is_not_believed() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        // This process runs, but nothing answers at the port.
        let _announced = instance(own).announce(folder.path()).unwrap();
        assert_eq!(Instance::find(folder.path()).await, None);
    }
}
