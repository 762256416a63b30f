//! Computes and checks hashes of passwords and recovery codes, on threads of its own with a low priority.
//!
//! A hash takes one processor for tens of milliseconds. Nothing else bounds how many people can sign in, so all
//! processors may compute hashes at once; the operating system's scheduler keeps many of them from slowing down other
//! work (`docs/decisions/0024-password-hashing-has-a-low-priority.md`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use fairness::FairSemaphore;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::error::refusals;
use crate::secrets::hashes::{self, Hash};
use crate::{Error, PasswordSettings};

/// A well-formed hash of the usual cost that no known password has. Unknown users are compared with it, so that
/// they take as long as known ones.
const NOBODY: &str = "$2a$10$q3Vd0mYxW7c9uJfK2sLhNeR8tBzA5oGiPw1yXk6TnUvQjH4rESCda";

/// How much nicer than the rest of the process hashing threads are. Against a busy thread of the ordinary priority
/// they get a tenth of a processor, so that signing in does not come to a halt either. Source: sched(7).
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

type Job = Box<dyn FnOnce() + Send>;

/// The threads that compute hashes. Cheap to clone: clones share them. They end when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct HashingThreads {
    queue: Sender<Job>,
    /// A slot for each hash that is being computed or waiting.
    slots: FairSemaphore,
}

impl HashingThreads {
    /// Starts the threads. Errors: a sentence if the system refuses them.
    pub(crate) fn start(settings: &PasswordSettings) -> Result<Self, String> {
        let (queue, jobs) = channel();
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..settings.parallel_hashes.max(1) {
            let jobs = Arc::clone(&jobs);
            let started = thread::Builder::new().name("password-hash".to_owned()).spawn(move || work(&jobs));
            started.map_err(|error| format!("cannot start a thread for the hashes of passwords: {error}"))?;
        }
        let slots = FairSemaphore::new(settings.queue_length.max(1), 0);
        Ok(Self { queue, slots })
    }

    /// Returns how many hashes are being computed or waiting, and how many may be.
    pub(crate) fn load(&self) -> (usize, usize) {
        (self.slots.held(), self.slots.permits())
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let slot = self.slots.try_acquire(fairness::caller());
        let slot = slot.ok_or_else(refusals::overloaded)?;
        let (sender, result) = oneshot::channel();
        let job = Box::new(move || {
            // A job whose caller has gone is skipped, and holds its slot until its turn; one whose caller goes now
            // holds it until the hash is done. So the bound is one of real work.
            if sender.is_closed() {
                return;
            }
            // A panic has been reported by the time it is caught, and ends one request; the thread is for all others,
            // too.
            let result = catch_unwind(AssertUnwindSafe(work));
            drop(slot);
            if let Ok(result) = result {
                // Fails if the request has gone meanwhile.
                let _ = sender.send(result);
            }
        });
        self.queue.send(job).map_err(|_| Error::Internal("no thread is left for hashes".to_owned()))?;
        result.await.map_err(|_| Error::Internal("the hash of a password was not computed".to_owned()))
    }
}

/// Hashes passwords and compares them with hashes.
pub(crate) struct Hasher {
    threads: HashingThreads,
    cost: u32,
}

impl Hasher {
    pub(crate) fn new(settings: &PasswordSettings, threads: HashingThreads) -> Self {
        Self { threads, cost: settings.bcrypt_cost }
    }

    /// Returns the bcrypt hash of `password`.
    ///
    /// Errors: 503 `over_request_rate_limit` when the queue is full.
    pub(crate) async fn hash(&self, password: String) -> Result<String, Error> {
        let cost = self.cost;
        let hash = self.threads.run(move || bcrypt::hash(password, cost)).await?;
        hash.map_err(|error| Error::Internal(error.to_string()))
    }

    /// Returns whether `password` has the hash `hash`, of bcrypt or one of the others that users bring along. Without a
    /// hash it takes as long as with bcrypt, and is then false.
    ///
    /// Errors: 503 `over_request_rate_limit` when the queue is full.
    pub(crate) async fn verify(&self, password: String, hash: Option<&str>) -> Result<bool, Error> {
        let hash = hash.filter(|hash| hash.starts_with('$'));
        let (known, hash) = (hash.is_some(), hash.unwrap_or(NOBODY).to_owned());
        match self.threads.run(move || Hash::parse(&hash)?.verify(password.as_bytes())).await? {
            Ok(matches) => Ok(matches && known),
            Err(error) => {
                tracing::warn!(%error, "a stored password hash cannot be read");
                Ok(false)
            }
        }
    }

    /// Returns the hashes of recovery codes, in their order.
    ///
    /// Errors: as [`hash`](Self::hash).
    pub(crate) async fn hash_codes(&self, codes: Vec<String>) -> Result<Vec<String>, Error> {
        let compute = move || codes.iter().map(|code| hashes::of_recovery_code(code)).collect();
        let hashes: Result<Vec<String>, String> = self.threads.run(compute).await?;
        hashes.map_err(Error::Internal)
    }

