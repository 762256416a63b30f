//! A file in the data folder by which other commands of the project find a running server.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

/// How long a server may take to respond to what commands ask its admin port.
pub(crate) const RESPONSE_LIMIT: Duration = Duration::from_secs(3);

/// A running server, with the ports that it listens on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Instance {
    /// Its process ID.
    pub(crate) pid: i32,
    /// The URL of the API, without a slash at the end.
    pub(crate) api_url: String,
    /// The URL of metrics and health checks, without a slash at the end.
    pub(crate) admin_url: String,
    /// The URL of the page with the mails that are kept instead of being sent.
    pub(crate) inbox_url: Option<String>,
    /// Its publishable key. A command compares it to check whether the server has the same keys.
    pub(crate) publishable_key: String,
    /// The reference of the project, if the platform interface is on.
    #[serde(default)]
    pub(crate) project_ref: Option<String>,
    /// Its version; empty for versions that did not say it, which cannot switch to another one either.
    #[serde(default)]
    pub(crate) version: String,
    /// The file that it was started from, and that it becomes when it switches.
    #[serde(default)]
    pub(crate) program: Option<PathBuf>,
    /// When it began to serve, in microseconds since 1970. A process that switches keeps its number.
    #[serde(default)]
    pub(crate) begun: i128,
}

/// A written file, which is removed when this is dropped.
pub(crate) struct Announcement {
    path: PathBuf,
    instance: Instance,
}

impl Instance {
    /// Writes the file of this server in `data_dir`. It is removed when the result is dropped. If it cannot be written,
    /// this is logged: the server works without it.
    pub(crate) fn announce(self, data_dir: &Path) -> Option<Announcement> {
        let path = path(data_dir);
        let written = serde_json::to_vec_pretty(&self)
            .map_err(std::io::Error::from)
            .and_then(|text| atomic_file::write(&path, &text, 0o600));
        if let Err(error) = written {
            tracing::warn!(%error, path = %path.display(), "other commands will not know that this server runs");
            return None;
        }
        Some(Announcement { path, instance: self })
    }

    /// Returns the server that runs on `data_dir`; `None` if none responds, even if there is a file.
    pub(crate) async fn find(data_dir: &Path) -> Option<Self> {
        let instance = read(&path(data_dir))?;
        (instance.has_process() && instance.responds().await).then_some(instance)
    }

    /// Returns the server that runs on `data_dir`, once it says that it can serve requests.
    pub(crate) async fn find_ready(data_dir: &Path) -> Option<Self> {
        let instance = Self::find(data_dir).await?;
        instance.is_ready().await.then_some(instance)
    }

    /// Reports whether there is the file of a process that runs on `data_dir` with this publishable key.
    pub(crate) fn has_key(data_dir: &Path, publishable_key: &str) -> bool {
        read(&path(data_dir))
            .is_some_and(|instance| instance.publishable_key == publishable_key && instance.has_process())
    }

    /// Reports whether its file still exists, which it removes at its end.
    pub(crate) fn is_announced(&self, data_dir: &Path) -> bool {
        read(&path(data_dir)).as_ref() == Some(self)
    }

    /// Returns its process, if it runs and may be signalled.
    pub(crate) fn process(&self) -> Option<Pid> {
        let pid = Pid::from_raw(self.pid)?;
        // This fails for a process of another user, too.
        test_kill_process(pid).is_ok().then_some(pid)
    }

    fn has_process(&self) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else { return false };
        !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
    }

    /// Reports whether it responds to the health check: after a crash, another program may have its process ID.
    async fn responds(&self) -> bool {
        self.is_well("live").await
    }

    /// Reports whether it says that it can serve requests.
    pub(crate) async fn is_ready(&self) -> bool {
        self.is_well("ready").await
    }

    async fn is_well(&self, check: &str) -> bool {
        self.ask_admin(&format!("/health/{check}"), RESPONSE_LIMIT).await.is_ok()
    }

    /// Asks its admin port for `path`, for at most `limit`.
    ///
    /// Errors: also if the response is no success.
    pub(crate) async fn ask_admin(&self, path: &str, limit: Duration) -> reqwest::Result<reqwest::Response> {
        let client = reqwest::Client::builder().no_proxy().timeout(limit).build()?;
        client.get(format!("{}{path}", self.admin_url)).send().await?.error_for_status()
    }
}

impl Drop for Announcement {
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
            project_ref: None,
            version: String::new(),
            program: None,
            begun: 0,
        }
    }

    #[test]
    fn a_server_removes_only_its_own_file() {
        let folder = tempfile::tempdir().unwrap();
        let first = instance(1).announce(folder.path()).unwrap();
        let second = instance(2).announce(folder.path()).unwrap();
        drop(first);
        assert_eq!(read(&path(folder.path())), Some(instance(2)));
        drop(second);
        assert_eq!(read(&path(folder.path())), None);
    }

    #[tokio::test]
    async fn the_file_of_a_server_that_has_ended_is_ignored() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        // This process runs, but nothing responds at the port.
        let _announced = instance(own).announce(folder.path()).unwrap();
        assert_eq!(Instance::find(folder.path()).await, None);
    }
}
