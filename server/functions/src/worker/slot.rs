//! One function: its process if it runs, how many calls may be in it, and when it may be restarted.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::backoff::Backoff;
use super::process::Launch;
use super::{BootedProcess, End, Worker, boot, supervise};
use crate::Error;
use crate::metrics::Metrics;
use crate::settings::{DeployedFunction, Settings};

/// The longest wait before a restart that a call waits for; for a longer one it is refused.
const PATIENCE: Duration = Duration::from_secs(1);

/// What all functions share.
pub(crate) struct Host {
    pub(crate) settings: Settings,
    /// What every function sees of the environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// The program; `None` where there is none.
    pub(crate) deno: Option<PathBuf>,
    /// Our script.
    pub(crate) script: PathBuf,
    /// A folder that nobody else can enter, for the sockets.
    pub(crate) sockets: PathBuf,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    pub(crate) metrics: Metrics,
}

impl Host {
    /// Returns the token that is cancelled when the server stops.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }
}

/// One function.
pub(crate) struct Slot {
    host: Arc<Host>,
    pub(crate) deployed: DeployedFunction,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    current: Mutex<Option<Arc<Worker>>>,
    /// Held by whoever starts a process.
    starting: Arc<tokio::sync::Mutex<()>>,
    backoff: Mutex<Backoff>,
    /// Counts the changes of its files.
    version: AtomicU64,
    /// Counts the starts that failed.
    failed_starts: AtomicU64,
}

/// A call in a process. The process is kept until the call is dropped.
pub(crate) struct Call {
    pub(crate) worker: Arc<Worker>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.worker.leave();
    }
}

