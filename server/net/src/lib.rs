//! The worker of the extension pg_net: sends the HTTP requests that SQL queues, once their transactions have committed,
//! and records the responses. That of the extension http is in [`http`].
//!
//! The extension's tables and functions are Basalt's own (`schema/extensions`). If a server has the original pg_net,
//! whose worker is part of Postgres, this worker does nothing. Several nodes may work on one queue: each request is
//! taken once. A request that a node has taken is lost if the node ends before the response, as with the original.

pub mod http;
mod queue;
mod request;

use std::time::Duration;

use postgres::{Database, Error};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use request::Sender;

/// The maximum number of concurrent requests.
const MAX_CONCURRENT: usize = 50;

/// The pause between reads of the queue.
const PAUSE: Duration = Duration::from_millis(250);

/// The pause between checks whether the extension exists, and after a failure.
const LONG_PAUSE: Duration = Duration::from_secs(3);

/// How often old responses are removed.
const EXPIRY_PAUSE: Duration = Duration::from_secs(60);

/// Works on the queue of `database`, whose login must be able to read it, until `stop`. `api` is the URL of this
/// server, which replaces the gateway of the Supabase CLI's containers.
///
/// Errors: a sentence when TLS cannot be set up.
pub async fn work(database: Database, api: &str, stop: CancellationToken) -> Result<(), String> {
    let mut worker = Worker {
        database,
        sender: Sender::new(api)?,
        under_way: JoinSet::new(),
        is_ours: false,
        expired: Instant::now(),
    };
    let mut failed = false;
    while !stop.is_cancelled() {
        let round = worker.round().await;
        if let Err(error) = &round {
            worker.is_ours = false;
            // Logged once: a database that cannot be reached fails every round.
            if !failed {
                tracing::warn!(%error, "the queue of pg_net cannot be worked on; trying on");
            }
        }
        failed = round.is_err();
        let pause = if worker.is_ours { PAUSE } else { LONG_PAUSE };
        stop.run_until_cancelled(sleep(pause)).await;
    }
    Ok(())
}

/// The worker of the queue.
struct Worker {
    database: Database,
    sender: Sender,
    under_way: JoinSet<()>,
    /// Whether the extension existed and was Basalt's own at the last check.
    is_ours: bool,
    /// When old responses were removed last.
    expired: Instant,
}

impl Worker {
    /// Begins to send queued requests, as many as the limit allows.
    async fn round(&mut self) -> Result<(), Error> {
        if !self.is_ours {
            self.is_ours = queue::is_ours(&self.database).await?;
        }
        if !self.is_ours {
            return Ok(());
        }
        if self.expired.elapsed() >= EXPIRY_PAUSE {
            queue::expire(&self.database).await?;
            self.expired = Instant::now();
        }
        while self.under_way.try_join_next().is_some() {}
        let room = MAX_CONCURRENT.saturating_sub(self.under_way.len());
        for request in queue::take(&self.database, room).await? {
            let (database, sender) = (self.database.clone(), self.sender.clone());
            self.under_way.spawn(async move {
                let outcome = sender.send(&request).await;
                if let Err(error) = queue::record(&database, request.id, &outcome).await {
                    tracing::warn!(%error, request = request.id, "what came back to pg_net was not written down");
                }
            });
        }
        Ok(())
    }
}