    /// Returns the place of the first of `hashes` that is of the recovery code `code`. It is compared with all of them,
    /// so that the time does not tell which one it is.
    ///
    /// Errors: as [`hash`](Self::hash).
    pub(crate) async fn find_code(&self, code: String, hashes: Vec<String>) -> Result<Option<usize>, Error> {
        let compare = move || {
            let matches = |hash: &String| {
                let compared = Hash::parse(hash).and_then(|hash| hash.verify(code.as_bytes()));
                compared.unwrap_or_else(|error| {
                    tracing::warn!(%error, "the stored hash of a recovery code cannot be read");
                    false
                })
            };
            let outcomes: Vec<bool> = hashes.iter().map(matches).collect();
            outcomes.into_iter().position(|is_match| is_match)
        };
        self.threads.run(compare).await
    }
}

/// Runs jobs on a thread until the [`HashingThreads`] are gone.
fn work(jobs: &Mutex<Receiver<Job>>) {
    lower_priority();
    loop {
        let job = jobs.lock().recv();
        let Ok(job) = job else { return };
        job();
    }
}

/// Lowers the priority of the calling thread, where threads have one of their own: elsewhere it is the process's.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::debug!(%error, "hashes of passwords are computed at the ordinary priority");
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn hasher(parallel_hashes: usize, queue_length: usize) -> Hasher {
        let settings = PasswordSettings { parallel_hashes, queue_length, ..PasswordSettings::default() };
        Hasher::new(&settings, HashingThreads::start(&settings).unwrap())
    }

    #[tokio::test]
    async fn only_the_right_password_of_a_known_user_matches() {
        let hasher = hasher(1, 10);
        let hash = bcrypt::hash("correct horse", 4).unwrap();
        assert!(hasher.verify("correct horse".into(), Some(&hash)).await.unwrap());
        assert!(!hasher.verify("battery staple".into(), Some(&hash)).await.unwrap());
        assert!(!hasher.verify("correct horse".into(), None).await.unwrap());
        assert!(!hasher.verify("correct horse".into(), Some("")).await.unwrap());
        assert!(!hasher.verify("correct horse".into(), Some("$2a$10$broken")).await.unwrap());
    }

    #[tokio::test]
    async fn a_recovery_code_is_found_among_hashes_that_cannot_all_be_read() {
        let hasher = hasher(1, 10);
        let mut hashes = hasher.hash_codes(vec!["first".into(), "second".into()]).await.unwrap();
        hashes.insert(1, "broken".to_owned());
        assert_eq!(hasher.find_code("second".into(), hashes.clone()).await.unwrap(), Some(2));
        assert_eq!(hasher.find_code("third".into(), hashes).await.unwrap(), None);
        assert_eq!(hasher.find_code("first".into(), Vec::new()).await.unwrap(), None);
    }

    #[test]
    fn unknown_users_cost_as_much_as_known_ones() {
        let parts: bcrypt::HashParts = NOBODY.parse().unwrap();
        assert_eq!(parts.get_cost(), 10);
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once_and_recovers() {
        let hasher = hasher(1, 2);
        let (go_on, wait) = channel::<()>();
        let first = hasher.threads.run(move || wait.recv());
        let second = hasher.threads.run(|| ());
        let (mut first, mut second) = (Box::pin(first), Box::pin(second));
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        let refusal = hasher.threads.run(|| ()).now_or_never().unwrap().unwrap_err();
        assert_eq!(refusal.status(), http::StatusCode::SERVICE_UNAVAILABLE);
        go_on.send(()).unwrap();
        assert!(first.await.is_ok() && second.await.is_ok() && hasher.threads.run(|| ()).await.is_ok());
    }

    #[tokio::test]
    async fn a_network_leaves_slots_to_others() {
        let hasher = hasher(1, 8);
        let (go_on, wait) = channel::<()>();
        let mut first = Box::pin(hasher.threads.run(move || wait.recv()));
        assert!(first.as_mut().now_or_never().is_none());
        let network = |last| fairness::Network::of([192, 0, 2, last].into());
        let run = |last| Box::pin(fairness::on_behalf_of(network(last), hasher.threads.run(|| ())));
        let waiting: Vec<_> = (0..8).map(|_| run(1)).collect();
        let finished: Vec<_> = waiting.into_iter().map(|run| run.now_or_never()).collect();
        assert!(finished.iter().any(|result| matches!(result, Some(Err(_)))), "some are refused");
        let mut other = run(2);
        assert!(other.as_mut().now_or_never().is_none(), "it has a slot");
        go_on.send(()).unwrap();
        assert!(first.await.is_ok() && other.await.is_ok());
    }

    #[tokio::test]
    async fn abandoned_requests_hold_their_slots_and_are_skipped() {
        let hasher = hasher(1, 2);
        let (go_on, wait) = channel::<()>();
        let (worked, works) = channel();
        let mut first = Box::pin(hasher.threads.run(move || wait.recv()));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(hasher.threads.run(move || worked.send(())).now_or_never().is_none());
        assert!(hasher.threads.run(|| ()).now_or_never().unwrap().is_err());
        go_on.send(()).unwrap();
        assert!(first.await.is_ok() && hasher.threads.run(|| ()).await.is_ok());
        assert!(works.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_panic_ends_one_request() {
        let hasher = hasher(1, 1);
        assert!(hasher.threads.run(|| panic!("as a broken hash might")).await.is_err());
        assert!(hasher.threads.run(|| ()).await.is_ok());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn hashes_come_after_everybody_elses_work() {
        let niceness = || rustix::process::nice(0).unwrap();
        let others = niceness();
        assert_eq!(hasher(1, 1).threads.run(niceness).await.unwrap(), (others + NICENESS).min(19));
        assert_eq!(niceness(), others);
    }
}