/// Counts one waiting call for as long as it lives.
struct WaitingGuard<'a>(&'a AtomicUsize);

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Slot {
    pub(crate) fn new(host: Arc<Host>, deployed: DeployedFunction) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(host.settings.limits.concurrency));
        host.metrics.begin(&deployed.name);
        Arc::new(Self {
            host,
            deployed,
            permits,
            waiting: AtomicUsize::new(0),
            current: Mutex::new(None),
            starting: Arc::default(),
            backoff: Mutex::default(),
            version: AtomicU64::new(0),
            failed_starts: AtomicU64::new(0),
        })
    }

    /// Returns how many calls a process has, or would have if it were started.
    pub(crate) fn calls_under_way(&self) -> usize {
        self.host.settings.limits.concurrency.saturating_sub(self.permits.available_permits())
    }

    /// Returns how many calls wait for another one to end.
    pub(crate) fn calls_waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    pub(super) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Admits one call to the function's process, which is started if it does not run.
    ///
    /// Errors: [`Error::Busy`] when too many wait, [`Error::Idle`] when none came free in time, [`Error::Boot`] and
    /// [`Error::NoDeno`] when there is no process.
    pub(crate) async fn admit(self: &Arc<Self>) -> Result<Call, Error> {
        let mut permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            // Boxed, as below: every call moves the whole future, and both cases are rare.
            Err(_) => Box::pin(self.permit(self.host.settings.limits.request)).await?,
        };
        loop {
            match self.enter(permit) {
                Ok(call) => return Ok(call),
                Err(unused) => permit = unused,
            }
            Box::pin(self.start()).await?;
        }
    }

    /// Waits until another call has ended.
    async fn permit(&self, limit: Duration) -> Result<OwnedSemaphorePermit, Error> {
        let before = self.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = WaitingGuard(&self.waiting);
        if before >= self.host.settings.limits.queue {
            return Err(Error::Busy);
        }
        let permit = timeout(limit, Arc::clone(&self.permits).acquire_owned()).await;
        // The semaphore is never closed.
        permit.map_err(|_| Error::Idle(limit))?.map_err(|_| Error::Stopping)
    }

    fn enter(&self, permit: OwnedSemaphorePermit) -> Result<Call, OwnedSemaphorePermit> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match current.as_ref() {
            Some(worker) if !worker.has_ended() => {
                worker.enter();
                Ok(Call { worker: Arc::clone(worker), _permit: permit })
            }
            _ => {
                *current = None;
                Err(permit)
            }
        }
    }

    /// Reports whether a process runs.
    pub(crate) fn is_running(&self) -> bool {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().is_some_and(|worker| !worker.has_ended())
    }

    /// Starts the process, unless it runs by the time that it could be started.
    pub(crate) async fn start(self: &Arc<Self>) -> Result<(), Error> {
        let slot = Arc::clone(self);
        let failed_before = slot.failed_starts.load(Ordering::Acquire);
        // In a task of its own: a caller that waits may leave, and the process is still started for the others.
        let started = self.host.tasks.spawn(async move {
            let _starting = slot.starting.lock().await;
            if slot.is_running() {
                return Ok(());
            }
            if slot.host.stop.is_cancelled() {
                return Err(Error::Stopping);
            }
            let wait = slot.backoff().wait(Instant::now());
            // A start that failed is not repeated for each of the calls that waited for it: if it fails slowly, the last
            // of them would wait for as long as all attempts take.
            let has_failed = slot.failed_starts.load(Ordering::Acquire) != failed_before;
            if has_failed || wait > PATIENCE {
                return Err(Error::Boot(wait));
            }
            tokio::time::sleep(wait).await;
            let stop = slot.host.stopping();
            tokio::select! {
                launched = slot.launch() => launched,
                () = stop.cancelled() => Err(Error::Stopping),
            }
        });
        started.await.unwrap_or(Err(Error::Boot(Duration::ZERO)))
    }

    async fn launch(self: &Arc<Self>) -> Result<(), Error> {
        let Some(deno) = &self.host.deno else { return Err(Error::NoDeno) };
        let (begun, version) = (Instant::now(), self.version.load(Ordering::Acquire));
        let folder = self.host.sockets.join(uuid::Uuid::new_v4().simple().to_string());
        let name = &self.deployed.name;
        let mut environment = self.host.environment.clone();
        environment.insert("SUPABASE_FUNCTION_SLUG".to_owned(), name.clone());
        let launch = Launch {
            deno,
            script: &self.host.script,
            deployed: &self.deployed,
            folder: &folder,
            environment: &environment,
            settings: &self.host.settings,
        };
        let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
        let booted = match made {
            Ok(()) => boot(&launch).await,
            Err(error) => Err(format!("the folder of its sockets cannot be made: {error}")),
        };
        let booted = booted.map_err(|reason| {
            tracing::error!(target: "function", function = name, "did not start: {reason}");
            let _ = std::fs::remove_dir_all(&folder);
            self.host.metrics.started(name, false);
            self.backoff().failed(Duration::ZERO, Instant::now());
            self.failed_starts.fetch_add(1, Ordering::AcqRel);
            Error::Boot(self.backoff().wait(Instant::now()))
        })?;
        tracing::info!(target: "function", function = name, milliseconds = begun.elapsed().as_millis() as u64, "started");
        self.host.metrics.started(name, true);
        let (worker, ending) = Worker::new(&folder, self.host.settings.limits.clone(), &booted.child);
        self.watch(Arc::new(worker), booted, ending, version);
        Ok(())
    }

    fn watch(
        self: &Arc<Self>,
        worker: Arc<Worker>,
        booted: BootedProcess,
        ending: watch::Sender<Option<End>>,
        version: u64,
    ) {
        // Of files that have changed since, the process may have read some before and some after.
        if self.version.load(Ordering::Acquire) == version {
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&worker));
        } else {
            worker.retire();
        }
        let slot = Arc::clone(self);
        self.host.tasks.spawn(async move {
            let end = supervise(Arc::clone(&slot), Arc::clone(&worker), booted).await;
            slot.forget(&worker);
            slot.host.metrics.ended(&slot.deployed.name, end);
            if end != End::Retired {
                tracing::error!(target: "function", function = slot.deployed.name, reason = ?end, "ended");
                slot.backoff().failed(worker.started.elapsed(), Instant::now());
            }
            ending.send_replace(Some(end));
        });
    }

    fn backoff(&self) -> std::sync::MutexGuard<'_, Backoff> {
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, worker: &Arc<Worker>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|current| Arc::ptr_eq(current, worker));
    }

    /// Retires `worker` if it has had no call for long.
    pub(super) fn retire_if_idle(&self, worker: &Arc<Worker>) {
        // Calls enter under this lock, so none does between the check and the retirement.
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_idle() {
            current.take_if(|current| Arc::ptr_eq(current, worker));
            worker.retire();
        }
    }

    /// Takes note that its files have changed: the next call gets a new process; the old one ends with its last call.
    pub(crate) fn renew(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
        *self.backoff() = Backoff::default();
        if let Some(worker) = self.current.lock().unwrap_or_else(PoisonError::into_inner).take() {
            worker.retire();
        }
    }
}
