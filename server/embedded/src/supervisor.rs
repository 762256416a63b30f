//! Supervises Postgres: restarts it until it is told to stop.

use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::error::Error;
use super::orphan;
use super::overrides::{self, Restart};
use super::postmaster::{LaunchPlan, Postmaster};

/// The pause before the second attempt to restart; the first one is made at once. Doubled up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// After a run of this length, the count of attempts starts again.
const STABLE_RUN: Duration = Duration::from_secs(30);

/// The state of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Postgres accepts connections.
    Running {
        /// The process id of the postmaster.
        pid: u32,
    },
    /// Postgres has ended by itself, or its settings have changed, and it is being restarted.
    Restarting {
        /// How many times that has been tried since its last stable run; 0 for changed settings.
        attempt: u32,
        /// Its exit status, why it could not be started, or what has changed.
        reason: String,
    },
    /// Postgres was told to stop and has stopped.
    Stopped {
        /// Whether everything was written, so that the next start needs no recovery.
        clean: bool,
    },
}

/// Supervises `postmaster` until `stop` is cancelled; then stops it. Restarts it in between as `orders` say. When this
/// returns, none of its processes runs.
pub(super) async fn supervise(
    mut plan: LaunchPlan,
    mut postmaster: Postmaster,
    state: watch::Sender<State>,
    mut orders: mpsc::Receiver<Restart>,
    stop: CancellationToken,
) {
    let first_signal = if plan.throwaway.is_some() { Signal::QUIT } else { Signal::INT };
    let mut attempt = 0;
    loop {
        let started = Instant::now();
        let ended = tokio::select! {
            () = stop.cancelled() => {
                let clean = postmaster.stop(first_signal).await;
                state.send_replace(State::Stopped { clean });
                return;
            }
            reason = postmaster.ended() => Err(reason),
            Some(order) = orders.recv() => Ok(order),
        };
        if started.elapsed() > STABLE_RUN {
            attempt = 0;
        }
        let restarted = async {
            match ended {
                Ok(order) => change(&mut plan, postmaster, first_signal, order, &state).await,
                Err(reason) => {
                    error!(%reason, log = postmaster.tail().lines(), "Postgres ended by itself and is restarted");
                    postmaster.kill().await;
                    restart(&mut plan, &mut attempt, reason, &state).await
                }
            }
        };
        postmaster = tokio::select! {
            () = stop.cancelled() => {
                // The watchdog of a Postgres that is just starting ends it, since its pipe is dropped; this cleans up.
                let _ = orphan::clear(&plan.cluster, |_| ()).await;
                state.send_replace(State::Stopped { clean: false });
                return;
            }
            postmaster = restarted => postmaster,
        };
        info!(pid = postmaster.pid(), "Postgres has been restarted");
        state.send_replace(State::Running { pid: postmaster.pid() });
    }
}

/// Restarts Postgres for its changed settings. If it does not start with them, it gets the former ones.
async fn change(
    plan: &mut LaunchPlan,
    postmaster: Postmaster,
    signal: Signal,
    Restart { former, done }: Restart,
    state: &watch::Sender<State>,
) -> Postmaster {
    info!("Postgres is restarted, because settings have changed that it reads at its start");
    state.send_replace(State::Restarting { attempt: 0, reason: "its settings have changed".to_owned() });
    postmaster.stop(signal).await;
    let (started, postmaster) = match relaunch(plan).await {
        Ok(postmaster) => (Ok(()), postmaster),
        Err(failure) => {
            error!(%failure, "Postgres does not start with its changed settings, and gets the former ones");
            if let Err(failure) = overrides::put_back(&plan.cluster, &former, plan.account.as_ref()) {
                error!(%failure, "the former settings of Postgres cannot be written");
            }
            let reason = failure.to_string();
            (Err(failure), restart(plan, &mut 0, reason, state).await)
        }
    };
    // Whoever asked for it may have gone.
    let _ = done.send(started);
    postmaster
}

/// Tries to start Postgres until it runs.
async fn restart(
    plan: &mut LaunchPlan,
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
                error!(%failure, attempt = *attempt, "Postgres could not be restarted");
                reason = failure.to_string();
            }
        }
    }
}

async fn relaunch(plan: &mut LaunchPlan) -> Result<Postmaster, Error> {
    orphan::clear(&plan.cluster, |pid| warn!(pid, "ending a Postgres that still runs on the same data"))
        .await?;
    match plan.launch().await {
        Err(Error::PortTaken(port)) => {
            // The port stays, since it is part of the socket's name, which the connections of this server use.
            warn!(port, "the port was taken while Postgres was down: psql can use only the Unix socket");
            LaunchPlan { tcp: false, ..plan.clone() }.launch().await
        }
        launched => launched,
    }
}
