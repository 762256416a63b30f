//! `basalt stop`: stops the project's running server, like Ctrl-C in its terminal.

use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// How long the server may take to finish requests and to shut Postgres down.
const LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// Stops the server and returns when it has ended.
///
/// Errors: if none runs, if it belongs to another user, or if it does not end in time.
pub(super) async fn run(settings: Settings) -> Result<(), Error> {
    let instance = super::running(&settings).await?;
    let pid = instance.process().ok_or_else(|| {
        Error::Advice(format!(
            "the server (process {}) belongs to another user, and cannot be stopped by this one",
            instance.pid
        ))
    })?;
    kill_process(pid, Signal::TERM).map_err(|error| Error::io("stop the server")(error.into()))?;
    let started = Instant::now();
    while instance.is_announced(&settings.data_dir) && instance.process().is_some() {
        if started.elapsed() > LIMIT {
            let seconds = LIMIT.as_secs();
            return Err(Error::Advice(format!(
                "the server (process {}) has not ended within {seconds} s; its log may say why",
                instance.pid
            )));
        }
        tokio::time::sleep(PAUSE).await;
    }
    console::note("The server has stopped. Its data is kept.");
    Ok(())
}
