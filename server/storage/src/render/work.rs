//! Limits of the work on pictures: one job per picture, a few pictures at a time, within an amount of memory, with a
//! queue of limited length, on threads of a low priority.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fairness::{FairSemaphore, Permit};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use crate::refusal::Refusal;

/// Bytes of one permit of memory.
const UNIT: u64 = 1 << 20;
/// The maximum number of permits: a tebibyte, which is fewer than a semaphore can have.
const MAX_UNITS: u32 = 1 << 20;
/// The stack of a thread: the encoder of AVIF is deeply recursive. Only memory that is used is allocated.
const STACK: usize = 8 << 20;

/// The niceness of these threads, relative to the rest of the process, so that many pictures do not slow down other
/// work. Source: sched(7).
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lets requests for the same thing share the work.
pub(crate) struct SharedJobs<K, T> {
    running: Mutex<HashMap<K, Job<T>>>,
}

type Job<T> = Shared<BoxFuture<'static, Result<T, Refusal>>>;

impl<K: Eq + Hash + Copy + Send + 'static, T: Clone + Send + Sync + 'static> SharedJobs<K, T> {
    pub(crate) fn new() -> Self {
        Self { running: Mutex::default() }
    }

    /// Returns the result of `work`, or that of running work with the same `key`. Work continues even if no request
    /// waits for it any more.
    pub(crate) async fn join<W>(self: &Arc<Self>, key: K, work: impl FnOnce() -> W) -> Result<T, Refusal>
    where
        W: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        let job = {
            let mut running = self.running.lock();
            match running.get(&key) {
                Some(job) => job.clone(),
                None => {
                    let end = JobEnd { jobs: Arc::clone(self), key };
                    let work = work();
                    let working = async move {
                        // Dropped also if the work panics.
                        let _end = end;
                        work.await
                    };
                    let task = tokio::spawn(fairness::on_behalf_of(fairness::caller(), working));
                    let job = task.map(|done| done.unwrap_or(Err(Refusal::Failed))).boxed().shared();
                    running.insert(key, job.clone());
                    job
                }
            }
        };
        job.await
    }
}

/// Ends a job when dropped, so that it is not joined any more.
struct JobEnd<K: Eq + Hash, T> {
    jobs: Arc<SharedJobs<K, T>>,
    key: K,
}

impl<K: Eq + Hash, T> Drop for JobEnd<K, T> {
    fn drop(&mut self) {
        self.jobs.running.lock().remove(&self.key);
    }
}

/// The workers that render pictures: each renders one at a time.
pub(crate) struct Workers {
    workers: FairSemaphore,
    /// A permit for each [`UNIT`] of memory.
    memory: Arc<Semaphore>,
    /// How many of them there are.
    units: u32,
}

/// One of the [`Workers`], taken until this is dropped.
pub(crate) struct Worker {
    _worker: Permit,
    memory: Arc<Semaphore>,
    units: u32,
}

impl Workers {
    /// Returns `workers` that make one picture each, for which `queue` more may wait, with so many bytes of `memory` for
    /// all pictures at the same time. A picture that needs more gets all of it.
    pub(crate) fn new(workers: usize, queue: usize, memory: u64) -> Self {
        let units = u32::try_from(memory / UNIT).unwrap_or(u32::MAX).clamp(1, MAX_UNITS);
        Self {
            workers: FairSemaphore::new(workers.max(1), queue),
            memory: Arc::new(Semaphore::new(units as usize)),
            units,
        }
    }

    /// Returns how many workers work, and how many pictures wait for one.
    pub(crate) fn load(&self) -> (usize, usize) {
        (self.workers.held(), self.workers.waiting())
    }

    /// Waits for a worker, up to `limit`.
    ///
    /// Errors: [`Refusal::Overloaded`] if the queue is full, in all or of the caller's network, or nothing gets free in
    /// time.
    pub(crate) async fn take(&self, limit: Duration) -> Result<Worker, Refusal> {
        let worker = self.workers.acquire(fairness::caller(), limit).await;
        let worker = worker.map_err(|_| Refusal::Overloaded)?;
        Ok(Worker { _worker: worker, memory: Arc::clone(&self.memory), units: self.units })
    }
}

