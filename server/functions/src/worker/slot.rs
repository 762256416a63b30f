//! One of the processes of a function: whether it runs, its running and waiting calls, and when it may be restarted.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fairness::{FairSemaphore, Permit, Refusal};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::backoff::{Backoff, Progress};
use super::host::{Configuration, Host};
use super::imports::Imports;
use super::process::Launch;
use super::room::{Room, UNIT};
use super::{BootedProcess, END_LIMIT, End, NotBooted, Worker, boot, imports, supervise};
use crate::Error;
use crate::settings::DeployedFunction;

/// The longest time that a call waits for a restart. If it would take longer, the call is refused.
const PATIENCE: Duration = Duration::from_secs(1);

/// A process of a function, whether or not it runs.
pub(crate) struct Slot {
    pub(crate) host: Arc<Host>,
    /// The settings when it was made.
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) deployed: DeployedFunction,
    /// A permit for each call that may be in the process.
    permits: FairSemaphore,
    /// A permit for each WebSocket that may be open. Sockets are long and mostly idle, so they are no calls.
    sockets: FairSemaphore,
    /// A permit for each [`UNIT`] of the bodies of the calls that may be in the process.
    bodies: FairSemaphore,
    current: Mutex<Option<Arc<Worker>>>,
    /// Held while a process is being started.
    starting: Arc<tokio::sync::Mutex<()>>,
    backoff: Mutex<Backoff>,
    /// Counts the changes of its files.
    version: AtomicU64,
    /// The files that it imported when it was started last.
    imported: Mutex<BTreeSet<PathBuf>>,
    /// Counts the starts that failed.
    failed_starts: AtomicU64,
    /// Counts those since the last one that did not fail.
    failed_in_a_row: AtomicU64,
    /// Why the last one failed.
    last_failure: Mutex<Option<NotBooted>>,
    /// Whether another slot has taken its place, so that it starts no more processes.
    is_replaced: AtomicBool,
}

/// A call or a WebSocket in a process. The process is kept until the call is dropped.
pub(crate) struct Call {
    pub(crate) worker: Arc<Worker>,
    /// `None` once it was passed on.
    permits: Option<Permits>,
}

/// A call's permits.
struct Permits {
    _call: Permit,
    /// For its body; `None` if that is small, or its size is not known.
    _body: Option<Permit>,
    /// For its body if its size is not known.
    room: Option<Room>,
}

impl Call {
    /// Returns the room for its body if the size of that is not known.
    pub(crate) fn room(&self) -> Option<&Room> {
        self.permits.as_ref()?.room.as_ref()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.worker.leave();
    }
}

impl Slot {
    /// Returns a slot whose process has one of so many parts of its memory for the bodies of its calls.
    pub(super) fn new(host: Arc<Host>, deployed: DeployedFunction, body_part: u64) -> Arc<Self> {
        let configuration = host.configuration();
        let limits = &configuration.settings.limits;
        let permits = FairSemaphore::new(limits.concurrency, limits.queue);
        let sockets = FairSemaphore::new(limits.sockets, 0);
        let bodies = usize::try_from(limits.memory.0 / body_part / UNIT).unwrap_or(usize::MAX);
        let bodies = FairSemaphore::new(bodies, limits.queue).in_halves();
        host.metrics.begin(&deployed.name);
        Arc::new(Self {
            host,
            configuration,
            deployed,
            permits,
            sockets,
            bodies,
            current: Mutex::new(None),
            starting: Arc::default(),
            backoff: Mutex::default(),
            version: AtomicU64::new(0),
            imported: Mutex::default(),
            failed_starts: AtomicU64::new(0),
            failed_in_a_row: AtomicU64::new(0),
            last_failure: Mutex::default(),
            is_replaced: AtomicBool::new(false),
        })
    }

    /// Returns the number of calls that are in the process, or wait for its start.
    pub(crate) fn calls_under_way(&self) -> usize {
        self.permits.held()
    }

    /// Returns the number of calls that wait for another one to end.
    pub(crate) fn calls_waiting(&self) -> usize {
        self.permits.waiting() + self.bodies.waiting()
    }

    /// Returns the number of open WebSockets.
    pub(crate) fn sockets_open(&self) -> usize {
        self.sockets.held()
    }

