//! The one node that runs the jobs of a database, for as long as its connection holds the lock.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use database::{Database, DetachedClient, Error};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::jobs::{self, Job, Minutes};
use crate::logins::Logins;
use crate::run::Shared;

/// How many runs are under way at the same time, each with a connection of its own.
const MOST_RUNS: usize = 16;

/// How often the leader checks what is due.
const TICK: Duration = Duration::from_secs(1);

/// How much too early a job may begin, so that a tick that comes a little early is not the next one.
const SLACK: Duration = Duration::from_millis(100);

/// How long runs may take to end when the server stops.
const END_LIMIT: Duration = Duration::from_secs(3);

/// A clock that goes forward by more than so many minutes at once was set, or the machine slept: what is run often is
/// not made up for, as with cron.
const JUMP: i64 = 5;

/// Beyond so many minutes, forward or back, nothing is made up for.
const CHANGE: i64 = 180;

/// The jobs and their runs.
pub(crate) struct Leader {
    shared: Arc<Shared>,
    tasks: HashMap<i64, Task>,
    runs: JoinSet<i64>,
    /// The minute up to which jobs have been checked.
    minute: i64,
    /// Whether jobs for Postgres' start are yet to be run.
    is_start: bool,
}

/// A job and what is to come of it.
struct Task {
    job: Job,
    /// Runs that are due and have not begun: a job's runs follow each other.
    pending: i64,
    /// When it was due last, where it is due every so many seconds.
    due: Option<Instant>,
    is_running: bool,
    /// Ends the run that is under way, unless that was done already.
    end: Option<oneshot::Sender<&'static str>>,
}

impl Leader {
    /// Begins to lead with `client`, which has the lock.
    pub(crate) async fn new(
        database: Database,
        client: DetachedClient,
        is_start: bool,
    ) -> Result<Self, Error> {
        jobs::bound(&client).await?;
        jobs::clear(&client).await?;
        let logins = Logins::new(&client).await?;
        let minute = jobs::minute(&client).await?;
        let shared = Arc::new(Shared { database, client, logins });
        Ok(Self { shared, tasks: HashMap::new(), runs: JoinSet::new(), minute, is_start })
    }

    /// Runs what is due until `stop`. After an error nothing of this node runs, and another one may lead.
    pub(crate) async fn lead(mut self, stop: &CancellationToken) -> Result<(), Error> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(ended) = self.runs.join_next() => {
                    let id = ended.map_err(|error| Error::Protocol(format!("a run broke off: {error}")))?;
                    if let Some(task) = self.tasks.get_mut(&id) {
                        task.is_running = false;
                    }
                    self.begin_pending();
                }
                tick = ticks.tick() => {
                    // A lock on the jobs must not hold up the end.
                    match stop.run_until_cancelled(self.look(tick)).await {
                        Some(looked) => looked?,
                        None => break,
                    }
                }
            }
        }
        self.end().await;
        Ok(())
    }

    /// Finds out what is due, and begins it as far as there is room.
    async fn look(&mut self, tick: Instant) -> Result<(), Error> {
        let client = &self.shared.client;
        let (jobs, minute) = tokio::try_join!(jobs::list(client), jobs::minute(client))?;
        self.renew(jobs);
        for task in self.tasks.values_mut() {
            if task.is_due(tick) && task.pending == 0 {
                task.pending = 1;
            }
            if self.is_start && task.job.is_at_start {
                task.pending += 1;
            }
        }
        self.is_start = false;
        if let Some(minutes) = minutes(self.minute, minute) {
            for (id, count) in jobs::due(&self.shared.client, minutes).await? {
                if let Some(task) = self.tasks.get_mut(&id) {
                    task.pending += count;
                }
            }
            self.minute = minute;
        }
        self.begin_pending();
        Ok(())
    }

    /// Takes over the jobs as they are now. Runs of those that are gone are ended.
    fn renew(&mut self, jobs: Vec<Job>) {
        let mut known = std::mem::take(&mut self.tasks);
        for job in jobs {
            let task = match known.remove(&job.id) {
                Some(task) => Task { job, ..task },
                None => Task { job, pending: 0, due: None, is_running: false, end: None },
            };
            self.tasks.insert(task.job.id, task);
        }
        for (id, mut task) in known.into_iter().filter(|(_, task)| task.is_running) {
            if let Some(end) = task.end.take() {
                // A run that has just ended has dropped its receiver.
                let _ = end.send("job canceled");
            }
            // It stays until its run has ended, so that it does not overlap with itself should it come back.
            self.tasks.insert(id, Task { pending: 0, due: None, ..task });
        }
    }

    fn begin_pending(&mut self) {
        for task in self.tasks.values_mut().filter(|task| task.pending > 0 && !task.is_running) {
            if self.runs.len() >= MOST_RUNS {
                return;
            }
            let (end, ended) = oneshot::channel();
            task.pending -= 1;
            task.is_running = true;
            task.end = Some(end);
            let (shared, job) = (Arc::clone(&self.shared), task.job.clone());
            self.runs.spawn(async move {
                shared.run(&job, ended).await;
                job.id
            });
        }
    }

    /// Ends all runs.
    async fn end(&mut self) {
        for end in self.tasks.values_mut().filter_map(|task| task.end.take()) {
            // A run that has just ended has dropped its receiver.
            let _ = end.send("server stopped");
        }
        let ended = async { while self.runs.join_next().await.is_some() {} };
        if timeout(END_LIMIT, ended).await.is_err() {
            tracing::warn!("runs of pg_cron did not end in time");
        }
    }
}

