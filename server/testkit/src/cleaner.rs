//! Drops the databases of tests that have ended, while other tests still run.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::connect;

/// The maximum number of databases that wait to be dropped. Further ones stay until the cluster ends.
const WAITING: usize = 1024;

#[derive(Debug)]
pub(crate) struct Cleaner {
    names: SyncSender<String>,
}

impl Cleaner {
    /// Starts the thread that drops databases; `uri` is the superuser's.
    pub(crate) fn start(uri: String) -> Self {
        let (names, queue) = sync_channel(WAITING);
        thread::spawn(move || work(&uri, &queue));
        Self { names }
    }

    pub(crate) fn discard(&self, name: &str) {
        // A database that does not fit into the queue is removed with the cluster.
        let _ = self.names.try_send(name.to_owned());
    }
}

fn work(uri: &str, queue: &Receiver<String>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    while let Ok(name) = queue.recv() {
        runtime.block_on(async {
            let client = connect(uri).await;
            // `force` ends the sessions that the test left open.
            let statement =
                format!("drop database if exists {} with (force)", postgres::quote_identifier(&name));
            let _ = client.execute(&statement, &[]).await;
        });
    }
}