    /// Admits one call with a body of `size` bytes (`None` if that is not known), or one WebSocket, to the function's
    /// process, which is started if it does not run. A large body waits until the process has room for it: a process
    /// that runs out of memory would end, and all calls in it.
    ///
    /// Errors: [`Error::Busy`] when too many calls wait or too many sockets are open, in all or of the caller's
    /// network, [`Error::Idle`] when no other call ended in time, [`Error::Boot`] and [`Error::NoDeno`] when the
    /// process cannot be started, [`Error::Replaced`] when the function has to be looked for again,
    /// [`Error::Stopping`] when the server stops.
    pub(crate) async fn admit(self: &Arc<Self>, is_socket: bool, size: Option<u64>) -> Result<Call, Error> {
        let caller = fairness::caller();
        let limit = self.configuration.settings.limits.request;
        // Of an unknown size, the first unit is taken, and the others as they arrive.
        let units = match size {
            Some(size) => usize::try_from(size / UNIT).unwrap_or(usize::MAX),
            None => 1,
        };
        let (mut body, mut room) = (None, None);
        if units > 0 {
            let permit = Box::pin(self.bodies.acquire_many(caller, units, limit)).await;
            let permit = permit.map_err(|refusal| refused(refusal, limit))?;
            match size {
                Some(_) => body = Some(permit),
                None => room = Some(Room::new(permit)),
            }
        }
        let call = if is_socket {
            // A socket may stay open for minutes, so there is no queue.
            self.sockets.try_acquire(caller).ok_or(Error::Busy)?
        } else {
            match self.permits.try_acquire(caller) {
                Some(permit) => permit,
                // Boxed, as below: every call moves the whole future, and both cases are rare.
                None => {
                    let waited = Box::pin(self.permits.acquire(caller, limit)).await;
                    waited.map_err(|refusal| refused(refusal, limit))?
                }
            }
        };
        self.enter_any(Permits { _call: call, _body: body, room }).await
    }

    /// Lets a call that its process has not begun into the next process, after the end of the first. The next one
    /// starts at once, without that end, if the first `is_failing` and had responded to a call.
    ///
    /// Errors: [`Error::Worker`] if the process does not end, else as of [`Self::admit`].
    pub(crate) async fn pass_on(self: &Arc<Self>, mut call: Call, is_failing: bool) -> Result<Call, Error> {
        if is_failing {
            call.worker.failing.get_or_init(Instant::now);
            self.forget(&call.worker);
        }
        let may_go_on = is_failing && call.worker.progress() == Progress::Responded;
        if !may_go_on && call.worker.end_within(END_LIMIT).await.is_none() {
            return Err(Error::Worker);
        }
        let permits = call.permits.take().ok_or(Error::Worker)?;
        drop(call);
        self.enter_any(permits).await.map_err(|error| match error {
            Error::Replaced => Error::Worker,
            other => other,
        })
    }

    /// Lets a call into the process, which is started if none runs.
    async fn enter_any(self: &Arc<Self>, mut permits: Permits) -> Result<Call, Error> {
        loop {
            match self.enter(permits) {
                Ok(call) => return Ok(call),
                Err(unused) => permits = unused,
            }
            if self.is_replaced() {
                return Err(Error::Replaced);
            }
            // While it started, its files may have gone with its version.
            let failed = |error| if self.is_replaced() { Error::Replaced } else { error };
            Box::pin(self.start()).await.map_err(failed)?;
        }
    }

    /// Lets a call into the process.
    ///
    /// Errors: `permits`, if no process runs.
    fn enter(&self, permits: Permits) -> Result<Call, Permits> {
        let mut current = self.current.lock();
        match current.as_ref() {
            Some(worker) if !worker.has_ended() => {
                worker.enter();
                Ok(Call { worker: Arc::clone(worker), permits: Some(permits) })
            }
            _ => {
                *current = None;
                Err(permits)
            }
        }
    }

    fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::Acquire)
    }

    /// Reports whether a process runs.
    pub(crate) fn is_running(&self) -> bool {
        let current = self.current.lock();
        current.as_ref().is_some_and(|worker| !worker.has_ended())
    }

    /// Starts the process, unless another call has started it in the meantime.
    ///
    /// Errors: as of [`Self::admit`].
    pub(crate) async fn start(self: &Arc<Self>) -> Result<(), Error> {
        let slot = Arc::clone(self);
        let failed_before = slot.failed_starts.load(Ordering::Acquire);
        // In a separate task: if this caller disconnects, the process is still started for the others.
        let started = self.host.tasks.spawn(async move {
            let _starting = slot.starting.lock().await;
            if slot.is_running() {
                return Ok(());
            }
            if slot.host.stop.is_cancelled() {
                return Err(Error::Stopping);
            }
            let wait = slot.backoff.lock().wait(Instant::now());
            // A start that failed is not repeated for each of the calls that waited for it: if it fails slowly, the
            // last of them would wait as long as all attempts together.
            let has_failed = slot.failed_starts.load(Ordering::Acquire) != failed_before;
            if has_failed || wait > PATIENCE {
                return Err(Error::Boot(wait));
            }
            tokio::time::sleep(wait).await;
            let launched = async { slot.launch(slot.host.places.take(&slot).await?).await };
            slot.host.stop.run_until_cancelled(launched).await.unwrap_or(Err(Error::Stopping))
        });
        started.await.unwrap_or(Err(Error::Boot(Duration::ZERO)))
    }

    /// Returns the environment of the function.
    ///
    /// Errors: the reason, for the log.
    fn environment(&self) -> Result<BTreeMap<String, String>, String> {
        let Configuration { settings, environment: common } = &*self.configuration;
        let overrides = self.host.overrides.read();
        let (mut environment, env_file) = match overrides.as_ref() {
            None => (common.clone(), settings.env_file.as_ref().map(|file| &file.0)),
            Some(overrides) => {
                let mut environment = overrides.variables.clone();
                for (name, value) in common {
                    // What is left are the platform's variables.
                    if !settings.secrets.0.contains_key(name) {
                        environment.entry(name.clone()).or_insert_with(|| value.clone());
                    }
                }
                (environment, overrides.env_file.as_ref())
            }
        };
        let own = settings.own_variables(&self.deployed, env_file);
        environment.extend(own.map_err(|error| error.to_string())?);
        environment.insert("SUPABASE_FUNCTION_SLUG".to_owned(), self.deployed.name.clone());
        Ok(environment)
    }

    /// Starts a process in `place`, if it needs one.
    async fn launch(self: &Arc<Self>, place: Option<Permit>) -> Result<(), Error> {
        let deno = self.host.deno.as_ref().map_err(|missing| *missing)?;
        let (begun, version) = (Instant::now(), self.version.load(Ordering::Acquire));
        let folder = self.host.sockets.join(uuid::Uuid::new_v4().simple().to_string());
        let name = &self.deployed.name;
        let settings = &self.configuration.settings;
        let booted = match self.environment() {
            Ok(environment) => {
                let launch = Launch {
                    deno,
                    script: &self.host.script,
                    deployed: &self.deployed,
                    folder: &folder,
                    environment: &environment,
                    settings,
                    lines: &self.host.lines,
                    imports: Imports::default(),
                    own_map: None,
                };
                self.boot(launch).await
            }
            Err(error) => Err(NotBooted::because(error)),
        };
        let booted = booted.map_err(|failure| {
            let reason = &failure.reason;
            tracing::error!(target: "function", function = name, "did not start: {reason}");
            // It fails if there is no session.
            let _ = self.host.lines.send(format!("[{name}] did not start: {reason}"));
            let _ = std::fs::remove_dir_all(&folder);
            self.host.metrics.count_start(name, false);
            self.backoff.lock().record_failure(Progress::Started, Instant::now());
            *self.last_failure.lock() = Some(failure);
            self.failed_starts.fetch_add(1, Ordering::AcqRel);
            self.failed_in_a_row.fetch_add(1, Ordering::Relaxed);
            Error::Boot(self.backoff.lock().wait(Instant::now()))
        })?;
        tracing::info!(target: "function", function = name, milliseconds = begun.elapsed().as_millis() as u64, "started");
        self.host.metrics.count_start(name, true);
        self.failed_in_a_row.store(0, Ordering::Relaxed);
        let (worker, ending) = Worker::new(&folder, settings.limits.clone(), &booted.child);
        self.watch(Arc::new(worker), booted, (ending, place), version);
        Ok(())
    }

    /// Returns how many starts have failed since the last one that did not, and why the last one failed.
    pub(crate) fn failed_in_a_row(&self) -> (u64, String) {
        let failure = self.last_failure.lock();
        let reason = failure.as_ref().map(|failure| failure.reason.clone()).unwrap_or_default();
        (self.failed_in_a_row.load(Ordering::Relaxed), reason)
    }

    /// Takes the reason of the last start that failed.
    pub(crate) fn take_last_failure(&self) -> Option<NotBooted> {
        self.last_failure.lock().take()
    }

    async fn boot(&self, mut launch: Launch<'_>) -> Result<BootedProcess, NotBooted> {
        std::fs::DirBuilder::new().mode(0o700).create(launch.folder).map_err(|error| {
            NotBooted::because(format!("the folder of its sockets cannot be made: {error}"))
        })?;
        launch.imports = imports::read(&launch).await;
        self.host.watcher.add(&launch.imports.files);
        self.imported.lock().clone_from(&launch.imports.files);
        launch.map_runtime_types();
        boot(&launch).await
    }

    /// Reports whether the function imported the file at `path` when it was started last.
    pub(crate) fn imports(&self, path: &Path) -> bool {
        self.imported.lock().contains(path)
    }

    fn watch(
        self: &Arc<Self>,
        worker: Arc<Worker>,
        booted: BootedProcess,
        (ending, place): (watch::Sender<Option<End>>, Option<Permit>),
        version: u64,
    ) {
        // If files have changed since the start began, the process may have read some of them before and some after the
        // change.
        if self.version.load(Ordering::Acquire) == version {
            *self.current.lock() = Some(Arc::clone(&worker));
        } else {
            worker.retire();
        }
        let slot = Arc::clone(self);
        self.host.tasks.spawn(async move {
            let end = supervise(Arc::clone(&slot), Arc::clone(&worker), booted).await;
            slot.forget(&worker);
            slot.host.metrics.count_end(&slot.deployed.name, end);
            if end != End::Retired {
                tracing::error!(target: "function", function = slot.deployed.name, reason = ?end, "ended");
                slot.backoff.lock().record_failure(worker.progress(), Instant::now());
            }
            drop(place);
            ending.send_replace(Some(end));
        });
    }

    fn forget(&self, worker: &Arc<Worker>) {
        let mut current = self.current.lock();
        current.take_if(|current| Arc::ptr_eq(current, worker));
    }

    /// Retires `worker` if it has had no call for the idle timeout.
    pub(super) fn retire_if_idle(&self, worker: &Arc<Worker>) {
        // Calls enter under this lock, so none can enter between the check and the retirement.
        let mut current = self.current.lock();
        if worker.is_idle() {
            current.take_if(|current| Arc::ptr_eq(current, worker));
            worker.retire();
        }
    }

    /// Returns since when its process has had no call; `None` if it has one, or no process runs.
    pub(super) fn unused_since(&self) -> Option<Instant> {
        self.current.lock().as_ref().filter(|worker| !worker.has_ended())?.unused_since()
    }

    /// Retires its process, unless that has a call.
    pub(super) fn retire_if_unused(&self) {
        // Calls enter under this lock, as above.
        let mut current = self.current.lock();
        if let Some(worker) = current.take_if(|worker| worker.unused_since().is_some()) {
            worker.retire();
        }
    }

    /// Has calls that come yet look for the function again. The process ends with its last call.
    pub(super) fn replace(&self) {
        self.is_replaced.store(true, Ordering::Release);
        self.renew();
    }

    /// Makes the next call start a new process, because files have changed. The old process ends with its last call.
    pub(crate) fn renew(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
        *self.backoff.lock() = Backoff::default();
        if let Some(worker) = self.current.lock().take() {
            worker.retire();
        }
    }
}

/// Returns the error for a call that got no permit within `limit`.
const fn refused(refusal: Refusal, limit: Duration) -> Error {
    match refusal {
        Refusal::Full => Error::Busy,
        Refusal::Late => Error::Idle(limit),
        Refusal::Closed => Error::Stopping,
    }
}