impl Worker {
    /// Runs `work`, which takes `memory` bytes, on a thread of its own. The worker is free only when the work has
    /// ended, even if `limit` was exceeded before and no request waits for it any more.
    ///
    /// Errors: [`Refusal::Overloaded`] if there is no memory in time, [`Refusal::Timeout`], [`Refusal::Unsupported`] if
    /// it panics, as a codec may do with an unexpected picture.
    pub(crate) async fn run<T: Send + 'static>(
        self,
        memory: u64,
        limit: Duration,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let units = u32::try_from(memory.div_ceil(UNIT)).unwrap_or(u32::MAX).min(self.units);
        let memory = timeout(limit, Arc::clone(&self.memory).acquire_many_owned(units)).await;
        let memory = memory.map_err(|_| Refusal::Overloaded)?.map_err(|_| Refusal::Failed)?;
        let (sender, receiver) = oneshot::channel();
        let started = thread::Builder::new().name("render".to_owned()).stack_size(STACK).spawn(move || {
            lower_priority();
            let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Refusal::Unsupported));
            drop((self, memory));
            // Fails if no request waits any more.
            drop(sender.send(done));
        });
        if let Err(error) = started {
            tracing::error!(%error, "no thread can be started to render a picture");
            return Err(Refusal::Failed);
        }
        let done = timeout(limit, receiver).await.map_err(|_| Refusal::Timeout)?;
        done.unwrap_or(Err(Refusal::Failed))
    }
}

/// Lowers the priority of the calling thread, where threads have one of their own: elsewhere it is the process's.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::debug!(%error, "pictures are rendered at the ordinary priority");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MOMENT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn requests_for_the_same_share_the_work() {
        let jobs = Arc::new(SharedJobs::new());
        let done = Arc::new(AtomicUsize::new(0));
        let ask = |key: u8| {
            let (jobs, done) = (Arc::clone(&jobs), Arc::clone(&done));
            async move {
                let work = || async move {
                    tokio::time::sleep(MOMENT).await;
                    Ok(done.fetch_add(1, Ordering::SeqCst))
                };
                jobs.join(key, work).await
            }
        };
        let responses = tokio::join!(ask(1), ask(1), ask(2), ask(1));
        assert_eq!(done.load(Ordering::SeqCst), 2);
        assert_eq!(responses.0, responses.1);
        assert_eq!(responses.0, responses.3);
        assert!(jobs.running.lock().is_empty());
        assert_eq!(ask(1).await, Ok(2), "a job that has ended is not joined");
        let panicking = jobs.join(3, || async { panic!("a defect") }).await;
        assert_eq!(panicking, Err(Refusal::Failed));
        assert_eq!(ask(3).await, Ok(3));
    }

    #[tokio::test]
    async fn what_nobody_waits_for_keeps_its_place_until_it_ends() {
        let workers = Arc::new(Workers::new(1, 1, 2 * UNIT));
        let (release, held) = std::sync::mpsc::channel::<()>();
        let worker = workers.take(MOMENT).await.unwrap();
        let slow = worker.run(1, MOMENT, move || held.recv().map_err(|_| Refusal::Failed));
        assert_eq!(slow.await, Err(Refusal::Timeout));
        let waiting = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.take(MOMENT).await.map(drop) }
        });
        assert_eq!(waiting.await.unwrap(), Err(Refusal::Overloaded));
        release.send(()).unwrap();
        tokio::time::sleep(MOMENT).await;
        let worker = workers.take(MOMENT).await.unwrap();
        assert_eq!(worker.run(u64::MAX, SECOND, || Ok(7)).await, Ok(7));
    }

    #[tokio::test]
    async fn the_queue_ends_and_panics_are_refusals() {
        let workers = Arc::new(Workers::new(1, 1, 2 * UNIT));
        let worker = workers.take(SECOND).await.unwrap();
        let waiting = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { workers.take(SECOND).await.map(drop) }
        });
        tokio::time::sleep(MOMENT).await;
        assert_eq!(workers.take(SECOND).await.map(drop), Err(Refusal::Overloaded));
        let panicking = worker.run(1, SECOND, || -> Result<(), _> { panic!("a codec's defect") }).await;
        assert_eq!(panicking, Err(Refusal::Unsupported));
        assert_eq!(waiting.await.unwrap(), Ok(()));
    }
}
