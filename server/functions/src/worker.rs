//! One process of a function, from its start to its end.

mod backoff;
mod connection;
mod connections;
mod host;
mod import_map;
mod imports;
mod output;
mod places;
mod process;
mod processes;
mod room;
mod slot;

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::StatusCode;
use http::response::Parts;
use parking_lot::Mutex;
use telemetry::Usage;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::settings::Limits;

pub(crate) use connection::{Body, Connection, Failure, LONGEST_SHORT};
pub(crate) use connections::Connections;
pub(crate) use host::Host;
pub(crate) use processes::Processes;
pub(crate) use slot::{Call, Slot};

use backoff::Progress;
use process::Launch;

/// How often the watchdog checks a process.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// How long to wait for the end of a process that closed a connection or accepts none. It may also continue to run.
pub(crate) const END_LIMIT: Duration = Duration::from_secs(2);
/// How long a stopping server waits for the background work of functions.
const LAST_WORK: Duration = Duration::from_secs(3);
/// How long the last lines of a process that has ended may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The header by which our script responds to a call that it has not begun, because its process ends after an error
/// that the function did not catch. Its value is the name of the process's folder, which only that process knows.
const NOT_BEGUN: &str = "x-basalt-not-begun";

::settings::words! {
    /// Why a process ended, by the name in metrics.
    pub(crate) enum End {
        /// It was idle or outdated, or the server stops.
        Retired = "retired",
        /// It used too much memory.
        Memory = "memory",
        /// It kept the processor for too long.
        Cpu = "cpu",
        /// It was blocked for longer than a call may wait for its response.
        Stuck = "stuck",
        /// It ended by itself, for example after an error that the function did not catch.
        Crashed = "crashed",
    }
}

impl End {
    fn of(status: ExitStatus) -> Self {
        // When V8 runs out of memory it ends with SIGTRAP, SIGILL or SIGABRT, depending on the machine and its version.
        match status.signal() {
            Some(4..=6) => Self::Memory,
            _ => Self::Crashed,
        }
    }
}

/// A process that is ready for calls.
pub(crate) struct Worker {
    pub(crate) connections: Connections,
    limits: Limits,
    pid: u32,
    /// The name of its folder.
    id: String,
    in_flight: AtomicUsize,
    /// Whether it has responded to a call.
    has_responded: AtomicBool,
    /// When the last call ended.
    used: Mutex<Instant>,
    /// Whether it gets no more calls and ends after the last one.
    is_retired: AtomicBool,
    /// Since when it is known to begin no more calls.
    failing: OnceLock<Instant>,
    ended: watch::Receiver<Option<End>>,
}

/// A process that has started but does not get calls yet.
struct BootedProcess {
    child: Child,
    /// Held because the process ends when its input is closed.
    _input: Option<ChildStdin>,
    folder: PathBuf,
}

/// Starts a process and waits until it is ready.
///
/// Errors: the reason, for the log, followed by what the process has written.
async fn boot(launch: &Launch<'_>) -> Result<BootedProcess, NotBooted> {
    let mut child = launch
        .command()
        .spawn()
        .map_err(|error| NotBooted::because(format!("{} cannot be run: {error}", launch.deno.display())))?;
    let (ready, is_ready) = oneshot::channel();
    let written = Arc::new(Mutex::new(Vec::new()));
    let log = output::Log {
        function: launch.deployed.name.clone(),
        lines: launch.lines.clone(),
        first: Arc::downgrade(&written),
    };
    // Both tasks end with the process.
    if let Some(output) = child.stdout.take() {
        tokio::spawn(output::follow_output(output, log.clone(), ready));
    }
    let errors = child.stderr.take().map(|errors| tokio::spawn(output::follow_errors(errors, log)));
    let mut input = child.stdin.take();
    let variables = launch.variables();
    let giving = async {
        if let Some(input) = &mut input {
            // A process that ends first says why.
            let _ = input.write_all(variables.as_bytes()).await;
        }
    };
    let limit = launch.settings.limits.boot;
    let ready = async {
        giving.await;
        is_ready.await
    };
    let outcome = tokio::select! {
        Ok(()) = ready => Ok(()),
        status = child.wait() => Err(match status {
            Ok(status) => format!("its process ended before it was ready ({status})"),
            Err(error) => format!("its process cannot be watched: {error}"),
        }),
        () = tokio::time::sleep(limit) => Err(format!("it was not ready within {} s", limit.as_secs_f64())),
    };
    match outcome {
        Ok(()) => Ok(BootedProcess { child, _input: input, folder: launch.folder.to_owned() }),
        Err(reason) => {
            kill(&mut child).await;
            if let Some(errors) = errors {
                // The process has ended, so nothing more comes; a process of its own may keep the pipe open.
                let _ = timeout(LAST_WORDS, errors).await;
            }
            let words = std::mem::take(&mut *written.lock()).join("\n");
            Err(NotBooted { reason, words })
        }
    }
}

/// Why a process did not become ready.
#[derive(Debug)]
pub(crate) struct NotBooted {
    /// In words of the server.
    pub(crate) reason: String,
    /// What the process has written, which often says more; may be empty.
    pub(crate) words: String,
}

impl NotBooted {
    fn because(reason: String) -> Self {
        Self { reason, words: String::new() }
    }
}

async fn kill(child: &mut Child) {
    if let Err(error) = child.kill().await {
        tracing::warn!(%error, "a function's process cannot be ended");
    }
}

