//! The worker of the extension pg_cron: runs the jobs that SQL schedules, and records their runs.
//!
//! The extension's tables and functions are Basalt's own (`schema/extensions`). They contain the only parser of
//! schedules, since SQL refuses an invalid one when a job is created; this crate calls it to find out which jobs are
//! due. If a server has the original pg_cron, whose worker is part of Postgres, this worker does nothing.
//!
//! Several nodes may serve one database: one of them leads ([`leader`]) and runs all jobs, the others wait to replace
//! it. Runs that were due while no node led are not made up for.

mod jobs;
mod leader;
mod logins;
mod run;

use std::time::Duration;

use postgres::{Database, Error};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use leader::Leader;

/// The pause between checks whether the extension exists and whether no node leads, and after a failure.
const PAUSE: Duration = Duration::from_secs(3);

/// Runs the jobs of `database`, whose login must be a superuser, until `stop`; then ends the current runs.
pub async fn work(database: Database, stop: CancellationToken) {
    let mut known_start = None;
    let mut failed = false;
    while !stop.is_cancelled() {
        let round = round(&database, &mut known_start, &stop).await;
        if let Err(error) = &round
            && !failed
            && !stop.is_cancelled()
        {
            // Logged once: a database that cannot be reached fails every round.
            tracing::warn!(%error, "jobs of pg_cron cannot be run; trying on");
        }
        failed = round.is_err();
        stop.run_until_cancelled(sleep(PAUSE)).await;
    }
}

/// Takes the lead, if no other node has it, and keeps it until an error. `known_start` is the last start of Postgres
/// that this node has seen: a node that leads after a new start runs the jobs for Postgres' start.
async fn round(
    database: &Database,
    known_start: &mut Option<String>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let client = database.client().await?;
    let state = jobs::state(&client).await?;
    let is_start = known_start.as_ref() != Some(&state.started);
    *known_start = Some(state.started);
    if !state.is_ours || !jobs::lead(&client).await? {
        return Ok(());
    }
    // The lock must be released with this client, and not stay with a connection of the pool.
    let client = client.detach();
    Leader::new(database.clone(), client, is_start).await?.lead(stop).await
}
