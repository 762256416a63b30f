//! What a running server reads again: its settings and the schema cache, on signals and on notifications of the
//! database.

use std::path::PathBuf;

use parking_lot::Mutex;
use rest::Rest;
use settings::{Invalid, Variables};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::logging;
use crate::settings::PostgrestSettings;

/// Where the settings are read from.
pub(super) struct SettingsSource {
    /// PostgREST's configuration file.
    pub(super) file: Option<PathBuf>,
    /// The variables of the process.
    pub(super) variables: Variables,
}

impl SettingsSource {
    /// Reads the settings.
    pub(super) fn read(&self) -> Result<PostgrestSettings, Invalid> {
        PostgrestSettings::read(self.file.as_deref(), &self.variables)
    }

    /// Returns a function that reads the settings of the service again, and sets the level of the log. While they are
    /// invalid, it returns the last valid ones, of which `first` are the first.
    pub(super) fn reader(self, first: rest::Settings) -> impl Fn() -> rest::Settings + Send + Sync {
        let last = Mutex::new(first);
        move || {
            let mut last = last.lock();
            match self.read() {
                Ok(PostgrestSettings { standalone: now, .. }) => {
                    logging::set_request_level(&now.server.log_level);
                    *last = now.service;
                }
                Err(error) => {
                    tracing::error!(%error, "the settings are invalid; the previous ones stay in force")
                }
            }
            last.clone()
        }
    }
}

/// The signals that ask for it: SIGUSR1 and SIGUSR2, which do the same.
pub(super) struct Signals {
    first: Signal,
    second: Signal,
}

impl Signals {
    /// Listens for them. Must be called inside a Tokio runtime.
    pub(super) fn listen() -> Result<Self, Error> {
        let open = |kind| signal(kind).map_err(Error::io("listen for signals"));
        Ok(Self { first: open(SignalKind::user_defined1())?, second: open(SignalKind::user_defined2())? })
    }

    /// Reloads `rest` on each signal, until `stop`.
    pub(super) async fn obey(mut self, rest: Rest, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = self.first.recv() => {}
                _ = self.second.recv() => {}
            }
            rest.reload();
        }
    }
}
