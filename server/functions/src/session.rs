//! What `basalt functions serve` asks of a server that runs already: until that command ends, functions have other
//! variables, and are started again when their files change.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::watch::Concerned;
use crate::{Functions, Inner};

/// The number of lines of the log that wait for a slow reader. Older ones are dropped.
pub(crate) const WAITING_LINES: usize = 1024;

/// The settings of a session. Must not be logged.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Overrides {
    /// The variables that every function sees beside the platform's.
    pub variables: BTreeMap<String, String>,
    /// The variables of `--env-file`, which precede those of single functions; `None` without that flag.
    pub env_file: Option<BTreeMap<String, String>>,
    /// Whether functions accept calls without a token.
    pub is_open: bool,
}

/// A session, which ends when it is dropped.
pub struct Session {
    functions: Arc<Inner>,
    lines: broadcast::Receiver<String>,
}

impl Functions {
    /// Begins a session; `None` if there is one.
    pub fn begin_session(&self, overrides: Overrides) -> Option<Session> {
        let functions = Arc::clone(&self.0);
        let host = &functions.host;
        let mut current = host.overrides.write();
        if current.is_some() {
            return None;
        }
        *current = Some(overrides);
        drop(current);
        let configuration = host.configuration();
        let settings = &configuration.settings;
        if !settings.watch {
            host.watcher.start(&settings.folder, Arc::downgrade(&functions));
        }
        let lines = host.lines.subscribe();
        functions.renew(&Concerned::All, &settings.folder);
        Some(Session { functions, lines })
    }
}

impl Session {
    /// Waits for the next line that a function writes to its log.
    pub async fn next_line(&mut self) -> Option<String> {
        loop {
            match self.lines.recv().await {
                Ok(line) => return Some(line),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let host = &self.functions.host;
        *host.overrides.write() = None;
        let configuration = host.configuration();
        if !configuration.settings.watch {
            host.watcher.stop();
        }
        self.functions.renew(&Concerned::All, &configuration.settings.folder);
    }
}