impl Task {
    /// Reports whether as many seconds have passed as the job waits. The first run begins at once, as upstream's does.
    fn is_due(&mut self, tick: Instant) -> bool {
        let Some(seconds) = self.job.seconds.and_then(|seconds| u64::try_from(seconds).ok()) else {
            return false;
        };
        let next = self.due.map(|due| due + Duration::from_secs(seconds));
        match next {
            Some(next) if next > tick + SLACK => false,
            // A late run is not followed by another one that makes up for it.
            _ => {
                self.due = next.filter(|next| *next + TICK > tick).or(Some(tick));
                true
            }
        }
    }
}

/// Returns the minutes whose jobs are due when the clock has gone from the minute `previous` to `now`; `None` if none
/// are.
fn minutes(previous: i64, now: i64) -> Option<Minutes> {
    let (first, first_frequent) = match now - previous {
        passed if !(-CHANGE..=CHANGE).contains(&passed) => (now, now),
        // Set back: until the clock has caught up, its times have been before.
        passed if passed <= 0 => return None,
        passed if passed > JUMP => (previous + 1, now),
        _ => (previous + 1, previous + 1),
    };
    Some(Minutes { first, first_frequent, last: now })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_made_up_for_within_limits() {
        let due = |previous, now| minutes(previous, now).map(|m| (m.first, m.first_frequent, m.last));
        for (passed, expected) in [
            (0, None),
            (1, Some((1001, 1001, 1001))),
            (5, Some((1001, 1001, 1005))),
            (6, Some((1001, 1006, 1006))),
            (180, Some((1001, 1180, 1180))),
            (181, Some((1181, 1181, 1181))),
            (-1, None),
            (-180, None),
            (-181, Some((819, 819, 819))),
        ] {
            assert_eq!(due(1000, 1000 + passed), expected, "{passed}");
        }
    }

    #[test]
    fn a_job_keeps_its_rhythm() {
        let job = Job {
            id: 1,
            command: String::new(),
            database: String::new(),
            username: String::new(),
            seconds: Some(2),
            is_at_start: false,
        };
        let mut task = Task { job, pending: 0, due: None, is_running: false, end: None };
        let start = Instant::now();
        let mut due = |milliseconds| task.is_due(start + Duration::from_millis(milliseconds));
        assert!(due(0), "at once");
        assert!(!due(1000));
        assert!(due(1950), "a tick that is a little early");
        assert!(!due(3000), "from when it should have come");
        assert!(due(4000));
        assert!(due(9500), "late");
        assert!(!due(10_500));
        assert!(due(11_500), "from when it came");
    }
}
