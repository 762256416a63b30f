//! The signals that stop the server.

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::Error;

/// Signals that come this soon after the first one are repetitions: npm forwards a Ctrl-C to its children, which have
/// already received it from the terminal. Source: npm/cli#5021.
const REPETITION: Duration = Duration::from_secs(1);

/// Listens for SIGINT (Ctrl-C) and SIGTERM, and returns a token that the first one cancels. A later one ends the
/// process. Must be called inside a Tokio runtime.
pub(crate) fn stop_on_signals() -> Result<CancellationToken, Error> {
    let open = |kind| signal(kind).map_err(Error::io("listen for signals"));
    let (interrupt, terminate) = (open(SignalKind::interrupt())?, open(SignalKind::terminate())?);
    let stop = CancellationToken::new();
    // It lives as long as the process and holds no resources, so it is not joined.
    tokio::spawn(watch(interrupt, terminate, stop.clone()));
    Ok(stop)
}

async fn watch(mut interrupt: Signal, mut terminate: Signal, stop: CancellationToken) {
    let mut first: Option<Instant> = None;
    loop {
        let code = tokio::select! {
            _ = interrupt.recv() => 130,
            _ = terminate.recv() => 143,
        };
        if first.get_or_insert_with(Instant::now).elapsed() > REPETITION {
            // The watchdog of the embedded Postgres sees this process end and shuts it down.
            std::process::exit(code);
        }
        stop.cancel();
    }
}
