//! What a running server reads again: on signals, when `config.toml` has changed, and when settings are changed over the
//! platform interface.
//!
//! SIGUSR1 reads the schema cache again; SIGHUP and SIGUSR2 also all settings. If `config.toml` has only been
//! changed, the server tells how to apply the change, since the author may not have finished.

use std::time::{Duration, SystemTime};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::configuration::Configuration;
use super::managed::Order;
use crate::console;
use crate::error::Error;
use crate::service_manager::{self, Event};
use crate::settings::Project;

/// How often `config.toml` is looked at.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The signals. Until they are listened for, each of them ends the process.
pub(super) struct Reloads {
    /// `None` if the process was started with the signal ignored, as `nohup` does.
    hang_up: Option<Signal>,
    first: Signal,
    second: Signal,
    /// Whether the process was started in a terminal.
    had_terminal: bool,
}

/// What a signal asks for.
enum Request {
    SchemaCache,
    Settings,
    /// The terminal was closed.
    Stop,
}

impl Reloads {
    /// Listens for the signals. Must be called inside a Tokio runtime.
    pub(super) fn listen() -> Result<Self, Error> {
        let open = |kind| signal(kind).map_err(Error::io("listen for signals"));
        let hang_up = if ignores_hang_up() { None } else { Some(open(SignalKind::hangup())?) };
        let (first, second) = (open(SignalKind::user_defined1())?, open(SignalKind::user_defined2())?);
        Ok(Self { hang_up, first, second, had_terminal: has_terminal() })
    }

    async fn next(&mut self) -> Request {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = hung_up => {
                if self.had_terminal && !has_terminal() { Request::Stop } else { Request::Settings }
            }
            _ = self.first.recv() => Request::SchemaCache,
            _ = self.second.recv() => Request::Settings,
        }
    }

    /// Obeys the signals and the `orders` of the platform interface, and looks at the file of `project`, until `stop`, which it cancels when the terminal is
    /// closed.
    pub(super) async fn obey(
        mut self,
        configuration: &mut Configuration<'_>,
        mut orders: mpsc::Receiver<Order>,
        stop: &CancellationToken,
    ) {
        let mut file = ConfigFile::default();
        let mut ticks = interval(CHECK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let request = tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {
                    file.check(configuration.project());
                    continue;
                }
                Some(order) = orders.recv() => {
                    configuration.obey(order).await;
                    continue;
                }
                request = self.next() => request,
            };
            match request {
                Request::Stop => stop.cancel(),
                Request::SchemaCache => {
                    tracing::info!("the schema cache is read again, on a signal");
                    configuration.reload_schema_cache();
                }
                Request::Settings => {
                    service_manager::tell(Event::Reloading);
                    configuration.read_again().await;
                    configuration.reload_schema_cache();
                    service_manager::tell(Event::Ready);
                    file.is_told = false;
                }
            }
        }
    }
}

/// Reports whether the process has a terminal that it could read from.
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// Reports whether the process ignores SIGHUP. Source: proc_pid_status(5); elsewhere than on Linux it is not known.
fn ignores_hang_up() -> bool {
    const HANG_UP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & HANG_UP != 0)
}

/// A project's `config.toml`. That it has changed is told once.
#[derive(Default)]
struct ConfigFile {
    /// The time of the version that was looked at last; `None` if none was.
    changed: Option<SystemTime>,
    /// Whether it was told that the running server does not have the file's settings.
    is_told: bool,
}

impl ConfigFile {
    /// Looks at the file if it has changed. Tells once that its settings differ from those of the running server, which
    /// are those of `project`, and each time that it cannot be read.
    fn check(&mut self, project: &Project) {
        let Some(path) = &project.config_path else { return };
        let changed = std::fs::metadata(path).and_then(|file| file.modified()).ok();
        if changed == self.changed {
            return;
        }
        self.changed = changed;
        let name = crate::settings::display_path(path);
        match Project::locate(&project.root, true) {
            Ok(found) if found.config == project.config => self.is_told = false,
            Ok(_) if !self.is_told => {
                self.is_told = true;
                let id = std::process::id();
                console::note(format_args!(
                    "{name} has changed: `kill -HUP {id}` makes the server use it, as far as that is possible without \
                     a restart."
                ));
            }
            Ok(_) => {}
            Err(problem) => {
                console::note(format_args!("{name} could not be used by the next start: {problem}"))
            }
        }
    }
}
