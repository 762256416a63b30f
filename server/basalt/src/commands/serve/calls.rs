//! The worker behind the extension http, which only the embedded Postgres has. It runs from before the migrations,
//! whose SQL may call the extension, until the end.

use std::net::SocketAddr;
use std::time::Duration;

use postgres::Database;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::edge;
use crate::backend::Backend;
use crate::error::Error;

/// How long the worker may take to end its sessions.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// The running worker. If it is dropped, it ends in the background.
pub(super) struct CallWorker {
    stop: DropGuard,
    task: JoinHandle<()>,
    database: Database,
}

impl CallWorker {
    /// Starts the worker of a server at `address`; `None` without an embedded Postgres.
    pub(super) async fn start(backend: &Backend, address: SocketAddr) -> Result<Option<Self>, Error> {
        if backend.cluster.is_none() {
            return Ok(None);
        }
        let database = backend.admin().await?;
        let stop = CancellationToken::new();
        let (admin, settings, end) = (database.clone(), backend.admin_settings(), stop.clone());
        let api = edge::local_url(address);
        let task = tokio::spawn(async move {
            if let Err(error) = net::http::work(admin, settings, &api, end).await {
                tracing::error!(error, "calls of the extension http get no response");
            }
        });
        Ok(Some(Self { stop: stop.drop_guard(), task, database }))
    }

    /// Ends the worker and its sessions.
    pub(super) async fn stop(self) {
        drop(self.stop);
        // If it does not end, Postgres ends its sessions.
        let _ = timeout(STOP_LIMIT, self.task).await;
        self.database.close().await;
    }
}