impl Worker {
    fn new(folder: &Path, limits: Limits, child: &Child) -> (Self, watch::Sender<Option<End>>) {
        let (ending, ended) = watch::channel(None);
        let worker = Self {
            connections: Connections::new(folder, limits.concurrency),
            limits,
            pid: child.id().unwrap_or_default(),
            id: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            in_flight: AtomicUsize::new(0),
            has_responded: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            is_retired: AtomicBool::new(false),
            failing: OnceLock::new(),
            ended,
        };
        (worker, ending)
    }

    /// Waits for the end of the process, for at most `limit`. Returns `None` if it still runs.
    pub(crate) async fn end_within(&self, limit: Duration) -> Option<End> {
        let mut ended = self.ended.clone();
        let end = timeout(limit, ended.wait_for(Option::is_some)).await.ok()?.ok()?;
        *end
    }

    /// Records that it has responded to a call.
    pub(crate) fn record_response(&self) {
        // Processors share what is only read.
        if !self.has_responded.load(Ordering::Relaxed) {
            self.has_responded.store(true, Ordering::Relaxed);
        }
    }

    /// Reports whether a response with this head says that the call has not begun.
    pub(crate) fn has_not_begun(&self, head: &Parts) -> bool {
        // The status alone says it of nearly all responses, without a search.
        head.status == StatusCode::SERVICE_UNAVAILABLE
            && head.headers.get(NOT_BEGUN).is_some_and(|id| id == self.id.as_str())
    }

    /// Reports whether it should have ended after an error, but has not.
    fn is_overdue(&self) -> bool {
        self.failing.get().is_some_and(|since| since.elapsed() > END_LIMIT)
    }

    fn progress(&self) -> Progress {
        if self.has_responded.load(Ordering::Relaxed) { Progress::Responded } else { Progress::Ready }
    }

    fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    fn enter(&self) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
    }

    fn leave(&self) {
        *self.used.lock() = Instant::now();
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    fn is_busy(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) > 0
    }

    /// Returns when its last call ended; `None` while it has one.
    fn unused_since(&self) -> Option<Instant> {
        (!self.is_busy()).then(|| *self.used.lock())
    }

    fn is_idle(&self) -> bool {
        self.unused_since().is_some_and(|since| since.elapsed() >= self.limits.idle)
    }

    fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }
}

/// Watches a process until it ends: by itself, because it used too much, or because it is retired and has finished its
/// work.
async fn supervise(slot: Arc<Slot>, worker: Arc<Worker>, mut booted: BootedProcess) -> End {
    let mut ticks = interval(CHECK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watchdog = Watchdog::default();
    let mut draining: Option<JoinHandle<()>> = None;
    let stop = slot.host.stop.clone();
    let end = loop {
        tokio::select! {
            status = booted.child.wait() => break status.map_or(End::Crashed, End::of),
            () = stop.cancelled() => {
                let drain = worker.connections.order("/drain");
                let _ = timeout(LAST_WORK, drain).await;
                break End::Retired;
            }
            _ = ticks.tick() => {}
        }
        if let Some(end) = watchdog.check(&worker, draining.is_some()).await {
            break end;
        }
        if worker.is_overdue() {
            break End::Crashed;
        }
        slot.retire_if_idle(&worker);
        match &draining {
            // It ends by itself, which is to be recorded.
            None if worker.failing.get().is_some() => {}
            None if worker.is_retired() && !worker.is_busy() => draining = Some(drain(&worker)),
            Some(drained) if drained.is_finished() => break End::Retired,
            _ => {}
        }
    };
    kill(&mut booted.child).await;
    if let Some(draining) = draining {
        draining.abort();
    }
    if let Err(error) = tokio::fs::remove_dir_all(&booted.folder).await {
        tracing::warn!(%error, "the folder of a function's sockets cannot be removed");
    }
    end
}

/// Starts a task that waits for the work given to `EdgeRuntime.waitUntil`.
fn drain(worker: &Arc<Worker>) -> JoinHandle<()> {
    let worker = Arc::clone(worker);
    tokio::spawn(async move {
        let _ = timeout(worker.limits.wall_clock, worker.connections.order("/drain")).await;
    })
}

/// A ping that the process has not responded to yet.
struct Ping {
    response: JoinHandle<()>,
    sent: Instant,
    /// The processor time that the process had used when the ping was sent.
    cpu: Duration,
}

/// Checks the memory and the processor time of a process.
#[derive(Default)]
struct Watchdog {
    ping: Option<Ping>,
}

impl Watchdog {
    /// Returns the reason to end the process; `None` if there is none.
    ///
    /// Processor time counts only while the process does not respond to a ping: while it responds, no call prevents the
    /// others from running. Time in which it does not use the processor does not count, unless that is longer than a
    /// call may wait for its response: then no call of this process gets a response any more.
    async fn check(&mut self, worker: &Arc<Worker>, is_draining: bool) -> Option<End> {
        let pid = worker.pid;
        let usage = tokio::task::spawn_blocking(move || Usage::of(pid)).await.ok()??;
        if usage.memory > worker.limits.memory.0 + Limits::NATIVE {
            return Some(End::Memory);
        }
        match &self.ping {
            Some(ping) if ping.response.is_finished() => self.ping = None,
            Some(ping) if usage.cpu.saturating_sub(ping.cpu) >= worker.limits.cpu => {
                return Some(End::Cpu);
            }
            Some(ping) if ping.sent.elapsed() >= worker.limits.request => return Some(End::Stuck),
            Some(_) => {}
            None if worker.is_busy() || is_draining => {
                let pinged = Arc::clone(worker);
                let response = tokio::spawn(async move {
                    let _ = pinged.connections.order("/ping").await;
                });
                self.ping = Some(Ping { response, sent: Instant::now(), cpu: usage.cpu });
            }
            None => {}
        }
        None
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(ping) = &self.ping {
            ping.response.abort();
        }
    }
}
