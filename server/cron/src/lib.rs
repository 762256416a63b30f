//! Behind the extension pg_cron: runs the jobs that SQL schedules, and writes down what came of them.
//!
//! The extension's tables and functions are Basalt's own (`schema/extensions`), and so is what a schedule means: SQL
//! has to refuse what is none when a job is made, so the one parser is there, and this crate calls it to learn what is
//! due. Where a server has the original pg_cron, whose worker lives in Postgres, this one leaves it alone.
//!
//! Several nodes may serve one database: one of them leads ([`leader`]) and runs all jobs, the others wait to replace
//! it. What was due while nobody led is not made up for.

mod jobs;
mod leader;
mod logins;
mod run;

use std::time::Duration;

use database::{Database, Error};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use leader::Leader;

/// The pause between checks whether the extension is there and nobody leads, and after a failure.
const PAUSE: Duration = Duration::from_secs(3);

/// Runs the jobs of `database`, whose login must be a superuser, until `stop`. Runs that are under way then are ended.
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

/// Leads for as long as that is possible, if it is at all. `known_start` is when Postgres started, as far as this node
/// has seen: jobs for its start are run by who finds another.
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
    // The lock must end with this client, not wait for the next use in the pool.
    let client = client.detach();
    Leader::new(database.clone(), client, is_start).await?.lead(stop).await
}
