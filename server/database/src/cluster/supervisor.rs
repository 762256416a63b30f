//! Keeps Postgres running until it is told to stop.

use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::error::Error;
use super::orphan;
use super::postmaster::{Plan, Postmaster};

/// The pause before the second try to start again; the first one is made at once. Doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A run that lasted this long is no part of a series of failures.
const GOOD_RUN: Duration = Duration::from_secs(30);

/// What the cluster is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Postgres takes connections.
    Running {
        /// The process id of the postmaster.
        pid: u32,
    },
    /// Postgres died by itself and is being started again.
    Restarting {
        /// How many times that was tried since it last ran well.
        attempt: u32,
        /// How it ended, or why it could not be started.
        reason: String,
    },
    /// Postgres was told to stop, and has.
    Stopped {
        /// Whether all was written, so that the next start needs no recovery.
        clean: bool,
    },
}

/// Supervises `postmaster` until `stop` is cancelled; then ends it. Nothing of it runs when this returns.
pub(super) async fn supervise(
    mut plan: Plan,
    mut postmaster: Postmaster,
    state: watch::Sender<State>,
    stop: CancellationToken,
) {
    let first_signal = if plan.throwaway.is_some() { Signal::QUIT } else { Signal::INT };
    let mut attempt = 0;
    loop {
        let started = Instant::now();
        let reason = tokio::select! {
            () = stop.cancelled() => {
                let clean = postmaster.stop(first_signal).await;
                state.send_replace(State::Stopped { clean });
                return;
            }
            reason = postmaster.ended() => reason,
        };
        error!(%reason, log = postmaster.tail().lines(), "Postgres ended by itself and is started again");
        postmaster.kill().await;
        if started.elapsed() > GOOD_RUN {
            attempt = 0;
        }
        let again = restart(&mut plan, &mut attempt, reason, &state);
        postmaster = tokio::select! {
            () = stop.cancelled() => {
                // The half-started one ends by its watchdog, whose pipe is dropped with it; then this clears up.
                let _ = orphan::clear(&plan.cluster, |_| ()).await;
                state.send_replace(State::Stopped { clean: false });
                return;
            }
            postmaster = again => postmaster,
        };
        info!(pid = postmaster.pid(), "Postgres runs again");
        state.send_replace(State::Running { pid: postmaster.pid() });
    }
}

/// Starts Postgres until it does run.
async fn restart(
    plan: &mut Plan,
    attempt: &mut u32,
    mut reason: String,
    state: &watch::Sender<State>,
) -> Postmaster {
    loop {
        *attempt += 1;
        state.send_replace(State::Restarting { attempt: *attempt, reason });
        if *attempt > 1 {
            let doubled = FIRST_PAUSE.saturating_mul(1 << (*attempt - 2).min(10));
            sleep(doubled.min(LONGEST_PAUSE)).await;
        }
        match relaunch(plan).await {
            Ok(postmaster) => return postmaster,
            Err(failure) => {
                error!(%failure, attempt = *attempt, "Postgres cannot be started again yet");
                reason = failure.to_string();
            }
        }
    }
}

async fn relaunch(plan: &mut Plan) -> Result<Postmaster, Error> {
    orphan::clear(&plan.cluster, |pid| warn!(pid, "ending a Postgres that still runs on the same data"))
        .await?;
    match plan.launch().await {
        Err(Error::PortTaken(port)) => {
            // The socket's name holds the port's number and is what the server's connections go by: it stays.
            warn!(port, "the port was taken while Postgres was down: psql can use the unix socket only");
            Plan { tcp: false, ..plan.clone() }.launch().await
        }
        launched => launched,
    }
}
